"""Host time of calls: per launch on a GPU, and of whole calls without one, against a driver that starts nothing.

    python -m fused_mlp.host_cost

Without a GPU, tensors are the CPU's and so small that arithmetic takes no time to speak of; kernels of ours are
compiled for Hopper but not loaded, and the driver returns at once. What is timed is everything above a driver: the
module, its parameters, PyTorch's dispatcher, allocation, and PyTorch's own operators, eager's and those that are left
to ours, which run as the CPU has them. What a launch costs the host is in neither; eager launches as many or more.
"""

from __future__ import annotations

import argparse
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from statistics import median
from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from torch.nn import functional

from fused_mlp.choice.call_recipes import remember, why_no_recipes
from fused_mlp.command_line import Parser
from fused_mlp.compiled_ahead import CAPABILITY, compiling_for_absent_gpu
from fused_mlp.errors import Unavailable
from fused_mlp.gpu.launch import LaunchPath, launch_path, launching_through, noting_launches
from fused_mlp.linear.triton_epilogue import launch_linear
from fused_mlp.modules.layers import FusedGatedMLP, FusedLinear, FusedMLP
from fused_mlp.native import fast_calls
from fused_mlp.native.build import ensure_calls_built
from fused_mlp.vocabulary import Implementation, Operation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from torch import Tensor

BLOCKED_CYCLES = 40_000_000
"""How long the stream is kept busy while launches queue behind it: 20 ms at 2 GHz, longer than the launches take."""


@dataclass(frozen=True, kw_only=True)
class HostCost:
    """Seconds of host time per call of Linear → ReLU by level 2, one launch each; the medians of alternating rounds.

    path: what this process uses when left alone. handle_s: through the compiled handle; jit_s: through Triton's JIT;
    op_s: through `fused_mlp.linear` by the level's name, that is with the op's dispatch, checks and choice, by `path`;
    module_s: `fused_mlp.FusedLinear`, as a user calls it; eager_s: `nn.Linear` and `relu`, two launches.
    by_recipe: the share of the module's timed calls that went by recipe, 1 where all is well; why_not: why none can.
    """

    path: LaunchPath
    handle_s: float
    jit_s: float
    op_s: float
    module_s: float
    eager_s: float
    by_recipe: float
    why_not: str | None


def host_cost_per_launch(*, launches: int = 200, rounds: int = 15) -> HostCost:
    """Enqueue `launches` calls behind a busy stream, `rounds` times by each way in turn, and time the enqueueing.

    launches: fewer than the about 500 calls of two launches that a stream takes before it makes the host wait.
    Raises: Unavailable without a CUDA device.
    """
    if not torch.cuda.is_available():
        raise Unavailable("host cost per launch is measured by launching on a CUDA device, and there is none")
    from fused_mlp.linear import linear  # noqa: PLC0415 - only where there is a GPU

    plain = nn.Linear(64, 64, device="cuda", dtype=torch.bfloat16)
    module = FusedLinear(64, 64, activation="relu", device="cuda", dtype=torch.bfloat16)
    x, w, b = torch.randn(16, 64, device="cuda", dtype=torch.bfloat16), plain.weight, plain.bias

    def through(path: LaunchPath) -> Callable[[], None]:
        def call() -> None:
            with launching_through(path):
                for _ in range(launches):
                    launch_linear(x, w, b, activation="relu")

        return call

    def repeated(way: Callable[[], Any]) -> Callable[[], None]:
        def call() -> None:
            for _ in range(launches):
                way()

        return call

    n_by_recipe = 0

    def by_module() -> None:
        nonlocal n_by_recipe
        before = fast_calls.count_by_recipe()
        for _ in range(launches):
            module(x)
        n_by_recipe = 0 if before is NotImplemented else fast_calls.count_by_recipe() - before

    ways = (
        *(through(LaunchPath.HANDLE), through(LaunchPath.JIT)),
        repeated(lambda: linear(x, w, b, activation="relu", implementation="epilogue")),
        by_module,
        repeated(lambda: functional.relu(plain(x))),
    )
    with torch.no_grad():
        handle_s, jit_s, op_s, module_s, eager_s = (
            s / launches for s in medians_of_rounds(ways, rounds=rounds, before_each=_block, now=time.perf_counter)
        )
    return HostCost(
        path=launch_path(),
        handle_s=handle_s,
        jit_s=jit_s,
        op_s=op_s,
        module_s=module_s,
        eager_s=eager_s,
        by_recipe=n_by_recipe / launches,
        why_not=why_no_recipes(),
    )


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


