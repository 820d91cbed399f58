"""Summary of a trace, per profiled call: memory and least bytes of operators, the device's gaps, its runtime's calls.

Pure. What a trace does not hold is None, with the reason in `missing`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from benchmarks.ruler.traces.device_gaps import NO_DEVICE, DeviceGaps, device_gaps
from benchmarks.ruler.traces.event_names import is_step, stable_name
from benchmarks.ruler.traces.events import RUNTIME, Allocation, Span, Trace
from benchmarks.ruler.traces.inputs import Inputs, inputs_from_args
from benchmarks.ruler.traces.least_bytes import NO_INPUTS, least_bytes
from benchmarks.ruler.traces.runtime_calls import runtime_calls

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from benchmarks.ruler.record.outcome import RuntimeCallRow

NO_CALLS = "the trace holds no profiled call"
NO_MEMORY = "this version of torch records no allocations"
NO_RUNTIME = "on a CPU nothing is asked of a device's runtime"
MOST_INPUTS = 8


@dataclass(frozen=True, kw_only=True)
class OperatorDetail:
    """Operator per call: its distinct inputs, the most frequent first, its own memory, the least it must move."""

    inputs: tuple[str, ...] = ()
    allocated_bytes: float | None = None
    freed_bytes: float | None = None
    min_bytes: float | None = None
    min_bytes_reason: str | None = None


@dataclass(frozen=True, kw_only=True)
class TraceSummary:
    """What a trace says of one call; names and units as in ProfileOutcome. operators: by stable name."""

    operators: Mapping[str, OperatorDetail] = field(default_factory=dict)
    allocated_bytes: float | None = None
    freed_bytes: float | None = None
    operators_min_bytes: float | None = None
    gaps: DeviceGaps | None = None
    runtime_calls: tuple[RuntimeCallRow, ...] | None = None
    missing: Mapping[str, str]


@dataclass(kw_only=True)
class _Sums:
    """Sums over the profiled calls of one operator."""

    inputs: Counter[str] = field(default_factory=Counter)
    allocated: int = 0
    freed: int = 0
    moved: int | None = None
    reason: str | None = None


QUANTITIES = ("allocated_bytes", "freed_bytes", "operators_min_bytes", *DeviceGaps.QUANTITIES, "runtime_calls")


def unreadable(reason: str) -> TraceSummary:
    """Return the summary of a trace that could not be written or read."""
    return TraceSummary(missing=dict.fromkeys(QUANTITIES, reason))


def summarised(trace: Trace, *, on_gpu: bool, computing: Callable[[str], bool]) -> TraceSummary:
    """Summarise the profiled calls of `trace`. computing: whether the operator of a stable name computes."""
    if not trace.steps:
        return unreadable(NO_CALLS)
    host = [span for span in trace.host if _is_in_a_step(span, trace)]
    allocations = [each for each in trace.allocations if each.is_on_host is not on_gpu and _is_during(each, trace)]
    sums = _operator_sums(host, allocations, computing)
    least, why = _least_of_all(host, computing)
    gaps = device_gaps(trace) if on_gpu else None
    missing: dict[str, str] = {}
    if not trace.has_memory:
        missing |= dict.fromkeys(("allocated_bytes", "freed_bytes"), NO_MEMORY)
    if why is not None:
        missing["operators_min_bytes"] = why
    if gaps is None:
        missing |= dict.fromkeys(DeviceGaps.QUANTITIES, _no_gaps(on_gpu=on_gpu))
    if not on_gpu:
        missing["runtime_calls"] = NO_RUNTIME
    n_calls = len(trace.steps)
    return TraceSummary(
        operators={name: _detail(found, n_calls, has_memory=trace.has_memory) for name, found in sums.items()},
        allocated_bytes=sum(_taken(each) for each in allocations) / n_calls if trace.has_memory else None,
        freed_bytes=sum(_given_back(each) for each in allocations) / n_calls if trace.has_memory else None,
        operators_min_bytes=None if least is None else least / n_calls,
        gaps=gaps,
        runtime_calls=runtime_calls(host, n_calls=n_calls) if on_gpu else None,
        missing=missing,
    )


def _no_gaps(*, on_gpu: bool) -> str:
    return "the trace holds no activity of the device" if on_gpu else NO_DEVICE


def _is_in_a_step(span: Span, trace: Trace) -> bool:
    return any(step.start_ns <= span.start_ns < step.end_ns for step in trace.steps)


def _is_during(allocation: Allocation, trace: Trace) -> bool:
    # What a call returned is given back before the next call, which may be after the step's end.
    return trace.steps[0].start_ns <= allocation.at_ns <= trace.steps[-1].end_ns


def _operator_sums(
    host: Iterable[Span], allocations: Iterable[Allocation], computing: Callable[[str], bool]
) -> dict[str, _Sums]:
    sums: dict[str, _Sums] = defaultdict(_Sums)
    for span in host:
        if is_step(span.name) or span.category in RUNTIME:
            continue
        name, inputs = stable_name(span.name), inputs_from_args(span.args)
        if span.parent is not None and stable_name(span.parent.name) == name:
            continue  # an overload that the other calls: what it moves is the same
        found = sums[name]
        if inputs is not None and str(inputs):
            found.inputs[str(inputs)] += 1
        if computing(name):
            _add_least(found, name, inputs)
    for allocation in allocations:
        owner = _operator_of(allocation.owner)
        if owner is not None:
            found = sums[stable_name(owner.name)]
            found.allocated += _taken(allocation)
            found.freed += _given_back(allocation)
    return sums


def _operator_of(span: Span | None) -> Span | None:
    """Return the innermost operator that `span` is in, itself included; None outside operators."""
    while span is not None and span.category in RUNTIME:
        span = span.parent
    return None if span is None or is_step(span.name) else span


def _add_least(found: _Sums, name: str, inputs: Inputs | None) -> None:
    least = least_bytes(name, inputs)
    if least.n_bytes is None:
        found.reason = found.reason or least.reason or NO_INPUTS
    else:
        found.moved = (found.moved or 0) + least.n_bytes


def _least_of_all(host: Iterable[Span], computing: Callable[[str], bool]) -> tuple[int | None, str | None]:
    """Return the sum over the operators that compute and are in no other such, or the reason why one is not known."""
    total = 0
    for span in host:
        name = stable_name(span.name)
        if span.category in RUNTIME or not computing(name) or _is_in_computing(span, computing):
            continue
        least = least_bytes(name, inputs_from_args(span.args))
        if least.n_bytes is None:
            return None, f"{name}: {least.reason}"
        total += least.n_bytes
    return total, None


def _is_in_computing(span: Span, computing: Callable[[str], bool]) -> bool:
    parent = span.parent
    while parent is not None:
        if not is_step(parent.name) and computing(stable_name(parent.name)):
            return True
        parent = parent.parent
    return False


def _detail(found: _Sums, n_calls: int, *, has_memory: bool) -> OperatorDetail:
    return OperatorDetail(
        inputs=tuple(text for text, _ in found.inputs.most_common(MOST_INPUTS)),
        allocated_bytes=found.allocated / n_calls if has_memory else None,
        freed_bytes=found.freed / n_calls if has_memory else None,
        min_bytes=None if found.moved is None or found.reason is not None else found.moved / n_calls,
        min_bytes_reason=found.reason,
    )


def _taken(allocation: Allocation) -> int:
    return max(allocation.n_bytes, 0)


def _given_back(allocation: Allocation) -> int:
    return max(-allocation.n_bytes, 0)
