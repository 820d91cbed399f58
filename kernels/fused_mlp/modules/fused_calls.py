"""Fused calls of a block that are computed as one operation, and when: otherwise the block's own modules are called."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch.autograd import forward_ad
from torch.compiler import is_dynamo_compiling
from torch.overrides import _get_current_function_mode_stack
from torch.utils._device import DeviceContext

from fused_mlp.choice.implementations import why_unavailable
from fused_mlp.errors import InvalidArgument, Unavailable
from fused_mlp.modules.packable import may_use_packs
from fused_mlp.native.build import ensure_built
from fused_mlp.ops.validation import SUPPORTED_DTYPES

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor, nn

    from fused_mlp.modules.block_patterns import Pattern
    from fused_mlp.modules.derived import BiasedGatedMLP
    from fused_mlp.modules.guards import Guard
    from fused_mlp.modules.packable import PackableModule

_PLAIN = (torch.Tensor, torch.nn.Parameter)


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
        module = self.module
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
            except (InvalidArgument, Unavailable):
                return self._eager(owner, x)
            if result is not NotImplemented:
                return result
        if self._may_take(x):
            return module.forward(x)
        return self._eager(owner, x)

    def _may_take(self, x: Any) -> bool:
        if not _is_plain_call(x) or x.dim() == 0 or x.dtype not in SUPPORTED_DTYPES:
            return False
        weights = self.module.weights()
        if weights[0].shape[1] != x.shape[-1]:
            return False
        autocast = torch.is_autocast_enabled(x.device.type)
        if not all(_goes_with(weight, x, autocast=autocast) for weight in weights):
            return False
        if self.is_packed_only or _why_not_on(x.device.type) is not None:
            return self._has_usable_packs()
        return True

    def _has_usable_packs(self) -> bool:
        module = self.module
        return not torch.compiler.is_compiling() and may_use_packs() and module.is_prepared


def _is_tensor(value: Any) -> bool:
    """Return whether this is a tensor and no subclass; graphs are made with subclasses in their place."""
    return isinstance(value, torch.Tensor) if torch.compiler.is_compiling() else type(value) in _PLAIN


def _is_plain_call(x: Any) -> bool:
    """Return whether x is a plain tensor outside of transforms and modes, which see the block's own operations."""
    if torch.compiler.is_compiling():
        return isinstance(x, torch.Tensor)
    return type(x) in _PLAIN and not (
        torch._C._are_functorch_transforms_active()  # noqa: SLF001 - torch has no public name for any of these
        or forward_ad._current_level >= 0  # noqa: SLF001
        or _has_function_mode()
        or torch._C._len_torch_dispatch_stack() > 0  # noqa: SLF001
    )


def _has_function_mode() -> bool:
    """Return whether torch's functions are looked at; a default device, which only new tensors ask for, does not."""
    return torch._C._len_torch_function_stack() > 0 and any(  # noqa: SLF001 - torch has no public name
        not isinstance(mode, DeviceContext) for mode in _get_current_function_mode_stack()
    )


def _goes_with(weight: torch.Tensor, x: torch.Tensor, *, autocast: bool) -> bool:
    is_plain = torch.compiler.is_compiling() or (type(weight) in _PLAIN and weight.layout is torch.strided)
    return is_plain and weight.device == x.device and (weight.dtype == x.dtype or autocast)


class Stretch:
    """Code of a block, a method or a part of one, with parts of it computed as operations.

    Attributes:
        fused_calls: in the order of the code.
        dtype: the only one it is used for, where the code asks for dtypes.
    """

    def __init__(
        self,
        *,
        original: Callable[..., Any],
        functions: dict[bool, Callable[..., Any]],
        required: tuple[str, ...],
        defaults: dict[str, Any],
        fused_calls: tuple[FusedCall, ...],
        guard: Guard,
        dtype: torch.dtype | None,
    ) -> None:
        self.fused_calls = fused_calls
        self._original = original
        self._functions = functions
        self._required = required
        self._defaults = defaults
        self._guard = guard
        self._dtype = dtype

    def __call__(self, owner: nn.Module, *args: Any, **kwargs: Any) -> Any:
        """Return what `owner`'s own code does on these arguments."""
        function = self._functions.get(owner.training)
        if function is not None:
            if not self._guard.holds(owner):
                self.drop_packs()
            elif self._takes(args, kwargs):
                return function(owner, *args, **{name: kwargs[name] for name in kwargs if name in self._required})
        return self._original(owner, *args, **kwargs)

    def drop_packs(self) -> None:
        """Forget packed weights."""
        for fused_call in self.fused_calls:
            fused_call.module.drop_packs()

    def _takes(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Return whether tensors are given for all that is required, and else only what is the default anyway."""
        given = args
        for name, value in kwargs.items():
            if name in self._required:
                given += (value,)
            elif name not in self._defaults or value is not self._defaults[name]:
                return False
        return (
            len(given) == len(self._required)
            and all(_is_tensor(value) for value in given)
            and (self._dtype is None or self._has_dtype(given))
        )

    def _has_dtype(self, given: tuple[Any, ...]) -> bool:
        """Return whether all are of the one dtype for which code that asks for dtypes was read."""
        weights = (weight for fused_call in self.fused_calls for weight in fused_call.module.weights())
        is_cast = torch.is_autocast_enabled("cpu") or torch.is_autocast_enabled("cuda")
        return not is_cast and all(value.dtype is self._dtype for value in (*given, *weights))


def compute_fused_call(owner: Any, key: str, index: int, x: Tensor) -> Tensor:
    """Compute a fused call: what the code of a stretch calls."""
    fused_call: FusedCall = owner._fused_sites[key].fused_calls[index]  # noqa: SLF001 - ours, put there by fuse
    return fused_call(owner, x)


def call_stretch(owner: Any, key: str, *args: Any, **kwargs: Any) -> Any:
    """Compute a stretch: what the methods of a fused block call."""
    site: Callable[..., Any] = owner._fused_sites[key]  # noqa: SLF001 - as above
    return site(owner, *args, **kwargs)


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
