"""Limits of sampling, and what follows from them: how calls warm up, how many make a sample and its re-warming."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from statistics import median_low
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.ruler.measure.clock import Clock

ENOUGH_TO_TELL = 3
"""So many samples in a row that are too short are no noise; who has fewer has one more call timed at the end."""


@dataclass(frozen=True, kw_only=True)
class Policy:
    """Sampling limits: precision, budget and sample length.

    min_sample_s: a sample groups as many calls as last this long, so that the clock's grain does not matter. short:
    where they last less than such a part of it, all are thrown away, and calls counted anew.
    warming_s, warming_calls: untimed calls before each sample last as long or are as many, whichever is less. Where
    these are fewer than least_warming_calls, up to so many may last twice as long; there is one in any case.
    half_width: the 95 % half-width of the median, as a part of it, that is precise enough, not before the group was
    sampled for least_s.
    budget_s: time of a point's samples and re-warming after which it is what it is; from min_rounds on what the clock
    does besides, uncounted, is part of it. max_samples: the same as a number, so that a record stays readable.
    min_rounds: never fewer, if the budget allows. chunk_s: how often one looks whether others disturbed the machine; a
    disturbed chunk is measured again while repeats last at most as long as the budget itself. disturbed_share: more of
    the time kept makes a point disturbed, unless at least half of it is calm and its median no other.
    """

    min_sample_s: float = 1e-3
    short: float = 0.7
    warming_s: float = 4e-3
    warming_calls: int = 80
    least_warming_calls: int = 4
    half_width: float = 0.01
    least_s: float = 0.0
    budget_s: float = 0.5
    min_rounds: int = 12
    max_samples: int = 600
    least_warm_up_s: float = 0.025
    warm_up_s: float = 0.2
    settled: float = 0.05
    chunk_s: float = 0.05
    disturbed_share: float = 0.25

    def of_visit(self, *, n_visits: int) -> Policy:
        """Return the policy of one of `n_visits` visits, which share time and samples and are precise together."""
        return replace(
            self,
            half_width=self.half_width * math.sqrt(n_visits),
            least_s=self.least_s / n_visits,
            budget_s=self.budget_s / n_visits,
            max_samples=max(1, self.max_samples // n_visits),
        )


def warm_up(call: Callable[[], object], *, clock: Clock, policy: Policy) -> float:
    """Call until the time of a call settles; return it, in seconds.

    Blocks double until they last a sample; then two in a row must differ by at most `policy.settled`, and not
    before `policy.least_warm_up_s`. When `policy.warm_up_s` is used up it ends after the second block in any case: with
    no more than the middle one, since one call that was held up would leave a visit's samples single calls.
    """
    calls, spent, previous, found = 1, 0.0, math.inf, list[float]()
    while True:
        block_s = clock.wall(call, calls=calls)
        spent += block_s
        per_call = block_s / calls
        found.append(per_call)
        is_long = block_s >= policy.min_sample_s and spent >= policy.least_warm_up_s
        if is_long and abs(per_call - previous) <= policy.settled * per_call:
            return per_call
        if spent >= policy.warm_up_s and len(found) > 1:
            return min(per_call, median_low(found))
        previous = per_call
        if block_s < policy.min_sample_s:
            calls *= 2


def calls_per_sample(per_call_s: float, *, policy: Policy) -> int:
    """Return the number of calls that makes one sample last at least `policy.min_sample_s`."""
    return max(1, math.ceil(policy.min_sample_s / max(per_call_s, 1e-9)))


def warming_calls(per_call_s: float, *, policy: Policy) -> int:
    """Return the number of untimed calls that undo what the rivals' turns did to caches and predictors."""
    held = policy.warming_s / max(per_call_s, 1e-9)
    return max(1, min(policy.warming_calls, int(max(held, min(policy.least_warming_calls, 2 * held)))))
