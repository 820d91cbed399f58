"""Journal lines from outcomes: what the arithmetic of the shape and the machine's ceilings add to what was measured."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from benchmarks.ruler.plan import roofline, work
from benchmarks.ruler.plan.points import DeviceKind, Shape
from benchmarks.ruler.record.lines import Head, ProfileLine, TimingLine
from benchmarks.ruler.record.outcome import State, TimingOutcome
from benchmarks.ruler.referee.plausibility import plausible_profile, plausible_timing
from benchmarks.ruler.sweep.expectations import compared, expectation

if TYPE_CHECKING:
    from benchmarks.ruler.plan.roofline import Ceilings
    from benchmarks.ruler.record.outcome import ProfileOutcome


def timing_line(
    head: Head, outcome: TimingOutcome, group_id: str, ceilings: Ceilings | None, device: DeviceKind
) -> TimingLine:
    """Return the timing line of `outcome`, with its shape's work and floor."""
    return TimingLine(
        head=head,
        group=group_id,
        outcome=outcome,
        flop=work.flop(head.shape),
        min_bytes=work.min_bytes(head.shape),
        floor_s=_floor_s(head.shape, ceilings, device),
    )


def judged_line(line: TimingLine, ceilings: Ceilings | None, device: DeviceKind) -> TimingLine:
    """Return `line` by `ceilings`: with their floor, and wrong if it is implausible.

    Not for ceilings that it may show to be too low: those are measured again first.
    """
    contender, shape = line.head.contender, line.head.shape
    outcome = plausible_timing(line.outcome, contender=contender, shape=shape, ceilings=ceilings)
    return replace(line, outcome=outcome, floor_s=_floor_s(shape, ceilings, device))


def _floor_s(shape: Shape, ceilings: Ceilings | None, device: DeviceKind) -> float | None:
    least = roofline.floor(shape, ceilings, device=device) if ceilings else None
    return least.total_s if least else None


def profile_line(
    head: Head, outcome: ProfileOutcome, timing: TimingLine, ceilings: Ceilings | None, device: DeviceKind
) -> ProfileLine:
    """Return the profile line of `outcome`, compared with what its provider declares, with its bound."""
    expected = expectation(head.contender, head.shape, device=device, provider_detail=timing.outcome.provider_detail)
    outcome = plausible_profile(compared(outcome, expected))
    found = _finding(head.shape, outcome, timing, ceilings, device)
    return ProfileLine(
        head=head,
        outcome=outcome,
        bound=found.bound if found else None,
        bound_detail=found.detail if found else None,
        overhead_s=found.overhead_s if found else None,
    )


def profile_lines(
    head: Head, outcome: ProfileOutcome, timing: TimingLine, ceilings: Ceilings | None, device: DeviceKind
) -> tuple[ProfileLine | TimingLine, ...]:
    """Return the profile line, and if the profile shows that the point is wrong, its timing line that says so."""
    profile = profile_line(head, outcome, timing, ceilings, device)
    if profile.outcome.state is not State.WRONG:
        return (profile,)
    wrong = TimingOutcome(state=State.WRONG, reason=profile.outcome.reason, error_rel=timing.outcome.error_rel)
    return profile, replace(timing, head=replace(timing.head, measured_at=head.measured_at), outcome=wrong)


def _finding(
    shape: Shape, profile: ProfileOutcome, timing: TimingLine, ceilings: Ceilings | None, device: DeviceKind
) -> roofline.Finding | None:
    least = roofline.floor(shape, ceilings, device=device) if ceilings else None
    timed = timing.outcome
    if least is None or ceilings is None or timed.latency_s is None:
        return None
    if device is DeviceKind.CUDA:
        if timed.host_time_s is None or timed.device_time_s is None:
            return None
        return roofline.bound_on_cuda(least, host_time_s=timed.host_time_s, device_time_s=timed.device_time_s)
    if profile.operator_count is None or profile.operator_time_s is None:
        return None
    return roofline.bound_on_cpu(
        least,
        latency_s=timed.latency_s,
        operator_time_s=profile.operator_time_s,
        profiled_call_s=profile.profiled_call_s,
        operator_count=profile.operator_count,
        dispatch_s=ceilings.dispatch_s,
        overhead_in=profile.overhead_in,
    )
