"""Plan of a tuning run: its cells, and the values measured per cell. Pure."""

from __future__ import annotations

import hashlib
import itertools
import json
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Any

from benchmarks.ruler.plan.points import CachePolicy, DeviceKind, Pass, Shape
from benchmarks.ruler.plan.points import Operation as RulerOperation
from fused_mlp.vocabulary import NumberFormat, Operation, Weights

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from fused_mlp.tuned import Policy

ACTIVATIONS = {Operation.LINEAR: "gelu", Operation.MLP: "gelu", Operation.GATED_MLP: "silu"}

_ACTIVATIONS_OF_LEVELS = {**ACTIVATIONS, Operation.LINEAR: "gelu_tanh", Operation.MLP: "gelu_tanh"}


OPERATIONS = (Operation.MLP, Operation.GATED_MLP, Operation.LINEAR)
"""What is tuned unless it is named, what a sweep measures first: a budget may end."""


class Question(StrEnum):
    """Kind of decision of a cell: the way at one shape, or one number of a CPU's policy over several shapes."""

    WAY = "way"
    SERIAL_FLOP = "serial_flop"
    ROW_SPLIT_ROWS = "row_split_rows"
    REPACKING_ROWS = "repacking_rows"


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One decision to make. shapes: (rows, dim, hidden) each; others: the policy's other numbers meanwhile."""

    question: Question
    operation: Operation
    number_format: NumberFormat
    weights: Weights
    shapes: tuple[tuple[int, int, int], ...]
    others: Policy | None = None

    @property
    def activation(self) -> str:
        """Return what is computed with; ways on plain weights, a GPU's, with the gelu that cuBLASLt's epilogue has."""
        if self.question is Question.WAY and self.weights is Weights.PLAIN:
            return _ACTIVATIONS_OF_LEVELS[self.operation]
        return ACTIVATIONS[self.operation]

    def __str__(self) -> str:
        what = f"{self.operation} {self.number_format} {self.weights}"
        if self.question is not Question.WAY:
            return f"{what}, {self.question}"
        rows, dim, hidden = self.shapes[0]
        return f"{what}, {rows} rows, dim {dim}, hidden {hidden}"

    def workload_shapes(self) -> tuple[Shape, ...]:
        """Return the shapes as the ruler's workload shapes."""
        dtype = "float32" if self.number_format is NumberFormat.TF32 else str(self.number_format)
        return tuple(
            Shape(
                operation=RulerOperation(self.operation),
                pass_=Pass.FORWARD,
                dtype=dtype,
                activation=self.activation,
                batch=rows,
                hidden=hidden,
                dim=dim,
                cache=CachePolicy.WARM,
            )
            for rows, dim, hidden in self.shapes
        )


@dataclass(frozen=True, kw_only=True)
class Measured:
    """Measurement of one candidate, in seconds per call. device_s: kernels alone. None where there is no time.

    name: unique within the cell. value: a number of a policy, whose seconds are its score: the geometric mean, over the
    cell's shapes, of its time over the best candidate's. reason: why there is no time, in words.
    """

    name: str
    implementation: str | None = None
    tiles: Mapping[str, Any] = field(default_factory=dict)
    value: int | None = None
    seconds: float | None = None
    low_s: float | None = None
    high_s: float | None = None
    device_s: float | None = None
    error_rel: float | None = None
    reason: str | None = None


@dataclass(frozen=True, kw_only=True)
class TuningConditions:
    """Versions a measurement is valid for. source: hash of fused_mlp's files; triton: None if not installed."""

    device: str
    n_threads: int | None
    torch: str
    triton: str | None
    source: str


_CPU_ROWS = (1, 8, 64, 512)
_CPU_SIZES = ((64, 256), (256, 256), (256, 1024), (1024, 1024), (1024, 4096))
_CUDA_ROWS = (1, 4, 16, 64, 256, 1024, 4096, 16384)
_CUDA_SIZES = ((64, 256), (128, 512), (256, 1024), (768, 3072), (1024, 4096))
_CUDA_GATED_SIZES = ((256, 1024), (1024, 2816), (2048, 5632), (4096, 11008), (4096, 14336))
_MANY_ROWS = ((65536, 64, 256), (65536, 128, 512))

