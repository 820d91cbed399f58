"""Fair sampling of a group: warm-up, calls per sample, alternating rounds, stopping rule. Device-independent."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field, replace
from statistics import median
from typing import TYPE_CHECKING

from benchmarks.ruler.measure.kept_chunks import KeptChunks, Watch
from benchmarks.ruler.measure.policy import ENOUGH_TO_TELL, Policy, calls_per_sample, warm_up, warming_calls
from benchmarks.ruler.measure.referee import Implausible, NoReferee, Referee
from benchmarks.ruler.measure.statistics import MedianInterval, median_interval, paired_speedup
from benchmarks.ruler.record.outcome import Stop

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from benchmarks.ruler.measure.clock import Clock


LAST_WARMING_CALLS = 2
"""So many of the re-warming calls come after the referee has read its clocks (docs/adr/0020)."""


@dataclass(frozen=True, kw_only=True)
class Sampling:
    """Samples of one point, one a round from the first on: seconds per call, the mean over calls_per_sample calls."""

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
    is_fixed: bool = False
    warming_calls: int = 1
    spent_s: float = 0.0
    uncounted_s: float = 0.0
    samples: list[float] = field(default_factory=list)


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

    In each round the baseline (if it is among them) comes first, the others after it, in reverse order every other
    time; each takes a few untimed calls, which re-warm what its rivals evicted, and one sample. The baseline has a
    sample in every round and, as long as there is a rival, never two in a row: the second would be favoured.
    `announce` is told whose turn it is. `n_calls` fixes the calls per sample; otherwise warm-up decides.
    A contender that `referee` finds implausible leaves the rounds at once, and the result lacks it.
    """
    referee = referee or NoReferee()
    states: dict[str, _ContenderState] = {}
    for name, call in calls.items():
        announce(name)
        warmed_up = _warmed_up(call, (n_calls or {}).get(name), clock=clock, policy=policy)
        with suppress(Implausible):
            referee.after_warm_up(name)
            states[name] = warmed_up

    n_rounds = 0
    chunks = KeptChunks()
    repeats_left_s = policy.budget_s * len(states)
    active, is_settled = list(states), False
    while active:
        # A watch may let other processes have their turns first: that time passes as well, but is no part of the turn.
        chunk_began = clock.now()
        watch.start()
        chunk_start, n_rounds_before, active_before = clock.now(), n_rounds, active
        kept = {name: (state.spent_s, state.uncounted_s, len(state.samples)) for name, state in states.items()}
        while active and clock.now() - chunk_start < policy.chunk_s:
            order = _order(active, baseline=baseline, n_round=n_rounds)
            _take_round(order, states, clock=clock, announce=announce, referee=referee)
            n_rounds += 1
            active = _active(
                states, active, baseline=baseline, policy=policy, elapsed_s=chunks.kept_s + clock.now() - chunk_began
            )
        taken = {name: each.samples[kept[name][-1] :] for name, each in states.items()}
        lasted = {name: [s * states[name].calls_per_sample for s in samples] for name, samples in taken.items()}
        reason = watch.disturbance(lasted)
        chunk_s = clock.now() - chunk_began
        recounted = _recounted(states, policy=policy)
        if recounted and repeats_left_s >= chunks.kept_s + chunk_s:
            watch.forget_all()
            repeats_left_s -= chunks.kept_s + chunk_s
            states, n_rounds, active, chunks = recounted, 0, list(recounted), KeptChunks()
        elif reason and repeats_left_s >= chunk_s:
            watch.forget()
            repeats_left_s -= chunk_s
            n_rounds, active = n_rounds_before, [name for name in active_before if name in states]
            for name, state in states.items():
                state.spent_s, state.uncounted_s, n_samples = kept[name]
                del state.samples[n_samples:]
        else:
            chunks.keep(chunk_s, reason, taken)
        if not active and not is_settled:
            is_settled = True
            if anew := _counted_at_last(states, clock=clock, policy=policy, announce=announce):
                watch.forget_all()
                states, n_rounds, active, chunks = anew, 0, list(anew), KeptChunks()
    for name in referee.after_last_samples(list(states), announce=announce):
        del states[name]
    return _samplings(states, chunks, watch, baseline=baseline, policy=policy)


def _samplings(
    states: Mapping[str, _ContenderState], chunks: KeptChunks, watch: Watch, *, baseline: str, policy: Policy
) -> dict[str, Sampling]:
    disturbed = chunks.disturbance({n: each.samples for n, each in states.items()}, share=policy.disturbed_share)
    if disturbed is None and chunks.disturbed_share > policy.disturbed_share:
        watch.forget_disturbed()
    of_baseline = states[baseline].samples if baseline in states else []
    return {
        name: Sampling(
            samples_s=tuple(state.samples),
            calls_per_sample=state.calls_per_sample,
            stop=Stop.PRECISION if _is_precise(state, policy=policy) else Stop.BUDGET,
            latency=median_interval(state.samples),
            speedup=paired_speedup(of_baseline, state.samples) if name != baseline else None,
            disturbed=disturbed,
        )
        for name, state in states.items()
    }


