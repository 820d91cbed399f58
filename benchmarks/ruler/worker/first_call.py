"""Time to a provider's first result, in a process that has done nothing before."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import torch

from benchmarks.ruler.measure.attempt import state_from_error
from benchmarks.ruler.plan.points import Pass
from benchmarks.ruler.providers import registry as providers
from benchmarks.ruler.providers.built import Unavailable
from benchmarks.ruler.providers.workload import one_call, workload
from benchmarks.ruler.record.outcome import State, TimingOutcome

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.ruler.plan.points import Contender, Shape


def time_first_call(
    shape: Shape, contender: Contender, *, device: torch.device, module: Path | None = None
) -> TimingOutcome:
    """Build `contender` and call it once; return the seconds of both, with what they import and compile.

    Not of importing torch, nor of drawing the weights and the input, which any process has. module: file with more
    providers.
    """
    load = workload(shape, device=device)
    with torch.inference_mode(mode=shape.pass_ is Pass.FORWARD):
        start = time.perf_counter()
        try:
            built = providers.build(contender, load, module=module)
            if isinstance(built, Unavailable):
                return TimingOutcome(state=State.UNAVAILABLE, reason=built.reason)
            one_call(load, built.function)()
            if device.type == "cuda":
                torch.cuda.synchronize()
        except Exception as error:  # noqa: BLE001 - whatever a provider raises is its point's state
            state, reason = state_from_error(error)
            return TimingOutcome(state=state, reason=reason)
        return TimingOutcome(state=State.OK, time_to_first_call_s=time.perf_counter() - start)
