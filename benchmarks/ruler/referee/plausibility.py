"""Outcomes that no arithmetic explains: faster than the machine multiplies, or without an operator. Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from benchmarks.ruler.plan import work
from benchmarks.ruler.plan.points import BASELINE, Contender, Shape
from benchmarks.ruler.record.outcome import ProfileOutcome, State, TimingOutcome
from benchmarks.ruler.record.part_speed import speed_in_words

if TYPE_CHECKING:
    from benchmarks.ruler.plan.roofline import Ceilings

TIMES_FASTER = 2.0
"""A product ceiling may be somewhat too low; beyond this it is the contender that did not multiply."""
NO_OPERATOR = (
    "implausible: its profile holds no operator that computes; what is computed past torch's dispatcher "
    "is registered with torch.library.custom_op to be seen"
)


def plausible_timing(
    outcome: TimingOutcome, *, contender: Contender, shape: Shape, ceilings: Ceilings | None
) -> TimingOutcome:
    """Return `outcome`, or that it is wrong if its products alone would take the machine more than twice as long.

    The baseline is never: PyTorch's own operators faster than the ceiling mean that the ceiling is none, for its rivals
    as well.
    """
    peak = ceilings.matmul_flop_per_s.get(shape.dtype) if ceilings else None
    if ceilings is None or peak is None or outcome.latency_s is None or contender.provider == BASELINE:
        return outcome
    at_ceiling_s = work.flop(shape) / peak
    # What was measured while the machine was slow may be so much too low.
    products_s = ceilings.speed_of_products * at_ceiling_s
    baseline_s = outcome.latency_s * (outcome.speedup_vs_eager or float("inf"))
    if products_s <= TIMES_FASTER * outcome.latency_s or baseline_s < products_s:
        return outcome
    reason = (
        f"implausible: {outcome.latency_s * 1e6:.2f} µs a call, where its products alone take "
        f"{at_ceiling_s * 1e6:.2f} µs at this machine's ceiling of {peak / 1e9:.0f} GFLOP/s"
    )
    if products_s < at_ceiling_s:
        slow = speed_in_words(ceilings.speed_of_products)
        reason += f", measured at {slow} of its best speed (at all of it {products_s * 1e6:.2f} µs)"
    return TimingOutcome(state=State.WRONG, reason=reason, error_rel=outcome.error_rel)


def plausible_profile(profile: ProfileOutcome) -> ProfileOutcome:
    """Return `profile`, or that its point is wrong if neither an operator nor a kernel ran."""
    if profile.state is not State.OK or profile.operator_count != 0 or profile.kernel_launches:
        return profile
    return replace(profile, state=State.WRONG, reason=NO_OPERATOR)
