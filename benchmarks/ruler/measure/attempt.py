"""Build a contender, call it once and check its output against the reference, before any timing."""

from __future__ import annotations

import math
import re
import time
from typing import TYPE_CHECKING

import torch

from benchmarks.ruler.providers import compiled as compiled_providers
from benchmarks.ruler.providers import registry as providers
from benchmarks.ruler.providers.built import Unavailable
from benchmarks.ruler.providers.fused import unsupported_reason
from benchmarks.ruler.providers.workload import Workload, error_rel, one_call, tolerance, why_wrong
from benchmarks.ruler.record.outcome import State, TimingOutcome, is_out_of_memory

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from benchmarks.ruler.plan.points import Contender

# After these the CUDA context answers every call with an error.
_FAULTS = re.compile(
    r"CUDA error|Triton Error \[CUDA\]: .*(illegal|misaligned|launch failure|unspecified)", re.IGNORECASE
)


def attempt(
    contender: Contender,
    load: Workload,
    reference: Sequence[torch.Tensor],
    *,
    module: Path | None = None,
    call_of: Callable[[Callable[[torch.Tensor], torch.Tensor]], Callable[[], object]] | None = None,
) -> tuple[TimingOutcome, Callable[[], object] | None]:
    """Build, run once and check a contender; return its outcome so far and the call to time, or None.

    module: file with more providers. call_of: makes the call of a provider's function; without it, the call takes the
    workload's input.
    """
    compiles, is_checking = contender.provider in providers.COMPILED, False
    try:
        compiled_providers.clear_counters()
        built = providers.build(contender, load, module=module)
        if isinstance(built, Unavailable):
            return TimingOutcome(state=State.UNAVAILABLE, reason=built.reason), None
        call = call_of(built.function) if call_of else one_call(load, built.function)
        start = time.perf_counter()
        call()
        first_call_s = time.perf_counter() - start
        for _ in range(built.settling_calls):
            call()
        # A captured provider gives the same memory again at its next call.
        answer = tuple(each.clone() for each in load.answer(built.function))
        if compiles:
            compiled_providers.require_one_graph()
        if built.captured:
            compiled_providers.require_captured()
        is_checking = True
        error = error_rel(answer, reference)
    except Exception as raised:
        if is_device_fault(raised):
            raise
        if (reason := unsupported_reason(raised)) is not None:
            return TimingOutcome(state=State.UNAVAILABLE, reason=reason), None
        state, said = state_from_error(raised)
        if is_checking:
            said = f"while the ruler compared its result: {said}"
        return TimingOutcome(state=state, reason=said), None
    wrong = why_wrong(answer, reference, error, limit=tolerance(load.shape))
    if wrong is not None:
        known_error = error if math.isfinite(error) else None
        return TimingOutcome(state=State.WRONG, reason=wrong, error_rel=known_error), None
    return (
        TimingOutcome(
            state=State.OK,
            provider_detail=built.detail,
            recompile_time_s=first_call_s if compiles and built.compile_time_s is None else built.compile_time_s,
            prepare_time_s=built.prepare_time_s,
            error_rel=error,
        ),
        call,
    )


def state_from_error(error: Exception) -> tuple[State, str]:
    """Return the state of a point that raised `error`, and its reason."""
    text = f"{type(error).__name__}: {error}".strip()
    first_lines = " ".join(text.split("\n")[:3])[:500]
    if is_out_of_memory(text) or isinstance(error, MemoryError | torch.OutOfMemoryError):
        return State.OUT_OF_MEMORY, first_lines
    return State.CRASHED, first_lines


def is_device_fault(error: BaseException) -> bool:
    """Return whether `error` leaves the device unusable for this process, so that a fresh one must go on."""
    return isinstance(error, getattr(torch, "AcceleratorError", ())) or bool(_FAULTS.search(str(error)))