# (rows, dim, hidden) around where each number decides.
_POLICY_SHAPES = {
    Question.SERIAL_FLOP: (
        *((1, 64, 64), (1, 64, 256), (4, 64, 256), (8, 64, 256)),
        *((16, 64, 256), (1, 256, 256), (4, 256, 256)),
    ),
    Question.ROW_SPLIT_ROWS: (
        *((32, 256, 1024), (64, 64, 256), (64, 1024, 4096)),
        *((128, 256, 1024), (256, 1024, 1024), (512, 256, 256)),
    ),
    Question.REPACKING_ROWS: ((48, 64, 256), (64, 256, 1024), (96, 1024, 1024), (160, 256, 256), (256, 256, 1024)),
}
_QUICK_POLICY_SHAPES = {
    Question.SERIAL_FLOP: ((4, 64, 256),),
    Question.ROW_SPLIT_ROWS: ((64, 64, 256),),
    Question.REPACKING_ROWS: ((64, 64, 256),),
}
POLICY_VALUES = {
    Question.SERIAL_FLOP: (0, 100_000, 200_000, 400_000, 800_000, 1_600_000, 3_200_000),
    Question.ROW_SPLIT_ROWS: (12, 24, 48, 96, 192, 100_000),
    Question.REPACKING_ROWS: (32, 64, 96, 128, 192, 256, 512),
}
_QUICK = {DeviceKind.CPU: ((8, 64, 256), (64, 64, 256)), DeviceKind.CUDA: ((1, 64, 256), (64, 256, 1024))}
NUMBER_FORMATS = {
    DeviceKind.CPU: (NumberFormat.FLOAT32, NumberFormat.BFLOAT16),
    DeviceKind.CUDA: (NumberFormat.BFLOAT16, NumberFormat.FLOAT16, NumberFormat.TF32),
}
"""What is tuned unless it is named, the most used first, so that a budget that ends has served it."""


def cells(
    device: DeviceKind,
    *,
    operations: Sequence[Operation] = OPERATIONS,
    number_formats: Sequence[NumberFormat] | None = None,
    is_quick: bool = False,
) -> tuple[Cell, ...]:
    """Yield the cells for a kind of device in order; a policy's cells lack `others`, filled in from earlier ones.

    On a CPU the numbers of its policies, then which implementation packs; on CUDA the way at each shape. `is_quick`
    keeps two small shapes a kind of question: enough to prove the command, not to write a table.
    """
    found = []
    for number_format, operation in itertools.product(number_formats or NUMBER_FORMATS[device], operations):
        asked = partial(Cell, operation=operation, number_format=number_format)
        if device is DeviceKind.CPU:
            shapes_of = _QUICK_POLICY_SHAPES if is_quick else _POLICY_SHAPES
            for question, shapes in shapes_of.items():
                weights = Weights.PACKED if question is Question.ROW_SPLIT_ROWS else Weights.PLAIN
                found.append(asked(question=question, weights=weights, shapes=shapes))
        weights = Weights.PACKED if device is DeviceKind.CPU else Weights.PLAIN
        shapes = _QUICK[device] if is_quick else _way_shapes(device, operation)
        found += [asked(question=Question.WAY, weights=weights, shapes=(shape,)) for shape in shapes]
    return tuple(found)


def _way_shapes(device: DeviceKind, operation: Operation) -> tuple[tuple[int, int, int], ...]:
    if device is DeviceKind.CPU:
        return tuple((rows, *sizes) for sizes in _CPU_SIZES for rows in _CPU_ROWS)
    sizes_of = _CUDA_GATED_SIZES if operation is Operation.GATED_MLP else _CUDA_SIZES
    regular = tuple((rows, *sizes) for sizes in sizes_of for rows in _CUDA_ROWS)
    return regular if operation is Operation.GATED_MLP else (*regular, *_MANY_ROWS)


def key_of(cell: Cell, circumstances: TuningConditions, *, candidates: Iterable[str]) -> str:
    """Return the key of a finished measurement: a hash of cell, candidates and circumstances."""
    content = json.dumps([asdict(cell), asdict(circumstances), list(candidates)], sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()[:16]
