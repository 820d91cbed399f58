"""Compile Triton kernels ahead of their first call, for a Hopper GPU that need not be here, into a cache to carry.

    python -m fused_mlp.compiled_ahead FOLDER mlp:gelu_tanh:1024:4096:1,8,64 gated_mlp:silu:4096:14336:1

A process that then runs with TRITON_CACHE_DIR=FOLDER finds what it would have compiled: Triton names an entry by a
hash of the kernel's source, its arguments' types and divisibility, the target and Triton's own files. So it must be the
same Triton, for the same Python: run this under those. Each shape is compiled at every level of fusion that has a
kernel for it, in the configuration its rule chooses; what was there already is found, not compiled again.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
import triton
from triton import knobs
from triton.backends.compiler import GPUTarget
from triton.runtime import driver

from fused_mlp.activations import name_from_activation
from fused_mlp.choice.cuda_levels import Shape
from fused_mlp.choice.implementations import member
from fused_mlp.command_line import Parser
from fused_mlp.errors import FusedMlpError, InvalidArgument, Unavailable
from fused_mlp.gpu.launch import LaunchPath, launching_through
from fused_mlp.vocabulary import Implementation, Operation

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from torch import Tensor

CAPABILITY = 90
"""H100 and H200: what the launchers take a tensor without a device for."""
_WITH_TRITON = (Implementation.POINTWISE, Implementation.EPILOGUE, Implementation.SINGLE)
_DTYPES = {"bfloat16": torch.bfloat16, "float16": torch.float16, "float32": torch.float32}


@dataclass(frozen=True, kw_only=True)
class AheadCell:
    """Call to compile for: rows × dim → hidden (→ dim). dtype: by torch's name; float32 is compiled as tf32."""

    operation: Operation
    activation: str
    dim: int
    hidden: int
    rows: int
    dtype: str


@dataclass(frozen=True, kw_only=True)
class Compiled:
    """Kernels compiled now, and those that were in the cache before; each counted where it is met first."""

    new: int
    found: int


class _AbsentGpu:
    """What Triton asks of a driver before it compiles."""

    def get_current_device(self) -> int:
        return 0

    def get_current_stream(self, device: int) -> int:
        return device

    def get_current_target(self) -> GPUTarget:
        return GPUTarget("cuda", CAPABILITY, 32)


def cells_from_text(text: str, *, dtypes: Sequence[str]) -> list[AheadCell]:
    """Return the cells of OPERATION:ACTIVATION:DIM:HIDDEN:ROWS[,ROWS...], one for each number of rows and dtype.

    Raises: InvalidArgument if it is not of that form, or names what there is not.
    """
    parts = text.split(":")
    try:
        operation, activation, *sizes = parts
        (dim,), (hidden,), rows = ([int(size) for size in part.split(",")] for part in sizes)
    except ValueError:
        dim, hidden, rows = 0, 0, [0]
    if min(dim, hidden, *rows) < 1:
        expected = "OPERATION:ACTIVATION:DIM:HIDDEN:ROWS[,ROWS...], sizes from 1 on, as mlp:gelu:1024:4096:1,8"
        raise InvalidArgument("shape", got=repr(text), expected=expected)
    named = member(Operation, operation, "operation")
    return [
        AheadCell(
            operation=named, activation=name_from_activation(activation), dim=dim, hidden=hidden, rows=n, dtype=dtype
        )
        for dtype in dtypes
        for n in rows
    ]


def compile_cells(
    cells: Sequence[AheadCell], folder: Path, *, jobs: int, with_backward: bool = False, with_candidates: bool = False
) -> Compiled:
    """Compile all that `cells` launch into `folder`, in `jobs` processes of their own.

    with_backward: also what a training step launches; with_candidates: also what tuning tries.
    """
    folder.mkdir(parents=True, exist_ok=True)
    work = partial(_compile_cell, folder=str(folder), with_backward=with_backward, with_candidates=with_candidates)
    # Spawned: torch's threads do not survive a fork, and Triton is told of another driver than this process's.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=context) as pool:
        counted = list(pool.map(work, cells))
    return Compiled(new=sum(one.new for one in counted), found=sum(one.found for one in counted))


def _compile_cell(cell: AheadCell, *, folder: str, with_backward: bool, with_candidates: bool) -> Compiled:
    os.environ["TRITON_CACHE_DIR"] = folder
    with compiling_for_absent_gpu() as hits:
        launch_cell(cell, with_backward=with_backward, with_candidates=with_candidates)
    return Compiled(new=hits.count(False), found=hits.count(True))


@contextmanager
def compiling_for_absent_gpu() -> Iterator[list[bool]]:
    """Let launches only compile for the GPU that is not here, and yield for each kernel whether it was in the cache.

    For a process without a GPU, or one that does nothing else: Triton remembers what it compiled for.
    """
    hits: list[bool] = []
    precision, before = torch.get_float32_matmul_precision(), driver._active  # noqa: SLF001 - asking for it would make one
    torch.set_float32_matmul_precision("high")
    driver.set_active(_AbsentGpu())
    try:
        with knobs.compilation.scope(), launching_through(LaunchPath.AHEAD):
            knobs.compilation.listener = lambda *, cache_hit, **_: hits.append(cache_hit)
            yield hits
    finally:
        driver._active = before  # noqa: SLF001 - as above
        torch.set_float32_matmul_precision(precision)


