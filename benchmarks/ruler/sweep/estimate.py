"""Estimate of how long a sweep takes: of FLOP, ceilings and compilations at first, then of what it has taken. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.ruler.plan import work
from benchmarks.ruler.plan.points import BASELINE, DeviceKind, Pass
from benchmarks.ruler.plan.roofline import floor
from benchmarks.ruler.sweep.progress import Phase

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from benchmarks.ruler.plan.axes import Axes
    from benchmarks.ruler.plan.points import Contender, Group, Shape
    from benchmarks.ruler.plan.roofline import Ceilings
    from benchmarks.ruler.sweep.sweep_plan import Plan, Sweep

# Of a machine without measured ceilings: FLOP/s and bytes/s of a whole GPU, and of one thread of a CPU.
_ASSUMED = {DeviceKind.CUDA: (1e14, 1e12), DeviceKind.CPU: (3e10, 5e9)}
# A usual call takes as many floors, and this much that no floor counts.
_FLOORS, _OVERHEAD_S = 2.0, 20e-6
# Calls of a contender before its samples (the first, the check, warming up), and those of the reference in float64.
_CALLS_BEFORE, _CALLS_OF_REFERENCE = 6.0, 10.0
_WARM_UP_S = 0.1
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
        call_s = call_seconds(group.shape, self._ceilings(), device=plan.device, threads=plan.threads)
        if phase is Phase.PROFILING:
            return profile_seconds(group.shape, group.contenders, call_s=call_s)
        return visit_seconds(group.shape, group.contenders, plan.axes, call_s=call_s, is_first=is_first)


def call_seconds(shape: Shape, ceilings: Ceilings | None, *, device: DeviceKind, threads: int) -> float:
    """Return about how long a call at `shape` takes on a machine of these ceilings, or of usual ones."""
    least = None if ceilings is None else floor(shape, ceilings, device=device)
    if least is not None:
        return _FLOORS * least.total_s + _OVERHEAD_S
    flop_per_s, bytes_per_s = _ASSUMED[device]
    units = threads if device is DeviceKind.CPU else 1
    least_s = max(work.flop(shape) / flop_per_s, work.min_bytes(shape) / bytes_per_s) / units
    return _FLOORS * least_s + _OVERHEAD_S


def visit_seconds(shape: Shape, contenders: Iterable[Contender], axes: Axes, *, call_s: float, is_first: bool) -> float:
    """Return about how long one visit of `contenders` takes: built, checked, warmed up and sampled."""
    total_s = _CALLS_OF_REFERENCE * call_s
    for contender in contenders:
        # The baseline is sampled twice a round, for as long as any rival is.
        shares = 3 if contender.provider == BASELINE else 1
        samples_s = shares * max(axes.budget_s / axes.visits, 2 * call_s)
        total_s += _CALLS_BEFORE * call_s + _WARM_UP_S + samples_s
        total_s += _compilation_seconds(shape, contender, call_s=call_s, is_first=is_first)
    return total_s


def profile_seconds(shape: Shape, contenders: Iterable[Contender], *, call_s: float) -> float:
    """Return about how long the profiles of `contenders` take; what is compiled is compiled for it anew."""
    total_s = _CALLS_OF_REFERENCE * call_s
    for contender in contenders:
        total_s += (_CALLS_BEFORE + _PROFILED_CALLS) * call_s + _PROFILE_S
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
