"""Difference of each series between two commits, the machine's part taken out by control series. Pure."""

from __future__ import annotations

import math
from statistics import fmean
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from results.judgement.comparison.processes import Controls, Pair, Process, controls_of, counted

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    from numpy.typing import NDArray

    from results.judgement.comparison.processes import ProcessKey

_LEAST_DOF_OF_SLOPE = 10
_NO_ROUNDS: Mapping[int, float] = MappingProxyType({})


class Difference(NamedTuple):
    """Log ratio of head over base of one series, as its processes show it.

    variance: of one observation, a process or a round of two, with `dof` degrees of freedom; factor: the variance of
    `log_ratio` over it. within: variance of `log_ratio` by samples alone, where no process was repeated. n_base,
    n_head: processes that count. is_disturbed: whether a side has none that was undisturbed. rounds: where processes
    are paired, the log ratio by round, from 0, of those of which neither half was disturbed.
    """

    log_ratio: float
    variance: float
    dof: int
    factor: float
    within: float
    n_base: int
    n_head: int
    is_disturbed: bool
    rounds: Mapping[int, float] = _NO_ROUNDS


class _Sides(NamedTuple):
    """Processes of one series that count, and the numbers of their rounds, if they were measured in such."""

    base: Sequence[Process]
    head: Sequence[Process]
    is_disturbed: bool
    numbers: Sequence[int] = ()


def differences_of(pairs: Sequence[Pair], *, is_paired: bool) -> tuple[list[Difference], dict[Hashable, Controls]]:
    """Return the difference of each pair, every one with processes on both sides, and the controls by testbed.

    is_paired: the n-th processes of base and head were measured in one round, one after the other.
    """
    of_testbed: dict[Hashable, list[Pair]] = {}
    for pair in pairs:
        of_testbed.setdefault(pair.testbed, []).append(pair)
    controls = {testbed: controls_of(each) for testbed, each in of_testbed.items()}
    of_surface: dict[tuple[Hashable, Hashable], list[Pair]] = {}
    for pair in pairs:
        if controls[pair.testbed].deviations:
            of_surface.setdefault((pair.testbed, pair.surface), []).append(pair)
    slopes = {key: _slope(each, controls[key[0]], is_paired=is_paired) for key, each in of_surface.items()}
    found = [
        _difference(pair, at, slopes[pair.testbed, pair.surface] if at.deviations else 0.0, is_paired=is_paired)
        for pair, at in zip(pairs, [controls[pair.testbed] for pair in pairs], strict=True)
    ]
    return found, controls


def _difference(pair: Pair, controls: Controls, slope: float, *, is_paired: bool) -> Difference:
    if len(pair.base) == len(pair.head) == 1:  # as of most series, and told in a fifth of the time
        return _of_one_process_each(pair, controls, slope, is_paired=is_paired)
    sides = _sides(pair, is_paired=is_paired)
    before, after = (_logs(side, pair, controls, slope) for side in (sides.base, sides.head))
    n_base, n_head = len(before), len(after)
    if is_paired:
        ratios = [later - earlier for earlier, later in zip(before, after, strict=True)]
        variance, dof, factor = _variance(ratios), n_base - 1, 1 / n_base
        rounds = _NO_ROUNDS if sides.is_disturbed else dict(zip(sides.numbers, ratios, strict=True))
    else:
        dof = n_base + n_head - 2
        sums = (n_base - 1) * _variance(before) + (n_head - 1) * _variance(after)
        variance, factor = sums / dof if dof else 0.0, 1 / n_base + 1 / n_head
        rounds = _NO_ROUNDS
    return Difference(
        log_ratio=_mean(after) - _mean(before),
        variance=variance,
        dof=dof,
        factor=factor,
        within=0.0 if dof else sides.base[0].within_sd ** 2 + sides.head[0].within_sd ** 2,
        n_base=n_base,
        n_head=n_head,
        is_disturbed=sides.is_disturbed,
        rounds=rounds,
    )


def _of_one_process_each(pair: Pair, controls: Controls, slope: float, *, is_paired: bool) -> Difference:
    [before], [after] = pair.base, pair.head
    log_before, log_after = before.log, after.log
    if controls.deviations:
        log_before -= _of_machine(before, pair, controls, slope)
        log_after -= _of_machine(after, pair, controls, slope)
    within = before.within_sd**2 + after.within_sd**2
    is_disturbed = before.is_disturbed or after.is_disturbed
    log_ratio = log_after - log_before
    rounds = {0: log_ratio} if is_paired and not is_disturbed else _NO_ROUNDS
    return Difference(log_ratio, 0.0, 0, 1.0 if is_paired else 2.0, within, 1, 1, is_disturbed, rounds)


