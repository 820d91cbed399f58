"""Visits of a group as one outcome per point: its value, its intervals, what lies between processes. Pure.

The rule reads nothing but recorded lines, so that it can be tried on any journal.
"""

from __future__ import annotations

from dataclasses import replace
from statistics import median, median_low, stdev
from typing import TYPE_CHECKING, Any

from benchmarks.ruler.measure.statistics import MedianInterval, Spread, interval_over_visits, paired_ratios
from benchmarks.ruler.plan.points import BASELINE, Contender
from benchmarks.ruler.record.outcome import State, Stop, TimingOutcome, Visit, causes_together
from benchmarks.ruler.record.part_speed import SLOW_QUARTER, Part, disturbs_ratios
from benchmarks.ruler.sweep.usual_spreads import is_slow

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from benchmarks.ruler.sweep.usual_spreads import Usual

# What a later visit's process finds otherwise: caches that the first one filled.
_OF_THE_FIRST_VISIT = ("compile_time_cold_s", "recompile_time_s", "time_to_first_call_s", "prepare_time_s")
_OF_PAIRS = ("speedup_vs_eager", "speedup_ci_low", "speedup_ci_high", "speedup_between_sd")


def with_visit(
    known: Mapping[Contender, TimingOutcome],
    new: Mapping[Contender, TimingOutcome],
    *,
    measured_at: str,
    conditions: Mapping[str, Any],
    usual: Usual,
) -> dict[Contender, TimingOutcome]:
    """Return the outcomes of a group's contenders after one more visit, of which `new` are those of that visit alone.

    known: what they were before it. conditions: of the new visit. A contender that fails has that state from then on,
    whatever it was, and keeps the visits and samples of before. A visit without the baseline, which was not asked for,
    leaves a speedup what it was.
    """
    all_visits = {
        contender: _joined(known.get(contender), outcome, measured_at, conditions) for contender, outcome in new.items()
    }
    eager = Contender(provider=BASELINE)
    baseline = all_visits.get(eager)
    baseline = baseline if baseline and baseline.state is State.OK else None
    found = {
        contender: outcome if outcome.state is not State.OK else valued(outcome, baseline, usual=usual)
        for contender, outcome in all_visits.items()
    }
    if eager in new or eager in known:
        return found
    return {
        contender: replace(outcome, **_named(known[contender], _OF_PAIRS))
        if contender in known and outcome.state is State.OK
        else outcome
        for contender, outcome in found.items()
    }


def valued(outcome: TimingOutcome, baseline: TimingOutcome | None, *, usual: Usual) -> TimingOutcome:
    """Return `outcome` with the values and intervals that follow from its visits and the baseline's of its group.

    Where at least two visits were undisturbed, those alone count; else those too in which the machine was merely slow,
    or where that was one at most all, and the point is disturbed.
    """
    counted = _counted(outcome.visits)
    samples = visits_samples(outcome)
    usual_latency = usual.slow_latency if is_slow(counted) else usual.latency
    # A GPU does not run at its host's speed.
    is_of_host = all(one.machine_speed is not None and one.device_time_s is None for one in counted)
    latency = interval_over_visits(
        [samples[one.measured_at] for one in counted], usual=usual_latency, drift=usual.drift() if is_of_host else None
    )
    calls = [one.calls_per_sample for one in counted if one.calls_per_sample is not None]
    faults = _known(*(one.minor_faults_per_call for one in counted))
    found = replace(
        outcome,
        disturbed=causes_together(one.disturbed for one in counted if one.disturbed is not None),
        latency_s=latency.median,
        latency_ci_low_s=latency.low,
        latency_ci_high_s=latency.high,
        latency_between_sd_s=_sd([one.median_s for one in counted]),
        device_time_s=_median([one.device_time_s for one in counted]),
        device_time_cold_s=_median([one.device_time_cold_s for one in counted]),
        host_time_s=_median([one.host_time_s for one in counted]),
        calls_per_sample=median_low(calls) if calls else outcome.calls_per_sample,
        minor_faults_per_call=median(faults) if faults else outcome.minor_faults_per_call,
    )
    return found if baseline is None or baseline is outcome else _with_speedup(found, baseline, counted, usual.speedup)


def visits_samples(outcome: TimingOutcome) -> dict[str, tuple[float, ...]]:
    """Return the samples of each visit of a point by the visit's `measured_at`, in the order taken."""
    samples, start = {}, 0
    for one in outcome.visits:
        samples[one.measured_at] = outcome.samples_s[start : start + one.n_samples]
        start += one.n_samples
    return samples


def counted_samples(outcome: TimingOutcome) -> tuple[float, ...]:
    """Return the samples that a point's value is from: those of disturbed visits may be left out; none of a failure."""
    if outcome.state is not State.OK:
        return ()
    if not outcome.visits:
        return outcome.samples_s
    samples = visits_samples(outcome)
    return tuple(each for one in _counted(outcome.visits) for each in samples[one.measured_at])


