"""Fair sampling of a group: warm-up, calls per sample, alternating rounds, stopping rule. Device-independent."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

from benchmarks.ruler.measure.referee import Implausible, NoReferee, Referee
from benchmarks.ruler.measure.statistics import MedianInterval, median_interval

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from benchmarks.ruler.measure.clock import Clock


class Stop(StrEnum):
    """Reason why sampling of a point ended."""

    PRECISION = "precision"
    BUDGET = "budget"


@dataclass(frozen=True, kw_only=True)
class Policy:
    """Sampling limits: precision, budget and sample length.

    min_sample_s: a sample groups as many calls as last this long, so that the clock's grain does not matter.
    half_width: the 95 % half-width of the median, as a part of it, that is precise enough.
    budget_s: time of a point's samples after which it is what it is; max_samples: the same as a number, so that a
    record stays readable. min_rounds: never fewer, if the budget allows.
    chunk_s: how often one looks whether others disturbed the machine; a disturbed chunk is measured again while
    repeats last at most as long as the budget itself.
    """

    min_sample_s: float = 200e-6
    half_width: float = 0.01
    budget_s: float = 0.5
    min_rounds: int = 12
    max_samples: int = 600
    least_warm_up_s: float = 0.025
    warm_up_s: float = 0.2
    settled: float = 0.05
    chunk_s: float = 0.2


class Watch(Protocol):
    """Observer of disturbances on the machine."""

    def start(self) -> None:
        """Start an observation window."""

    def disturbance(self) -> str | None:
        """Return what disturbed the machine since `start`, or None."""


@dataclass(frozen=True, kw_only=True)
class Round:
    """Seconds per call of each contender of one round, in order; the baseline has two."""

    samples: Mapping[str, tuple[float, ...]]


@dataclass(frozen=True, kw_only=True)
class Sampling:
    """Samples of one point. samples_s: seconds per call, each the mean over calls_per_sample calls."""

    samples_s: tuple[float, ...]
    calls_per_sample: int
    stop: Stop
    latency: MedianInterval
    speedup: MedianInterval | None
    disturbed: str | None


@dataclass
class _ContenderState:
    call: Callable[[], object]
    calls_per_sample: int
    spent_s: float = 0.0
    samples: list[float] = field(default_factory=list)


def warm_up(call: Callable[[], object], *, clock: Clock, policy: Policy) -> float:
    """Call until the time of a call settles; return it, in seconds.

    Blocks double until they last a sample; then two in a row must differ by at most `policy.settled`, and not
    before `policy.least_warm_up_s`; it ends in any case when `policy.warm_up_s` is used up.
    """
    calls, spent, previous = 1, 0.0, math.inf
    while True:
        block_s = clock.wall(call, calls=calls)
        spent += block_s
        per_call = block_s / calls
        is_long = block_s >= policy.min_sample_s and spent >= policy.least_warm_up_s
        if is_long and abs(per_call - previous) <= policy.settled * per_call:
            return per_call
        if spent >= policy.warm_up_s:
            return per_call
        previous = per_call
        if block_s < policy.min_sample_s:
            calls *= 2


def calls_per_sample(per_call_s: float, *, policy: Policy) -> int:
    """Return the number of calls that makes one sample last at least `policy.min_sample_s`."""
    return max(1, math.ceil(policy.min_sample_s / max(per_call_s, 1e-9)))


def sample_group(  # noqa: PLR0913 - each is a separate instrument
    calls: Mapping[str, Callable[[], object]],
    *,
    baseline: str,
    clock: Clock,
    policy: Policy,
    watch: Watch,
    announce: Callable[[str], None] = lambda _: None,
    n_calls: Mapping[str, int] | None = None,
    referee: Referee | None = None,
) -> dict[str, Sampling]:
    """Measure all `calls` in alternating rounds until each is precise or out of its budget.

    In each round the baseline (if it is among them) comes first and last, the others between, in reverse order
    every other time; each takes one untimed call, which re-warms what its rivals evicted, and one sample.
    `announce` is told whose turn it is. `n_calls` fixes the calls per sample; otherwise warm-up decides.
    A contender that `referee` finds implausible leaves the rounds at once, and the result lacks it.
    """
    referee = referee or NoReferee()
    states: dict[str, _ContenderState] = {}
    for name, call in calls.items():
        announce(name)
        fixed = (n_calls or {}).get(name)
        per_sample = fixed or calls_per_sample(warm_up(call, clock=clock, policy=policy), policy=policy)
        states[name] = _ContenderState(call=call, calls_per_sample=per_sample)

    rounds: list[Round] = []
    disturbed: str | None = None
    repeats_left_s = policy.budget_s * len(states)
    active = _active(states, baseline=baseline, policy=policy)
    while active:
        watch.start()
        chunk_start = clock.now()
        chunk: list[Round] = []
        while active and clock.now() - chunk_start < policy.chunk_s:
            order = _order(active, baseline=baseline, n_round=len(rounds) + len(chunk))
            chunk.append(_round(order, states, clock=clock, announce=announce, referee=referee))
            active = _active(states, baseline=baseline, policy=policy)
        reason = watch.disturbance()
        chunk_s = clock.now() - chunk_start
        if reason and repeats_left_s >= chunk_s:
            repeats_left_s -= chunk_s
            _discard_chunk(states, chunk)
        else:
            rounds.extend(chunk)
            disturbed = disturbed or reason
        active = _active(states, baseline=baseline, policy=policy)
    trusted = rounds if baseline in states else ()
    return {
        name: Sampling(
            samples_s=tuple(state.samples),
            calls_per_sample=state.calls_per_sample,
            stop=Stop.PRECISION if _is_precise(state, policy=policy) else Stop.BUDGET,
            latency=median_interval(state.samples),
            speedup=None if name == baseline else paired_speedup(trusted, baseline=baseline, name=name),
            disturbed=disturbed,
        )
        for name, state in states.items()
    }


def paired_speedup(rounds: Sequence[Round], *, baseline: str, name: str) -> MedianInterval | None:
    """Return the speedup of `name` over the baseline, the median of per-round ratios, or None.

    Each round gives one ratio, in turn of the baseline's first and of its last sample to the rival's, so a drift that
    meets both cancels. Never of their mean: noise is skewed, and the median of a mean of two lies above that of one.
    """
    ratios = [
        one.samples[baseline][-(number % 2)] / one.samples[name][0]
        for number, one in enumerate(rounds)
        if baseline in one.samples and name in one.samples
    ]
    return median_interval(ratios) if ratios else None


def _order(active: Sequence[str], *, baseline: str, n_round: int) -> list[str]:
    rivals = [name for name in active if name != baseline]
    if n_round % 2:
        rivals.reverse()
    if baseline not in active:
        return rivals
    return [baseline, *rivals, baseline] if rivals else [baseline]


def _round(
    order: Sequence[str],
    states: dict[str, _ContenderState],
    *,
    clock: Clock,
    announce: Callable[[str], None],
    referee: Referee,
) -> Round:
    """Take one sample of each contender in `order`; one found implausible is taken out of `states`."""
    samples: dict[str, tuple[float, ...]] = {}
    for name in order:
        if name not in states:
            continue
        state = states[name]
        announce(name)
        calls = referee.before_sample(name, calls=state.calls_per_sample)
        state.call()
        referee.before_timing(name)
        sample_s, output = clock.timed(state.call, calls=calls)
        try:
            referee.after_sample(name, output)
        except Implausible:
            del states[name]
            samples.pop(name, None)
            continue
        finally:
            del output
        # Six digits are more than any clock gives, and the record repeats exactly what was judged.
        per_call = float(f"{sample_s / calls:.6g}")
        state.spent_s += sample_s
        state.samples.append(per_call)
        samples[name] = (*samples.get(name, ()), per_call)
    return Round(samples=samples)


def _discard_chunk(states: Mapping[str, _ContenderState], chunk: Sequence[Round]) -> None:
    for one in chunk:
        for name, samples in one.samples.items():
            if (state := states.get(name)) is None:
                continue
            state.spent_s -= sum(samples) * state.calls_per_sample
            del state.samples[-len(samples) :]


def _active(states: Mapping[str, _ContenderState], *, baseline: str, policy: Policy) -> list[str]:
    active = [name for name, state in states.items() if not _is_done(state, policy=policy)]
    rivals_go_on = any(name != baseline for name in active)
    if rivals_go_on and baseline in states and baseline not in active:
        active.insert(0, baseline)
    return active


def _is_done(state: _ContenderState, *, policy: Policy) -> bool:
    n = len(state.samples)
    if n and (state.spent_s >= policy.budget_s or n >= policy.max_samples):
        return True
    # Looked at every fourth sample only: each look is one more chance to stop on luck.
    return n >= policy.min_rounds and n % 4 == 0 and _is_precise(state, policy=policy)


def _is_precise(state: _ContenderState, *, policy: Policy) -> bool:
    enough = len(state.samples) >= policy.min_rounds
    return enough and median_interval(state.samples).relative_half_width <= policy.half_width
