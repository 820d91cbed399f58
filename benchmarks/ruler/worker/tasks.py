"""Tasks of a worker: time, profile or check a group; measure the machine's ceilings."""

from __future__ import annotations

import gc
import time
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING

import torch

from benchmarks.ruler.measure.allocator import faults_per_call
from benchmarks.ruler.measure.attempt import attempt, is_device_fault, state_from_error
from benchmarks.ruler.measure.best_rates import MachineDisturbed
from benchmarks.ruler.measure.ceilings import measure_ceilings
from benchmarks.ruler.measure.clock import Clock, ColdClock, CpuClock, CudaClock, cache_flush
from benchmarks.ruler.measure.conditions import varying_conditions
from benchmarks.ruler.measure.disturbances import Demand, MachineWatch
from benchmarks.ruler.measure.generated_kernels import generated_kernels_announced, kernels_that_announce_themselves
from benchmarks.ruler.measure.gpu import GpuWatch, gpu_state
from benchmarks.ruler.measure.probe import Probe, usual_best_s
from benchmarks.ruler.measure.profiling import profile_call, trace_path
from benchmarks.ruler.measure.timing import Sampling, sample_group
from benchmarks.ruler.plan import work
from benchmarks.ruler.plan.cpu_caches import last_level_cache_bytes
from benchmarks.ruler.plan.points import BASELINE, CachePolicy, Contender, DeviceKind, Pass, Shape
from benchmarks.ruler.providers import registry as providers
from benchmarks.ruler.providers.compiler_settings import CompilerSettings
from benchmarks.ruler.providers.workload import Workload, padded_with_nan, workload
from benchmarks.ruler.record.codec import json_from_value
from benchmarks.ruler.record.outcome import ProfileOutcome, State, TimingOutcome
from benchmarks.ruler.referee.failures import RefereeFailed, referee_failures
from benchmarks.ruler.referee.group_referee import GroupReferee
from benchmarks.ruler.referee.tampering import Instrument
from benchmarks.ruler.worker.compiled_ahead import compile_ahead
from benchmarks.ruler.worker.device_time import l2_bytes, with_cold_device_time, with_device_time
from benchmarks.ruler.worker.first_call import time_first_call
from benchmarks.ruler.worker.outcomes import Candidate, with_sampling
from benchmarks.ruler.worker.policies import FLUSHED_CACHES, fixed_calls, policy_of_visit
from benchmarks.ruler.worker.protocol import CeilingsRequest, Request, Task

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from benchmarks.ruler.measure.kept_chunks import Watch
    from benchmarks.ruler.measure.policy import Policy
    from benchmarks.ruler.worker.current_contender import CurrentContender


