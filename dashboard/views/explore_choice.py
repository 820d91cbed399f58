"""Choices of the page *Explore*: one value, held by the URL's query string alone."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlencode

from dashboard.lines import lines_from, parameter_choices, parameter_names_of, words_of
from dashboard.scales import CommitSpacing, Scale
from dashboard.sweep_axes import AXES
from dashboard.views.url import LATEST, MOST_SHOWN, member_of, unknown_parameters
from results.queries import benchmark_names, commits, places, projects, series_places, series_where

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from dashboard.lines import HistoryLine
    from results.store import Store

# In the order they are settled: one offers what was measured at the values chosen before it.
CASCADE = ("project", "benchmark", "metric", "machine", "environment")
# Parameters of a point as other pages name them, which come with a link: the same as `where`.
OF_POINT = (*(axis.name for axis in AXES if axis.name not in {"operation", *CASCADE}), "provider")
KEYS = (*CASCADE, "line", "where", "colour", "group", "relative", "commit", "spacing", "scale", "operation", *OF_POINT)
MOST_LINES = 50  # of a figure
LINES_AT_FIRST = 4
MOST_UNKNOWN = 3  # lines, named
PREFERRED_METRIC = "latency_s"


@dataclass(frozen=True, kw_only=True)
class ExploreChoice:
    """Choices of the page. `lines` by name; `commit` None: the newest measured one.

    `where`: `name=value` of parameters, several of one name are alternatives. `colour`: parameter that lines are
    coloured by; `group`: that has a small chart for each of its values. `relative`: commit whose values the others are
    divided by.
    """

    project: str
    benchmark: str
    metric: str
    machine: str
    environment: str
    lines: tuple[str, ...]
    where: tuple[str, ...] = ()
    colour: str | None = None
    group: str | None = None
    relative: str | None = None
    commit: str | None = None
    spacing: CommitSpacing = CommitSpacing.ORDER
    scale: Scale = Scale.LOG


@dataclass(frozen=True, kw_only=True)
class ExploreView:
    """Choice that can be drawn, its alternatives, and the problems of what the URL asked for."""

    choice: ExploreChoice
    options: Mapping[str, tuple[str, ...]]
    lines: tuple[HistoryLine, ...]
    problems: tuple[str, ...]

    @property
    def chosen_lines(self) -> tuple[HistoryLine, ...]:
        """Lines to draw, in the order they were chosen."""
        by_name = {line.name: line for line in self.lines}
        return tuple(by_name[name] for name in self.choice.lines)


def explore_view_of(store: Store, *, query: str) -> ExploreView:
    """Return the view a URL's query string asks for, or the nearest that is stored; the store must not be empty.

    A value that is not stored is replaced by the one spelled most like it, and `problems` states that.
    """
    wanted = parse_qs(query.removeprefix("?"), keep_blank_values=True)
    problems = unknown_parameters(wanted, known=KEYS)
    found: dict[str, str] = {}
    options: dict[str, tuple[str, ...]] = {}

    def settle(name: str, values: Iterable[str]) -> str:
        options[name] = tuple(dict.fromkeys(values))
        found[name] = _settled(name, wanted, options[name], problems)
        return found[name]

    # Projects with a sweep have a page of their own, so the others come first here, unless an operation is asked for.
    stored = sorted(projects(store), key=lambda row: row.has_sweep != ("operation" in wanted))
    if "operation" in wanted:
        wanted.setdefault("benchmark", wanted["operation"])
    project = settle("project", (row.project for row in stored))
    benchmark = settle("benchmark", benchmark_names(store, project=project))
    of_benchmark = series_places(store, project=project, benchmark=benchmark)
    metrics = (row.metric for row in of_benchmark)
    metric = settle("metric", sorted(metrics, key=lambda name: (name != PREFERRED_METRIC, name)))
    measured = {(row.machine, row.environment) for row in of_benchmark if row.metric == metric}
    newest_first = places(store, project=project)
    used = [place for place in newest_first if (place.machine, place.environment) in measured]
    without_course = _without_course(store, project)
    used.sort(key=lambda place: place.machine in without_course)  # of the others the newest stays first
    machine = settle("machine", (place.machine for place in used))
    environment = settle("environment", (place.environment for place in used if place.machine == machine))
    series = series_where(
        store, project=project, benchmark=benchmark, metric=metric, machine=machine, environment=environment
    )
    lines = tuple(lines_from(series))
    single = {name: values[-1] for name, values in wanted.items()}
    where = _where([*wanted.get("where", ()), *_where_of_point(single, lines)], lines, problems)
    group = _parameter(single.get("group"), lines, problems)
    matching = _matching(lines, where)
    if group is not None and "line" not in wanted:  # who sets values apart wants to see all of them
        wanted["line"] = [line.name for line in matching]
    choice = ExploreChoice(
        **found,
        lines=_lines(wanted.get("line"), matching, problems, known=lines),
        where=where,
        colour=_parameter(single.get("colour"), lines, problems),
        group=group,
        relative=_hash(single.get("relative")),
        commit=_hash(single.get("commit")),
        spacing=member_of("spacing", single, CommitSpacing.ORDER, problems),
        scale=member_of("scale", single, Scale.LOG, problems),
    )
    return ExploreView(choice=choice, options=options, lines=lines, problems=tuple(problems))


def query_from_explore_choice(choice: ExploreChoice) -> str:
    """Write `choice` as a query string."""
    pairs = [(name, str(getattr(choice, name))) for name in (*CASCADE, "spacing", "scale")]
    pairs += [("line", name) for name in choice.lines] or [("line", "")]
    pairs += [("where", one) for one in choice.where]
    pairs += [(name, value) for name in ("colour", "group", "relative") if (value := getattr(choice, name))]
    return "?" + urlencode([*pairs, ("commit", choice.commit[:12] if choice.commit else LATEST)])


def _without_course(store: Store, project: str) -> frozenset[str]:
    """Return the machines that measured a single commit, on which nothing goes from one to the next."""
    n_commits = Counter(machine for row in commits(store, project=project) for machine in row.machines)
    return frozenset(machine for machine, n in n_commits.items() if n < 2)


def _settled(name: str, wanted: Mapping[str, Sequence[str]], values: Sequence[str], problems: list[str]) -> str:
    requested = wanted.get(name, [values[0]])[-1]
    if requested in values:
        return requested
    alike = get_close_matches(requested, values, n=1, cutoff=0.3)
    shown = alike[0] if alike else values[0]
    problems.append(f"No {name} {requested[:MOST_SHOWN]} is stored with the rest of this choice; showing {shown}.")
    return shown


def _lines(
    requested: Sequence[str] | None,
    matching: Sequence[HistoryLine],
    problems: list[str],
    *,
    known: Sequence[HistoryLine],
) -> tuple[str, ...]:
    """Return the requested lines that exist; by default all that match where they are chosen or few, else the first."""
    if requested is None:
        found = [line.name for line in matching]
        is_narrowed = len(matching) < len(known)
        if not is_narrowed and len(found) > LINES_AT_FIRST:
            return tuple(found[:1])
        return _at_most(found, problems)
    names = {line.name: None for line in known}
    asked = [name for name in dict.fromkeys(requested) if name]
    unknown = [name for name in asked if name not in names]
    if unknown:
        named = "; ".join(name[:MOST_SHOWN] for name in unknown[:MOST_UNKNOWN])
        more = f" and {len(unknown) - MOST_UNKNOWN:,} more" if len(unknown) > MOST_UNKNOWN else ""
        problems.append(f"Not stored with the rest of this choice: {named}{more}.")
    return _at_most([name for name in asked if name in names] or (list(names)[:1] if unknown else []), problems)


def _at_most(names: Sequence[str], problems: list[str]) -> tuple[str, ...]:
    if len(names) > MOST_LINES:
        problems.append(f"A figure has {MOST_LINES} lines at most; the first {MOST_LINES} of {len(names):,} are shown.")
    return tuple(names[:MOST_LINES])


def _where_of_point(wanted: Mapping[str, str], lines: Sequence[HistoryLine]) -> list[str]:
    """Return `name=value` of the point's parameters that tell the lines apart."""
    asked = {name: wanted[name] for name in OF_POINT if name in wanted}
    if "provider" in asked:
        asked["provider"], _, layout = asked["provider"].partition(":")
        asked["weights"] = layout or "plain"
    return [f"{name}={asked[name]}" for name in parameter_names_of(lines) if name in asked]


