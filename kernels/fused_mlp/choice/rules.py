"""General rule on CUDA: the level of fusion with the least estimated time, where nothing has been tuned.

A level's time is the sum over its launches of launch_s + max(bytes / bytes_per_s, flop / flop_per_s), the floor of
each launch, with what is known to keep a kernel from its floor:

- A product with an epilogue is not as fast as cuBLAS's without: PIPELINED_PRODUCT, ORDINARY_PRODUCT, CUBLASLT_PRODUCT.
  So level 2 gains one pass over the hidden activations, 2·2·rows·hidden bytes, and loses on the products it takes over.
  For bfloat16 on an H200 the pass is 184/dim of an mlp's products and 306/dim of a gated one's (act and mul), 18 % at
  dim 1024 and 4.5 % at 4096.
- One program of the full tile owns 64 rows or more: with few rows most multiprocessors idle.
- Programs that split hidden add up a part of the result each, slices · rows · out float32 sums written and read in L2,
  taken as PARTS_SPEED times as fast as memory.

The constants are of one H100 in bfloat16 (results/data/published/h100: device time behind a busy stream, forward
passes), where the rule's choice is within 18 % of the fastest level at each of 17 shapes and 1.5 % behind in the mean
(tests/kernels/choice/test_measured.py). Other devices are reckoned from their data sheets by the same constants. The
tuned table is asked before.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fused_mlp.gpu.configurations import PERSISTENT_CAPABILITY, PERSISTENT_ROWS
from fused_mlp.gpu.single_tiles import is_full_tile_better, split_block_hidden
from fused_mlp.vocabulary import Implementation, NumberFormat, Operation

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

FULL_TILE_ROWS = 128
FULL_TILE_EFFICIENCY = 0.85
"""The part of the multiply rate a full tile keeps up beside loading weights and computing the activation; the aim
that the benchmarks hold it to, not a measurement."""
PARTS_SPEED = 0.93
"""The speed of adding up the parts of split hidden over the memory's: atomic sums of 4 bytes in the L2 cache.

