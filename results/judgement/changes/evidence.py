"""Evidence for a step between two levels of one series: size, rank and onset; pure."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from results.judgement.changes.arrays import LEAST_SCALE, TO_SIGMA, median_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from results.judgement.changes.arrays import Floats

LEAST_CHANGE = 0.03  # relative
LEAST_BEFORE = 5  # values
MOST_BEFORE, MOST_AFTER = 150, 25  # values that are compared
SAME_LEVEL = 1 / 3  # of a jump: a level so near to the one before it is that level again
LARGEST_P, LARGEST_P_BRIEF = 1e-3, 5e-5
LARGEST_P_SHEER, LEAST_SHEER = 1e-2, 3  # of a jump of SHEER scales, of whose new level so many values are known
SETTLED = 5  # values, from which on the first of the two holds
SHARE_BEYOND = 0.7  # of the new values, which must be beyond most old ones; the others may be outliers
ONSET = 0.6  # of the whole jump, which the few values around it must show: a slope is no step
BEFORE, AFTER = 8, 6  # values around the boundary
OWN_JUMPS = 4.6  # times what a wandering series does around any boundary
FAR = 4.0  # scales about all levels; what wanders has no levels so clear
SHEER = 16.0  # scales, at which chance resemblance of neighbours makes no wandering either
WHITE, WANDERING = 0.15, 0.35  # correlations of neighbours, between which that counts in part
SCARCITY = 28  # values; the fewer old ones there are, the larger a jump must be in their scale
MOST_SCARCITY = 15.0  # scales, by which it must be larger at most: a larger jump is none of noise, however few they are
USUAL_PHI = 0.4  # correlation of neighbours that few values do not show
MOVES = 12  # moves of a wandering series that are as few as to double how far it may go by itself
PSEUDO_VALUES = 8  # that a correlation of neighbours is shrunk by


@dataclass(frozen=True, kw_only=True)
class Step:
    """Step of a series. at: index of the first value of the new level; before: of the first of the old one.

    jump: difference of the levels' medians, a logarithm. p: probability of new values so far out by chance.
    """

    at: int
    before: int
    jump: float
    p: float


def settled_steps(x: Floats, candidates: Sequence[int], *, least_change: float = LEAST_CHANGE) -> list[Step]:
    """Return those of the candidate boundaries that are steps, judged from the oldest to the newest.

    x: the series' values, logarithms without gaps, [values]. candidates: indices at which a level may begin, ascending.
    The old level reaches back to the last step that was found, the new one to the next candidate.
    """
    found: list[Step] = []
    ends = [*candidates[1:], len(x)]
    levelled = _about_levels(x, candidates)
    before, earlier = 0, x[:0]
    for at, end in zip(candidates, ends, strict=True):
        step = step_at(x, at, before=before, end=end, least_change=least_change, levelled=levelled, earlier=earlier)
        if step is None and found:
            step = _return_from(x[:end], found[-1], at)
        if step is not None:
            found.append(step)
            earlier = np.concatenate([earlier, about_level(x[before:at])])
            before = at
    return found


def _return_from(x: Floats, step: Step, at: int) -> Step | None:
    """Return the step back to the level before `step`, or beyond, where few values between are no evidence."""
    if at - step.at >= SCARCITY or len(x) - at < 2:
        return None
    jump = median_of(x[at:]) - median_of(x[step.at : at])
    return Step(at=at, before=step.at, jump=jump, p=step.p) if is_undone(step.jump, step.jump + jump) else None


def is_undone(jump: float, left: float) -> bool:
    """Return whether a level `left` away from the one before a jump is that level again, or lies beyond it."""
    return math.copysign(1.0, jump) * left <= SAME_LEVEL * abs(jump)


def _about_levels(x: Floats, candidates: Sequence[int]) -> Floats:
    """Return what the values leave about the medians of all candidate levels."""
    return np.concatenate([about_level(part) for part in np.split(x, candidates)])


def about_level(x: Floats) -> Floats:
    """Return what the values of one level leave about its median."""
    found: Floats = x - median_of(x)
    return found


def step_at(  # noqa: PLR0913 - a series, and where in it
    x: Floats,
    at: int,
    *,
    before: int = 0,
    end: int | None = None,
    least_change: float = LEAST_CHANGE,
    levelled: Floats | None = None,
    earlier: Floats | None = None,
) -> Step | None:
    """Return the step at index `at` from the level that began at `before` to the one that lasts until `end`, or None.

    SIZE: the medians differ by least_change. ONSET: the values next to the boundary show most of the jump. SCARCITY:
    few old values do not say how far the series goes by itself. RANK: so many new values are beyond so many old ones
    that chance explains it with LARGEST_P at most; neighbours that resemble each other count as fewer; few values have
    few ranks, so less is asked of a jump that noise does not make. OWN_JUMPS: a series that wanders jumps further here
    than it does elsewhere. levelled: `x` about the candidate levels of it all; where little is left of it, other steps
    are no wandering. earlier: what the values before `before` leave about the levels that were found there, which say
    as well how far the series goes by itself.
    """
    old, new = x[before:at][-MOST_BEFORE:], x[at:end][:MOST_AFTER]
    if len(old) < LEAST_BEFORE or len(new) < 2:
        return None
    jump = median_of(new) - median_of(old)
    sign = math.copysign(1.0, jump)
    near = sign * (median_of(new[:AFTER]) - median_of(old[-BEFORE:]))
    if abs(jump) < math.log1p(least_change) or near < ONSET * abs(jump):
        return None
    scales = near / max(LEAST_SCALE, _spread(old, new))
    is_brief = end is not None and end < len(x) and len(new) < SETTLED
    is_sheer = scales >= SHEER and len(new) >= LEAST_SHEER
    largest_p = LARGEST_P_BRIEF if is_brief else LARGEST_P_SHEER if is_sheer else LARGEST_P
    if (
        scales < 1 + _scarcity(old, old[:0] if earlier is None else earlier)
        or (p := _p_of_rank(sign * old, sign * new)) > largest_p
        or (
            near < OWN_JUMPS * _own_jumps(x[before:at], x[at:], after=min(len(new), AFTER))
            and (levelled is None or not _is_far(near, levelled))
        )
    ):
        return None
    return Step(at=at, before=before, jump=jump, p=p)


def _scarcity(old: Floats, earlier: Floats) -> float:
    """Return by how many of their scales a jump must be larger as there are only so many old and earlier values.

    Values that resemble their neighbours are worth n(1 − phi)/(1 + phi) independent ones. A few values do not show
    phi: what chance may hide of it, USUAL_PHI, counts like PSEUDO_VALUES.
    """
    r = np.concatenate([earlier, about_level(old)])[-MOST_BEFORE:]
    n = len(r)
    total = float(r @ r)
    phi = float(r[1:] @ r[:-1]) / total if total > 0 else 0.0
    phi = min(0.95, max(0.0, (n * phi + PSEUDO_VALUES * USUAL_PHI) / (n + PSEUDO_VALUES)))
    independent = n * (1 - phi) / (1 + phi)
    return min(MOST_SCARCITY, (SCARCITY / independent) ** 2)


def _spread(old: Floats, new: Floats) -> float:
    """Return the scale of values about the medians of their levels, or that of their differences if it is larger."""
    residuals = np.abs(np.concatenate([old - median_of(old), new - median_of(new)]))
    steps = np.abs(np.concatenate([np.diff(old), np.diff(new)]))
    return TO_SIGMA * max(median_of(residuals), median_of(steps) / math.sqrt(2))


def correlation(residuals: Floats) -> float:
    """Return the lag-1 correlation of residuals about a level, clipped to [0, 0.95] and shrunk for few values."""
    spread = median_of(np.abs(residuals)) * TO_SIGMA
    r = np.clip(residuals, -3 * spread, 3 * spread) if spread > 0 else residuals
    total = float(r @ r)
    if len(r) < 3 or total == 0:
        return 0.0
    phi = float(r[1:] @ r[:-1]) / total
    return float(np.clip(phi * len(r) / (len(r) + PSEUDO_VALUES), 0.0, 0.95))


def _is_far(jump: float, levelled: Floats) -> bool:
    """Return whether a jump is so much larger than what is left about all levels that those are no wandering."""
    spread = TO_SIGMA * median_of(np.abs(levelled))
    return jump >= FAR * spread and correlation(levelled) < (WANDERING if jump >= SHEER * spread else WHITE)


def _own_jumps(old: Floats, later: Floats, *, after: int) -> float:
    """Return how far a series that wanders moves between BEFORE neighbours and the next `after`; 0 if it does not.

    Wandering (drift, slow waves, values that resemble their neighbours) shows in the correlation of neighbours.
    """
    residuals = np.concatenate([old - median_of(old), later - median_of(later)])
    wanders = np.clip((correlation(residuals) - WHITE) / (WANDERING - WHITE), 0.0, 1.0)
    if wanders == 0:
        return 0.0
    moves = np.concatenate([_moves(old, after), _moves(later, after)])
    if len(moves) < LEAST_BEFORE:
        return 0.0
    return float(wanders * np.quantile(moves, 0.9) / 1.645) * (1 + MOVES / len(moves))


def _moves(x: Floats, after: int) -> Floats:
    if len(x) < BEFORE + after:
        return np.empty(0)
    ahead = np.median(sliding_window_view(x, BEFORE), axis=1)
    behind = np.median(sliding_window_view(x[BEFORE:], after), axis=1)
    found: Floats = np.abs(behind - ahead[: len(behind)])
    return found


def _p_of_rank(old: Floats, new: Floats) -> float:
    """Return the chance that SHARE_BEYOND of the new values lie as far up among the old as these do.

    A union bound over which of the new ones: C(k, m) pᵐ, where p is the share of old values at or above the m-th
    largest of k new ones, itself counted among them. phi, the correlation of neighbours, leaves
    1 + (m − 1)(1 − phi)/(1 + phi) independent values of m.
    """
    k = len(new)
    m = math.ceil(SHARE_BEYOND * k)
    weakest = np.partition(new, k - m)[k - m]
    p = (float(np.count_nonzero(old >= weakest)) + 1) / (len(old) + 1)
    phi = correlation(old - median_of(old))
    independent = 1 + (m - 1) * (1 - phi) / (1 + phi)
    return float(min(1.0, math.comb(k, m) ** (independent / m) * p**independent))
