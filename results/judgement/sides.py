"""Runs of a series at one commit as one value, and series as pairs to compare; pure."""

from __future__ import annotations

import math
from collections import Counter
from statistics import NormalDist, median
from typing import TYPE_CHECKING, NamedTuple

from results.files.disturbances import is_slowness_alone
from results.files.records import State
from results.judgement.comparison.processes import Pair, Process
from results.judgement.findings import Surface
from results.metrics import SWEEP_METRICS
from results.rows import OF_CONTENDER, ProcessValue

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from results.rows import ParameterValue, SeriesRow, SeriesValueRow

BASELINE = "eager"
OK = State.OK.value
# What tells surfaces of one operation apart; the rest of a point's parameters are its shape.
_OF_SURFACE = ("provider", "weights", "pass")
_INTERVAL_OF_SWEEPS, _INTERVAL_OF_ASV = (NormalDist().inv_cdf((1 + level) / 2) for level in (0.95, 0.99))
"""Standard errors from a value to the end of its interval: the sweep's are of 95 %, asv's of 99 %."""


class Side(NamedTuple):
    """Series at one commit. row: the newest run's, its value the median over all runs' processes that count.

    n_failed: of its `n_runs` those that were not ok. values: what the runs that were ok measured, one for each.
    told: the processes, where runs or visits tell several; none where the row itself tells its only one.
    """

    row: SeriesValueRow
    n_runs: int
    n_failed: int
    values: tuple[float, ...]
    told: tuple[ProcessValue, ...]

    @property
    def processes(self) -> tuple[ProcessValue, ...]:
        """What was measured in each process of the runs that were ok."""
        return self.told or _processes(self.row)

    @property
    def is_ok(self) -> bool:
        """Whether every run was ok: repeating a run until it is does not help."""
        return self.n_failed == 0

    @property
    def has_value(self) -> bool:
        """Whether some run was ok."""
        return self.n_failed < self.n_runs

    @property
    def is_repeated(self) -> bool:
        """Whether more than one process tells the value."""
        return len(self.told) > 1


def sides_of(rows: Iterable[SeriesValueRow]) -> dict[int, Side]:
    """Return the rows of one commit by series; those of one series are its runs, the newest last."""
    rows = list(rows)
    # Of most series there is one run.
    values = [() if row.value is None else (row.value,) for row in rows]
    found = {
        row.series_id: Side(row, 1, int(row.state != OK), of_row, row.processes)
        for row, of_row in zip(rows, values, strict=True)
    }
    if len(found) < len(rows):
        of_series: dict[int, list[SeriesValueRow]] = {}
        for row in rows:
            of_series.setdefault(row.series_id, []).append(row)
        found |= {series_id: _side(each) for series_id, each in of_series.items() if len(each) > 1}
    return found


def _side(rows: Sequence[SeriesValueRow]) -> Side:
    ok = [row for row in rows if row.state == OK and row.value is not None]
    failed = [row for row in rows if row.state != OK]
    processes = tuple([process for row in ok for process in _processes(row)])
    shown = rows[-1]
    if failed and ok:
        shown = failed[-1]._replace(reason=_how_often(failed, len(rows)))
    elif len(ok) > 1:
        calm = [one.value for one in processes if one.disturbed is None] or [one.value for one in processes]
        reasons = Counter(row.reason for row in ok)
        shown = shown._replace(value=median(calm), reason=None if None in reasons else shown.reason)
    return Side(
        row=shown,
        n_runs=len(rows),
        n_failed=len(failed),
        values=tuple([row.value for row in ok if row.value is not None]),
        told=processes,
    )


def _how_often(failed: Sequence[SeriesValueRow], n_runs: int) -> str:
    return f"{failed[-1].reason or 'no reason given'} (in {len(failed)} of {n_runs} runs)"


def _processes(row: SeriesValueRow) -> tuple[ProcessValue, ...]:
    """Return the processes of a run; the run itself where it does not tell them."""
    if row.processes or row.value is None:
        return row.processes
    return (ProcessValue(row.run_id, 0, row.value, row.ci_low, row.ci_high, row.reason),)


def pairs_of(sides: Sequence[tuple[Side, Side]]) -> list[Pair]:
    """Return base and head of each series as a pair to compare, in their order.

    Without those of which a value is not positive or endless, so that no ratio tells.
    """
    are_numbers = [not (base.told or head.told or head.row.metric in SWEEP_METRICS) for base, head in sides]
    numbers = [(base.row, head.row) for (base, head), are in zip(sides, are_numbers, strict=True) if are]
    of_numbers = iter(_pairs_of_numbers(numbers))
    pairs = [next(of_numbers) if are else _pair_of(*both) for both, are in zip(sides, are_numbers, strict=True)]
    return [pair for pair in pairs if pair is not None]


def _pairs_of_numbers(rows: Sequence[tuple[SeriesValueRow, SeriesValueRow]]) -> list[Pair | None]:
    """Return the pairs of what a suite told one number of at both commits; thousands, none of which has a control."""
    heads = [head for _, head in rows]
    before = _processes_of_numbers([base for base, _ in rows], is_head=False)
    after = _processes_of_numbers(heads, is_head=True)
    surfaces = [Surface(row.project, row.machine, row.environment, row.benchmark, row.metric) for row in heads]
    once = {surface: surface for surface in surfaces}
    testbeds = {surface: (surface.project, surface.machine, surface.environment, surface.metric) for surface in once}
    return [
        Pair(row.series_id, testbeds[surface], once[surface], (one,), (other,))
        if one is not None and other is not None
        else None
        for row, surface, one, other in zip(heads, surfaces, before, after, strict=True)
    ]


