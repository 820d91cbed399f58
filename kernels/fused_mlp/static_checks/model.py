"""Estimates of the rule on CUDA for some shapes, in µs (`python -m fused_mlp.static_checks.model`).

A model, no measurement: bytes ÷ the bandwidth and FLOP ÷ the rate that an H100 was measured to have, and its launches,
as `fused_mlp.choice.rules` adds them up.
"""

from __future__ import annotations

import argparse
import sys

import torch

from fused_mlp.choice.rules import LAUNCH_S, Ceilings, Sizes, floor_s, ranked_by_rule
from fused_mlp.command_line import Parser
from fused_mlp.gpu.single_tiles import why_no_tile
from fused_mlp.vocabulary import Implementation, NumberFormat, Operation

H100 = Ceilings(bytes_per_s=3.01e12, flop_per_s={NumberFormat.BFLOAT16: 788e12}, launch_s=LAUNCH_S, multiprocessors=132)
"""What one H100 was measured to copy and to multiply (docs/measurements.md)."""

_LEVELS = (Implementation.POINTWISE, Implementation.CUBLASLT, Implementation.EPILOGUE, Implementation.SINGLE)
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
    "| rows, dim, hidden | floor of level 0 | 1 | 2 | 3 | reckoned: pointwise | cublaslt | epilogue | single | "
    "picked |\n"
    "|---|---|---|---|---|---|---|---|---|---|"
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
    lacking = {
        *(() if is_single else (Implementation.SINGLE,)),
        *((Implementation.CUBLASLT,) if operation is Operation.GATED_MLP else ()),
    }
    ranked = dict(
        ranked_by_rule(sizes, H100, possible=[each for each in _LEVELS if each not in lacking], capability=90)
    )
    picked = next(iter(ranked))
    floors = [floor_s(sizes, H100, level=level) if level < 3 or is_single else None for level in range(4)]
    cells = [_in_us(seconds) for seconds in (*floors, *map(ranked.get, _LEVELS))]
    gated = "gated " if operation is Operation.GATED_MLP else ""
    return f"| {gated}{rows}, {dim}, {hidden} | {' | '.join(cells)} | `{picked}` |"


def _in_us(s: float | None) -> str:
    """Return microseconds with three digits; a dash where there is no such kernel."""
    if s is None:
        return "–"
    return f"{s * 1e6:.0f}" if s >= 1e-4 else f"{s * 1e6:.3g}"


def main(arguments: list[str] | None = None) -> int:
    """Print the table, which takes no arguments; the exit code."""
    Parser(
        prog="python -m fused_mlp.static_checks.model",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    ).parse_args(arguments)
    print(table())  # noqa: T201 - this is a command
    return 0


if __name__ == "__main__":
    sys.exit(main())
