"""Journal lines from outcomes: what the arithmetic of the shape and the machine's ceilings add to what was measured."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from benchmarks.ruler.expectation.comparison import compared
from benchmarks.ruler.expectation.declarations import Foreign, expectation
from benchmarks.ruler.plan import roofline, work
from benchmarks.ruler.plan.points import DeviceKind, Shape
from benchmarks.ruler.record.lines import Head, ProfileLine, TimingLine
from benchmarks.ruler.record.outcome import State, TimingOutcome
from benchmarks.ruler.referee.plausibility import plausible_profile, plausible_timing
from benchmarks.ruler.sweep.visits import failed_after

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
    if outcome is not line.outcome:
        outcome = failed_after(line.outcome, outcome)
    return replace(line, outcome=outcome, floor_s=_floor_s(shape, ceilings, device))


def _floor_s(shape: Shape, ceilings: Ceilings | None, device: DeviceKind) -> float | None:
    least = roofline.floor(shape, ceilings, device=device) if ceilings else None
    return least.total_s if least else None


def profile_line(  # noqa: PLR0913 - what was measured, where, and what was declared
    head: Head,
    outcome: ProfileOutcome,
    timing: TimingLine,
    ceilings: Ceilings | None,
    device: DeviceKind,
    *,
    foreign: Foreign | None = None,
) -> ProfileLine:
    """Return the profile line of `outcome`, compared with what its provider declares, with its bound.

    foreign: what the providers of a file declare.
    """
    shape, detail = head.shape, timing.outcome.provider_detail
    expected = expectation(head.contender, shape, device=device, provider_detail=detail, foreign=foreign)
    outcome = plausible_profile(compared(outcome, expected, shape=shape, device=device, ceilings=ceilings))
    found = _finding(head.shape, outcome, timing, ceilings, device)
    return ProfileLine(
        head=head,
        outcome=outcome,
        bound=found.bound if found else None,
        bound_detail=found.detail if found else None,
        overhead_s=_overhead_s(outcome, timing, device),
    )


def _overhead_s(profile: ProfileOutcome, timing: TimingLine, device: DeviceKind) -> float | None:
    """Return the host's time outside operators, which needs no ceilings; None on CUDA, or where either is not known."""
    latency_s, working_s = timing.outcome.latency_s, profile.operator_time_s
    if device is DeviceKind.CUDA or latency_s is None or working_s is None:
        return None
    return roofline.outside_operators_s(latency_s, working_s, profile.profiled_call_s)


def profile_lines(  # noqa: PLR0913 - the same
    head: Head,
    outcome: ProfileOutcome,
    timing: TimingLine,
    ceilings: Ceilings | None,
    device: DeviceKind,
    *,
    foreign: Foreign | None = None,
) -> tuple[ProfileLine | TimingLine, ...]:
    """Return the profile line, and if the profile shows that the point is wrong, its timing line that says so."""
    profile = profile_line(head, outcome, timing, ceilings, device, foreign=foreign)
    if profile.outcome.state is not State.WRONG:
        return (profile,)
    wrong = TimingOutcome(state=State.WRONG, reason=profile.outcome.reason, error_rel=timing.outcome.error_rel)
    of_timing = replace(timing.head, measured_at=head.measured_at)
    return profile, replace(timing, head=of_timing, outcome=failed_after(timing.outcome, wrong))


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
        overhead_parts=profile.overhead_parts,
    )
