"""Changes of single series → findings of surfaces: grouped by commit, with range, floor, class and what followed."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from results.judgement.findings import EVERYTHING, Finding, FindingClass, FindingState, Surface, Turn
from results.judgement.sides import surface_of
from results.metrics import SWEEP_METRICS, Direction
from results.units import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from results.judgement.changes.arrays import Booleans, Floats, Integers
    from results.judgement.changes.detection import Change
    from results.metrics import Metric
    from results.rows import HistoryRun, HistoryTable, KnownChange, SeriesRow


LEAST_OF_FLOOR = 1 / 2  # of the noise floor: less is not told, however long it has lasted
OFTEN = 2  # times that a series made the same step before: it goes between two levels, and no commit does that
MOST_JUMP = 700.0  # of a logarithm; what stands for "no number", such as the largest float, has a larger one
SAME_COMMIT = 1  # columns; boundaries so near to each other are one finding


@dataclass(frozen=True, kw_only=True, eq=False)
class Member:
    """Change of one series on its way into a finding; metric: its own.

    change: its row is the series' in the table. levels: the series' values, logarithms, [commits]; None where they are
    exact. everything: why it is a finding about all series of the place; empty if it is one about this series.
    """

    change: Change
    series: SeriesRow
    metric: Metric
    levels: Floats | None
    everything: str = ""


@dataclass(frozen=True, kw_only=True, eq=False)
class Timeline:
    """Commits of a place, oldest first, and which series were measured at them.

    commits: the first run of each. commit_of_run: [runs]. measured: [series, commits]. rows: series of each surface.
    known: reason of each acknowledged change, by series and commit. beside: places in the history of measured commits
    of other branches. ended: last commit of each row that another ruler or version goes on from.
    """

    commits: tuple[HistoryRun, ...]
    commit_of_run: Integers
    measured: Booleans
    rows: Mapping[Surface, list[int]]
    known: Mapping[tuple[int, str], str]
    beside: tuple[int | None, ...]
    ended: Mapping[int, int]


def timeline_of(table: HistoryTable, known: Iterable[KnownChange]) -> Timeline:
    """Return the timeline of a table."""
    hashes = [run.commit for run in table.runs]
    starts = [i for i, commit in enumerate(hashes) if i == 0 or commit != hashes[i - 1]]
    rows: dict[Surface, list[int]] = {}
    for row, series in enumerate(table.series):
        rows.setdefault(surface_of(series), []).append(row)
    ends = [*starts[1:], len(hashes)]
    is_known = ~np.isnan(table.values)
    measured = (
        np.stack([is_known[:, a:b].any(axis=1) for a, b in zip(starts, ends, strict=True)], axis=1)
        if starts
        else is_known
    )
    return Timeline(
        commits=tuple(table.runs[start] for start in starts),
        commit_of_run=np.repeat(np.arange(len(starts)), np.diff([*starts, len(hashes)])),
        measured=measured,
        rows=rows,
        known={(change.series_id, change.commit): change.reason for change in known},
        beside=table.beside,
        ended=_ended(table.series, measured),
    )


def _ended(series: Sequence[SeriesRow], measured: Booleans) -> dict[int, int]:
    """Return the last commit of each series at whose point another version of its benchmark was measured later."""
    of_point: dict[object, list[int]] = {}
    for row, one in enumerate(series):
        of_point.setdefault((one.benchmark, one.metric, one.parameters), []).append(row)
    ended: dict[int, int] = {}
    for rows in of_point.values():
        if len(rows) < 2:
            continue
        last = {row: int(np.flatnonzero(measured[row])[-1]) for row in rows if measured[row].any()}
        newest = max(last, key=lambda row: last[row], default=None)
        if newest is not None:
            version = series[newest].version
            ended |= {row: at for row, at in last.items() if at < last[newest] and series[row].version != version}
    return ended


def findings_from(
    members: Sequence[Member], timeline: Timeline, *, floors_of: Callable[[Floats], Floats], has_controls: bool
) -> list[Finding]:
    """Return one finding for each surface and commit, the worst first: many points, then a large change.

    floors_of: noise floor of each series from its levels. has_controls: whether the machine's part was taken out, so
    that what is left is the code's.
    """
    groups = list(_grouped(members))
    floors = floors_of(
        np.stack([group[0].levels if group[0].levels is not None else _no_levels(timeline) for group in groups])
        if groups
        else np.empty((0, 0))
    )
    found = [
        _finding(group, timeline, floor=None if math.isnan(floor) else float(floor), has_controls=has_controls)
        for group, floor in zip(groups, floors, strict=True)
        if math.isnan(floor) or abs(group[0].change.jump) >= LEAST_OF_FLOOR * math.log1p(floor)
    ]
    return sorted(found, key=lambda one: -len(one.points) * abs(math.log(one.ratio or math.e)))


def _no_levels(timeline: Timeline) -> Floats:
    return np.full(len(timeline.commits), np.nan)


def _grouped(members: Iterable[Member]) -> Iterable[list[Member]]:
    """Yield each finding's members, the largest change first: one surface, direction and state, nearly one commit."""
    by_kind: dict[object, list[Member]] = {}
    for member in members:
        change = member.change
        kind = (surface_of(member.series), bool(member.everything), change.jump > 0, change.state)
        by_kind.setdefault(kind, []).append(member)
    for found in by_kind.values():
        found.sort(key=lambda member: member.change.first_bad)
        group: list[Member] = []
        for member in found:
            if group and member.change.first_bad > group[0].change.first_bad + SAME_COMMIT:
                yield _largest_first(group)
                group = []
            group.append(member)
        yield _largest_first(group)


