"""Calls of a contender for `asv profile`, in asv's own process: nothing of them is recorded."""

from __future__ import annotations

import time
from contextlib import nullcontext
from typing import TYPE_CHECKING

import torch

from benchmarks.ruler.measure.attempt import attempt
from benchmarks.ruler.plan.points import Pass
from benchmarks.ruler.providers.workload import workload

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.ruler.plan.points import Contender, DeviceKind, Shape
    from benchmarks.ruler.plan.settings import Settings

_SECONDS, _MOST_CALLS = 0.2, 1000


def profiled_calls(shape: Shape, contender: Contender, *, settings: Settings, device: DeviceKind) -> Callable[[], None]:
    """Build and check `contender`; return a function that calls it for about 0.2 s, at least once.

    Raises: NotImplementedError, asv's n/a, with the reason why it cannot be called.
    """
    torch.set_num_threads(settings.threads)
    load = workload(shape, device=torch.device(device))
    mode = torch.inference_mode if shape.pass_ is Pass.FORWARD else nullcontext
    with mode():
        outcome, call = attempt(contender, load, load.reference(), module=settings.provider_module)
        if call is None:
            raise NotImplementedError(f"{outcome.state}: {outcome.reason}")
        start = time.perf_counter()
        call()
        n_calls = max(1, min(_MOST_CALLS, int(_SECONDS / (time.perf_counter() - start))))

    def calls() -> None:
        with mode():
            for _ in range(n_calls):
                call()

    return calls
