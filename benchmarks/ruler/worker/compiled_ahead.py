"""Contenders compiled ahead: once before each is built to be measured, which then finds inductor's cache warm."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import torch

from benchmarks.ruler.measure.attempt import is_device_fault
from benchmarks.ruler.plan.points import Pass
from benchmarks.ruler.providers import compiled as compiled_providers
from benchmarks.ruler.providers import registry as providers
from benchmarks.ruler.providers.built import Built
from benchmarks.ruler.providers.workload import Workload, one_call

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from benchmarks.ruler.plan.points import Contender


def compile_ahead(
    contenders: Sequence[Contender], load: Workload, *, module: Path | None, announce: Callable[[int], None]
) -> dict[Contender, float]:
    """Fill inductor's cache on disk; return the seconds of each first call that found it cold.

    What a process pays at its first compilation is paid before. module: file with more providers. announce: told the
    index of the contender that runs.
    """
    cold_s = {}
    for index, contender in enumerate(contenders):
        if contender.provider not in providers.COMPILED_AHEAD:
            continue
        announce(index)
        # What fails here fails again when it is built to be measured, and is reported then.
        with _unless_the_device_is_lost():
            compiled_providers.compile_throwaway(load.x.device, trains=load.shape.pass_ is not Pass.FORWARD)
        torch._dynamo.reset()  # noqa: SLF001 - the documented way to forget earlier shapes
        compiled_providers.clear_counters()
        start = time.perf_counter()
        with _unless_the_device_is_lost():
            built = providers.build(contender, load, module=module)
            if isinstance(built, Built):
                one_call(load, built.function)()
                if load.x.device.type == "cuda":
                    torch.cuda.synchronize()
                if compiled_providers.found_cold_cache():
                    cold_s[contender] = built.compile_time_s or time.perf_counter() - start
    return cold_s


@contextmanager
def _unless_the_device_is_lost() -> Iterator[None]:
    """Suppress what a contender raises, unless the device is then lost: the next one must not be blamed for it."""
    try:
        yield
    except Exception as error:
        if is_device_fault(error):
            raise
