"""Fused calls of a block that are computed as one operation, and when: otherwise the block's own modules are called."""

from __future__ import annotations

import inspect
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import torch
from torch.autograd import forward_ad
from torch.compiler import is_dynamo_compiling
from torch.overrides import _get_current_function_mode_stack
from torch.utils import checkpoint
from torch.utils._device import DeviceContext

from fused_mlp.choice.implementations import why_unavailable
from fused_mlp.errors import InvalidArgument, Unavailable
from fused_mlp.modules.packable import may_use_packs
from fused_mlp.native.build import ensure_built
from fused_mlp.ops.validation import SUPPORTED_DTYPES

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor, nn

    from fused_mlp.models.derived import BiasedGatedMLP
    from fused_mlp.models.reading.block_patterns import Pattern
    from fused_mlp.modules.packable import PackableModule

_PLAIN = (torch.Tensor, torch.nn.Parameter)
_DEVICES = ("cpu", "cuda")


class FusedCall:
    """Layers of a block as one operation, and their own code for calls that the operation does not take.

    Attributes:
        pattern: what it computes.
        module: the operation on the layers' own parameters; no child of the block.
        is_packed_only: it is computed on packed weights or not at all.
    """

    def __init__(
        self,
        pattern: Pattern,
        module: PackableModule | BiasedGatedMLP,
        eager: Callable[..., Tensor],
        *,
        is_packed_only: bool,
    ) -> None:
        self.pattern = pattern
        self.module = module
        self.is_packed_only = is_packed_only
        self._eager = eager

    def __call__(self, owner: nn.Module, x: Tensor) -> Tensor:
        """Return the layers' result on x, as `owner` would compute it."""
        module, own_x = self.module, x
        if is_in_checkpoint() and is_tensor(x):
            if _is_in_unchecked_checkpoint():
                # Other code, by a hook put on meanwhile for one, would save other tensors, and nothing would tell.
                return self._eager(owner, x)
            x = self._marked(x)
        if (
            module.is_direct
            and not self.is_packed_only
            and not is_dynamo_compiling()
            and type(x) is torch.Tensor
            and (x.is_cpu or x.is_cuda)
        ):
            # The short way refuses what it was not made for before anything is computed.
            try:
                result: Tensor = module.forward_directly(x)
            except (ValueError, Unavailable):
                return self._eager(owner, own_x)
            if result is not NotImplemented:
                return result
        if self._may_take(x):
            if torch.compiler.is_compiling():
                return module.forward(x)
            # A bias that would be broadcast, under autocast a weight in float64; packs that a thread has just ended.
            with suppress(ValueError, Unavailable):
                return module.forward(x)
        return self._eager(owner, own_x)

    def _marked(self, x: Tensor) -> Tensor:
        """Return x behind a step that saves what nothing else does, if the operation saves something.

        A checkpoint compares no more than the shapes of what is saved. So it tells of own code that runs instead when
        all is computed again, with a hook put on meanwhile for one, where both save tensors of the same shapes.
        """
        parameters = (*(self.own_weights() or ()), *self.module.parameters())
        if not x.requires_grad and not any(each.requires_grad for each in parameters):
            return x
        marked: Tensor = _Marked.apply(x, torch.empty(0, requires_grad=True))  # type: ignore[no-untyped-call]
        return marked

    def own_weights(self) -> tuple[Tensor, ...] | None:
        """Return the weights as the layers hold them; None if the layers are none of the operation's any longer."""
        try:
            return self.module.own_weights()
        except InvalidArgument:
            return None

    def _may_take(self, x: Any) -> bool:
        if _is_for_onnx() or not _is_plain_call(x) or x.is_nested or x.layout is not torch.strided:
            return False
        if x.device.type not in _DEVICES or x.dim() == 0 or x.dtype not in SUPPORTED_DTYPES:
            return False
        weights, autocast = self.own_weights(), torch.is_autocast_enabled(x.device.type)
        # Biases are plain, too; what a compiler hands over are subclasses.
        if (
            weights is None
            or not all(_goes_with(weight, x, autocast=autocast) for weight in weights)
            or not (torch.compiler.is_compiling() or self.module.is_plain)
        ):
            return False
        # A tracer of TorchScript warns where sizes are compared; there the operation refuses what does not fit.
        if not _is_traced() and self.module.weights()[0].shape[1] != x.shape[-1]:
            return False
        if self.is_packed_only or _why_not_on(x.device.type) is not None:
            return self._has_usable_packs()
        return True

    def _has_usable_packs(self) -> bool:
        module = self.module
        return not torch.compiler.is_compiling() and may_use_packs() and module.is_prepared


