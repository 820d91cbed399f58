"""Estimates of the rule on CUDA for some shapes, in µs (`python -m fused_mlp.static_checks.model`).

A model, no measurement: bytes ÷ a bandwidth and FLOP ÷ a rate that are assumed of an H200, and launches of an assumed
length, as `fused_mlp.choice.rules` adds them up.
"""

from __future__ import annotations

import torch

from fused_mlp.choice.rules import Ceilings, Sizes, estimate_s, floor_s, ranked_by_rule
from fused_mlp.gpu.single_tiles import why_no_tile
from fused_mlp.vocabulary import Implementation, NumberFormat, Operation

ASSUMED = Ceilings(bytes_per_s=4.3e12, flop_per_s={NumberFormat.BFLOAT16: 790e12}, launch_s=2.5e-6, multiprocessors=132)
"""What is assumed of an H200."""

_LEVELS = (Implementation.POINTWISE, Implementation.EPILOGUE, Implementation.SINGLE)
_MLP = (
    (1, 256, 1024),
    (64, 256, 1024),
    (16, 1024, 4096),
    (1024, 1024, 4096),
    (8192, 1024, 4096),
    (16, 4096, 16384),
    (16384, 4096, 16384),
    (16384, 64, 256),
    (65536, 64, 256),
    (65536, 128, 512),
    (65536, 256, 1024),
)
_GATED_MLP = (
    (1, 4096, 14336),
    (16, 2048, 5632),
    (16, 4096, 11008),
    (4096, 4096, 14336),
    (8192, 1024, 2816),
)
_HEADER = (
    "| rows, dim, hidden | floor of level 0 | 1 | 2 | 3 | reckoned: pointwise | epilogue | single | picked |\n"
    "|---|---|---|---|---|---|---|---|---|"
)


def table() -> str:
    """Return floors, reckoned times and the rule's choice for bfloat16, dim in and out."""
    shapes = [
        *((Operation.MLP, *shape) for shape in _MLP),
        *((Operation.GATED_MLP, *shape) for shape in _GATED_MLP),
    ]
    return "\n".join([_HEADER, *(_line(*shape) for shape in shapes)])


def _line(operation: Operation, rows: int, dim: int, hidden: int) -> str:
    sizes = Sizes(
        operation=operation, rows=rows, dim=dim, hidden=hidden, n_out=dim, number_format=NumberFormat.BFLOAT16
    )
    is_single = why_no_tile(n_rows=rows, dim=dim, n_out=dim, dtype=torch.bfloat16, capability=90) is None
    possible = _LEVELS if is_single else _LEVELS[:2]
    picked, _ = ranked_by_rule(sizes, ASSUMED, possible=possible, capability=90)[0]
    floors = [floor_s(sizes, ASSUMED, level=level) for level in range(4 if is_single else 3)]
    reckoned = [estimate_s(sizes, ASSUMED, implementation=each, capability=90) for each in possible]
    cells = [*_in_us(floors, 4), *_in_us(reckoned, 3)]
    gated = "gated " if operation is Operation.GATED_MLP else ""
    return f"| {gated}{rows}, {dim}, {hidden} | {' | '.join(cells)} | `{picked}` |"


def _in_us(seconds: list[float], n_columns: int) -> list[str]:
    """Return microseconds with three digits; a dash where one launch cannot compute the shape."""
    known = [f"{s * 1e6:.0f}" if s >= 1e-4 else f"{s * 1e6:.3g}" for s in seconds]
    return known + ["–"] * (n_columns - len(known))


if __name__ == "__main__":
    print(table())  # noqa: T201 - this is a command