def _warmed_up(call: Callable[[], object], fixed: int | None, *, clock: Clock, policy: Policy) -> _ContenderState:
    if fixed:
        return _ContenderState(call=call, calls_per_sample=fixed, is_fixed=True)
    return _counted(call, warm_up(call, clock=clock, policy=policy), policy=policy)


def _counted(call: Callable[[], object], per_call_s: float, *, policy: Policy) -> _ContenderState:
    return _ContenderState(
        call=call,
        calls_per_sample=calls_per_sample(per_call_s, policy=policy),
        warming_calls=warming_calls(per_call_s, policy=policy),
    )


def _recounted(states: Mapping[str, _ContenderState], *, policy: Policy) -> dict[str, _ContenderState] | None:
    """Return all contenders without samples, if the last ones of some are far shorter than a sample is to last.

    Then warm-up found that one slower than it is: it was held up, or got faster later. Its calls are counted anew.
    """
    last = {name: state.samples[-ENOUGH_TO_TELL:] for name, state in states.items() if not state.is_fixed}
    short = {
        name: _counted(states[name].call, median(samples), policy=policy)
        for name, samples in last.items()
        if len(samples) == ENOUGH_TO_TELL
        and max(samples) * states[name].calls_per_sample < policy.short * policy.min_sample_s
    }
    return _without_samples(states) | short if short else None


def _counted_at_last(
    states: Mapping[str, _ContenderState], *, clock: Clock, policy: Policy, announce: Callable[[str], None]
) -> dict[str, _ContenderState] | None:
    """Return all contenders without samples, if a call of some that had time for few is far shorter than these by now.

    Such as one that tunes itself over its first calls, which were long enough for its whole budget.
    """
    settled = dict[str, _ContenderState]()
    for name, state in states.items():
        if state.is_fixed or state.spent_s < policy.budget_s or not 0 < len(state.samples) < ENOUGH_TO_TELL:
            continue
        announce(name)
        if clock.wall(state.call, calls=1) < policy.short * median(state.samples):
            settled[name] = _warmed_up(state.call, None, clock=clock, policy=policy)
    return _without_samples(states) | settled if settled else None


def _without_samples(states: Mapping[str, _ContenderState]) -> dict[str, _ContenderState]:
    return {name: replace(each, spent_s=0.0, uncounted_s=0.0, samples=[]) for name, each in states.items()}


def _order(active: Sequence[str], *, baseline: str, n_round: int) -> list[str]:
    if baseline not in active:
        return list(active)
    rivals = [name for name in active if name != baseline]
    return [baseline, *(reversed(rivals) if n_round % 2 else rivals)]


def _take_round(
    order: Sequence[str],
    states: dict[str, _ContenderState],
    *,
    clock: Clock,
    announce: Callable[[str], None],
    referee: Referee,
) -> None:
    """Take one sample of each contender in `order`; one found implausible is taken out of `states`."""
    for name in order:
        state = states[name]
        announce(name)
        output: object = None
        try:
            referee.begin_turn(name)
            calls = referee.before_sample(name, calls=state.calls_per_sample, warming_calls=state.warming_calls)
            n_last = min(LAST_WARMING_CALLS, state.warming_calls)
            for _ in range(state.warming_calls - n_last):
                state.call()
            referee.before_last_warming(name)
            for _ in range(n_last):
                state.call()
            referee.before_timing(name)
            sample_s, output, uncounted_s = clock.timed(state.call, calls=calls)
            referee.after_sample(name, output)
        except Implausible:
            del states[name]
            continue
        finally:
            output = None
        # Six digits are more than any clock gives, and the record repeats exactly what was judged.
        per_call = float(f"{sample_s / calls:.6g}")
        state.spent_s += sample_s + per_call * state.warming_calls
        state.uncounted_s += uncounted_s
        state.samples.append(per_call)


def _active(
    states: Mapping[str, _ContenderState],
    before: Sequence[str],
    *,
    baseline: str,
    policy: Policy,
    elapsed_s: float,
) -> list[str]:
    """Return who takes part in the next round, of those who did `before`; whoever has left does not come back."""
    present = [name for name in before if name in states]
    going_on = [name for name in present if not _is_done(states[name], policy=policy, elapsed_s=elapsed_s)]
    if going_on == [baseline]:
        # A rival that is done keeps it company, so that its own last turn does not favour it; within reason.
        company = [name for name in present if name != baseline and states[name].spent_s < 2 * policy.budget_s]
        return [baseline, *sorted(company, key=lambda name: states[name].spent_s)[:1]]
    if going_on and baseline in present and baseline not in going_on:
        going_on.insert(0, baseline)
    return going_on


def _is_done(state: _ContenderState, *, policy: Policy, elapsed_s: float) -> bool:
    n = len(state.samples)
    spent_s = state.spent_s + (state.uncounted_s if n >= policy.min_rounds else 0.0)
    if n and (spent_s >= policy.budget_s or n >= policy.max_samples):
        return True
    # Looked at every fourth sample only: each look is one more chance to stop on luck.
    return elapsed_s >= policy.least_s and n >= policy.min_rounds and n % 4 == 0 and _is_precise(state, policy=policy)


def _is_precise(state: _ContenderState, *, policy: Policy) -> bool:
    enough = len(state.samples) >= policy.min_rounds
    return enough and median_interval(state.samples).relative_half_width <= policy.half_width
