"""Changes of many series of one machine: steps that last, suspicions of the newest commit, and what became of them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from results.judgement.changes.arrays import (
    LEAST_SCALE,
    TO_SIGMA,
    median_of,
    medians_of_known,
    packed,
    scale_of_differences,
)
from results.judgement.changes.evidence import (
    LEAST_CHANGE,
    MOST_AFTER,
    SAME_LEVEL,
    correlation,
    is_undone,
    settled_steps,
    step_at,
)
from results.judgement.changes.newest import BASELINE, is_suspect
from results.judgement.changes.segments import boundaries, last_changes, with_nearer_level
from results.judgement.findings import FindingState

if TYPE_CHECKING:
    from collections.abc import Sequence

    from results.judgement.changes.arrays import Booleans, Floats, Integers
    from results.judgement.changes.evidence import Step

NEAR = 2  # values; a boundary found so far from another is the same


@dataclass(frozen=True, kw_only=True)
class Change:
    """Change of one series. Columns are those of the matrix; last_good and first_bad are measured ones.

    jump: difference of levels, a logarithm; interval: of it, 95 %, None where values are exact. p: chance of such
    ranks, None for a suspicion. confirmed_at: column at whose value the step was first found; ended_at: of the value
    from which on it is taken back. n_before: how often the series made the same step before. is_return: whether it only
    takes earlier changes back, and not for the worse: no finding of its own.
    """

    row: int
    last_good: int
    first_bad: int
    jump: float
    interval: tuple[float, float] | None
    p: float | None
    state: FindingState
    confirmed_at: int | None = None
    ended_at: int | None = None
    n_before: int = 0
    is_return: bool = False

    def recovered(self, column: int) -> Change:
        """Return the change as taken back at the value of `column`."""
        return replace(self, state=FindingState.RECOVERED, ended_at=column)

    def placed(self, row: int, columns: Integers) -> Change:
        """Return the change of row 0 of a matrix without gaps as one of `row` in another; columns: of its values."""
        first_found, ended = (None if at is None else int(columns[at]) for at in (self.confirmed_at, self.ended_at))
        return replace(
            self,
            row=row,
            last_good=int(columns[self.last_good]),
            first_bad=int(columns[self.first_bad]),
            confirmed_at=first_found,
            ended_at=ended,
        )


@dataclass(frozen=True, kw_only=True)
class Settled:
    """What the values of one series settle. changes: of row 0, their columns are indices of the values.

    last_step: index at which the newest level begins, None where there is one level only.
    """

    changes: tuple[Change, ...] = ()
    last_step: int | None = None


def changes_in(
    x: Floats,
    *,
    worse: Integers | None = None,
    least_change: float = LEAST_CHANGE,
    settled: Sequence[Settled] | None = None,
) -> list[Change]:
    """Return the changes of each series, by row and then from the oldest.

    x: logarithms, [series, commits], NaN where not measured, with what is common to all series taken out before
    (`control`). worse: sign of a jump for the worse, 0 where that is unknown, [series]; None if it is of all.
    least_change: smallest relative change that counts. settled: of each series, if that is known already.
    """
    if not x.size:
        return []
    settled = settled_in(x, worse=worse, least_change=least_change) if settled is None else settled
    values, columns = packed(x)
    counts = np.count_nonzero(~np.isnan(values), axis=1)
    suspects = suspects_of_newest(values, counts, columns, least_change=least_change)
    found: list[Change] = []
    for row, (n, own) in enumerate(zip(counts, settled, strict=True)):
        found += [change.placed(row, columns[row]) for change in own.changes]
        if suspects[row] and (own.last_step is None or own.last_step < n - NEAR):
            found.append(suspicion_of(row, values[row, :n], columns[row]))
    return found


def settled_in(x: Floats, *, worse: Integers | None = None, least_change: float) -> list[Settled]:
    """Return what the values of each series settle; [series].

    It depends on those values alone: neither on other series nor on where values are missing. x, worse: as of
    `changes_in`.
    """
    values, _ = packed(x)
    counts = np.count_nonzero(~np.isnan(values), axis=1)
    found = [Settled()] * len(x)
    for n in np.unique(counts[counts > 0]):
        rows = np.flatnonzero(counts == n)
        same = values[rows, :n]
        for row, one, last in zip(rows, same, last_changes(standardised(same)), strict=True):
            if last[-1]:
                sign = 0 if worse is None else int(worse[row])
                found[row] = _settled_of(one, last, sign, least_change=least_change)
    return found


def _settled_of(x: Floats, last: Integers, worse: int, *, least_change: float) -> Settled:
    begins = with_nearer_level(x, boundaries(last, len(x)))
    steps = settled_steps(x, begins, least_change=least_change)
    if not steps:
        return Settled()
    changes = _settled(0, x, steps, last, np.arange(len(x)), worse, least_change=least_change)
    return Settled(changes=tuple(changes), last_step=steps[-1].at)


def suspects_of_newest(values: Floats, counts: Integers, columns: Integers, *, least_change: float) -> Booleans:
    """Tell which series' value at the newest commit is suspect; [series].

    values, columns: as `packed` returns them. counts: known values of each row.
    """
    newest = values.shape[1] - 1
    rows = np.flatnonzero(counts > BASELINE)
    rows = rows[columns[rows, counts[rows] - 1] == newest]
    found: Booleans = np.zeros(len(values), dtype=np.bool_)
    if len(rows):
        windows = counts[rows, None] - np.arange(BASELINE + 1, 0, -1)
        found[rows] = is_suspect(values[rows[:, None], windows], least_change=least_change)
    return found


def standardised(values: Floats) -> Floats:
    """Return the values about 0 in units of each row's noise; [series, values], NaN only at the right end."""
    return (values - medians_of_known(values)[:, None]) / scale_of_differences(values)[:, None]