@dataclass(frozen=True, kw_only=True)
class AbsentCost:
    """Seconds of host time per call of a module without a GPU, medians of alternating rounds: eager's and the fused.

    level: whose kernels the fused one launches, by recipe (host/launches.h).
    """

    operation: Operation
    level: Implementation
    eager_s: float
    fused_s: float


_ROWS, _WIDTH = 2, 16


class _EagerGated(nn.Module):
    def __init__(self, gate: nn.Module, up: nn.Module, down: nn.Module) -> None:
        super().__init__()
        self.gate_proj, self.up_proj, self.down_proj = gate, up, down

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.down_proj(functional.silu(self.gate_proj(x)) * self.up_proj(x))
        return out


@contextmanager
def absent_gpu() -> Iterator[None]:
    """Let calls on the CPU go by recipe to a driver that starts nothing. For a process that does only that.

    Raises: Unavailable if the fast path cannot be compiled here.
    """
    if reason := ensure_calls_built():
        raise Unavailable(reason)
    with compiling_for_absent_gpu():
        fast_calls.drive(*fast_calls.absent_gpu(), "cpu", lambda _: 0)
        try:
            yield
        finally:
            fast_calls.drive(0, 0, 0, "cuda", int)


def record_call(
    operation: Operation, level: Implementation, tensors: tuple[Tensor | None, ...], *, activation: str
) -> None:
    """Recipe calls of `operation` on tensors like these, by `level` in its rule's configuration; within absent_gpu.

    Raises: Unavailable if the level has no recipe for them.
    """
    levels = import_module(f"fused_mlp.{operation}.cuda").LEVELS
    with noting_launches() as started:
        levels[level].launch(*tensors, activation=activation, tiles=None)
    if not remember(operation, level, tensors, started, activation=activation):
        raise Unavailable(f"{operation} by {level} has no recipe for tensors of these sizes")


def host_cost_without_gpu(*, calls: int = 1000, rounds: int = 15) -> Iterator[AbsentCost]:
    """Yield the cost of a call at each level that has recipes, for both operations of two and three products."""
    for operation in (Operation.MLP, Operation.GATED_MLP):
        fused, eager, activation = _modules(operation)
        parameters = tuple(fused._parameters_in_order())  # noqa: SLF001 - this package's
        for level in (Implementation.SINGLE, Implementation.EPILOGUE, Implementation.POINTWISE):
            x = torch.randn(_ROWS, _WIDTH)
            with torch.no_grad():
                record_call(operation, level, (x, *parameters), activation=activation)
                eager_s, fused_s = (
                    s / calls
                    for s in medians_of_rounds(
                        (_repeated(eager, x, calls), _repeated(fused, x, calls)),
                        rounds=rounds,
                        before_each=lambda: None,
                        now=time.perf_counter,
                    )
                )
            fast_calls.forget()
            yield AbsentCost(operation=operation, level=level, eager_s=eager_s, fused_s=fused_s)


def _modules(operation: Operation) -> tuple[Any, nn.Module, str]:
    if operation is Operation.GATED_MLP:
        gated = FusedGatedMLP(_WIDTH, _WIDTH)
        return gated, _EagerGated(*gated.children()), "silu"
    mlp = FusedMLP(_WIDTH, _WIDTH, activation="gelu_tanh")
    first, second = mlp.children()
    return mlp, nn.Sequential(first, nn.GELU("tanh"), second), "gelu_tanh"


def _repeated(module: nn.Module, x: Tensor, calls: int) -> Callable[[], None]:
    def call() -> None:
        for _ in range(calls):
            module(x)

    return call


def main(arguments: list[str] | None = None) -> int:
    """Print the costs that this machine can tell; the exit code."""
    Parser(
        prog="python -m fused_mlp.host_cost",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    ).parse_args(arguments)
    if torch.cuda.is_available():
        print(host_cost_per_launch())  # noqa: T201 - this is a command
        return 0
    print(f"no GPU here: {_ROWS} × {_WIDTH} on the CPU, a driver that starts nothing, kernels for sm_{CAPABILITY}")  # noqa: T201
    with absent_gpu():
        for cost in host_cost_without_gpu():
            print(  # noqa: T201
                f"{cost.operation} by {cost.level}: {cost.fused_s * 1e6:.2f} µs,"
                f" eager {cost.eager_s * 1e6:.2f} µs: {cost.fused_s / cost.eager_s:.2f} of it"
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
