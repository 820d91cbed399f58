"""Histories of a place → its findings: controls taken out, changes found, what moved everything told as one; pure."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from results.judgement.changes.alarms import withdrawn_in
from results.judgement.changes.control import by_commit, common_effect
from results.judgement.changes.detection import changes_in
from results.judgement.changes.evidence import LEAST_BEFORE, LEAST_CHANGE, LEAST_SHEER
from results.judgement.changes.exact import exact_changes
from results.judgement.changes.judged import JudgedLevels
from results.judgement.changes.newest import BASELINE
from results.judgement.changes.surfaces import Member, findings_from, timeline_of
from results.judgement.comparison.relevant_changes import differs
from results.judgement.sides import is_control, surface_of
from results.judgement.thresholds import limits_of, metric_of_row
from results.metrics import Direction, Precision, Role
from results.rows import count_unordered

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from results.files.settings import Threshold
    from results.judgement.changes.arrays import Floats, Integers
    from results.judgement.changes.detection import Change
    from results.judgement.changes.surfaces import Timeline
    from results.judgement.findings import Finding
    from results.metrics import Metric
    from results.rows import HistoryTable, JudgedSeries, KnownChange, SeriesRow

NOTHING_JUDGED: Mapping[bytes, JudgedSeries] = MappingProxyType({})
WORSE = {Direction.LOWER: 1, Direction.UNKNOWN: 0, Direction.HIGHER: -1}  # sign of a jump
LEAST_VALUES = LEAST_BEFORE + LEAST_SHEER
"""Measured commits of the shortest history with a step: of fewer no rank is as rare as `evidence.LARGEST_P`."""
# What no code changes at once, in a suite without controls: many modules as wholes, or most of all.
LEAST_MODULES, SHARE_OF_MODULES, SHARE_OF_SERIES = 8, 1 / 4, 1 / 2
LEAST_MOVED = 8  # benchmarks


@dataclass(frozen=True, kw_only=True)
class PlaceChanges:
    """Findings of one place, the worst surface first, and what they were looked for in.

    n_controls: control series whose common movement was taken out of the others; 0 where there are too few.
    judged: series that were judged for it, and not before. n_beside: measured commits of other branches, left out.
    without_ratio: benchmarks of series with a value that is 0, negative or infinite, which is left out: noise is judged
    by ratios. n_failed: series that worked once and have failed since, in whatever way. n_short: noisy series with
    fewer than LEAST_VALUES measured commits, in which nothing can be found yet; n_unsuspected: others with too few for
    their newest value alone to be suspected. n_unordered: commits whose order is a guess.
    """

    project: str
    machine: str
    environment: str
    n_series: int
    n_commits: int
    n_controls: int
    findings: tuple[Finding, ...]
    judged: tuple[JudgedSeries, ...] = ()
    n_beside: int = 0
    without_ratio: tuple[str, ...] = ()
    n_failed: int = 0
    n_short: int = 0
    n_unsuspected: int = 0
    n_unordered: int = 0


def changes_of_place(  # noqa: PLR0913 - a table, and how to look at it
    table: HistoryTable,
    *,
    least_change: float = LEAST_CHANGE,
    controls: Collection[str] = (),
    known: Iterable[KnownChange] = (),
    only: Collection[int] | None = None,
    thresholds: Sequence[Threshold] = (),
    earlier: Mapping[bytes, JudgedSeries] = NOTHING_JUDGED,
    failed: Collection[int] = (),
) -> PlaceChanges:
    """Return the findings of one place.

    least_change: smallest relative change of a noisy metric that counts. controls: patterns of names of benchmarks that
    no commit can change, besides the sweep's eager. known: changes that a person acknowledged.
    only: ids of the series that are asked for; what moved everything is told all the same. None asks for all.
    thresholds: of series whose least change is another one, or whose exact metrics have a tolerance.
    earlier: judgements of series by digest, taken where they fit; the findings are the same without.
    failed: ids of series that have failed since they worked, to be counted.
    """

    def is_asked(series: SeriesRow) -> bool:
        return only is None or series.series_id in only

    metrics = {row: metric_of_row(one) for row, one in enumerate(table.series)}
    judged = {row: metric for row, metric in metrics.items() if metric.role is Role.JUDGED}
    limits = {row: limits_of(thresholds, table.series[row], least_change=least_change) for row in judged}
    judged = {row: limits[row].applied_to(metric) for row, metric in judged.items()}
    timeline = timeline_of(table, known)
    noisy = [row for row, metric in judged.items() if metric.precision is Precision.NOISY]
    leasts = {row: limits[row].least_change for row in noisy}
    members, n_controls, levels = _noisy(table, timeline, leasts, judged, controls, least_change, earlier)
    for row, metric in judged.items():
        if metric.precision is Precision.EXACT:
            counts = _counts(table.values[row], timeline.commit_of_run, metric)
            for change in exact_changes(counts, row=row, metric=metric):
                members.append(Member(change=change, series=table.series[row], metric=metric, levels=None))
    asked = [member for member in members if member.everything or is_asked(member.series)]
    lengths = [int(np.count_nonzero(timeline.measured[row])) for row in noisy if is_asked(table.series[row])]
    return PlaceChanges(
        project=table.project,
        machine=table.machine,
        environment=table.environment,
        n_series=sum(is_asked(table.series[row]) for row in judged),
        n_commits=len(timeline.commits),
        n_controls=n_controls,
        findings=tuple(findings_from(asked, timeline, floors_of=levels.floors, has_controls=bool(n_controls))),
        judged=levels.made(),
        n_beside=len(table.beside),
        without_ratio=tuple(
            table.series[row].benchmark
            for row in noisy
            if is_asked(table.series[row]) and np.any((values := table.values[row]) <= 0) | np.any(np.isinf(values))
        ),
        n_failed=sum(is_asked(one) and one.series_id in failed for one in table.series),
        n_short=sum(0 < n < LEAST_VALUES for n in lengths),
        n_unsuspected=sum(LEAST_VALUES <= n <= BASELINE for n in lengths),
        n_unordered=count_unordered((one.position, one.commit_date) for one in timeline.commits),
    )


def _is_relevant(change: Change, least_change: float) -> bool:
    """Return whether a change counts for its series: they were looked for by the smallest limit of all."""
    return abs(change.jump) >= math.log1p(least_change)


def _noisy(  # noqa: PLR0913, PLR0917 - the parts of a place
    table: HistoryTable,
    timeline: Timeline,
    leasts: Mapping[int, float],
    metrics: dict[int, Metric],
    patterns: Collection[str],
    least_change: float,
    earlier: Mapping[bytes, JudgedSeries],
) -> tuple[list[Member], int, JudgedLevels]:
    """Return the changes of the noisy series, the number of controls that were used, and the judged levels.

    leasts: rows of the noisy series, and the least relevant change of each; least_change: that of a whole place.
    """
    rows, smallest = np.array(list(leasts), dtype=np.int64), min([least_change, *leasts.values()])
    x = _logarithms(table)[rows]
    controls = [
        is_control(one) or any(fnmatchcase(one.benchmark, pattern) for pattern in patterns)
        for one in (table.series[row] for row in rows)
    ]
    is_of_control = np.array(controls, dtype=np.bool_)
    effect = common_effect(x[is_of_control]) if len(rows) else None
    ours = rows if effect is None else rows[~is_of_control]
    levels = by_commit(x if effect is None else x[~is_of_control] - effect, timeline.commit_of_run)
    worse = np.array([WORSE[metrics[int(row)].direction] for row in ours], dtype=np.int64)
    judged = JudgedLevels(
        levels,
        series_ids=[table.series[row].series_id for row in ours],
        worse=worse,
        least_change=smallest,
        earlier=earlier,
    )
    found = changes_in(levels, worse=worse, least_change=smallest, settled=judged.settled)
    withdrawn = withdrawn_in(levels, found, least_change=smallest)

    def members_of(changes: Iterable[Change]) -> list[Member]:
        rows_of = [(replace(change, row=int(ours[change.row])), levels[change.row]) for change in changes]
        return [
            Member(change=change, series=table.series[change.row], metric=metrics[change.row], levels=own)
            for change, own in rows_of
            if _is_relevant(change, leasts[change.row])
        ]

    members = members_of(found)
    if effect is None:
        members = _with_global(members, table, levels, ours)
        return [*(one for one in members if not one.change.is_return), *members_of(withdrawn)], 0, judged
    n_controls = int(np.count_nonzero(is_of_control))
    control = rows[is_of_control][0]
    of_machine = by_commit(effect[None], timeline.commit_of_run)
    why = f"{n_controls} control series moved together: the machine or torch changed, not the code"
    everything = [
        Member(
            change=replace(change, row=int(control)),
            series=table.series[control],
            metric=metrics[int(control)],
            levels=of_machine[0],
            everything=why,
        )
        for change in changes_in(of_machine, least_change=least_change)
    ]
    found_here = [one for one in (*everything, *members) if not one.change.is_return]
    return [*found_here, *members_of(withdrawn)], n_controls, judged


def _counts(values: Floats, commit_of_run: Integers, metric: Metric) -> Floats:
    """Return the value of an exact metric at each commit, [commits]; NaN where its runs there tell different ones.

    values: one series, [runs].
    """
    found: Floats = by_commit(values[None], commit_of_run)[0]
    for column in np.flatnonzero(np.bincount(commit_of_run) > 1):
        known = values[commit_of_run == column]
        known = known[~np.isnan(known)]
        if len(known) > 1 and differs(metric, float(known.min()), float(known.max())):
            found[column] = np.nan
    return found


def _logarithms(table: HistoryTable) -> Floats:
    """Return the logarithms of all values, [series, runs]; NaN where a value is no positive number.

    A disturbed value is left out where its commit has one that is not.
    """
    found: Floats = np.full(table.values.shape, np.nan)
    np.log(table.values, out=found, where=(table.values > 0) & np.isfinite(table.values))
    columns: dict[str, list[int]] = {}
    for column, run in enumerate(table.runs):
        columns.setdefault(run.commit, []).append(column)
    for of_commit in columns.values() if table.disturbed.any() else ():
        values, is_disturbed = found[:, of_commit], table.disturbed[:, of_commit]
        has_clean = np.any(~is_disturbed & ~np.isnan(values), axis=1, keepdims=True)
        found[:, of_commit] = np.where(is_disturbed & has_clean, np.nan, values)
    return found


def _with_global(members: list[Member], table: HistoryTable, levels: Floats, rows: Integers) -> list[Member]:
    """Make one change of what began at once in more of the suite than a commit changes, where there are no controls."""
    modules = [table.series[row].benchmark.partition(".")[0] for row in rows]
    surfaces = [surface_of(table.series[row]) for row in rows]
    found: list[Member] = []
    for column, n_changed in Counter(member.change.first_bad for member in members).items():
        of_column = [member for member in members if member.change.first_bad == column]
        changed = {member.series.benchmark.partition(".")[0] for member in of_column}
        measured = np.flatnonzero(~np.isnan(levels[:, column]))
        n_modules = len({modules[row] for row in measured})
        # One benchmark of many parameters is not everything, nor are some benchmarks of each of some modules.
        moved = {surface_of(member.series) for member in of_column}
        is_wide = n_modules >= LEAST_MODULES and len(changed) >= SHARE_OF_MODULES * n_modules
        if is_wide:
            beside = {surfaces[row] for row in measured if modules[row] in changed}
            is_wide = len(moved) >= max(LEAST_MOVED, SHARE_OF_SERIES * len(beside))
        is_most = len(measured) >= LEAST_MODULES and n_changed > SHARE_OF_SERIES * len(measured)
        if is_most:
            is_most = len(moved) > max(1, SHARE_OF_SERIES * len({surfaces[row] for row in measured}))
        if not is_wide and not is_most:
            found += of_column
            continue
        # What goes back to where all was before is told once, with the change that it takes back.
        ordered = sorted(of_column, key=lambda member: (member.change.is_return, member.change.jump))
        n_new = sum(not member.change.is_return for member in of_column)
        middle = ordered[n_new // 2]
        n_up = sum(member.change.jump > 0 for member in of_column)
        why = (
            f"{n_up:,} series up and {n_changed - n_up:,} down at once, of {len(measured):,}, in {len(changed)} of "
            f"{n_modules} modules: rather the machine or its software than a commit; "
            "measure the commit before again"
        )
        found.append(replace(middle, everything=why))
    return found
