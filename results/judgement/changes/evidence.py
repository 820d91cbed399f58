"""Evidence for a step between two levels of one series: size, rank and onset; pure."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from results.judgement.changes.arrays import LEAST_SCALE, TO_SIGMA, median_of, medians_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from results.judgement.changes.arrays import Booleans, Floats

LEAST_CHANGE = 0.03  # relative
LEAST_BEFORE = 5  # values
MOST_BEFORE, MOST_AFTER = 150, 25  # values that are compared
SAME_LEVEL = 1 / 3  # of a jump: a level so near to the one before it is that level again
LARGEST_P, LARGEST_P_BRIEF = 1e-3, 5e-5
LARGEST_P_SHEER, LEAST_SHEER = 5e-2, 3  # of a jump of SHEER scales, of whose new level so many values are known
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
    """Return what the values of one level leave about its median; [..., values]."""
    found: Floats = x - medians_of(x)[..., None]
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
    scales = near / max(LEAST_SCALE, float(_spread(old, new)))
    is_brief = end is not None and end < len(x) and len(new) < SETTLED
    is_sheer = scales >= SHEER and len(new) >= LEAST_SHEER
    largest_p = LARGEST_P_BRIEF if is_brief else LARGEST_P_SHEER if is_sheer else LARGEST_P
    if (
        scales < 1 + _scarcity(old, old[:0] if earlier is None else earlier)
        or (p := float(_p_of_rank(sign * old, sign * new))) > largest_p
        or (
            near < OWN_JUMPS * _own_jumps(x[before:at], x[at:], after=min(len(new), AFTER))
            and (levelled is None or not _is_far(near, levelled))
        )
    ):
        return None
    return Step(at=at, before=before, jump=jump, p=p)


def are_steps(x: Floats, at: int) -> Booleans:
    """Tell of each row whether `step_at` finds a step of any size at `at`, by the values of that row alone; [series].

    x: [series, values], without gaps, at most MOST_BEFORE before `at`, and at most MOST_AFTER from there on.
    """
    old, new = x[:, :at], x[:, at:]
    jump = medians_of(new) - medians_of(old)
    sign = np.copysign(1.0, jump)
    near = sign * (medians_of(new[:, :AFTER]) - medians_of(old[:, -BEFORE:]))
    scales = near / np.maximum(LEAST_SCALE, _spread(old, new))
    largest_p = np.where((scales >= SHEER) & (new.shape[1] >= LEAST_SHEER), LARGEST_P_SHEER, LARGEST_P)
    found: Booleans = (
        (near >= ONSET * np.abs(jump))
        & (scales >= 1 + _scarcity(old, old[:, :0]))
        & (_p_of_rank(sign[:, None] * old, sign[:, None] * new) <= largest_p)
        & (near >= OWN_JUMPS * _own_jumps(old, new, after=min(new.shape[1], AFTER)))
    )
    return found


def _scarcity(old: Floats, earlier: Floats) -> Floats:
    """Return by how many of their scales a jump must be larger as there are only so many old and earlier values.

    Values that resemble their neighbours are worth n(1 − phi)/(1 + phi) independent ones. A few values do not show
    phi: what chance may hide of it, USUAL_PHI, counts like PSEUDO_VALUES. old, earlier: [..., values].
    """
    r = np.concatenate([earlier, about_level(old)], axis=-1)[..., -MOST_BEFORE:]
    n = r.shape[-1]
    phi = np.clip((n * _likeness(r) + PSEUDO_VALUES * USUAL_PHI) / (n + PSEUDO_VALUES), 0.0, 0.95)
    independent = n * (1 - phi) / (1 + phi)
    found: Floats = np.minimum(MOST_SCARCITY, (SCARCITY / independent) ** 2)
    return found


def _spread(old: Floats, new: Floats) -> Floats:
    """Return the scale of values about the medians of their levels, or that of their differences if it is larger."""
    residuals = np.concatenate([about_level(old), about_level(new)], axis=-1)
    steps = np.concatenate([np.diff(old), np.diff(new)], axis=-1)
    found: Floats = TO_SIGMA * np.maximum(medians_of(np.abs(residuals)), medians_of(np.abs(steps)) / math.sqrt(2))
    return found


def correlation(residuals: Floats) -> Floats:
    """Return the lag-1 correlation of residuals about a level, clipped to [0, 0.95] and shrunk for few values.

    residuals: [..., values].
    """
    n = residuals.shape[-1]
    if n < 3:
        return np.zeros(residuals.shape[:-1])
    bound = 3 * (TO_SIGMA * medians_of(np.abs(residuals))[..., None])
    bound = np.where(bound > 0, bound, np.inf)
    phi = _likeness(np.clip(residuals, -bound, bound))
    found: Floats = np.clip(phi * n / (n + PSEUDO_VALUES), 0.0, 0.95)
    return found


def _likeness(r: Floats) -> Floats:
    """Return the share of the squares of [..., values] that products of neighbours make up; 0 where all are 0."""
    total = np.vecdot(r, r)
    found: Floats = np.vecdot(r[..., 1:], r[..., :-1]) / np.where(total > 0, total, 1.0)
    return found


def _is_far(jump: float, levelled: Floats) -> bool:
    """Return whether a jump is so much larger than what is left about all levels that those are no wandering."""
    spread = TO_SIGMA * median_of(np.abs(levelled))
    most = WANDERING if jump >= SHEER * spread else WHITE
    return jump >= FAR * spread and float(correlation(levelled)) < most


def _own_jumps(old: Floats, later: Floats, *, after: int) -> Floats:
    """Return how far a series that wanders moves between BEFORE neighbours and the next `after`; 0 if it does not.

    Wandering (drift, slow waves, values that resemble their neighbours) shows in the correlation of neighbours.
    old, later: [..., values].
    """
    residuals = np.concatenate([about_level(old), about_level(later)], axis=-1)
    wanders = np.clip((correlation(residuals) - WHITE) / (WANDERING - WHITE), 0.0, 1.0)
    found: Floats = np.zeros(wanders.shape)
    some = wanders > 0
    if not some.any():
        return found
    moves = np.concatenate([_moves(old[some], after), _moves(later[some], after)], axis=-1)
    n = moves.shape[-1]
    if n >= LEAST_BEFORE:
        found[some] = wanders[some] * np.quantile(moves, 0.9, axis=-1) / 1.645 * (1 + MOVES / n)
    return found


def _moves(x: Floats, after: int) -> Floats:
    if x.shape[-1] < BEFORE + after:
        return x[..., :0]
    ahead = medians_of(sliding_window_view(x, BEFORE, axis=-1))
    behind = medians_of(sliding_window_view(x[..., BEFORE:], after, axis=-1))
    found: Floats = np.abs(behind - ahead[..., : behind.shape[-1]])
    return found


def _p_of_rank(old: Floats, new: Floats) -> Floats:
    """Return the chance that SHARE_BEYOND of the new values lie as far up among the old as these do.

    A union bound over which of the new ones: C(k, m) pᵐ, where p is the share of old values at or above the m-th
    largest of k new ones, itself counted among them. phi, the correlation of neighbours, leaves
    1 + (m − 1)(1 − phi)/(1 + phi) independent values of m. old, new: [..., values].
    """
    k = new.shape[-1]
    m = math.ceil(SHARE_BEYOND * k)
    weakest = np.sort(new, axis=-1)[..., k - m]
    p = (np.count_nonzero(old >= weakest[..., None], axis=-1) + 1) / (old.shape[-1] + 1)
    phi = correlation(about_level(old))
    independent = 1 + (m - 1) * (1 - phi) / (1 + phi)
    found: Floats = np.minimum(1.0, math.comb(k, m) ** (independent / m) * p**independent)
    return found
