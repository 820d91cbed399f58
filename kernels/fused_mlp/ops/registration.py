"""Registration of an operation as one opaque torch op, the same for every device.

`fused_mlp::<name>` has its schema, its shapes under tracing and its gradient from here; the CPU kernel comes from
the C++ library when that is first needed, the CUDA kernel from Triton. An op without a kernel for a device raises
Unavailable with the reason; nothing is computed some other way behind the caller's back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from fused_mlp.errors import FusedMlpError, InvalidArgument, Unavailable
from fused_mlp.native.build import ensure_built, loaded_library

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

# Kept for the life of the process: an op lives as long as the Library that defined it.
_LIBRARY = torch.library.Library("fused_mlp", "DEF")
_LIBRARY.define(
    "set_cpu_policy(str operation, ScalarType dtype, int serial_flop, int row_split_rows, int repacking_rows) -> ()"
)
_LIBRARY.define("cpu_choice(str operation, ScalarType dtype, int rows, int flop, bool packed) -> str")


def register(
    schema: str, *, fake: Callable[..., Tensor], cuda: Callable[..., Tensor], saving: Callable[..., tuple[Tensor, ...]]
) -> Callable[..., Tensor]:
    """Define the op of `schema` and returns it, callable with the schema's arguments.

    Args:
        schema: name and signature as torch writes them; the first argument is a tensor.
        fake: the same arguments → an empty tensor of the right shape, dtype and device.
        cuda: the same arguments → the result, on CUDA tensors.
        saving: the op that is called instead where a gradient is recorded (see register_saving); its first result
            is this op's.
    """
    name = _define(schema)
    op: Callable[..., Tensor] = getattr(torch.ops.fused_mlp, name).default
    torch.library.register_fake(f"fused_mlp::{name}", fake, lib=_LIBRARY)
    torch.library.register_vmap(f"fused_mlp::{name}", _vmap_rule(op), lib=_LIBRARY)
    _LIBRARY.impl(name, cuda, "CUDA")
    # On the CPU the C++ library does the same without Python.
    _LIBRARY.impl(name, _autograd_rule(op, saving), "Autograd", with_keyset=True)
    for device in ("cpu", "cuda"):
        _LIBRARY.impl(name, _autocast_rule(op, device), f"Autocast{device.upper()}")
    # This alias stands for every backend without a kernel of its own. The C++ library, once loaded, registers one
    # for the CPU, which takes precedence.
    _LIBRARY.impl(name, _kernel_for_other_devices(name, op), "CompositeExplicitAutograd")
    return op


def register_saving(
    schema: str,
    *,
    fake: Callable[..., tuple[Tensor, ...]],
    cuda: Callable[..., tuple[Tensor, ...]],
    setup_context: Callable[..., None],
    backward: Callable[..., tuple[Tensor | None, ...]],
) -> Callable[..., tuple[Tensor, ...]]:
    """Define the op of `schema`: an operation that returns, behind its result, what its backward pass needs of it.

    What is kept are results like any other, with gradients of their own, so that backward formulas that use them can
    be differentiated again.

    Args:
        schema: as in `register`; more than one tensor is returned.
        fake: the same arguments → empty tensors of the right shapes.
        cuda: the same arguments → the results, on CUDA tensors.
        setup_context: what to hold for backward, as in torch.library.register_autograd.
        backward: the gradients by formula, in differentiable operations; takes None for a gradient that is zero.
    """
    name = _define(schema)
    op: Callable[..., tuple[Tensor, ...]] = getattr(torch.ops.fused_mlp, name).default
    torch.library.register_fake(f"fused_mlp::{name}", fake, lib=_LIBRARY)
    torch.library.register_autograd(f"fused_mlp::{name}", backward, setup_context=setup_context, lib=_LIBRARY)
    _LIBRARY.impl(name, cuda, "CUDA")
    _LIBRARY.impl(name, _kernel_for_other_devices(name, op), "CompositeExplicitAutograd")
    return op


def register_for_inference(schema: str, *, cuda: Callable[..., Tensor] | None = None) -> Callable[..., Tensor]:
    """Define the op of `schema`, which has no gradient, and returns it; its kernel is C++ for the CPU, or `cuda`."""
    name = schema[: schema.index("(")]
    _LIBRARY.define(schema)
    op: Callable[..., Tensor] = getattr(torch.ops.fused_mlp, name).default
    if cuda is not None:
        _LIBRARY.impl(name, cuda, "CUDA")
        return op
    _LIBRARY.impl(name, _kernel_for_other_devices(name, op), "CompositeExplicitAutograd")
    return op


def register_for_backward(
    schema: str, *, fake: Callable[..., tuple[Tensor, ...]], cuda: Callable[..., tuple[Tensor, ...]]
) -> Callable[..., tuple[Tensor, ...]]:
    """Define the op of `schema`, which has a CUDA kernel only and no gradient of its own, and returns it.

    An op, so that a compiler that traces a backward pass sees one opaque call where a kernel is launched.
    """
    name = schema[: schema.index("(")]
    _LIBRARY.define(schema, tags=(torch.Tag.pt2_compliant_tag,))
    torch.library.register_fake(f"fused_mlp::{name}", fake, lib=_LIBRARY)
    _LIBRARY.impl(name, cuda, "CUDA")
    op: Callable[..., tuple[Tensor, ...]] = getattr(torch.ops.fused_mlp, name).default
    return op


def register_gradients(schema: str, *, formula: Callable[..., tuple[Tensor | None, ...]], n_grads: int) -> None:
    """Define the op of `schema`, by which the C++ autograd nodes compute their backward pass on the CPU.

    It is `formula` itself, in differentiable operations that autograd and compilers see one by one. Its arguments are
    those of `formula` in order: the first `n_grads` in a tuple, the last two, activation and needed, by name.
    """

    def by_formula(*arguments: Any) -> tuple[Tensor | None, ...]:
        *tensors, activation, needed = arguments
        return formula(tuple(tensors[:n_grads]), *tensors[n_grads:], activation=activation, needed=tuple(needed))

    _LIBRARY.impl(_define(schema), by_formula, "CompositeImplicitAutograd")


def is_backward_fused(grad: Tensor) -> bool:
    """Return whether `grad` is propagated by the fused kernels: on CUDA, unless it is to be differentiated again."""
    return grad.device.type == "cuda" and not torch.is_grad_enabled()


def without_wrapper(op: Any) -> Callable[..., Any]:
    """Return what calling `op` calls in turn, for use outside torch.compile: a tenth of a small call's time less."""
    inner: Callable[..., Any] = op._op  # noqa: SLF001 - torch has no public name for it
    return inner


