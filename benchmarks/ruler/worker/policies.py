"""How a visit is sampled on each kind of device, for whoever samples or estimates it. Pure; imports nothing heavy."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.ruler.measure.policy import Policy
from benchmarks.ruler.plan.points import CachePolicy, DeviceKind

LEAST_SAMPLE_ON_CUDA_S = 2e-3
"""A sample ends with one synchronisation, of some 10 µs (arithmetic, not measured): here half a percent of it."""

FLUSHED_CACHES = 5
"""Before each call of a cold point so many times the size of the last-level cache is overwritten."""

# Over all visits of a point; below a second, what the machine does just then decides.
_POLICY = {
    DeviceKind.CPU: Policy(least_s=1.0, max_samples=900),
    # The driver is asked at every look for what throttles, so on CUDA one looks seldom.
    DeviceKind.CUDA: Policy(least_s=1.0, max_samples=900, min_sample_s=LEAST_SAMPLE_ON_CUDA_S, chunk_s=0.2),
}


def policy_of_visit(device: DeviceKind, *, budget_s: float, n_visits: int) -> Policy:
    """Return how one of `n_visits` visits is sampled; budget_s: of each contender over all of them, in seconds."""
    return replace(_POLICY[device], budget_s=budget_s).of_visit(n_visits=n_visits)


def fixed_calls(cache: CachePolicy) -> int | None:
    """Return the calls of a sample where warm-up does not decide them: one of a cold point, which is flushed before."""
    return 1 if cache is CachePolicy.COLD else None
