"""How much of the change between the ends a trial has: 0 as the good end, 1 as the bad one; pure."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import fmean, variance
from typing import TYPE_CHECKING

import numpy as np

from results.files.records import State
from results.judgement.bisection.search import Answer
from results.judgement.bisection.target import Key, Kind, Target, key_of
from results.judgement.comparison.differences import differences_of
from results.judgement.comparison.moderation import LEAST_SD, USUAL, quantile_of_t
from results.judgement.comparison.slow_rounds import with_slow_rounds
from results.judgement.sides import pairs_of, sides_of, with_controls

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from results.rows import SeriesValueRow

ERROR = 0.01
"""Most trials that may answer wrongly, over all looks at each."""
HALF = 0.5
_SHOWN = 0.95
_LEAST_ROUNDS = 2


@dataclass(frozen=True, kw_only=True)
class Share:
    """What a trial says. answer: SKIPPED if it tells nothing, or nothing yet, and `why` then.

    change, interval: of the followed series together, in the units of their `change`, at 95 %; None where nothing was
    measured. n_rounds: undisturbed ones.
    """

    answer: Answer
    why: str
    change: float | None = None
    interval: tuple[float, float] | None = None
    n_rounds: int = 0
    may_become_certain: bool = False


def share_of(
    target: Target, base: Sequence[SeriesValueRow], head: Sequence[SeriesValueRow], *, n_looks: int = 1
) -> Share:
    """Return what one comparison, the rows of its two runs, says of the target; `base` is held to be good.

    n_looks: how often such a question is asked at most before it is given up; ERROR is divided among them.
    """
    match target.kind:
        case Kind.STATE:
            return _of_states(target, base, head)
        case Kind.COUNT:
            return _of_counts(target, base, head)
        case Kind.TIME:
            return _of_times(target, base, head, n_looks=n_looks)


def _of_states(target: Target, base: Sequence[SeriesValueRow], head: Sequence[SeriesValueRow]) -> Share:
    before, after = ({key_of(row): row for row in rows} for rows in (base, head))
    keys = [one.key for one in target.series if one.key in before]
    if not keys:
        return _nothing("the commit that it is held against did not measure the points")
    was_ok = [before[key].state == State.OK for key in keys]
    is_ok = [key in after and after[key].state == State.OK for key in keys]
    share = fmean(one != other for one, other in zip(was_ok, is_ok, strict=True))
    failed = next((after[key] for key, ok in zip(keys, is_ok, strict=True) if not ok and key in after), None)
    words = "ok" if failed is None else f"{failed.state}: {failed.reason or 'no reason given'}"
    return _certain(share, share, words)


def _of_counts(target: Target, base: Sequence[SeriesValueRow], head: Sequence[SeriesValueRow]) -> Share:
    before, after = ({key_of(row): row.value for row in rows if row.value is not None} for rows in (base, head))
    known = [one for one in target.series if one.key in before and one.key in after]
    if len(known) < len(target.series):
        return _nothing(_absence(target, head))
    changes = [after[one.key] - before[one.key] for one in known]
    share = fmean(change / one.change for change, one in zip(changes, known, strict=True))
    return _certain(share, fmean(changes), "exact")


def _of_times(target: Target, base: Sequence[SeriesValueRow], head: Sequence[SeriesValueRow], *, n_looks: int) -> Share:
    weights = {one.key: abs(one.change) for one in target.series}
    rounds = _weighted_rounds(target, base, head, weights)
    if rounds is None:
        return _nothing(_absence(target, head))
    n = len(rounds)
    if n < _LEAST_ROUNDS:
        return Share(answer=Answer.SKIPPED, why="disturbed", n_rounds=n, may_become_certain=True)
    mean = fmean(rounds)
    # Rounds are few, and those of a lucky hour agree too well: shrunk towards what is usual.
    dof = n - 1 + USUAL.dof
    own = max(variance(rounds), LEAST_SD**2)
    se = math.sqrt(((n - 1) * own + USUAL.dof * USUAL.sd**2) / dof / n)
    shown, decides = (_half_width(se, dof, level) for level in ((1 + _SHOWN) / 2, 1 - ERROR / n_looks))
    middle = HALF * target.change
    beyond = math.copysign(1.0, target.change) * (mean - middle)
    interval = (mean - shown, mean + shown)
    if abs(beyond) <= decides:
        words = "not certain"
        return Share(
            answer=Answer.SKIPPED, why=words, change=mean, interval=interval, n_rounds=n, may_become_certain=True
        )
    answer = Answer.BAD if beyond > 0 else Answer.GOOD
    return Share(answer=answer, why="", change=mean, interval=interval, n_rounds=n)


def _weighted_rounds(
    target: Target, base: Sequence[SeriesValueRow], head: Sequence[SeriesValueRow], weights: Mapping[Key, float]
) -> list[float] | None:
    """Return the change by round, the mean over the followed series; None if one of them has no time."""
    before, after = (sides_of(row for row in rows if row.metric == target.metric) for rows in (base, head))
    both = [(side, after[series_id]) for series_id, side in before.items() if series_id in after]
    pairs = pairs_of([(one, other) for one, other in both if one.is_ok and other.is_ok])
    keys = {series_id: key_of(side.row) for series_id, side in after.items()}
    pairs = with_slow_rounds(with_controls(pairs, {series_id: side.row for series_id, side in after.items()}))
    differences, _ = differences_of(pairs, is_paired=True)
    followed = [
        (weights[key], difference.rounds)
        for pair, difference in zip(pairs, differences, strict=True)
        if isinstance(pair.name, int) and (key := keys[pair.name]) in weights
    ]
    if len(followed) < len(weights):
        return None
    numbers = sorted({number for _, rounds in followed for number in rounds})
    means = []
    for number in numbers:
        known = [(weight, rounds[number]) for weight, rounds in followed if number in rounds]
        total = sum(weight for weight, _ in known)
        means.append(sum(weight * value for weight, value in known) / total)
    return means


def _half_width(se: float, dof: float, level: float) -> float:
    return float(quantile_of_t(np.array([dof]), level)[0]) * se


def _certain(share: float, change: float, why: str) -> Share:
    answer = Answer.BAD if share >= HALF else Answer.GOOD
    return Share(answer=answer, why=why, change=change, interval=(change, change), n_rounds=1)


def _nothing(why: str) -> Share:
    return Share(answer=Answer.SKIPPED, why=why)


def _absence(target: Target, head: Sequence[SeriesValueRow]) -> str:
    """Return why a followed series has no value, in words."""
    # A point that fails tells so by its latency alone.
    points = {(one.key[0], one.key[2]) for one in target.series}
    for row in head:
        key = key_of(row)
        if (key[0], key[2]) in points and row.state != State.OK:
            return f"{row.state}: {row.reason or 'no reason given'}"
    return f"it has no {target.metric} of {target.benchmark}"
