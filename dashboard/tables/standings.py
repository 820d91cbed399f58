"""What fails or was left behind at older commits: rows summed up by their cause, and the lists of them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

import dash_mantine_components as dmc
from dash import html

from dashboard.widgets import contender_label
from results.rows import contender_of
from results.units import counted

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from dash.development.base_component import Component

    from results.rows import FailureRow, FreshnessRow


@dataclass(frozen=True, kw_only=True)
class Failing:
    """Series of a benchmark that fail for the same reason. since: the first commit of the newest of these failures.

    n: points of a sweep, or series. contender: None of other suites. was_ok: whether any of them ever had a value.
    """

    project: str
    benchmark: str
    contender: str | None
    machine: str
    state: str
    reason: str
    n: int
    since: str
    since_date: datetime | None
    was_ok: bool


@dataclass(frozen=True, kw_only=True)
class FreshnessSummary:
    """How far the benchmarks of a project on a machine are measured.

    measured_at: of the newest run, None where unknown. n_behind: benchmarks that were last run at an older commit than
    the newest stored one. n_points, n_stale: sweep points, and those measured last at an older commit than others.
    """

    project: str
    machine: str
    measured_at: datetime | None
    n_benchmarks: int
    n_behind: int
    most_behind: int
    n_points: int
    n_stale: int


def failing_from(rows: Sequence[FailureRow]) -> tuple[Failing, ...]:
    """Group failures by project, machine, benchmark, provider, state and reason: what once worked first, then most."""

    def cause(row: FailureRow) -> tuple[str, ...]:
        place = (row.project, row.machine)
        return (*place, row.benchmark, contender_of(row.parameters) or "", row.state, row.reason or "")

    groups = [list(group) for _, group in groupby(sorted(rows, key=cause), key=cause)]
    failing = [_failing(group) for group in groups]
    return tuple(sorted(failing, key=lambda one: (not one.was_ok, one.state == "unavailable", -one.n)))


def summaries_of(rows: Sequence[FreshnessRow]) -> tuple[FreshnessSummary, ...]:
    """Sum the freshness of benchmarks up by project and machine."""

    def place(row: FreshnessRow) -> tuple[str, str]:
        return (row.project, row.machine)

    return tuple(_summary(list(group)) for _, group in groupby(sorted(rows, key=place), key=place))


def failing_list(failing: Sequence[Failing], *, most: int, names_project: bool = False) -> Component:
    """Build a line for each of the first `most` causes of failure, with the number of the others.

    names_project: where they may be of several.
    """
    n_machines = len({one.machine for one in failing})
    lines = [_line(one, names_machine=n_machines > 1, names_project=names_project) for one in failing[:most]]
    if len(failing) > most:
        lines.append(html.Li(f"… and {len(failing) - most} more: fusebench status lists all", className="dimmed"))
    return html.Ul(lines, className="absences")


def failing_in_words(failing: Sequence[Failing]) -> str:
    """Write how many series fail, and how many of them worked before."""
    if not failing:
        return "Every series has a value in its newest run."
    n, n_broken = sum(one.n for one in failing), sum(one.n for one in failing if one.was_ok)
    broken = f"; {n_broken:,} of them worked before" if n_broken else "; none of them ever worked here"
    return f"{n:,} without a value in their newest run{broken}."


def freshness_in_words(summary: FreshnessSummary) -> str:
    """Write when it was measured last, and what was left behind at older commits."""
    at = "at an unknown time" if summary.measured_at is None else f"on {summary.measured_at:%Y-%m-%d %H:%M} UTC"
    parts = [f"Measured last {at}"]
    if summary.n_behind:
        behind = counted(summary.most_behind, "commit")
        of = f"{summary.n_behind} of {counted(summary.n_benchmarks, 'benchmark')}"
        parts.append(f"{of} up to {behind} behind the newest")
    else:
        parts.append(f"{counted(summary.n_benchmarks, 'benchmark')} at the newest commit")
    if summary.n_stale:
        parts.append(f"{summary.n_stale:,} of {counted(summary.n_points, 'point')} at an older commit than the others")
    return f"{' · '.join(parts)}."


def _line(one: Failing, *, names_machine: bool, names_project: bool) -> Component:
    badge = dmc.Badge(one.state.replace("_", " "), size="sm", variant="light", color="red" if one.was_ok else "gray")
    day = "" if one.since_date is None else f"{one.since_date:%Y-%m-%d} "
    at = f" on {one.machine}" if names_machine or names_project else ""
    at += f" ({one.project})" if names_project else ""
    where = f"{counted(one.n, 'point' if one.contender else 'parameter set')}{at}, since {day}{one.since[:10]}"
    name = [contender_label(one.contender)] if one.contender else []
    return html.Li(
        [html.Span(one.benchmark), *name, badge, html.Span(where, className="dimmed"), html.Span(one.reason)]
    )


def _failing(rows: Sequence[FailureRow]) -> Failing:
    newest = max(rows, key=lambda row: (row.since_date is not None, row.since_date, row.since))
    row = rows[0]
    return Failing(
        project=row.project,
        benchmark=row.benchmark,
        contender=contender_of(row.parameters),
        machine=row.machine,
        state=row.state,
        reason=row.reason or "no reason given",
        n=len(rows),
        since=newest.since,
        since_date=newest.since_date,
        was_ok=any(row.was_ok for row in rows),
    )


def _summary(rows: Sequence[FreshnessRow]) -> FreshnessSummary:
    row = rows[0]
    return FreshnessSummary(
        project=row.project,
        machine=row.machine,
        measured_at=max((each.measured_at for each in rows if each.measured_at is not None), default=None),
        n_benchmarks=len({each.benchmark for each in rows}),
        n_behind=sum(each.n_commits_behind > 0 for each in rows),
        most_behind=max(each.n_commits_behind for each in rows),
        n_points=sum(each.n_points or 0 for each in rows),
        n_stale=sum(each.n_stale_points or 0 for each in rows),
    )
