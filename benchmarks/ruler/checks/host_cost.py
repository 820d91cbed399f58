"""Command `python -m benchmarks.ruler.host_cost`: print the host cost of one call as a Markdown table.

A shape so small that arithmetic costs next to nothing (8 to 8 to 8 features of one row), one thread, float32, gelu.
All ways to call are timed in alternating rounds, and every figure is a median of ratios within a round: to the eager
twin in the same mode, and to one torch.add of eight elements. On a CPU a call's latency is its host cost.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any, cast

import click
import torch
from torch import nn

import fused_mlp
from benchmarks.ruler.measure.clock import CpuClock
from benchmarks.ruler.measure.statistics import median_interval

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from benchmarks.ruler.measure.clock import Clock

    Call = Callable[[], object]

EAGER = "nn.Module of three calls (the eager twin)"
ADD = "torch.add of 8 elements"
MODES: dict[str, Callable[[], AbstractContextManager[Any]]] = {
    "inference_mode": torch.inference_mode,
    "no_grad": torch.no_grad,
    "grad": nullcontext,
}


@dataclass(frozen=True, kw_only=True)
class Cost:
    """Host cost of one way as ratios: medians over rounds, and the second's relative half width."""

    to_eager: float
    to_add: float
    half_width: float


@click.command()
@click.option("--rounds", default=201, show_default=True, help="Alternating rounds.")
@click.option("--share-us", default=300.0, show_default=True, help="Microseconds of one way in one round.")
def main(*, rounds: int, share_us: float) -> None:
    """Measure the host cost of a call per way and mode, and print it as ratios."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        fused_mlp.native.build.ensure_built()
        calls_by_way, tables = ways(), {}
        for mode, enter in MODES.items():
            with enter():
                tables[mode] = costs(samples(calls_by_way, rounds=rounds, share_s=share_us * 1e-6, clock=CpuClock()))
    finally:
        torch.set_num_threads(threads)
    click.echo("\n".join(markdown(tables)))
    click.echo(f"\n{rounds} rounds of {share_us:.0f} µs a way, 1 thread, torch {torch.__version__}; grad: forward only")
    if (reason := fused_mlp.native.build.why_long_way()) is not None:
        click.echo(f"functions and modules called the ops by torch.ops: {reason}")


def ways(dim: int = 8) -> dict[str, Call]:
    """Return every way to compute the same one-row mlp, and one torch.add to compare with."""
    twin = _Twin(dim)
    sequential = nn.Sequential(twin.up, nn.GELU(), twin.down)
    module = _fused(twin)
    prepared, prepared_by_onednn = _fused(twin), _fused(twin)
    prepared.prepare(implementation="cpp")
    prepared_by_onednn.prepare(implementation="onednn")
    x, eight = torch.randn(1, dim), torch.randn(8)
    w1, b1, w2, b2 = twin.up.weight, twin.up.bias, twin.down.weight, twin.down.bias
    op, wrapped = torch.ops.fused_mlp.mlp.default, _python_custom_op()
    function = fused_mlp.mlp
    return {
        ADD: lambda: torch.add(eight, eight),
        EAGER: lambda: twin(x),
        "nn.Sequential": lambda: sequential(x),
        "fused_mlp.mlp": lambda: function(x, w1, b1, w2, b2, activation="gelu"),
        "torch.ops.fused_mlp.mlp": lambda: op(x, w1, b1, w2, b2, "gelu"),
        "a Python custom_op around the eager twin's three calls": lambda: wrapped(x, w1, b1, w2, b2),
        "FusedMLP": lambda: module(x),
        "FusedMLP, prepared": lambda: prepared(x),
        "FusedMLP, prepared by oneDNN": lambda: prepared_by_onednn(x),
    }


def samples(calls_by_way: Mapping[str, Call], *, rounds: int, share_s: float, clock: Clock) -> dict[str, list[float]]:
    """Measure seconds per call of each way, by round; a round takes every way once.

    Each way is called as often as fills about `share_s`: a scheduler that takes the processor away after a while then
    hits dear ways no more often than cheap ones.
    """
    numbers = {name: _calls_within(share_s, call, clock=clock) for name, call in calls_by_way.items()}
    seconds: dict[str, list[float]] = {name: [] for name in calls_by_way}
    for _ in range(rounds):
        for name, call in calls_by_way.items():
            seconds[name].append(clock.wall(call, calls=numbers[name]) / numbers[name])
    return seconds


def _calls_within(share_s: float, call: Call, *, clock: Clock) -> int:
    clock.wall(call, calls=20)
    once_s = min(clock.wall(call, calls=1) for _ in range(20))
    return max(1, round(share_s / once_s))


def costs(seconds: Mapping[str, Sequence[float]]) -> dict[str, Cost]:
    """Return each way's cost relative to the eager twin and to one add, from the ratios within each round."""

    def ratios(name: str, base: str) -> list[float]:
        return [one / other for one, other in zip(seconds[name], seconds[base], strict=True)]

    return {
        name: Cost(
            to_eager=median(ratios(name, EAGER)),
            to_add=median(ratios(name, ADD)),
            half_width=median_interval(ratios(name, ADD)).relative_half_width,
        )
        for name in seconds
    }


def markdown(tables: Mapping[str, Mapping[str, Cost]]) -> list[str]:
    """Render one row per way and two columns per mode: relative to the eager twin, and in adds."""
    head = " | ".join(f"{mode}: ÷ eager | in adds" for mode in tables)
    lines = [f"| way | {head} |", "|---" * (1 + 2 * len(tables)) + "|"]
    for name in next(iter(tables.values())):
        cells = [f"{table[name].to_eager:.2f} | {table[name].to_add:.1f}" for table in tables.values()]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    widest = max(cost.half_width for table in tables.values() for cost in table.values())
    return [*lines, "", f"95 % intervals of the medians in adds: at most ±{100 * widest:.0f} %"]


class _Twin(nn.Module):
    def __init__(self, dim: int) -> None:
        super().__init__()
        self.up, self.act, self.down = nn.Linear(dim, dim), nn.GELU(), nn.Linear(dim, dim)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return cast("torch.Tensor", self.down(self.act(self.up(x))))


def _fused(twin: _Twin) -> fused_mlp.FusedMLP:
    return fused_mlp.FusedMLP.from_linears(twin.up, twin.down, activation="gelu")


def _python_custom_op() -> Callable[..., torch.Tensor]:
    """Register the same op from Python for comparison: torch.library.custom_op with a gradient."""

    @torch.library.custom_op("fusebench_host_cost::mlp", mutates_args=())
    def mlp(x: torch.Tensor, w1: torch.Tensor, b1: torch.Tensor, w2: torch.Tensor, b2: torch.Tensor) -> torch.Tensor:
        return fused_mlp.reference.mlp(x, w1, b1, w2, b2, activation="gelu")

    mlp.register_autograd(lambda *_: (None,) * 5, setup_context=lambda *_, **__: None)
    return mlp


if __name__ == "__main__":
    main()
