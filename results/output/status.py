"""Freshness, failures and known changes of each machine → text, JSON; pure."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from results.metrics import SWEEP_METRICS
from results.output.known_changes import known_changes_as_text
from results.output.plain_values import document_as_json, plain_fields
from results.output.terminal import UNLIMITED, Style
from results.output.text_tables import MANY, Block, Cell, Column, render_blocks
from results.units import ABSENT, counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from results.judgement.stopped import Stopped
    from results.output.terminal import Terminal
    from results.rows import FailureRow, FreshnessRow, KnownChange, UnjudgedPlace

Place = tuple[str, str, str]  # project, machine and environment


@dataclass(frozen=True, kw_only=True)
class PlaceStatus:
    """Standing of a project on a machine and environment: freshness by benchmark, the longest not run first.

    missing: benchmarks of the project that were never run there, but on another machine or environment.
    n_unjudged: series of a place with values in which nobody has looked for changes, 0 where somebody has.
    """

    project: str
    machine: str
    environment: str
    freshness: tuple[FreshnessRow, ...]
    failures: tuple[FailureRow, ...]
    known_changes: tuple[KnownChange, ...]
    missing: tuple[str, ...]
    n_unjudged: int

    @property
    def newest(self) -> FreshnessRow:
        """Benchmark that was run last."""
        return self.freshness[-1]


def statuses_from(
    freshness: Sequence[FreshnessRow],
    failures: Sequence[FailureRow],
    known_changes: Sequence[KnownChange],
    unjudged: Sequence[UnjudgedPlace] = (),
) -> list[PlaceStatus]:
    """Group the rows by project, machine and environment, in the order of `freshness`."""
    known_names: dict[str, set[str]] = {}
    for row in freshness:
        known_names.setdefault(row.project, set()).add(row.benchmark)
    n_unjudged = {one.place: one.n_series for one in unjudged}
    by_place = {place: tuple(group) for place, group in groupby(freshness, key=_place)}
    return [
        PlaceStatus(
            project=place[0],
            machine=place[1],
            environment=place[2],
            freshness=rows,
            failures=tuple(row for row in failures if _place(row) == place),
            known_changes=tuple(row for row in known_changes if _place(row) == place),
            missing=tuple(sorted(known_names[place[0]] - {row.benchmark for row in rows})),
            n_unjudged=n_unjudged.get(place, 0),
        )
        for place, rows in by_place.items()
    ]


def status_as_text(
    statuses: Sequence[PlaceStatus],
    terminal: Terminal = UNLIMITED,
    *,
    limit: int | None = MANY,
    stopped: Sequence[Stopped] = (),
) -> str:
    """Render a section for each place: newest run, what is stale, what fails and what is known; `limit` of each.

    stopped: the benchmarks of any place whose data stopped coming, told before the rest.
    """
    return "\n\n".join(
        _section(status, terminal, limit, [one for one in stopped if _place(one.row) == _place(status)])
        for status in statuses
    )


def status_as_json(statuses: Sequence[PlaceStatus], stopped: Sequence[Stopped] = ()) -> str:
    """Return a JSON list with an object for each place and everything the rows have."""
    return document_as_json(
        [
            _fields(status)
            | {
                "stopped": [
                    {"benchmark": one.row.benchmark, "age_days": one.age_days, "n_commits_behind": one.n_commits_behind}
                    for one in stopped
                    if _place(one.row) == _place(status)
                ]
            }
            for status in statuses
        ]
    )


def _place(row: FreshnessRow | FailureRow | KnownChange | PlaceStatus) -> Place:
    return (row.project, row.machine, row.environment)


def _section(status: PlaceStatus, terminal: Terminal, limit: int | None, stopped: Sequence[Stopped]) -> str:
    parts = [
        "\n".join(
            [
                terminal.paragraph(f"{status.project} on {status.machine}, {status.environment}", Style.HEADING),
                terminal.paragraph(_newest_in_words(status)),
            ]
        ),
        _stopped_in_words(stopped, terminal, limit),
        _table(status, terminal, limit),
        _missing_in_words(status.missing, terminal, limit),
        _failures_in_words(status.failures, terminal, limit),
        known_changes_as_text(status.known_changes, terminal, limit=limit),
        _unjudged_in_words(status.n_unjudged, terminal),
    ]
    return "\n\n".join(part for part in parts if part)


def _newest_in_words(status: PlaceStatus) -> str:
    newest = status.newest
    at_newest = [row for row in status.freshness if row.commit == newest.commit]
    n_points = sum((row.n_points or 0) - (row.n_stale_points or 0) for row in at_newest)
    subject = f" ({newest.commit_subject})" if newest.commit_subject else ""
    benchmarks = f"{len(at_newest)} of {counted(len(status.freshness), 'benchmark')}"
    points = f", {counted(n_points, 'point')}" if n_points else ""
    run = f"commit {newest.commit[:8]}{subject}, measured {_moment(newest.measured_at)}"
    return f"Newest run: {run}: {benchmarks}{points}"


COLUMNS = (
    Column(name="benchmark", stack=1),
    Column(name="commit"),
    Column(name="measured", drop=1),
    Column(name="behind", is_right=True),
    Column(name="points"),
)


def _table(status: PlaceStatus, terminal: Terminal, limit: int | None) -> str:
    """Render all benchmarks, or of more than `limit` those that are stale."""
    freshness, newest = status.freshness, status.newest.commit
    is_long = limit is not None and len(freshness) > limit
    stale = [row for row in freshness if not is_long or row.commit != newest or row.n_stale_points]
    shown = stale[:limit]
    rows = [
        (
            Cell(row.benchmark),
            Cell(row.commit[:8]),
            Cell(_moment(row.measured_at)),
            Cell(str(row.n_commits_behind), Style.DOUBTFUL if row.n_commits_behind else Style.PLAIN),
            Cell(_points(row), Style.DOUBTFUL if row.n_stale_points else Style.PLAIN),
        )
        for row in shown
    ]
    parts = [render_blocks(COLUMNS, [Block(title="", rows=rows)], terminal)] if rows else []
    if more := len(stale) - len(shown):
        parts.append(f"… and {counted(more, 'benchmark')} more at older commits (--all)")
    if current := len(freshness) - len(stale):
        parts.append(f"{counted(current, 'benchmark')} measured at {newest[:8]}")
    return "\n".join(parts)


def _points(row: FreshnessRow) -> str:
    if row.n_points is None:
        return ABSENT
    if not row.n_stale_points:
        return str(row.n_points)
    return f"{row.n_points - row.n_stale_points} of {row.n_points}"


def _missing_in_words(names: Sequence[str], terminal: Terminal, limit: int | None) -> str:
    if not names:
        return ""
    listed = ", ".join(names[:limit]) + (", …" if len(names) > len(names[:limit]) else "")
    return terminal.paragraph(f"Never run here ({len(names)}): {listed}", Style.DOUBTFUL)


def _stopped_in_words(stopped: Sequence[Stopped], terminal: Terminal, limit: int | None) -> str:
    if not stopped:
        return ""
    lines = [terminal.paragraph(f"Data stopped coming ({len(stopped):,}):", Style.BAD)]
    lines += [terminal.paragraph(one.in_words, indent="  ") for one in stopped[:limit]]
    if limit is not None and len(stopped) > limit:
        lines.append(f"  … and {len(stopped) - limit:,} more (--all)")
    return "\n".join(lines)


def _failures_in_words(failures: Sequence[FailureRow], terminal: Terminal, limit: int | None) -> str:
    if not failures:
        return "Nothing fails."
    groups = Counter((row.benchmark, row.state, row.since, _before(row), row.reason) for row in failures)
    verb = "fails" if len(failures) == 1 else "fail"
    lines = [terminal.paragraph(f"{len(failures):,} series {verb}:", Style.BAD)]
    for (benchmark, state, since, before, reason), n_series in groups.most_common(limit):
        because = f": {reason.splitlines()[0]}" if reason else ""
        line = f"{benchmark}: {n_series} {state} since {since[:8]}, {before}{because}"
        lines.append(terminal.paragraph(line, indent="  "))
    if limit is not None and len(groups) > limit:
        lines.append(f"  … and {len(groups) - limit} more kinds of failure (--all)")
    return "\n".join(lines)


def _unjudged_in_words(n_series: int, terminal: Terminal) -> str:
    if not n_series:
        return ""
    return terminal.paragraph(
        f"Nobody has looked for changes in the newest values of {n_series:,} series: `fusebench changes` does, and "
        "keeps what it finds for all who ask later.",
        Style.DOUBTFUL,
    )


def _moment(at: datetime | None) -> str:
    return ABSENT if at is None else f"{at:%Y-%m-%d %H:%M}"


def _fields(status: PlaceStatus) -> dict[str, object]:
    place = ("project", "machine", "environment")
    newest = status.newest

    def rows(found: Iterable[FreshnessRow] | Iterable[FailureRow] | Iterable[KnownChange]) -> list[dict[str, object]]:
        return [
            {name: value for name, value in _named_parameters(plain_fields(asdict(row))).items() if name not in place}
            for row in found
        ]

    return {
        **{name: getattr(status, name) for name in place},
        "newest": {"commit": newest.commit, "measured_at": plain_fields(asdict(newest))["measured_at"]},
        "benchmarks": rows(status.freshness),
        "failures": rows(status.failures),
        "known_changes": rows(status.known_changes),
        "missing": list(status.missing),
        "n_unjudged_series": status.n_unjudged,
    }


def _named_parameters(fields: dict[str, object]) -> dict[str, object]:
    found = fields.get("parameters")
    if isinstance(found, list | tuple):
        return {**fields, "parameters": dict(found)}
    return fields


def _before(row: FailureRow) -> str:
    """Write until when a failing series had a value."""
    if row.last_ok is not None:
        return f"ok until {row.last_ok[:8]}"
    if row.last_ok_otherwise is None:
        return "never ok"
    by = f"ruler {row.version}" if row.metric in SWEEP_METRICS else f"version {row.version[:12]}"
    return f"never ok by {by}, ok until {row.last_ok_otherwise[:8]} by another"
