"""Checks of whether the arguments of an operation fit together; each function returns the first fault.

The public functions call the op first and ask here only when it refused, so that a right call pays nothing.
"""

from __future__ import annotations

import torch
from torch import Tensor

from fused_mlp.errors import InvalidArgument

SUPPORTED_DTYPES = (torch.float32, torch.bfloat16, torch.float16)


def fault_in_linear(x: Tensor, w: Tensor, b: Tensor | None) -> InvalidArgument | None:
    """Return the first argument of `linear` that does not fit, or None."""
    return _fault_in_input(x) or _fault_in_weight(w, "w", x, n_in=x.shape[-1]) or _fault_in_bias(b, "b", x, w, "w")


def fault_in_mlp(x: Tensor, w1: Tensor, b1: Tensor | None, w2: Tensor, b2: Tensor | None) -> InvalidArgument | None:
    """Return the first argument of `mlp` that does not fit, or None."""
    return (
        _fault_in_input(x)
        or _fault_in_weight(w1, "w1", x, n_in=x.shape[-1])
        or _fault_in_bias(b1, "b1", x, w1, "w1")
        or _fault_in_weight(w2, "w2", x, n_in=w1.shape[0])
        or _fault_in_bias(b2, "b2", x, w2, "w2")
    )


def fault_in_gated_mlp(x: Tensor, w_gate: Tensor, w_up: Tensor, w_down: Tensor) -> InvalidArgument | None:
    """Return the first argument of `gated_mlp` that does not fit, or None."""
    return (
        _fault_in_input(x)
        or _fault_in_weight(w_gate, "w_gate", x, n_in=x.shape[-1])
        or _fault_in_weight(w_up, "w_up", x, n_in=x.shape[-1], n_out=w_gate.shape[0])
        or _fault_in_weight(w_down, "w_down", x, n_in=w_gate.shape[0])
    )


def _fault_in_input(x: object) -> InvalidArgument | None:
    if not isinstance(x, Tensor):
        return InvalidArgument("x", got=f"a {type(x).__name__}", expected="a tensor")
    if (layout := _other_layout(x)) is not None:
        return InvalidArgument("x", got=layout, expected=_DENSE)
    if x.dim() < 1:
        return InvalidArgument("x", got="of shape []", expected="[..., features]")
    if x.dtype not in SUPPORTED_DTYPES:
        expected = "float32, bfloat16 or float16 (fused_mlp.reference takes any other dtype)"
        return InvalidArgument("x", got=_name_of(x.dtype), expected=expected)
    return None


def _fault_in_weight(w: object, name: str, x: Tensor, *, n_in: int, n_out: int | None = None) -> InvalidArgument | None:
    if not isinstance(w, Tensor):
        return InvalidArgument(name, got=f"a {type(w).__name__}", expected="a tensor")
    if (layout := _other_layout(w)) is not None:
        return InvalidArgument(name, got=layout, expected=_DENSE)
    if w.dim() != 2 or w.shape[1] != n_in or (n_out is not None and w.shape[0] != n_out):
        out = "out" if n_out is None else n_out
        return InvalidArgument(name, got=f"of shape {list(w.shape)}", expected=f"[{out}, {n_in}]")
    return _fault_in_company(w, name, x)


def _fault_in_bias(b: object, name: str, x: Tensor, w: Tensor, weight_name: str) -> InvalidArgument | None:
    if b is None:
        return None
    if not isinstance(b, Tensor):
        return InvalidArgument(name, got=f"a {type(b).__name__}", expected="a tensor or None")
    if (layout := _other_layout(b)) is not None:
        return InvalidArgument(name, got=layout, expected=_DENSE)
    if b.dim() != 1 or b.shape[0] != w.shape[0]:
        expected = f"[{w.shape[0]}], one for each row of {weight_name}"
        return InvalidArgument(name, got=f"of shape {list(b.shape)}", expected=expected)
    return _fault_in_company(b, name, x)


def _fault_in_company(t: Tensor, name: str, x: Tensor) -> InvalidArgument | None:
    """Return the first parameter whose dtype or device is not that of x: nothing is converted or moved silently.

    Autocast is the caller's own wish that dtypes be made equal.
    """
    if t.dtype != x.dtype and not torch.is_autocast_enabled(x.device.type):
        return InvalidArgument(name, got=_name_of(t.dtype), expected=f"{_name_of(x.dtype)}, as x")
    if t.device != x.device:
        return InvalidArgument(name, got=f"on {t.device}", expected=f"{x.device}, as x")
    return None


_DENSE = "a dense tensor"


def _other_layout(t: Tensor) -> str | None:
    """Return how `t` lies in memory, in words; None if it is dense, as the kernels read it."""
    if t.is_nested:
        return "a nested tensor"
    return None if t.layout is torch.strided else f"of layout {str(t.layout).removeprefix('torch.')}"


def _name_of(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