Source: the times of `single` at 64 rows beyond its floor, at 1024 → 4096 and, gated, 2048 → 5632 and 4096 → 14336."""
PIPELINED_PRODUCT = ((1024, 0.70), (4096, 0.66))
"""(inner dimension, speed over cuBLAS's of a persistent Triton product with an epilogue of ours), on Hopper.

Source: level 2 against level 1 at 4096 rows, 1024 → 4096 and, gated, 4096 → 14336, Triton 3.6. Between the dimensions
the speed is taken as linear in their logarithm, beyond them as it is at the last."""
ORDINARY_PRODUCT = 0.62
"""The speed over cuBLAS's of a Triton product that is not persistent: fewer rows, tf32, devices before sm_90.

Source: kernels at 512 rows, 1024 → 4096 (13.9 against 8.8 µs) and, gated, 4096 → 14336 (288 against 178 µs)."""
CUBLASLT_PRODUCT = 0.82
"""The speed over cuBLAS's, without, of cuBLASLt's product with the activation in its epilogue.

Source: 1024 → 4096 at 512 rows (10.4 against 8.8 µs, kernels) and at 4096, level against level."""
LAUNCH_S = 3.1e-6
"""What a launch takes of the device's time beside its traffic and arithmetic.

Source: 1024 × 32 → 64, which has next to none of either: 3.15 µs."""


@dataclass(frozen=True, kw_only=True)
class Ceilings:
    """Limits of a device, measured or from its data sheet. Bytes and FLOP per second; SI units."""

    bytes_per_s: float
    flop_per_s: Mapping[NumberFormat, float]
    launch_s: float
    multiprocessors: int


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """Sizes of one call: rows × dim → hidden → n_out; for linear n_out is hidden. All at least 1."""

    operation: Operation
    rows: int
    dim: int
    hidden: int
    n_out: int
    number_format: NumberFormat

    @property
    def element_bytes(self) -> int:
        """Bytes of one element in memory."""
        return 4 if self.number_format in (NumberFormat.FLOAT32, NumberFormat.TF32) else 2

    @property
    def weight_bytes(self) -> int:
        """Bytes of all weights."""
        gates = 2 if self.operation is Operation.GATED_MLP else 1
        down = 0 if self.operation is Operation.LINEAR else self.hidden * self.n_out
        return self.element_bytes * (gates * self.dim * self.hidden + down)


def nominal_ceilings(*, capability: int, multiprocessors: int, clock_hz: float, bytes_per_s: float) -> Ceilings:
    """Return ceilings from a data sheet: 0.9 of the memory's and 0.75 of the tensor cores' nominal speed.

    Of an H100 they are 3.02 TB/s and 803 TFLOP/s; one was measured at 3.01 and 788. FLOP per clock and
    multiprocessor for bfloat16 and float16 with float32 sums: 4096 from sm_90 on, 2048 on sm_80, 1024 on other sm_8x;
    tf32 half of it; float32 without tensor cores 256, on sm_80 128. Source: NVIDIA's architecture white papers.
    """
    per_clock = 4096 if capability >= 90 else 2048 if capability == 80 else 1024
    rate = 0.75 * multiprocessors * clock_hz
    return Ceilings(
        bytes_per_s=0.9 * bytes_per_s,
        flop_per_s={
            NumberFormat.BFLOAT16: rate * per_clock,
            NumberFormat.FLOAT16: rate * per_clock,
            NumberFormat.TF32: rate * per_clock / 2,
            NumberFormat.FLOAT32: rate * (128 if capability == 80 else 256),
        },
        launch_s=LAUNCH_S,
        multiprocessors=multiprocessors,
    )


def floor_s(sizes: Sizes, ceilings: Ceilings, *, level: int) -> float:
    """Return the least time of a call at a level of fusion, in seconds, launches included: the sum over its launches.

    Level 0: each product, the activation and the gate's product are launches of their own. Level 1: activation and
    gate in one. Level 2: they are in the epilogue of the product (of both). Level 3: one launch, nothing between.
    The biases are not counted.
    """
    return sum(_level_3(sizes, ceilings) if level == 3 else _unfused(sizes, ceilings, level=level, of_cublas=1.0))


def estimate_s(sizes: Sizes, ceilings: Ceilings, *, implementation: Implementation, capability: int) -> float:
    """Return the expected seconds of a level's kernels; the module's docstring lists what is added to the floor."""
    match implementation:
        case Implementation.POINTWISE:
            return floor_s(sizes, ceilings, level=1)
        case Implementation.EPILOGUE:
            of_cublas = triton_product_speed(sizes, capability=capability)
            return sum(_unfused(sizes, ceilings, level=2, of_cublas=of_cublas))
        case Implementation.CUBLASLT:
            return sum(_unfused(sizes, ceilings, level=2, of_cublas=CUBLASLT_PRODUCT))
        case Implementation.SINGLE:
            return _single_s(sizes, ceilings, capability=capability)
        case _:
            raise ValueError(f"the rule has no estimate for {implementation}")


def ranked_by_rule(
    sizes: Sizes, ceilings: Ceilings, *, possible: Iterable[Implementation], capability: int
) -> list[tuple[Implementation, float]]:
    """Return the `possible` levels and the seconds to expect of each, the fastest first, equals in their order."""
    estimates = [(each, estimate_s(sizes, ceilings, implementation=each, capability=capability)) for each in possible]
    return sorted(estimates, key=lambda pair: pair[1])


def triton_product_speed(sizes: Sizes, *, capability: int) -> float:
    """Return the speed of a Triton product over `dim` on sm_<capability>, cuBLAS's being 1; see PIPELINED_PRODUCT."""
    if sizes.rows < PERSISTENT_ROWS or capability < PERSISTENT_CAPABILITY or sizes.element_bytes > 2:
        return ORDINARY_PRODUCT
    dims, speeds = zip(*PIPELINED_PRODUCT, strict=True)
    return float(np.interp(math.log(sizes.dim), [math.log(dim) for dim in dims], speeds))


def _unfused(sizes: Sizes, ceilings: Ceilings, *, level: int, of_cublas: float) -> list[float]:
    """Return the time of each launch at level 0, 1 or 2; `of_cublas`: the speed of level 2's own products."""
    hidden_bytes = sizes.element_bytes * sizes.rows * sizes.hidden
    is_gated = sizes.operation is Operation.GATED_MLP

    def launch(*, n_bytes: float, flop: float = 0.0, speed: float = 1.0) -> float:
        compute_s = flop / ceilings.flop_per_s[sizes.number_format] / speed
        return ceilings.launch_s + max(n_bytes / ceilings.bytes_per_s, compute_s)

    def product(n_in: int, n_out: int, *, n_products: int = 1, speed: float = 1.0) -> float:
        elements = sizes.rows * n_in + n_products * n_in * n_out + sizes.rows * n_out
        flop = 2.0 * n_products * sizes.rows * n_in * n_out
        return launch(n_bytes=sizes.element_bytes * elements, flop=flop, speed=speed)

    down = [] if sizes.operation is Operation.LINEAR else [product(sizes.hidden, sizes.n_out)]
    if level == 2:
        return [product(sizes.dim, sizes.hidden, n_products=2 if is_gated else 1, speed=of_cublas), *down]
    up = [product(sizes.dim, sizes.hidden)] * (2 if is_gated else 1)
    if not is_gated:
        return [*up, launch(n_bytes=2 * hidden_bytes), *down]
    if level == 1:
        return [*up, launch(n_bytes=3 * hidden_bytes), *down]
    return [*up, launch(n_bytes=2 * hidden_bytes), launch(n_bytes=3 * hidden_bytes), *down]


def _flop(sizes: Sizes) -> float:
    gates = 2 if sizes.operation is Operation.GATED_MLP else 1
    down = 0 if sizes.operation is Operation.LINEAR else sizes.n_out
    return 2.0 * sizes.rows * sizes.hidden * (gates * sizes.dim + down)


def _level_3(sizes: Sizes, ceilings: Ceilings) -> tuple[float]:
    n_bytes = sizes.weight_bytes + sizes.element_bytes * sizes.rows * (sizes.dim + sizes.n_out)
    compute_s = _flop(sizes) / ceilings.flop_per_s[sizes.number_format]
    return (ceilings.launch_s + max(n_bytes / ceilings.bytes_per_s, compute_s),)


def _single_s(sizes: Sizes, ceilings: Ceilings, *, capability: int) -> float:
    n_bytes = sizes.weight_bytes + sizes.element_bytes * sizes.rows * (sizes.dim + sizes.n_out)
    compute_s = _flop(sizes) / ceilings.flop_per_s[sizes.number_format]
    if is_full_tile_better(
        n_rows=sizes.rows,
        dim=sizes.dim,
        n_out=sizes.n_out,
        weight_bytes=sizes.weight_bytes,
        capability=capability,
    ):
        busy = min(1.0, math.ceil(sizes.rows / FULL_TILE_ROWS) / ceilings.multiprocessors)
        compute_s /= FULL_TILE_EFFICIENCY * busy
    else:
        slices = math.ceil(sizes.hidden / split_block_hidden(sizes.hidden, capability=capability))
        n_bytes += round(2 * 4 * slices * sizes.rows * sizes.n_out / PARTS_SPEED)
        compute_s /= min(1.0, slices / ceilings.multiprocessors)
    return ceilings.launch_s + max(n_bytes / ceilings.bytes_per_s, compute_s)
