"""Profile a call with torch.profiler, in a process that times nothing."""

from __future__ import annotations

from collections import Counter, defaultdict
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch._C._autograd import DeviceType
from torch.profiler import ProfilerActivity, profile, schedule

from benchmarks.ruler.measure.stacks import folded_stacks
from benchmarks.ruler.measure.traced_call import ACTIVE_CALLS, traced
from benchmarks.ruler.record.outcome import KernelRow, OperatorRow, ProfileOutcome, State
from benchmarks.ruler.traces.event_names import is_autograd_node, is_compilation, is_step, stable_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from benchmarks.ruler.plan.points import Contender

BETWEEN_OPERATORS = "Python between operators"
_MOST_PARTS = 8
# Names inductor gives the kernels it generates; the profiler knows no schema for them.
_GENERATED_KERNELS = ("cpp_fused_", "triton_")
_ALLOCATIONS = ("aten::empty", "aten::resize_", "aten::set_", "aten::new_empty")
# Views whose schemas name no alias, to autograd's convenience: a product of three dimensions ends with the first.
_UNSAFE_VIEWS = frozenset(
    f"aten::{n}" for n in ("_unsafe_view", "unsafe_chunk", "unsafe_split", "unsafe_split_with_sizes")
)


def profile_call(call: Callable[[], object], *, device: torch.device, trace: Path | None = None) -> ProfileOutcome:
    """Profile `call` with a schedule of 1 waiting, 1 warming and 3 active calls; the averages are over the 3.

    Then trace it with shapes and memory in another session (traced_call.py), so that recording them adds to no time
    here. `trace`: where to leave that session's trace, for people who want to see it in a viewer.
    """
    on_gpu = device.type == "cuda"
    activities = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if on_gpu else [])]
    peak_on_gpu = _peak_on_gpu(call) if on_gpu else None
    with profile(
        activities=activities,
        schedule=schedule(wait=1, warmup=1, active=ACTIVE_CALLS, repeat=1),
        profile_memory=not on_gpu,
        acc_events=True,
    ) as profiler:
        for _ in range(2 + ACTIVE_CALLS):
            call()
            if on_gpu:
                torch.cuda.synchronize()
            profiler.step()
    events = list(profiler.events() or ())
    on_host = [event for event in events if event.device_type == DeviceType.CPU]
    outermost = [event for event in on_host if _is_counted(event)]
    on_device = [event for event in events if _is_kernel(event)]
    kernels = _kernel_rows(on_device) if on_gpu else ()
    outside = {} if on_gpu else _outside_operators(on_host)
    outcome = ProfileOutcome(
        state=State.OK,
        operator_count=len(outermost) / ACTIVE_CALLS,
        operator_time_s=None if on_gpu else _operator_time_s(on_host, outermost),
        profiled_call_s=None if on_gpu else _profiled_call_s(on_host),
        overhead_in=max(outside, key=outside.__getitem__, default=None),
        overhead_parts=outside,
        kernel_launches=sum(row.count for row in kernels) if on_gpu else None,
        device_time_s=sum(row.device_time_s for row in kernels) if on_gpu else None,
        peak_memory_bytes=peak_on_gpu if on_gpu else _peak_on_cpu(profiler),
        compilations=sum(is_compilation(event.name) for event in on_host) / ACTIVE_CALLS,
        operators=_operator_rows(on_host, outermost),
        kernels=kernels,
        stacks=folded_stacks(on_host, on_device, n_calls=ACTIVE_CALLS),
    )
    return traced(outcome, call, device=device, trace=trace)


def trace_path(beginning: str, contender: Contender) -> Path:
    """Return the path of a contender's trace; its .gz suffix makes torch.profiler compress it."""
    return Path(f"{beginning}{str(contender).replace(':', '-')}.json.gz")


def _is_counted(event: Any) -> bool:  # noqa: ANN401 - torch.autograd.profiler_util.FunctionEvent is untyped
    return _is_compute(event) and not _is_in_compute(event)


def _is_in_compute(event: Any) -> bool:  # noqa: ANN401 - see above
    parent = event.cpu_parent
    while parent is not None:
        if _is_compute(parent):
            return True
        parent = parent.cpu_parent
    return False


def _is_compute(event: Any) -> bool:  # noqa: ANN401 - see above
    name: str = event.name
    if name.startswith(_GENERATED_KERNELS) or any(f"_{prefix}" in name for prefix in _GENERATED_KERNELS):
        return True
    if "::" not in name or name.startswith(_ALLOCATIONS) or is_autograd_node(name):
        return False
    if not name.startswith(("aten::", "prims::")):
        # An operator from outside ATen computes itself, unless it only calls operators that do: its kernels tell.
        return bool(event.kernels) or not any(_contains_compute(child) for child in event.cpu_children)
    return not _is_view(name) and not _is_wrapper(name)


def _contains_compute(event: Any) -> bool:  # noqa: ANN401 - see above
    return _is_compute(event) or any(_contains_compute(child) for child in event.cpu_children)


@lru_cache(maxsize=4096)
def _is_wrapper(name: str) -> bool:
    return any(_has_composite_kernel(full) for full in _overloads(name))


def _has_composite_kernel(full_name: str) -> bool:
    # There is no public way to ask whether an operator only calls others.
    has_kernel = torch._C._dispatch_has_kernel_for_dispatch_key  # noqa: SLF001
    try:
        # Some have both: on the CPU and on CUDA, aten::silu_backward computes by itself.
        return bool(has_kernel(full_name, "CompositeImplicitAutograd")) and not has_kernel(full_name, "CPU")
    except RuntimeError:
        return False  # an overload that only TorchScript knows