def launch_cell(cell: AheadCell, *, with_backward: bool, with_candidates: bool) -> None:
    """Call every level of the operation on tensors without memory, as a call on CUDA does."""
    dtype = _DTYPES[cell.dtype]
    levels = import_module(f"fused_mlp.{cell.operation}.cuda").LEVELS
    n_out = cell.hidden if cell.operation is Operation.LINEAR else cell.dim
    sizes = {"dim": cell.dim, "hidden": cell.hidden, "n_out": n_out}
    shape = Shape(n_rows=cell.rows, **sizes, dtype=dtype, capability=CAPABILITY)
    tensors = _tensors(cell)
    for level in (levels[each] for each in _WITH_TRITON if each in levels):
        for tiles in (None, *(level.candidates(shape) if with_candidates else ())):
            try:
                level.launch(*tensors, activation=cell.activation, tiles=tiles)
            except Unavailable:
                # No kernel for the shape, and the same for all its tiles.
                break
    if with_backward:
        _launch_backward(cell, *tensors)


def _tensors(cell: AheadCell) -> tuple[Tensor, ...]:
    empty = partial(torch.empty, dtype=_DTYPES[cell.dtype], device="meta")
    x, first = empty(cell.rows, cell.dim), empty(cell.hidden, cell.dim)
    match cell.operation:
        case Operation.LINEAR:
            return x, first, empty(cell.hidden)
        case Operation.MLP:
            return x, first, empty(cell.hidden), empty(cell.dim, cell.hidden), empty(cell.dim)
        case Operation.GATED_MLP:
            return x, first, empty(cell.hidden, cell.dim), empty(cell.dim, cell.hidden)


def _launch_backward(cell: AheadCell, x: Tensor, first: Tensor, *rest: Any) -> None:
    """Call what a training step that keeps z launches: the forward pass that writes it, and the gradients of z."""
    from fused_mlp.gated_mlp.triton_backward import launch_gated_gradients  # noqa: PLC0415 - only where asked for
    from fused_mlp.gated_mlp.triton_dual_product import launch_dual_product_saving  # noqa: PLC0415 - as above
    from fused_mlp.linear.triton_backward import launch_activation_gradient  # noqa: PLC0415 - as above
    from fused_mlp.linear.triton_epilogue import launch_linear_saving  # noqa: PLC0415 - as above
    from fused_mlp.mlp.triton_backward import launch_hidden_gradients  # noqa: PLC0415 - as above

    act = cell.activation
    match cell.operation:
        case Operation.LINEAR:
            y, z = launch_linear_saving(x, first, *rest, activation=act)
            launch_activation_gradient(y, z, activation=act, with_hidden=False, with_bias=True)
        case Operation.MLP:
            b1, w2, _ = rest
            _, z = launch_linear_saving(x, first, b1, activation=act)
            launch_hidden_gradients(x, w2, z, activation=act, with_hidden=True, with_bias=True)
        case Operation.GATED_MLP:
            w_up, w_down = rest
            _, gate, up = launch_dual_product_saving(x, first, w_up, activation=act)
            launch_gated_gradients(x, w_down, gate, up, activation=act, with_hidden=True)


def main(arguments: list[str] | None = None) -> int:
    """Compile what the command line names and say how much that was; the exit code."""
    parser = Parser(
        prog="python -m fused_mlp.compiled_ahead",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("folder", type=Path, help="the later TRITON_CACHE_DIR; made if it is not there")
    parser.add_argument("shapes", nargs="+", metavar="OPERATION:ACTIVATION:DIM:HIDDEN:ROWS[,ROWS...]")
    parser.add_argument("--dtype", dest="dtypes", action="append", choices=_DTYPES, help="default: bfloat16")
    parser.add_argument("--backward", action="store_true", help="also what a training step launches")
    parser.add_argument("--candidates", action="store_true", help="also the configurations that tuning tries")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), help="processes; default: all cores")
    chosen = parser.parse_args(arguments)
    try:
        cells = [cell for text in chosen.shapes for cell in cells_from_text(text, dtypes=chosen.dtypes or ["bfloat16"])]
    except FusedMlpError as error:
        parser.error(str(error))
    done = compile_cells(
        cells,
        chosen.folder,
        jobs=max(1, chosen.jobs),
        with_backward=chosen.backward,
        with_candidates=chosen.candidates,
    )
    n_bytes = sum(path.stat().st_size for path in chosen.folder.rglob("*") if path.is_file())
    made_with = f"triton {triton.__version__}, Python {sys.version_info.major}.{sys.version_info.minor}"
    print(  # noqa: T201 - this is a command
        f"{chosen.folder}: {done.new} compiled, {done.found} found; {n_bytes / 1e6:.1f} MB"
        f" for sm_{CAPABILITY}, {made_with} on both machines"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