def _processes_of_numbers(rows: Sequence[SeriesValueRow], *, is_head: bool) -> list[Process | None]:
    return [
        Process(
            row.run_id,
            0,
            math.log(value),
            (high - low) / 2 / value / _INTERVAL_OF_ASV
            if low is not None and high is not None and math.isfinite(high - low)
            else 0.0,
            row.reason is not None,
            is_head,
        )
        if value is not None and 0 < value < math.inf
        else None
        for row in rows
        for value, low, high in ((row.value, row.ci_low, row.ci_high),)
    ]


def _pair_of(base: Side, head: Side) -> Pair | None:
    row = head.row
    half_width = _INTERVAL_OF_SWEEPS if row.metric in SWEEP_METRICS else _INTERVAL_OF_ASV
    testbed = (row.project, row.machine, row.environment, row.metric)
    before = _compared(base.processes, half_width, is_head=False)
    after = _compared(head.processes, half_width, is_head=True)
    if before is None or after is None:
        return None
    is_baseline = is_control(row)
    provider = dict(row.parameters).get("provider") if row.metric in SWEEP_METRICS else None
    control = None if provider is None or is_baseline else _shape(row)
    return Pair(row.series_id, testbed, surface_of(row), before, after, control, is_baseline)


def with_controls(pairs: Sequence[Pair], rows: Mapping[int, SeriesValueRow]) -> list[Pair]:
    """Return the pairs with the control's name, its series, in place of its shape; None where there is none.

    rows: of each series by its id, which is the pair's name.
    """
    names: dict[object, object] = {
        (pair.testbed, _shape(rows[_id(pair)])): pair.name for pair in pairs if pair.is_control
    }
    if not names and all(pair.control is None for pair in pairs):
        return list(pairs)
    return [
        pair if pair.control is None else pair._replace(control=names.get((pair.testbed, pair.control)))
        for pair in pairs
    ]


def controls_among(rows: Iterable[SeriesValueRow], series_ids: Iterable[int]) -> dict[int, int]:
    """Return the control series of each of these series that has one among `rows`, by its id."""
    wanted, shapes, found = set(series_ids), dict[object, int](), dict[object, list[int]]()
    for row in rows:
        if row.metric not in SWEEP_METRICS or "provider" not in dict(row.parameters):
            continue
        key = (row.project, row.machine, row.environment, row.metric, _shape(row))
        if is_control(row):
            shapes[key] = row.series_id
        elif row.series_id in wanted:
            found.setdefault(key, []).append(row.series_id)
    return {series_id: shapes[key] for key, each in found.items() if key in shapes for series_id in each}


def failing_anew(base: Iterable[SeriesValueRow], head: Iterable[SeriesValueRow]) -> tuple[SeriesValueRow, ...]:
    """Return the rows of `head` that are not ok and whose point `base` has by another ruler or version.

    base: rows of series that the head does not have, each ok. head: rows of series that the base does not have.
    """
    at_base = {(row.metric, point_of(row)) for row in base}
    return tuple([row for row in head if row.state != OK and (row.metric, point_of(row)) in at_base])


def point_of(row: SeriesValueRow) -> tuple[object, ...]:
    """Return what a row is of, whichever metric and version of its benchmark."""
    return (row.project, row.machine, row.environment, row.benchmark, row.parameters)


def is_control(row: SeriesRow | SeriesValueRow) -> bool:
    """Return whether no commit of ours can change a series: eager's."""
    if row.metric not in SWEEP_METRICS:
        return False
    parameters = dict(row.parameters)
    is_plain = parameters.get("weights", "plain") == "plain"
    return parameters.get("provider") == BASELINE and is_plain


def surface_of(row: SeriesRow | SeriesValueRow) -> Surface:
    """Return the surface that a series is a point of; points of one are judged together."""
    return Surface(row.project, row.machine, row.environment, row.benchmark, row.metric, surface_parameters(row))


def surface_parameters(row: SeriesRow | SeriesValueRow) -> tuple[ParameterValue, ...]:
    """Return the parameters that tell surfaces of one benchmark apart; none of asv's."""
    if row.metric not in SWEEP_METRICS:
        return ()
    return tuple(sorted((one for one in row.parameters if one.name in _OF_SURFACE), key=lambda one: one.name))


def _id(pair: Pair) -> int:
    assert isinstance(pair.name, int)  # noqa: S101 - pairs_of has named it
    return pair.name


def _shape(row: SeriesValueRow) -> tuple[object, ...]:
    shape = sorted(((one.name, one.value) for one in row.parameters if one.name not in OF_CONTENDER), key=repr)
    return (row.benchmark, row.version, *shape)


def _compared(processes: Sequence[ProcessValue], half_width: float, *, is_head: bool) -> tuple[Process, ...] | None:
    """Return processes as they are compared, by logarithms; None where a value has none."""
    found = []
    for run_id, visit, value, low, high, disturbed, speed in processes:
        if not 0 < value < math.inf:
            return None
        within = 0.0
        if low is not None and high is not None and math.isfinite(high - low):
            within = (high - low) / 2 / value / half_width
        known = None if disturbed is not None and not is_slowness_alone(disturbed) else speed
        found.append(Process(run_id, visit, math.log(value), within, disturbed is not None, is_head, known))
    return tuple(found)