class Worker:
    """Performer of requests on one device; sends each outcome as soon as it is known."""

    def __init__(
        self,
        *,
        device: torch.device,
        current: CurrentContender,
        provider_module: Path | None,
        send: Callable[[dict[str, object]], None],
    ) -> None:
        self._device = device
        self._current = current
        self._provider_module = provider_module
        self._send = send
        self._load: dict[str, float | None] = {}
        self._probe: Probe | None = None
        self._accounted_s = 0.0
        # Before the first provider is loaded.
        self._instrument = Instrument()
        self._compiler_settings = CompilerSettings()
        self._has_profiled = False

    def answer(self, request: Request) -> None:
        """Perform one request; the last message is `done`, with the conditions of the measurement."""
        start, self._accounted_s, self._load = time.perf_counter(), 0.0, {}
        self._compiler_settings.restore()
        for contender, outcome in self._outcomes(request):
            self._send({"event": "outcome", "contender": str(contender), "outcome": json_from_value(outcome)})
        conditions = varying_conditions(self._device) | self._load
        overhead_s = time.perf_counter() - start - self._accounted_s
        self._send({"event": "done", "conditions": {**conditions, "ruler_overhead_s": round(overhead_s, 6)}})

    def _outcomes(self, request: Request) -> Iterator[tuple[Contender, TimingOutcome | ProfileOutcome]]:
        match request.task:
            case Task.TIME:
                yield from self._time(request)
            case Task.PROFILE:
                yield from self._profile(request)
            case Task.CHECK:
                yield from self._check(request)
            case Task.FIRST_CALL:
                self._current.set(0)
                (contender,) = request.contenders
                yield (
                    contender,
                    time_first_call(request.shape, contender, device=self._device, module=self._provider_module),
                )

    def look_at_speed(self) -> None:
        """Send what the probe's parts take at best just now, as conditions, in `done`."""
        times = {f"probe_{part}_s": time_s for part, time_s in usual_best_s(self._fixed_work()).items()}
        self._send({"event": "done", "conditions": times})

    def measure_ceilings(self, request: CeilingsRequest) -> None:
        """Measure and send this machine's ceilings, or why it gave none, then `done`."""
        self._current.set(0)
        demand = Demand(threads=torch.get_num_threads(), data_bytes=2**30, is_on_host=self._device.type == "cpu")
        machine_watch, gpu_watch = self._watches(demand, request)
        watch = gpu_watch or machine_watch
        try:
            found = measure_ceilings(self._device, watch=watch)
            found = replace(found, conditions={**found.conditions, **watch.conditions(), **machine_watch.speeds()})
            self._send({"event": "ceilings", "ceilings": json_from_value(found), "refused": None})
        except MachineDisturbed as disturbed:
            self._send({"event": "ceilings", "ceilings": None, "refused": str(disturbed)})
        conditions = varying_conditions(self._device) | machine_watch.conditions()
        self._send({"event": "done", "conditions": conditions})

    def _demand(self, shape: Shape) -> Demand:
        # Some contenders write the hidden layer to memory, so it counts.
        data_bytes = work.min_bytes(shape) + 4 * shape.batch * shape.hidden
        return Demand(threads=torch.get_num_threads(), data_bytes=data_bytes, is_on_host=self._device.type == "cpu")

    def _watches(self, demand: Demand, request: Request | CeilingsRequest) -> tuple[MachineWatch, GpuWatch | None]:
        """Return the watch over the machine, and the one over a GPU as well, if that computes."""
        machine_watch = MachineWatch(demand, probe=self._fixed_work(), best_s=request.best_probe_s)
        is_on_gpu = self._device.type == "cuda"
        return machine_watch, GpuWatch(machine_watch, read=lambda: gpu_state(self._device)) if is_on_gpu else None

    def _fixed_work(self) -> Probe:
        """Return the probe of the machine's speed, made once."""
        if self._probe is None:
            self._probe = Probe()
        return self._probe

    @contextmanager
    def _accounted(self) -> Iterator[None]:
        """Account for time of building, checking, warming up or sampling: no overhead of the ruler."""
        start = time.perf_counter()
        yield
        self._accounted_s += time.perf_counter() - start

    def _time(self, request: Request) -> Iterator[tuple[Contender, TimingOutcome]]:
        assert not self._has_profiled, "nothing is timed in a process that a profiler has run in"  # noqa: S101 - the sweep's duty
        machine_watch, gpu_watch = self._watches(self._demand(request.shape), request)
        watch = self.watch_of_visit(gpu_watch or machine_watch)
        candidates: dict[str, Candidate] = {}
        try:
            load, referee, reference = self._refereed(request.shape)
        except RefereeFailed as failed:
            yield from ((each, TimingOutcome(state=failed.state, reason=str(failed))) for each in request.contenders)
            return
        with _mode(request.shape):
            self._instrument.note_settings()
            with self._accounted():
                cold_s = (
                    compile_ahead(request.contenders, load, module=self._provider_module, announce=self._current.set)
                    if request.is_first_visit
                    else {}
                )
            for contender in self._built_anew(request):
                with self._accounted():
                    outcome, call = referee.attempt(contender, reference, module=self._provider_module)
                if call is None:
                    yield contender, outcome
                else:
                    outcome = replace(outcome, compile_time_cold_s=cold_s.get(contender))
                    candidates[str(contender)] = Candidate(contender=contender, call=call, outcome=outcome)
            del reference
            samplings = self._sample(request, candidates, watch, referee)
        for name, finding in referee.findings.items():
            found = candidates[name]
            error_rel = found.outcome.error_rel if finding.state is State.WRONG else None
            yield found.contender, replace(finding, error_rel=error_rel)
        self._load = machine_watch.conditions()
        if gpu_watch:
            self._load |= gpu_watch.conditions()
        for name, sampling in samplings.items():
            candidate = candidates[name]
            measured = with_sampling(candidate.outcome, sampling)
            self._take_turn(request, candidate.contender)
            with self._accounted(), _mode(request.shape):
                measured = replace(measured, minor_faults_per_call=faults_per_call(candidate.call))
                if self._device.type == "cuda":
                    measured = self._with_device_times(candidate, measured, referee.functions[name])
            yield candidate.contender, measured

    def _refereed(self, shape: Shape) -> tuple[Workload, GroupReferee, tuple[torch.Tensor, ...]]:
        """Return the workload, its referee, and what every contender should give. Raises: RefereeFailed."""
        with self._accounted(), referee_failures("before any contender ran"):
            # Outside inference_mode: weights of a model are no inference tensors, and some cannot be packed.
            load = workload(shape, device=self._device)
            referee = GroupReferee(load, instrument=self._instrument, threads=torch.get_num_threads())
            with _mode(shape):
                return load, referee, load.reference()

    def _sample(
        self, request: Request, candidates: dict[str, Candidate], watch: Watch, referee: GroupReferee
    ) -> dict[str, Sampling]:
        n_calls = fixed_calls(request.shape.cache)
        gc.disable()
        self._instrument.note_settings()
        try:
            with self._accounted():
                return sample_group(
                    {name: candidate.call for name, candidate in candidates.items()},
                    baseline=BASELINE,
                    clock=self._clock(request.shape),
                    policy=self.policy(request),
                    watch=watch,
                    referee=referee,
                    announce=lambda name: self._take_turn(request, candidates[name].contender),
                    n_calls=dict.fromkeys(candidates, n_calls) if n_calls else None,
                )
        finally:
            gc.enable()

    def watch_of_visit(self, watch: Watch) -> Watch:
        """Return the watch of a visit's windows; a kind of worker that does more between them has one of its own."""
        return watch

    def policy(self, request: Request) -> Policy:
        """Return how a visit is sampled."""
        device = DeviceKind(self._device.type)
        return policy_of_visit(device, budget_s=request.budget_s, n_visits=request.n_visits)

    def _with_device_times(
        self, candidate: Candidate, outcome: TimingOutcome, function: Callable[[torch.Tensor], torch.Tensor]
    ) -> TimingOutcome:
        """Return `outcome` with host and device time, and the device time on weights that L2 does not hold.

        Not the last of a graph, which reads the weights it was captured with.
        """
        timed = with_device_time(outcome, candidate.call)
        if candidate.contender.provider in providers.CAPTURED:
            return timed
        return with_cold_device_time(timed, candidate.call, function, cache_bytes=l2_bytes(self._device))

    def _profile(self, request: Request) -> Iterator[tuple[Contender, ProfileOutcome]]:
        self._has_profiled = True
        load = workload(request.shape, device=self._device)
        with _mode(request.shape):
            reference = load.reference()
            for contender in self._built_anew(request):
                # Inside, so that it is set after the process's settings were put back.
                with kernels_that_announce_themselves():
                    profiled = self._profiled(request, contender, load, reference)
                yield contender, profiled

    def _profiled(
        self, request: Request, contender: Contender, load: Workload, reference: tuple[torch.Tensor, ...]
    ) -> ProfileOutcome:
        outcome, call = attempt(contender, load, reference, module=self._provider_module)
        if call is None:
            return ProfileOutcome(state=outcome.state, reason=outcome.reason)
        trace = trace_path(request.traces, contender) if request.traces else None
        try:
            with generated_kernels_announced():
                return profile_call(call, device=self._device, trace=trace)
        except Exception as error:  # whatever a provider raises is its point's state
            if is_device_fault(error):
                raise
            state, reason = state_from_error(error)
            return ProfileOutcome(state=state, reason=reason)

    def _check(self, request: Request) -> Iterator[tuple[Contender, TimingOutcome]]:
        load = padded_with_nan(workload(request.shape, device=self._device))
        with _mode(request.shape):
            reference = load.reference()
            for contender in self._built_anew(request):
                outcome, _ = attempt(contender, load, reference, module=self._provider_module)
                yield contender, outcome

    def _built_anew(self, request: Request) -> Iterator[Contender]:
        with self._accounted():
            torch._dynamo.reset()  # noqa: SLF001 - the documented way to forget earlier shapes
        for index, contender in enumerate(request.contenders):
            self._current.set(index)
            with self._compiler_settings.built_by(str(contender)):
                yield contender

    def _take_turn(self, request: Request, contender: Contender) -> None:
        self._current.set(request.contenders.index(contender))
        self._compiler_settings.take_turn(str(contender))

    def _clock(self, shape: Shape) -> Clock:
        on_gpu = self._device.type == "cuda"
        clock: Clock = CudaClock() if on_gpu else CpuClock()
        if shape.cache is CachePolicy.WARM:
            return clock
        cache_bytes = l2_bytes(self._device) if on_gpu else last_level_cache_bytes()
        return ColdClock(clock, cache_flush(n_bytes=FLUSHED_CACHES * cache_bytes, device=self._device))


def _mode(shape: Shape) -> torch.inference_mode | nullcontext[None]:
    return torch.inference_mode() if shape.pass_ is Pass.FORWARD else nullcontext()
