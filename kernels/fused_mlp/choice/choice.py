"""Choice of a call: implementation, tiles, and why; and the number formats that it depends on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch

from fused_mlp.vocabulary import Implementation, NumberFormat

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fused_mlp.tuned import Found, Way

FORMATS = {
    torch.float32: NumberFormat.FLOAT32,
    torch.bfloat16: NumberFormat.BFLOAT16,
    torch.float16: NumberFormat.FLOAT16,
}
"""Number format of the products of each dtype that the kernels take, tf32 not allowed."""


@dataclass(frozen=True, kw_only=True)
class Choice:
    """Implementation and tiles of one call.

    Attributes:
        implementation: which computes it.
        weights: "plain", "repacked" (during the call) or "packed" (before it).
        shared_by: how threads divide the work, "rows", "columns" or "serial"; None where that is not ours to say.
        tiles: the Triton configuration by the names of its fields; empty where the kernel's own rule gives it.
        found: whether the answer was tuned for this shape, for a neighbour of it, or follows from the rule.
        why: the reason, in words.
    """

    implementation: Implementation
    weights: str
    shared_by: str | None
    found: Found
    why: str
    tiles: Mapping[str, Any] = field(default_factory=dict)


def number_format(dtype: torch.dtype, device_type: str) -> NumberFormat:
    """Return how products of `dtype` are computed there: on CUDA, float32 as the user allowed it for PyTorch's own."""
    if dtype == torch.float32 and device_type == "cuda" and torch.get_float32_matmul_precision() != "highest":
        return NumberFormat.TF32
    return FORMATS[dtype]


def describe_shape(way: Way) -> str:
    """Return the shape that `way` was measured at, in words."""
    return f"{way.rows} rows, dim {way.dim}, hidden {way.hidden}"