def _joined(
    known: TimingOutcome | None, new: TimingOutcome, measured_at: str, conditions: Mapping[str, Any]
) -> TimingOutcome:
    """Return the outcome of all visits, without the values that follow from them."""
    before = known if known is not None and known.state is State.OK else None
    if new.state is not State.OK:
        return new if before is None else failed_after(before, new, at=f"visit {len(before.visits) + 1} of the group")
    assert new.latency_s is not None  # noqa: S101 - a visit that is ok has a time
    visit = Visit(
        measured_at=measured_at,
        n_samples=len(new.samples_s),
        median_s=new.latency_s,
        calls_per_sample=new.calls_per_sample,
        minor_faults_per_call=new.minor_faults_per_call,
        device_time_s=new.device_time_s,
        device_time_cold_s=new.device_time_cold_s,
        host_time_s=new.host_time_s,
        machine_speed=conditions.get("machine_speed"),
        slow_quarter_s={part: time_s for part in Part if (time_s := conditions.get(f"{SLOW_QUARTER}{part}_s"))},
        disturbed=new.disturbed,
    )
    if before is None:
        return replace(new, visits=(visit,))
    stops = {before.stop, new.stop}
    return replace(
        new,
        **_of_the_first_visit(before),
        visits=(*before.visits, visit),
        samples_s=(*before.samples_s, *new.samples_s),
        stop=Stop.BUDGET if Stop.BUDGET in stops else new.stop,
        error_rel=max(filter(None, (before.error_rel, new.error_rel)), default=new.error_rel),
        device_time_ci_low_s=_least(before.device_time_ci_low_s, new.device_time_ci_low_s),
        device_time_ci_high_s=_most(before.device_time_ci_high_s, new.device_time_ci_high_s),
        device_time_cold_ci_low_s=_least(before.device_time_cold_ci_low_s, new.device_time_cold_ci_low_s),
        device_time_cold_ci_high_s=_most(before.device_time_cold_ci_high_s, new.device_time_cold_ci_high_s),
    )


def failed_after(before: TimingOutcome, failure: TimingOutcome, *, at: str | None = None) -> TimingOutcome:
    """Return `failure` with the visits and samples of `before`, which are no value any more. at: when it failed."""
    reason = f"{failure.reason} ({at})" if at else failure.reason
    return replace(failure, reason=reason, visits=before.visits, samples_s=before.samples_s)


def _of_the_first_visit(before: TimingOutcome) -> dict[str, Any]:
    return {name: value for name, value in _named(before, _OF_THE_FIRST_VISIT).items() if value is not None}


def _named(outcome: TimingOutcome, names: Iterable[str]) -> dict[str, Any]:
    return {name: getattr(outcome, name) for name in names}


def _counted(visits: Sequence[Visit]) -> list[Visit]:
    calm = [one for one in visits if one.disturbed is None]
    slow = [one for one in visits if not disturbs_ratios(one.disturbed)]
    return calm if len(calm) > 1 else slow if len(slow) > 1 else list(visits)


def _with_speedup(
    outcome: TimingOutcome, baseline: TimingOutcome, counted: Sequence[Visit], usual: Spread
) -> TimingOutcome:
    """Return `outcome` with its speedup over `baseline`, paired within each visit that both have."""
    own, theirs = visits_samples(outcome), visits_samples(baseline)
    ratios = {name: paired_ratios(theirs[name], own[name]) for name in own if name in theirs}
    medians = {name: median(of_visit) for name, of_visit in ratios.items() if of_visit}
    visits = tuple(replace(one, speedup_vs_eager=medians.get(one.measured_at)) for one in outcome.visits)
    of_counted = [ratios[one.measured_at] for one in counted if one.measured_at in medians]
    if not of_counted:
        return replace(outcome, visits=visits)
    speedup: MedianInterval = interval_over_visits(of_counted, usual=usual)
    return replace(
        outcome,
        visits=visits,
        speedup_vs_eager=speedup.median,
        speedup_ci_low=speedup.low,
        speedup_ci_high=speedup.high,
        speedup_between_sd=_sd([medians[one.measured_at] for one in counted if one.measured_at in medians]),
    )


def _sd(values: Sequence[float]) -> float | None:
    return float(f"{stdev(values):.6g}") if len(values) > 1 else None


def _median(values: Sequence[float | None]) -> float | None:
    known = _known(*values)
    return median(known) if known else None


def _least(*values: float | None) -> float | None:
    return min(_known(*values), default=None)


def _most(*values: float | None) -> float | None:
    return max(_known(*values), default=None)


def _known(*values: float | None) -> list[float]:
    return [value for value in values if value is not None]
