"""Host time per launch, through the compiled handle and through Triton's JIT. Needs a CUDA device."""

from __future__ import annotations

import time
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

import torch

from fused_mlp.errors import Unavailable
from fused_mlp.gpu.launch import LaunchPath, launch_path, launching_through
from fused_mlp.linear.triton_epilogue import launch_linear

if TYPE_CHECKING:
    from collections.abc import Callable

BLOCKED_CYCLES = 40_000_000
"""How long the stream is kept busy while launches queue behind it: 20 ms at 2 GHz, longer than the launches take."""


@dataclass(frozen=True, kw_only=True)
class HostCost:
    """Seconds of host time per call of level 2's `linear`, one launch each; the medians of alternating rounds.

    path: what this process uses when left alone. handle_s: through the compiled handle; jit_s: through Triton's JIT;
    op_s: through `fused_mlp.linear`, that is with the op's dispatch, checks and choice, by `path`.
    """

    path: LaunchPath
    handle_s: float
    jit_s: float
    op_s: float


def host_cost_per_launch(*, launches: int = 200, rounds: int = 15) -> HostCost:
    """Enqueue `launches` calls behind a busy stream, `rounds` times by each path in turn, and times the enqueueing.

    launches: fewer than the about 1000 that a stream takes before it makes the host wait.
    Raises: Unavailable without a CUDA device.
    """
    if not torch.cuda.is_available():
        raise Unavailable("host cost per launch is measured by launching on a CUDA device, and there is none")
    import fused_mlp  # noqa: PLC0415 - the package imports this module's neighbours

    x, w, b = (torch.randn(*shape, device="cuda", dtype=torch.bfloat16) for shape in ((16, 64), (64, 64), (64,)))

    def through(path: LaunchPath) -> Callable[[], None]:
        def call() -> None:
            with launching_through(path):
                for _ in range(launches):
                    launch_linear(x, w, b, activation="relu")

        return call

    def by_op() -> None:
        for _ in range(launches):
            fused_mlp.linear(x, w, b, activation="relu", implementation="epilogue")

    ways = (through(LaunchPath.HANDLE), through(LaunchPath.JIT), by_op)
    with torch.no_grad():
        handle_s, jit_s, op_s = (
            s / launches for s in medians_of_rounds(ways, rounds=rounds, before_each=_block, now=time.perf_counter)
        )
    return HostCost(path=launch_path(), handle_s=handle_s, jit_s=jit_s, op_s=op_s)


def medians_of_rounds(
    ways: tuple[Callable[[], None], ...], *, rounds: int, before_each: Callable[[], None], now: Callable[[], float]
) -> list[float]:
    """Return the median seconds of each way over `rounds` rounds that take them in turn, after one not counted."""
    samples: list[list[float]] = [[] for _ in ways]
    for round_number in range(rounds + 1):
        for way, its_samples in zip(ways, samples, strict=True):
            before_each()
            start = now()
            way()
            elapsed_s = now() - start
            if round_number:
                its_samples.append(elapsed_s)
    return [median(its_samples) for its_samples in samples]


def _block() -> None:
    torch.cuda.synchronize()
    torch.cuda._sleep(BLOCKED_CYCLES)  # noqa: SLF001 - torch's own way to keep a stream busy
