"""Inputs of an operator's call as a trace records them; pure."""

from __future__ import annotations

import json
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

# C++ types, as Kineto writes them, and those of 8-bit floats.
_DTYPES = {
    "float": "float32", "double": "float64", "c10::BFloat16": "bfloat16", "c10::Half": "float16",
    "long int": "int64", "long": "int64", "int": "int32", "short int": "int16", "short": "int16",
    "signed char": "int8", "unsigned char": "uint8", "bool": "bool",
    "c10::Float8_e4m3fn": "float8_e4m3fn", "c10::Float8_e5m2": "float8_e5m2",
    "c10::complex<float>": "complex64", "c10::complex<double>": "complex128",
}  # fmt: skip
_BYTES = {
    "float32": 4, "float64": 8, "bfloat16": 2, "float16": 2, "int64": 8, "int32": 4, "int16": 2, "int8": 1, "uint8": 1,
    "bool": 1, "float8_e4m3fn": 1, "float8_e5m2": 1, "complex64": 8, "complex128": 16,
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Tensor:
    """Tensor by its dtype and sizes. n_distinct: elements in memory; of an expanded dimension there is one."""

    dtype: str
    sizes: tuple[int, ...]
    n_distinct: int

    @property
    def item_bytes(self) -> int:
        """Bytes of one element."""
        return _BYTES[self.dtype]

    @property
    def n_bytes(self) -> int:
        """Bytes of what is in memory."""
        return self.n_distinct * self.item_bytes

    def __str__(self) -> str:
        """Return `float32[16,256]`."""
        return f"{self.dtype}[{','.join(map(str, self.sizes))}]"


@dataclass(frozen=True, kw_only=True)
class Inputs:
    """Inputs of one call by position. tensors: None where an input is none. values: as text, where it is recorded.

    strange: an input that holds tensors of which the dtype is not recorded, or not known here; None without any.
    """

    tensors: tuple[Tensor | None, ...]
    values: tuple[str, ...]
    strange: str | None = None

    def __str__(self) -> str:
        """Return the inputs up to the last tensor, `-` for what is none."""
        texts = [str(tensor) if tensor else "-" for tensor in self.tensors]
        while texts and texts[-1] == "-":
            texts.pop()
        return " ".join(texts)


def inputs_from_args(args: Mapping[str, Any]) -> Inputs | None:
    """Return what an event's arguments say of its operator's inputs; None where they say nothing."""
    sizes, types = args.get("Input Dims"), args.get("Input type")
    if not types or not isinstance(sizes, list) or len(sizes) != len(types):
        return None
    strides = args.get("Input Strides") or [[]] * len(sizes)
    tensors: list[Tensor | None] = []
    strange = None
    for kind, shape, stride in zip(types, sizes, strides, strict=False):
        dtype = _DTYPES.get(kind)
        if dtype is None:
            strange = strange or (kind if _may_hold_tensors(kind) else None)
            tensors.append(None)
        else:
            tensors.append(_tensor(dtype, shape, stride))
    values = tuple(map(str, args.get("Concrete Inputs") or ()))
    return Inputs(tensors=tuple(tensors), values=values, strange=strange)


def whole_numbers(text: str) -> tuple[int, ...]:
    """Return the numbers of a recorded value such as `[0, 1]` or `1`; empty for any other text."""
    try:
        found = json.loads(text)
    except ValueError:
        return ()
    numbers = found if isinstance(found, list) else [found]
    return tuple(numbers) if all(type(number) is int for number in numbers) else ()


def _may_hold_tensors(kind: str) -> bool:
    return kind not in {"", "Scalar", "ScalarList"}


def _tensor(dtype: str, sizes: list[int], strides: list[int]) -> Tensor:
    expanded = strides if len(strides) == len(sizes) else [1] * len(sizes)
    n_distinct = prod(size for size, stride in zip(sizes, expanded, strict=True) if stride != 0)
    return Tensor(dtype=dtype, sizes=tuple(sizes), n_distinct=0 if 0 in sizes else n_distinct)