def _where(requested: Sequence[str], lines: Sequence[HistoryLine], problems: list[str]) -> tuple[str, ...]:
    """Return the requested `name=value` that some line has."""
    known = {one for values in parameter_choices(lines).values() for one in values}
    unknown = [one[:60] for one in requested if one and one not in known]
    if unknown:
        problems.append(f"No line has {', '.join(unknown)}.")
    return tuple(one for one in dict.fromkeys(requested) if one in known)


def _matching(lines: Sequence[HistoryLine], where: Sequence[str]) -> list[HistoryLine]:
    wanted: dict[str, set[str]] = {}
    for one in where:
        wanted.setdefault(one.partition("=")[0], set()).add(one)
    return [line for line in lines if all(words_of(line) & values for values in wanted.values())]


def _parameter(requested: str | None, lines: Sequence[HistoryLine], problems: list[str]) -> str | None:
    """Return the parameter to colour or group by, if there is one of that name."""
    if not requested:
        return None
    known = parameter_names_of(lines)
    if requested in known:
        return requested
    listed = ", ".join(known) or "none"
    problems.append(f"No parameter {requested[:60]} tells these lines apart; there are {listed}.")
    return None


def _hash(requested: str | None) -> str | None:
    return None if requested is None or requested.lower() in {LATEST, ""} else requested.lower()
