"""Levels of many series at once: penalised segmentation with a bounded loss, by dynamic programming; pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from results.judgement.changes.arrays import median_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from results.judgement.changes.arrays import Floats, Integers

    Singles = NDArray[np.float32]

PENALTY = 16.0  # of a change, in squared scales
BOUND = 3.7  # scales; what lies further from its level costs no more than this
MOST_LEVELS = 160
LEAST_KEPT = 5  # values of a level
AT_ONCE = 64  # series; so many fit a processor's cache


def last_changes(z: Floats) -> Integers:
    """Return, for each row's values up to each column, where the last level began; [series, commits].

    0 while there is one level only. z: values in units of their noise, [series, commits], NaN where missing. The levels
    up to column t minimise the sum of min((z − level)², BOUND²) plus PENALTY per change, over levels that are running
    medians of three. Since a change at b continues the best levels up to b − 1, `boundaries` reads them all from this.

    Source: Fearnhead and Rigaill, Changepoint Detection in the Presence of Outliers, JASA 2019 (biweight loss), with
    the minimum over a grid of levels instead of piecewise quadratic functions.
    """
    found = np.zeros(z.shape, dtype=np.int64)
    for start in range(0, len(z), AT_ONCE):
        found[start : start + AT_ONCE] = _last_changes(z[start : start + AT_ONCE].astype(np.float32))
    return found


def newest_begins(z: Floats, *, since: int) -> Integers:
    """Return where each row's newest level began, as the last column of `last_changes` says; 0 where before `since`.

    z: values in units of their noise, [series, values], without gaps.
    """
    columns: Singles = np.ascontiguousarray(z.T, dtype=np.float32)
    levels = np.ascontiguousarray(_levels(columns.T).T)
    cost, loss = np.zeros_like(levels), np.empty_like(levels)
    began = np.zeros(levels.shape, dtype=np.int32)
    for t, column in enumerate(columns):
        after_change = cost.min(axis=0) + np.float32(PENALTY)
        if t >= since:
            np.copyto(began, t, where=after_change < cost)
        np.minimum(cost, after_change, out=cost)
        cost += _bounded_loss(levels, column, out=loss)
    found: Integers = began[cost.argmin(axis=0), np.arange(len(z))].astype(np.int64)
    return found


def boundaries(last: Integers, end: int) -> list[int]:
    """Return where levels begin, but the first, in one row's first `end` values; ascending.

    last: that row of `last_changes`, [commits].
    """
    found: list[int] = []
    at = end
    while at > 0 and last[at - 1] > 0:
        at = int(last[at - 1])
        found.append(at)
    return found[::-1]


def with_nearer_level(x: Floats, begins: Sequence[int]) -> list[int]:
    """Return the boundaries, moved past values at their edge that are nearer to the level on the other side.

    A value far from both levels costs the same on either side. Each level keeps LEAST_KEPT values.

    x: values of one row without gaps, [values]. begins: as `boundaries` returns them.
    """
    found = [0, *begins, len(x)]
    for i in range(1, len(found) - 1):
        before, at, after = found[i - 1 : i + 2]
        old, new = median_of(x[before:at]), median_of(x[at:after])
        is_old = np.abs(x[before:after] - old) < np.abs(x[before:after] - new)
        if is_old[at - before]:
            while at + LEAST_KEPT < after and is_old[at - before]:
                at += 1
        else:
            while at - LEAST_KEPT > before and not is_old[at - 1 - before]:
                at -= 1
        found[i] = at
    return found[1:-1]


def _last_changes(z: Singles) -> Integers:
    n_series, n = z.shape
    levels = _levels(z)
    cost = np.zeros_like(levels)
    began = np.zeros(levels.shape, dtype=np.int32)
    found = np.zeros((n_series, n), dtype=np.int64)
    rows = np.arange(n_series)
    best, loss = np.zeros(n_series, dtype=np.float32), np.empty_like(levels)
    for t in range(n):
        changed = (best + np.float32(PENALTY))[:, None] < cost
        np.copyto(cost, (best + np.float32(PENALTY))[:, None], where=changed)
        np.copyto(began, t, where=changed)
        _bounded_loss(levels, z[:, t, None], out=loss)
        np.nan_to_num(loss, copy=False)  # what is missing costs nothing
        cost += loss
        nearest = cost.argmin(axis=1)
        best = cost[rows, nearest]
        found[:, t] = began[rows, nearest]
    return found


def _bounded_loss(levels: Singles, values: Singles, *, out: Singles) -> Singles:
    np.subtract(levels, values, out=out)
    np.square(out, out=out)
    return np.minimum(out, np.float32(BOUND**2), out=out)


def _levels(z: Singles) -> Singles:
    """Return the levels that each row may have, [series, levels]: running medians of three, at most MOST_LEVELS."""
    if z.shape[1] < 3:
        return np.nan_to_num(z)
    a, b, c = z[:, :-2], z[:, 1:-1], z[:, 2:]
    medians = np.fmax(np.fmin(a, b), np.fmin(np.fmax(a, b), c))
    medians = np.concatenate([medians, (z[:, -2:-1] + z[:, -1:]) / 2], axis=1)
    if medians.shape[1] > MOST_LEVELS:
        medians = np.sort(medians, axis=1)
        medians = medians[:, np.linspace(0, medians.shape[1] - 1, MOST_LEVELS).round().astype(np.int64)]
    return np.nan_to_num(medians)