def _largest_first(group: list[Member]) -> list[Member]:
    return sorted(group, key=lambda member: -abs(member.change.jump))


def _finding(group: Sequence[Member], timeline: Timeline, *, floor: float | None, has_controls: bool) -> Finding:
    worst = group[0]
    change, surface = worst.change, surface_of(worst.series)
    first_bad = Counter(member.change.first_bad for member in group).most_common(1)[0][0]
    last_good = max(member.change.last_good for member in group if member.change.first_bad == first_bad)
    state, reason = _acknowledged(group, timeline)
    is_exact = worst.levels is None and not worst.everything
    return Finding(
        surface=surface._replace(benchmark=EVERYTHING, metric=EVERYTHING, shared=()) if worst.everything else surface,
        points=() if worst.everything else tuple(member.series.parameters for member in group),
        n_points=len(timeline.measured)
        if worst.everything
        else _n_measured(timeline, surface, {member.change.first_bad for member in group}),
        last_good=timeline.commits[last_good].commit,
        first_bad=timeline.commits[first_bad].commit,
        n_unmeasured=_n_between(timeline, last_good, first_bad, n_measured=_n_crept(worst, timeline)),
        ratio=_ratio(change.jump) if math.isfinite(change.jump) else None,
        interval=None if change.interval is None else (_ratio(change.interval[0]), _ratio(change.interval[1])),
        floor=0.0 if is_exact else floor,
        turn=_turn(worst),
        state=state,
        class_=_class(group, has_controls=has_controls or is_exact),
        why=worst.everything or reason or _why(group, timeline, is_exact=is_exact),
    )


def _n_measured(timeline: Timeline, surface: Surface, columns: Collection[int]) -> int:
    """Return how many points of a surface were measured at some of the commits: points may take turns."""
    return int(np.count_nonzero(timeline.measured[np.ix_(timeline.rows[surface], sorted(columns))].any(axis=1)))


def _ratio(jump: float) -> float:
    return math.exp(min(max(jump, -MOST_JUMP), MOST_JUMP))