@lru_cache(maxsize=4096)
def _is_view(name: str) -> bool:
    if name in _UNSAFE_VIEWS:
        return True
    if name.endswith("_") and not name.endswith("__"):
        return _is_view(name[:-1])  # aten::unsqueeze_ writes sizes and strides, and no element
    schemas = torch._C._jit_get_schemas_for_operator(name)  # noqa: SLF001 - the only list of schemas by name
    # Those TorchScript has of the same name for lists and strings, such as slice, say nothing of the tensor's.
    values = [value for schema in schemas for value in schema.returns]
    returned = [value.alias_info for value in values if str(value.type) in {"Tensor", "List[Tensor]"}]
    return bool(returned) and all(alias is not None and not alias.is_write for alias in returned)


def _operator_time_s(on_host: Iterable[Any], outermost: Sequence[Any]) -> float:
    """Return the time in computing operators, with what they call inside: the least of the calls.

    They are few, and what a profiler's start, cold caches or another process do to them only adds.
    """
    steps = [event.time_range for event in on_host if is_step(event.name)]
    of_calls = [
        sum(float(event.cpu_time_total) for event in outermost if step.start <= event.time_range.start < step.end)
        for step in steps
    ]
    return min(of_calls, default=0.0) * 1e-6


def _profiled_call_s(on_host: Iterable[Any]) -> float:
    """Return the least time of a profiled call, what the profiler adds to it included."""
    return min((float(event.time_range.elapsed_us()) for event in on_host if is_step(event.name)), default=0.0) * 1e-6


def _outside_operators(on_host: Sequence[Any]) -> dict[str, float]:
    """Return what takes time outside computing operators, in seconds per call by name; the largest first."""
    parts: dict[str, float] = defaultdict(float)
    for event in on_host:
        if is_step(event.name):
            parts[BETWEEN_OPERATORS] += _gaps_s(event.cpu_children) / ACTIVE_CALLS
        elif not _is_compute(event) and not _is_in_compute(event):
            parts[stable_name(event.name)] += _self_s(event) / ACTIVE_CALLS
    largest = sorted(parts, key=lambda name: (-parts[name], name))[:_MOST_PARTS]
    return {name: round(parts[name], 9) for name in largest if parts[name] > 0}


def _gaps_s(children: Iterable[Any]) -> float:
    ranges = sorted((float(child.time_range.start), float(child.time_range.end)) for child in children)
    return sum(max(0.0, later[0] - earlier[1]) for earlier, later in pairwise(ranges)) * 1e-6


def _overloads(name: str) -> list[str]:
    schemas = torch._C._jit_get_schemas_for_operator(name)  # noqa: SLF001 - the only list of schemas by name
    return [
        f"{name}.{schema.overload_name}" if schema.overload_name else name
        for schema in schemas
        if not _names_dimensions(schema)
    ]


def _names_dimensions(schema: Any) -> bool:  # noqa: ANN401 - torch._C.FunctionSchema is untyped
    # Up to torch 2.11 most reductions have an overload for named tensors, which only looks the names up.
    return any("str" in str(argument.type) and "dim" in argument.name for argument in schema.arguments)


def _self_s(event: Any) -> float:  # noqa: ANN401 - see above
    return float(event.self_cpu_time_total) * 1e-6


def _operator_rows(events: Iterable[Any], outermost: Iterable[Any]) -> tuple[OperatorRow, ...]:
    n_outermost = Counter(stable_name(event.name) for event in outermost)
    sums: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0, 0.0, 0.0])
    for event in events:
        if is_step(event.name):
            continue
        row = sums[stable_name(event.name)]
        row[0] += 1
        row[1] += _self_s(event)
        row[2] += float(event.cpu_time_total) * 1e-6
        row[3] += _is_compute(event)
    rows = (
        OperatorRow(
            name=name,
            count=count / ACTIVE_CALLS,
            self_time_s=self_s / ACTIVE_CALLS,
            total_time_s=total_s / ACTIVE_CALLS,
            is_compute=n_compute > 0,
            outermost=n_outermost[name] / ACTIVE_CALLS,
        )
        for name, (count, self_s, total_s, n_compute) in sums.items()
    )
    return tuple(sorted(rows, key=lambda row: row.self_time_s, reverse=True))


def _is_kernel(event: Any) -> bool:  # noqa: ANN401 - see above
    if event.device_type != DeviceType.CUDA or event.is_user_annotation:
        return False
    return not is_step(event.name) and not event.name.startswith(("Memcpy", "Memset"))


def _kernel_rows(kernels: Iterable[Any]) -> tuple[KernelRow, ...]:
    sums: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for event in kernels:
        sums[event.name][0] += 1
        sums[event.name][1] += float(event.self_device_time_total) * 1e-6
    rows = (
        KernelRow(name=name, count=count / ACTIVE_CALLS, device_time_s=time_s / ACTIVE_CALLS)
        for name, (count, time_s) in sums.items()
    )
    return tuple(sorted(rows, key=lambda row: row.device_time_s, reverse=True))


def _peak_on_gpu(call: Callable[[], object]) -> int:
    call()
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    call()
    torch.cuda.synchronize()
    return int(torch.cuda.max_memory_allocated() - before)


def _peak_on_cpu(profiler: Any) -> int | None:  # noqa: ANN401 - torch.profiler.profile hides its results
    held = peak = 0
    seen = False
    for event in sorted(profiler.profiler.kineto_results.events(), key=lambda event: event.start_ns()):
        if event.name() == "[memory]":
            seen = True
            held += event.nbytes()
            peak = max(peak, held)
    return peak if seen else None