class _Marked(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, needing_gradient: Tensor | None) -> Tensor:
        del needing_gradient
        ctx.save_for_backward(x.new_empty(0, 1, 0, 8191))
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        del ctx
        return gradients[0], None


def is_in_checkpoint() -> bool:
    """Return whether what is saved for the backward pass is computed again then, by whatever code runs then."""
    if not torch.is_grad_enabled() or torch.compiler.is_compiling():
        return False
    hooks = torch._C._autograd._top_saved_tensors_default_hooks(False)  # noqa: FBT003, SLF001 - torch has no public name
    return hooks is not None and getattr(hooks[0], "__module__", None) == checkpoint.__name__


def _is_in_unchecked_checkpoint() -> bool:
    """Return whether the checkpoint that a call is in compares nothing: `determinism_check="none"`, or is unknown."""
    hook: Any = inspect.unwrap(torch._C._autograd._top_saved_tensors_default_hooks(False)[0])  # noqa: FBT003, SLF001 - as above
    held = {name: cell.cell_contents for name, cell in zip(hook.__code__.co_freevars, hook.__closure__, strict=True)}
    reference = held.get("target_frame_ref")
    frame = held.get("frame") if reference is None else reference()
    compares: object = checkpoint._allowed_determinism_checks_to_fns["default"]  # noqa: SLF001 - as above
    return getattr(frame, "metadata_fn", None) is not compares


def is_tensor(value: Any) -> bool:
    """Return whether this is a tensor and no subclass; graphs are made with subclasses in their place."""
    return type(value) in _PLAIN or (torch.compiler.is_compiling() and isinstance(value, torch.Tensor))


def _is_plain_call(x: Any) -> bool:
    """Return whether x is a plain tensor outside of transforms and modes, which see the block's own operations."""
    if torch.compiler.is_compiling():
        return isinstance(x, torch.Tensor)
    return type(x) in _PLAIN and not (
        torch._C._are_functorch_transforms_active()  # noqa: SLF001 - torch has no public name for any of these
        or forward_ad._current_level >= 0  # noqa: SLF001
        or has_function_mode()
        or torch._C._len_torch_dispatch_stack() > 0  # noqa: SLF001
    )


def _is_for_onnx() -> bool:
    """Return whether a file for ONNX is written, which has none of our operations."""
    return (torch.compiler.is_compiling() or _is_traced()) and torch.onnx.is_in_onnx_export()


def _is_traced() -> bool:
    return torch._C._get_tracing_state() is not None  # noqa: SLF001 - torch.jit.is_tracing, typed


def has_function_mode() -> bool:
    """Return whether torch's functions are looked at; a default device, which only new tensors ask for, does not."""
    return torch._C._len_torch_function_stack() > 0 and any(  # noqa: SLF001 - torch has no public name
        not isinstance(mode, DeviceContext) for mode in _get_current_function_mode_stack()
    )


def _goes_with(weight: torch.Tensor, x: torch.Tensor, *, autocast: bool) -> bool:
    is_plain = torch.compiler.is_compiling() or (
        type(weight) in _PLAIN
        and weight.layout is torch.strided
        # Of one made under inference mode torch's layers record no gradient, or refuse to.
        and not (weight.is_inference() and torch.is_grad_enabled())
    )
    return is_plain and weight.dim() == 2 and weight.device == x.device and (weight.dtype == x.dtype or autocast)


_unavailable: dict[str, str | None] = {}


def why_not_on(device_type: str) -> str | None:
    """Return why operations cannot run on a device here, None if they can; builds the CPU's kernels for the answer."""
    reason = why_unavailable("mlp", device=device_type) or None
    if reason is None and device_type == "cpu":
        try:
            ensure_built()
        except (Unavailable, OSError) as error:
            reason = str(error)
    _unavailable[device_type] = reason
    return reason


def _why_not_on(device_type: str) -> str | None:
    try:
        return _unavailable[device_type]
    except KeyError:
        return why_not_on(device_type)