def _settled(  # noqa: PLR0913, PLR0917 - one series, as its parts
    row: int, x: Floats, steps: list[Step], last: Integers, columns: Integers, worse: int, *, least_change: float
) -> list[Change]:
    edges = [0, *(step.at for step in steps), len(x)]
    levels = [median_of(x[a:b]) for a, b in pairwise(edges)]
    residuals = np.concatenate([x[a:b] - level for (a, b), level in zip(pairwise(edges), levels, strict=True)])
    noise, phi = max(LEAST_SCALE, TO_SIGMA * median_of(np.abs(residuals))), float(correlation(residuals))
    found: list[Change] = []  # one of each step: levels[i] lies before found[i]
    for i, step in enumerate(steps):
        before, level = levels[i : i + 2]
        taken_back = _first_taken_back(found, levels, level)
        is_same = taken_back is not None and abs(level - levels[taken_back]) <= SAME_LEVEL * abs(found[taken_back].jump)
        if taken_back is not None:
            # Whatever began on top of what is taken back is over, too.
            for k in range(taken_back, len(found)):
                found[k] = found[k].recovered(int(columns[step.at])) if _is_open(found[k]) else found[k]
        n_old, n_new = (_independent(n, phi) for n in (step.at - edges[i], edges[i + 2] - step.at))
        half = 1.96 * 1.2533 * noise * math.sqrt(1 / n_old + 1 / n_new)
        near = SAME_LEVEL * abs(step.jump)
        found.append(
            Change(
                row=row,
                last_good=int(columns[step.at - 1]),
                first_bad=int(columns[step.at]),
                jump=step.jump,
                interval=(step.jump - half, step.jump + half),
                p=step.p,
                state=FindingState.CONFIRMED,
                confirmed_at=int(
                    columns[_first_found(x, step, last, residuals[: step.before], least_change=least_change)]
                ),
                n_before=sum(abs(a - before) <= near and abs(b - level) <= near for a, b in pairwise(levels[: i + 1])),
                is_return=is_same and step.jump * worse <= 0,
            )
        )
    return found


def _is_open(change: Change) -> bool:
    return change.ended_at is None and not change.is_return


def _first_taken_back(found: list[Change], levels: list[float], level: float) -> int | None:
    """Return the index of the oldest open change of which `level` leaves nothing, or None."""
    return next(
        (k for k, change in enumerate(found) if _is_open(change) and is_undone(change.jump, level - levels[k])), None
    )


def _first_found(x: Floats, step: Step, last: Integers, earlier: Floats, *, least_change: float) -> int:
    """Return the index of the value at which the step was first found, as it stood then; earlier: as of `step_at`."""
    for end in range(step.at + 2, min(step.at + MOST_AFTER, len(x)) + 1):
        near = [at for at in boundaries(last, end) if abs(at - step.at) <= NEAR]
        if not near:
            continue
        if step_at(x[:end], near[-1], before=step.before, least_change=least_change, earlier=earlier):
            return end - 1
    return min(step.at + MOST_AFTER, len(x)) - 1


def suspicion_of(row: int, x: Floats, columns: Integers) -> Change:
    """Return the suspicion of a series' last value; x: its known values, columns: those of its values."""
    old = x[-BASELINE - 1 : -1]
    jump = float(x[-1] - median_of(old))
    noise = max(LEAST_SCALE, TO_SIGMA * median_of(np.abs(old - median_of(old))))
    half = 1.96 * noise * math.sqrt(1 + 1.2533**2 / len(old))
    return Change(
        row=row,
        last_good=int(columns[len(x) - 2]),
        first_bad=int(columns[len(x) - 1]),
        jump=jump,
        interval=(jump - half, jump + half),
        p=None,
        state=FindingState.SUSPECTED,
    )


def _independent(n: int, phi: float) -> float:
    """Return how many independent values n neighbours are worth."""
    return max(1.0, n * (1 - phi) / (1 + phi))