def call_explained(op: Callable[..., Tensor], *arguments: Any) -> Tensor:
    """Return op(*arguments), whose errors are worded as in `explained`."""
    if torch.compiler.is_dynamo_compiling():
        return op(*arguments)
    try:
        return op(*arguments)
    except Exception as error:  # noqa: BLE001 - raised again, worded
        raise explained(error, None) from None


def explained(error: Exception, fault: InvalidArgument | None) -> Exception:
    """Return what a public function raises for `error` of its op: the fault in its arguments if there is one."""
    if fault is not None:
        return fault
    if torch._C._are_functorch_transforms_active() and not isinstance(error, FusedMlpError):  # noqa: SLF001 - torch has no public name for it
        reason = "torch.func transforms other than vmap over x do not reach through the fused ops"
        return Unavailable(f"{reason}; torch.autograd does, and so does fused_mlp.reference ({error})")
    return error


def _define(schema: str) -> str:
    _LIBRARY.define(schema, tags=(torch.Tag.pt2_compliant_tag,))
    return schema[: schema.index("(")]


def _autograd_rule(op: Any, saving: Callable[..., tuple[Tensor, ...]]) -> Callable[..., Tensor]:
    def record_or_compute(keys: torch._C.DispatchKeySet, *arguments: Any) -> Tensor:
        if torch.is_grad_enabled() and torch._C._any_requires_grad(*arguments):  # noqa: SLF001 - as torch.library's own rule
            return saving(*arguments)[0]
        with torch._C._AutoDispatchBelowAutograd():  # noqa: SLF001 - as above
            result: Tensor = op.redispatch(keys & torch._C._after_autograd_keyset, *arguments)  # noqa: SLF001 - as above
        return result

    return record_or_compute


def _autocast_rule(op: Callable[..., Tensor], device: str) -> Callable[..., Tensor]:
    """Return the autocast rule, functional.linear's: floating-point tensors in its dtype, float64 as it is."""
    keys = torch._C.DispatchKeySet(getattr(torch._C.DispatchKey, f"Autocast{device.upper()}"))  # noqa: SLF001 - no public name

    def cast(argument: Any, dtype: torch.dtype) -> Any:
        if not isinstance(argument, torch.Tensor) or argument.device.type != device:
            return argument
        return argument.to(dtype) if argument.is_floating_point() and argument.dtype != torch.float64 else argument

    def cast_and_compute(*arguments: Any) -> Tensor:
        dtype = torch.get_autocast_dtype(device)
        with torch._C._ExcludeDispatchKeyGuard(keys):  # noqa: SLF001 - as torch.library's own rule
            return op(*(cast(argument, dtype) for argument in arguments))

    return cast_and_compute


def _vmap_rule(op: Callable[..., Tensor]) -> Callable[..., tuple[Tensor, int]]:
    """Return the batch is one more leading dimension of x; weights are the same for all of it."""

    def batched(info: object, in_dims: tuple[int | None, ...], x: Tensor, *rest: Any) -> tuple[Tensor, int]:
        del info
        if any(dim is not None for dim in in_dims[1:]):
            raise InvalidArgument("a weight or bias", got="batched by vmap", expected="the same for the whole batch")
        return op(x.movedim(in_dims[0] or 0, 0), *rest), 0

    return batched


def _kernel_for_other_devices(name: str, op: Callable[..., Any]) -> Callable[..., Any]:
    def load_or_refuse(x: Tensor, *rest: Any) -> Any:
        if x.device.type != "cpu":
            raise Unavailable(f"fused_mlp.{name} has no kernel for {x.device.type}; it runs on cpu and cuda")
        if loaded_library() is not None:
            # The C++ kernels are there, and the dispatcher found none for these tensors.
            layouts = dict.fromkeys(str(t.layout) for t in (x, *rest) if isinstance(t, torch.Tensor))
            raise Unavailable(f"fused_mlp.{name} has no kernel for tensors of layout {', '.join(layouts)}")
        ensure_built()
        return op(x, *rest)

    return load_or_refuse