def _sides(pair: Pair, *, is_paired: bool) -> _Sides:
    """Return the processes that count: of rounds those of which neither half was disturbed, else all of them."""
    if not is_paired:
        base, head = counted(pair.base), counted(pair.head)
        return _Sides(base, head, is_disturbed=base[0].is_disturbed or head[0].is_disturbed)  # then all of them are
    rounds = list(enumerate(zip(pair.base, pair.head, strict=False)))
    calm = [(number, each) for number, each in rounds if not any(one.is_disturbed for one in each)]
    chosen = calm or rounds
    return _Sides(
        base=[base for _, (base, _) in chosen],
        head=[head for _, (_, head) in chosen],
        is_disturbed=not calm,
        numbers=[number for number, _ in chosen],
    )


def _logs(side: Sequence[Process], pair: Pair, controls: Controls, slope: float) -> list[float]:
    """Return the logarithms of the processes of one side, the machine's part taken out."""
    if not controls.deviations:
        return [one.log for one in side]
    return [one.log - _of_machine(one, pair, controls, slope) for one in side]


def _of_machine(one: Process, pair: Pair, controls: Controls, slope: float) -> float:
    """Return the part of a log value that the control series explain."""
    level = controls.levels.get(one.key, 0.0)
    deviation = controls.deviations.get(pair.control, {}).get(one.key)
    if controls.levels and one.key not in controls.levels and deviation is not None:
        # A round of a few shapes: the machine's level is known by the own shape's control alone.
        return deviation
    return level if deviation is None else level + slope * (deviation - level)


def _slope(pairs: Sequence[Pair], controls: Controls, *, is_paired: bool) -> float:
    """Return how much of its control's deviation a series of the surface shares, between 0 and 1.

    By least squares on what is left of both within a commit, or of rounds, so that no change between commits takes
    part. Where too few processes were repeated to tell: 0 if the machine's level is known, else 1.
    """
    own: list[NDArray[np.float64]] = []
    theirs: list[NDArray[np.float64]] = []
    dof = 0
    for pair in pairs:
        deviations = controls.deviations.get(pair.control, {})
        if not deviations:
            continue
        for values, control in _repeated(pair, controls, deviations, is_paired=is_paired):
            own.append(values - values.mean())
            theirs.append(control - control.mean())
            dof += len(values) - 1
    if dof < _LEAST_DOF_OF_SLOPE:
        return 0.0 if controls.levels else 1.0
    x, y = np.concatenate(theirs), np.concatenate(own)
    square = float(x @ x)
    return min(1.0, max(0.0, float(x @ y) / square)) if square else 0.0


def _repeated(
    pair: Pair, controls: Controls, deviations: Mapping[ProcessKey, float], *, is_paired: bool
) -> list[tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """Return what was repeated of a series and of its control, the machine's level taken out of both."""

    def parts(side: Sequence[Process]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        levels = np.array([controls.levels.get(one.key, 0.0) for one in side])
        return (
            np.array([one.log for one in side]) - levels,
            np.array([deviations[one.key] for one in side]) - levels,
        )

    sides = _sides(pair, is_paired=is_paired)
    if is_paired:
        rounds = [
            (one, other)
            for one, other in zip(sides.base, sides.head, strict=True)
            if one.key in deviations and other.key in deviations
        ]
        if not rounds:
            return []
        before, after = (parts([each[i] for each in rounds]) for i in (0, 1))
        return [(after[0] - before[0], after[1] - before[1])]
    known = [[one for one in side if one.key in deviations] for side in (sides.base, sides.head)]
    return [parts(side) for side in known if side]


def _mean(values: Sequence[float]) -> float:
    """Return the mean; most series have but one value, which is its own."""
    return values[0] if len(values) == 1 else fmean(values)


def _variance(values: Sequence[float]) -> float:
    """Return the sample variance; most series have but one or a few values, which an array would take longer for."""
    if len(values) < 2:
        return 0.0
    mean = fmean(values)
    return math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1)
