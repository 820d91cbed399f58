"""Estimate of how long a sweep takes: of FLOP, ceilings and compilations at first, then of what it has taken."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from benchmarks.ruler.measure.policy import ENOUGH_TO_TELL, calls_per_sample, warming_calls
from benchmarks.ruler.plan import work
from benchmarks.ruler.plan.cpu_caches import last_level_cache_bytes
from benchmarks.ruler.plan.points import CachePolicy, DeviceKind, Pass
from benchmarks.ruler.plan.roofline import floor
from benchmarks.ruler.sweep.progress import Phase
from benchmarks.ruler.worker.policies import FLUSHED_CACHES, fixed_calls, policy_of_visit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from benchmarks.ruler.measure.policy import Policy
    from benchmarks.ruler.plan.points import Contender, Group, Shape
    from benchmarks.ruler.plan.roofline import Ceilings
    from benchmarks.ruler.sweep.sweep_plan import Plan, Sweep

# Of a machine without measured ceilings: FLOP/s and bytes/s of a whole GPU, and of one thread of a CPU.
_ASSUMED = {DeviceKind.CUDA: (1e14, 1e12), DeviceKind.CPU: (3e10, 5e9)}
# Of a machine that nobody has asked: the last-level cache of a CPU as its size is taken where none is reported.
_ASSUMED_CACHE_BYTES = {DeviceKind.CUDA: 50 * 2**20, DeviceKind.CPU: 32 * 2**20}
# A usual call takes as many floors, and this much that no floor counts.
_FLOORS, _OVERHEAD_S = 2.0, 20e-6
# Calls of a contender beside its warm-up and samples (the first, the check, those of the referee), and those of the
# reference in float64.
_CALLS_BESIDE, _CALLS_OF_REFERENCE = 6.0, 10.0
# Compilations with nothing on disk, and again; an autotuned one tries so many calls of each kernel besides.
_COMPILE_S, _COMPILE_AGAIN_S, _AUTOTUNED_CALLS = 1.0, 0.3, 30.0
_PROFILED_CALLS, _PROFILE_S = 8.0, 0.2
# Of measuring the ceilings, or waiting for a quiet moment until they are refused.
CEILINGS_S = 10.0
# Of work, until so much of it is done that what it has taken says more than what was expected.
_TRUSTED_S = 10.0


class Estimate:
    """Estimate of the seconds that are left: what is expected, corrected by what the groups so far have taken.

    ceilings: tells those of the machine, as soon as they are known. asks_for_ceilings: whether they are asked for if
    there are none; those that were refused are asked for once more when everything is timed, and then no longer.
    """

    def __init__(self, ceilings: Callable[[], Ceilings | None], *, asks_for_ceilings: bool = True) -> None:
        self._ceilings = ceilings
        self.asks_for_ceilings = asks_for_ceilings
        self._expected = {Phase.TIMING: _TRUSTED_S, Phase.PROFILING: _TRUSTED_S}
        self._taken = dict(self._expected)
        self._cache_bytes = {DeviceKind.CPU: last_level_cache_bytes()}

    def add(self, plan: Plan, group: Group, phase: Phase, *, is_first: bool, seconds: float) -> None:
        """Count a visit of `group`, the first or a later one, or its profiles, that took `seconds`."""
        self._expected[phase] += self._expected_s(plan, group, phase, is_first=is_first)
        self._taken[phase] += seconds

    def seconds_left(self, sweep: Sweep) -> float:
        """Return the seconds that what `sweep` lacks will take: visits, profiles, and ceilings if there are none."""
        timing_s = profiles_s = 0.0
        untimed = sweep.untimed()
        for group in untimed:
            visits = range(sweep.n_visits(group), sweep.plan.axes.visits)
            timing_s += sum(self._expected_s(sweep.plan, group, Phase.TIMING, is_first=not n) for n in visits)
            profiles_s += self._expected_s(sweep.plan, group, Phase.PROFILING)
        unprofiled = sweep.unprofiled()
        profiles_s += sum(self._expected_s(sweep.plan, group, Phase.PROFILING) for group in unprofiled)
        asks = self.asks_for_ceilings and self._ceilings() is None
        ceilings_s = CEILINGS_S if asks and (untimed or unprofiled) else 0.0
        return ceilings_s + timing_s * self._slowness(Phase.TIMING) + profiles_s * self._slowness(Phase.PROFILING)

    def _slowness(self, phase: Phase) -> float:
        return self._taken[phase] / self._expected[phase]

    def _expected_s(self, plan: Plan, group: Group, phase: Phase, *, is_first: bool = False) -> float:
        shape, ceilings = group.shape, self._ceilings()
        call_s = call_seconds(shape, ceilings, device=plan.device, threads=plan.threads)
        if phase is Phase.PROFILING:
            return profile_seconds(shape, group.contenders, call_s=call_s)
        cache_bytes = self._cache_bytes.get(plan.device)
        flush_s = flush_seconds(shape, ceilings, device=plan.device, threads=plan.threads, cache_bytes=cache_bytes)
        policy = policy_of_visit(plan.device, budget_s=plan.axes.budget_s, n_visits=plan.axes.visits)
        return visit_seconds(shape, group.contenders, policy, call_s=call_s, flush_s=flush_s, is_first=is_first)


def call_seconds(shape: Shape, ceilings: Ceilings | None, *, device: DeviceKind, threads: int) -> float:
    """Return about how long a call at `shape` takes on a machine of these ceilings, or of usual ones."""
    least = None if ceilings is None else floor(shape, ceilings, device=device)
    if least is not None:
        return _FLOORS * least.total_s + _OVERHEAD_S
    flop_per_s, bytes_per_s = _assumed(device, threads)
    least_s = max(work.flop(shape) / flop_per_s, work.min_bytes(shape) / bytes_per_s)
    return _FLOORS * least_s + _OVERHEAD_S


def flush_seconds(
    shape: Shape, ceilings: Ceilings | None, *, device: DeviceKind, threads: int, cache_bytes: int | None = None
) -> float:
    """Return about how long the caches are flushed before a timed call at `shape`; 0 where they stay warm.

    cache_bytes: size of the last-level cache; None for a usual one.
    """
    if shape.cache is CachePolicy.WARM:
        return 0.0
    bytes_per_s = _assumed(device, threads)[1] if ceilings is None else ceilings.copy_bytes_per_s
    # Each byte is read and written.
    return 2 * FLUSHED_CACHES * (cache_bytes or _ASSUMED_CACHE_BYTES[device]) / bytes_per_s


def _assumed(device: DeviceKind, threads: int) -> tuple[float, float]:
    units = threads if device is DeviceKind.CPU else 1
    flop_per_s, bytes_per_s = _ASSUMED[device]
    return units * flop_per_s, units * bytes_per_s


def visit_seconds(  # noqa: PLR0913 - each says something else of the visit
    shape: Shape, contenders: Sequence[Contender], policy: Policy, *, call_s: float, flush_s: float, is_first: bool
) -> float:
    """Return about how long one visit of `contenders` takes: built, checked, warmed up and sampled by `policy`."""
    n_calls = fixed_calls(shape.cache)
    each_s = _CALLS_BESIDE * call_s + sampling_seconds(policy, call_s=call_s, flush_s=flush_s, n_calls=n_calls)
    total_s = _CALLS_OF_REFERENCE * call_s + len(contenders) * each_s
    return total_s + sum(_compilation_seconds(shape, each, call_s=call_s, is_first=is_first) for each in contenders)


def sampling_seconds(policy: Policy, *, call_s: float, flush_s: float, n_calls: int | None = None) -> float:
    """Return about how long a visit warms one contender up and samples it, where noise lets it use up its budget.

    All are taken to be as fast. Eager goes on for as many rounds as a far faster rival needs, which is not known here.
    n_calls: of a sample, where warm-up does not decide it (`timing.sample_group`).
    """
    calls, n_warming, warm_up_s = n_calls, 1, 0.0
    if calls is None:
        calls, n_warming = calls_per_sample(call_s, policy=policy), warming_calls(call_s, policy=policy)
        warm_up_s = max(policy.least_warm_up_s, 2 * call_s)
    counted_s, uncounted_s = (calls + n_warming) * call_s, calls * flush_s
    n_rounds = math.ceil(policy.budget_s / counted_s)
    n_rounds = min(n_rounds, max(policy.min_rounds, math.ceil(policy.budget_s / (counted_s + uncounted_s))))
    last_s = call_s if n_calls is None and n_rounds < ENOUGH_TO_TELL else 0.0
    return warm_up_s + min(n_rounds, policy.max_samples) * (counted_s + uncounted_s) + last_s


def profile_seconds(shape: Shape, contenders: Iterable[Contender], *, call_s: float) -> float:
    """Return about how long the profiles of `contenders` take; what is compiled is compiled for it anew."""
    total_s = _CALLS_OF_REFERENCE * call_s
    for contender in contenders:
        total_s += (_CALLS_BESIDE + _PROFILED_CALLS) * call_s + _PROFILE_S
        total_s += _compilation_seconds(shape, contender, call_s=call_s, is_first=True)
    return total_s


def _compilation_seconds(shape: Shape, contender: Contender, *, call_s: float, is_first: bool) -> float:
    if not contender.provider.startswith("compiled"):
        return 0.0
    graphs = 2 if shape.pass_ is Pass.FORWARD_BACKWARD else 1
    if not is_first:
        return graphs * _COMPILE_AGAIN_S
    autotuned_s = _AUTOTUNED_CALLS * call_s if "autotune" in contender.provider else 0.0
    return graphs * (_COMPILE_S + _COMPILE_AGAIN_S) + autotuned_s