def _acknowledged(group: Sequence[Member], timeline: Timeline) -> tuple[FindingState, str]:
    """Return the state of a finding, and why it is acknowledged if it is.

    It is if each point is, with its value at a commit of its own range or at the first bad one of another point: one
    finding is acknowledged at one commit. A point that was not measured there goes with the others.
    """
    begins = [member.change.first_bad for member in group]
    known: list[dict[int, str]] = []  # of each point: reason by column
    for member in group:
        columns = {*range(member.change.last_good + 1, member.change.first_bad + 1), *begins}
        keys = {column: (member.series.series_id, timeline.commits[column].commit) for column in columns}
        # Where it is gone or fails, that is known, and no value that it comes back with.
        has_value = timeline.measured[member.change.row]
        known.append(
            {
                column: timeline.known[key]
                for column, key in sorted(keys.items())
                if key in timeline.known and has_value[column]
            }
        )
    at = sorted({column for of_point in known for column in of_point})
    is_whole = all(
        of_point or not timeline.measured[member.change.row, at].any()
        for member, of_point in zip(group, known, strict=True)
    )
    reason = next((next(iter(of_point.values())) for of_point in known if of_point), "")
    return (FindingState.ACKNOWLEDGED, reason) if at and is_whole else (group[0].change.state, "")


def _n_between(timeline: Timeline, last_good: int, first_bad: int, *, n_measured: int) -> int | None:
    first, last = (timeline.commits[column].position for column in (last_good, first_bad))
    if first is None or last is None:
        return None
    n_beside = sum(at in range(first + 1, last) for at in timeline.beside)
    return max(0, last - first - 1 - n_measured - n_beside)


def _n_crept(member: Member, timeline: Timeline) -> int:
    """Return how many measured values lie within the range of a change; none, unless what is exact has crept."""
    change = member.change
    if member.levels is not None or member.everything:
        return 0
    return int(np.count_nonzero(timeline.measured[change.row, change.last_good + 1 : change.first_bad]))


def _turn(member: Member) -> Turn:
    if member.everything or member.metric.direction is Direction.UNKNOWN:
        return Turn.CHANGED
    return Turn.SLOWER if (member.change.jump > 0) is (member.metric.direction is Direction.LOWER) else Turn.FASTER


def _class(group: Sequence[Member], *, has_controls: bool) -> FindingClass | None:
    if group[0].everything:
        return FindingClass.MACHINE
    if all(member.change.n_before >= OFTEN or member.change.state is FindingState.WITHDRAWN for member in group):
        return FindingClass.NOISE
    if group[0].change.state is FindingState.SUSPECTED:
        return None
    return FindingClass.CODE if has_controls else None


def _why(group: Sequence[Member], timeline: Timeline, *, is_exact: bool) -> str:
    change = group[0].change
    parts = []
    if change.state is FindingState.SUSPECTED:
        parts.append("one measurement beyond all of the 60 before it: measure this commit again")
    elif is_exact:
        parts.append("counted, not timed")
        if n_crept := _n_crept(group[0], timeline):
            parts.append(f"within its tolerance from commit to commit, {counted(n_crept, 'measured one')} between")
    elif change.confirmed_at is not None:
        n_after = change.confirmed_at - change.first_bad
        parts.append(f"certain {counted(n_after, 'measured commit')} later")
    if change.state is FindingState.WITHDRAWN and change.ended_at is not None:
        return f"one measurement far out; {timeline.commits[change.ended_at].commit[:8]} did not bear it out"
    if change.ended_at is not None:
        parts.append(f"taken back at {timeline.commits[change.ended_at].commit[:8]}")
    if change.n_before:
        parts.append("a level this series had before")
    if change.state in {FindingState.CONFIRMED, FindingState.SUSPECTED} and change.row in timeline.ended:
        one, last = group[0].series, timeline.commits[timeline.ended[change.row]].commit[:8]
        by = "ruler" if one.metric in SWEEP_METRICS else "version"
        parts.append(
            f"{by} {one.version[:12]} measured it last at {last}, and another since, so nothing tells whether it is "
            "still there"
        )
    return "; ".join(parts)
