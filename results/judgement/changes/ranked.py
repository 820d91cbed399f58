"""Findings of a place in the order in which they deserve a person's time, each with its course; pure."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from results.judgement.changes.control import by_commit
from results.judgement.changes.from_histories import LEAST_VALUES
from results.judgement.findings import FindingState
from results.metrics import SWEEP_METRICS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from results.judgement.changes.arrays import Floats
    from results.judgement.changes.from_histories import PlaceChanges
    from results.judgement.findings import Finding
    from results.rows import HistoryRun, HistoryTable, SeriesRow

__all__ = ["LEAST_VALUES", "RankedFinding", "ranked_findings", "uid_of", "weight_of"]

MOST_SIZE = math.log(100)  # a larger factor is no worse: nobody overlooks it
OF_SUSPICION = 0.5  # how certain a single measurement is
OF_NO_INTERVAL = 0.5  # how certain a change without known noise is
UID_LENGTH = 16


@dataclass(frozen=True, kw_only=True)
class RankedFinding:
    """Finding with its weight, its name, and the course of its worst point.

    uid: the same as long as surface, direction and first bad commit are. series: the worst point's; None of a finding
    about everything. commits: measured ones with a value, oldest first; course: the value at each, in the series' unit.
    last_good, first_bad: the commits of the range, with date and subject; None where unknown.
    """

    finding: Finding
    weight: float
    uid: str
    series: SeriesRow | None
    commits: tuple[str, ...]
    course: tuple[float, ...]
    last_good: HistoryRun | None
    first_bad: HistoryRun | None


def ranked_findings(place: PlaceChanges, table: HistoryTable) -> tuple[RankedFinding, ...]:
    """Return the findings of a place by descending weight; `table`: what they were found in."""
    runs: dict[str, HistoryRun] = {}
    for run in table.runs:
        runs.setdefault(run.commit, run)
    index = {commit: i for i, commit in enumerate(runs)}
    commit_of_run = np.array([index[run.commit] for run in table.runs], dtype=np.int64)
    row_of = {(one.benchmark, one.metric, one.parameters): row for row, one in enumerate(table.series)}
    rows = [row_of.get((one.benchmark, one.metric, one.points[0])) if one.points else None for one in place.findings]
    courses = by_commit(table.values[[row or 0 for row in rows]], commit_of_run) if rows else ()
    found = [
        _ranked(finding, None if row is None else table.series[row], course, runs)
        for finding, row, course in zip(place.findings, rows, courses, strict=True)
    ]
    return tuple(sorted(found, key=lambda one: -one.weight))


def weight_of(finding: Finding) -> float:
    """Return size × certainty × breadth.

    Size: the change's logarithm beyond what the metric tolerates, at most a factor of 100. Certainty: how much of it
    the interval leaves, and half for what is suspected. Breadth: the square root of the number of points, which rarely
    change each for itself.
    """
    metric = SWEEP_METRICS.get(finding.metric)
    tolerated = math.log1p(metric.tolerance) if metric else 0.0
    size = MOST_SIZE if not finding.ratio else min(max(abs(math.log(finding.ratio)) - tolerated, 0.0), MOST_SIZE)
    return size * _certainty(finding) * math.sqrt(max(len(finding.points), 1))


def uid_of(finding: Finding) -> str:
    """Return a name of the finding that other runs of the judgement give it, too."""
    surface = finding.surface
    parts = (
        surface.project, surface.machine, surface.environment, surface.benchmark, surface.metric,
        *(f"{one.name}={one.value!r}" for one in surface.shared), finding.turn.value, finding.first_bad,
    )  # fmt: skip
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:UID_LENGTH]


def _certainty(finding: Finding) -> float:
    factor = OF_SUSPICION if finding.state is FindingState.SUSPECTED else 1.0
    if finding.floor == 0.0:
        return factor  # counted, not timed
    if finding.interval is None or not finding.ratio or finding.ratio == 1:
        return factor * OF_NO_INTERVAL
    sign = math.copysign(1.0, math.log(finding.ratio))
    near = min(sign * math.log(end) if end > 0 else -math.inf for end in finding.interval)
    return factor * min(max(near / abs(math.log(finding.ratio)), 0.0), 1.0)


def _ranked(
    finding: Finding, series: SeriesRow | None, course: Floats, runs: Mapping[str, HistoryRun]
) -> RankedFinding:
    values = () if series is None else zip(runs, course.tolist(), strict=True)
    known = [(commit, value) for commit, value in values if math.isfinite(value)]
    return RankedFinding(
        finding=finding,
        weight=weight_of(finding),
        uid=uid_of(finding),
        series=series,
        commits=tuple(commit for commit, _ in known),
        course=tuple(value for _, value in known),
        last_good=runs.get(finding.last_good or ""),
        first_bad=runs.get(finding.first_bad),
    )
