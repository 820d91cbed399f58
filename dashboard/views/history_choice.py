"""What the page *History* shows, as one value; the URL's query string holds that value and nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlencode

from dashboard.views.filters import LATEST, CommitSpacing, Scale, member_of
from dashboard.views.lines import lines_from
from results.queries import benchmarks, environments, machines, projects, series_where

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

    from dashboard.views.lines import Line
    from results.store import Store

# In the order they are settled: what one offers is what was measured at the values before it.
CASCADE = ("project", "benchmark", "metric", "machine", "environment")
KEYS = (*CASCADE, "line", "commit", "spacing", "scale")
MOST_LINES = 7
LINES_AT_FIRST = 4
PREFERRED_METRIC = "latency_s"


@dataclass(frozen=True, kw_only=True)
class HistoryChoice:
    """Everything the page shows. `lines` by name; `commit` None: the newest that was measured."""

    project: str
    benchmark: str
    metric: str
    machine: str
    environment: str
    lines: tuple[str, ...]
    commit: str | None = None
    spacing: CommitSpacing = CommitSpacing.ORDER
    scale: Scale = Scale.LOG


@dataclass(frozen=True, kw_only=True)
class HistoryView:
    """A choice that can be drawn, what could be chosen in its place, and what was wrong with the wish."""

    choice: HistoryChoice
    options: Mapping[str, tuple[str, ...]]
    lines: tuple[Line, ...]
    problems: tuple[str, ...]

    @property
    def chosen_lines(self) -> tuple[Line, ...]:
        """The lines to draw, in the order they were chosen."""
        by_name = {line.name: line for line in self.lines}
        return tuple(by_name[name] for name in self.choice.lines)


def history_view_of(store: Store, *, query: str) -> HistoryView:
    """The view a URL's query string asks for, as near as what is stored allows; something must be stored.

    A value that is not stored is replaced by the one spelled most like it, and `problems` says so.
    """
    wanted = parse_qs(query.removeprefix("?"), keep_blank_values=True)
    problems = [
        f"The URL says {name}, which this page does not know; it knows {', '.join(KEYS)}."
        for name in wanted
        if name not in KEYS
    ]
    found: dict[str, str] = {}
    options: dict[str, tuple[str, ...]] = {}

    def settle(name: str, values: Iterable[str]) -> str:
        options[name] = tuple(dict.fromkeys(values))
        found[name] = _settled(name, wanted, options[name], problems)
        return found[name]

    # Projects with a sweep have a page of their own; the others are what one comes here for.
    stored = sorted((row for row in projects(store) if row.n_values), key=lambda row: row.has_sweep)
    project = settle("project", (row.project for row in stored))
    benchmark = settle("benchmark", (row.benchmark for row in benchmarks(store, project=project)))
    series = series_where(store, project=project, benchmark=benchmark)
    metrics = (row.metric for row in series)
    metric = settle("metric", sorted(metrics, key=lambda name: (name != PREFERRED_METRIC, name)))
    series = [row for row in series if row.metric == metric]
    last = {row.machine: row.last_at for row in machines(store, project=project)}
    machine = settle("machine", _newest_first(last, sorted({row.machine for row in series})))
    series = [row for row in series if row.machine == machine]
    last = {row.environment: row.last_at for row in environments(store, project=project)}
    environment = settle("environment", _newest_first(last, sorted({row.environment for row in series})))
    lines = tuple(lines_from(row for row in series if row.environment == environment))
    single = {name: wishes[-1] for name, wishes in wanted.items()}
    choice = HistoryChoice(
        **found,
        lines=_lines(wanted.get("line"), lines, problems),
        commit=_commit(wanted),
        spacing=member_of("spacing", single, CommitSpacing.ORDER, problems),
        scale=member_of("scale", single, Scale.LOG, problems),
    )
    return HistoryView(choice=choice, options=options, lines=lines, problems=tuple(problems))


def query_from_history_choice(choice: HistoryChoice) -> str:
    """The query string that gives `choice` back."""
    pairs = [(name, str(getattr(choice, name))) for name in (*CASCADE, "spacing", "scale")]
    pairs += [("line", name) for name in choice.lines] or [("line", "")]
    return "?" + urlencode([*pairs, ("commit", choice.commit[:12] if choice.commit else LATEST)])


def _settled(name: str, wanted: Mapping[str, Sequence[str]], values: Sequence[str], problems: list[str]) -> str:
    wish = wanted.get(name, [values[0]])[-1]
    if wish in values:
        return wish
    alike = get_close_matches(wish, values, n=1, cutoff=0.3)
    shown = alike[0] if alike else values[0]
    problems.append(f"No {name} {wish} is stored with the rest of this choice; showing {shown}.")
    return shown


def _lines(wish: Sequence[str] | None, lines: Sequence[Line], problems: list[str]) -> tuple[str, ...]:
    """The wished lines that exist; unasked, all where they are few, else the first."""
    known = [line.name for line in lines]
    if wish is None:
        return tuple(known) if len(known) <= LINES_AT_FIRST else (known[0],)
    names = [name for name in dict.fromkeys(wish) if name]
    unknown = [name for name in names if name not in known]
    if unknown:
        problems.append(f"Not stored with the rest of this choice: {'; '.join(unknown)}.")
    chosen = [name for name in names if name in known] or (known[:1] if unknown else [])
    if len(chosen) > MOST_LINES:
        problems.append(f"Only {MOST_LINES} lines can be told apart; the first {MOST_LINES} are shown.")
    return tuple(chosen[:MOST_LINES])


def _commit(wanted: Mapping[str, Sequence[str]]) -> str | None:
    wish = wanted.get("commit", [LATEST])[-1].lower()
    return None if wish in {LATEST, ""} else wish


def _newest_first(last_heard: Mapping[str, datetime | None], names: Iterable[str]) -> list[str]:
    """`names`, the one that was heard of last at the front."""

    def age(name: str) -> float:
        at = last_heard[name]
        return 0.0 if at is None else -at.timestamp()

    return sorted(names, key=age)
