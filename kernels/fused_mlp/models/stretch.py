"""Code of a block with parts of it computed as operations, and when: otherwise it runs as its author wrote it."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any

import torch
from torch.compiler import is_compiling

from fused_mlp.models.fused_calls import has_function_mode, is_in_checkpoint, is_tensor

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor, nn

    from fused_mlp.models.fused_calls import FusedCall
    from fused_mlp.models.guard import Guard


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
        self._is_for_inference = len(functions) == 1
        self._required = required
        self._defaults = defaults
        self._guard = guard
        self._dtype = dtype

    def __call__(self, owner: nn.Module, *args: Any, **kwargs: Any) -> Any:
        """Return what `owner`'s own code does on these arguments."""
        if not is_compiling() and has_function_mode():
            # It is told of what is asked of a tensor, too, and must not hear of our questions.
            return self._original(owner, *args, **kwargs)
        function = self._functions.get(owner.training)
        # What is fused in one mode alone might be computed again in the other.
        if function is not None and not (self._is_for_inference and is_in_checkpoint()):
            if not self._guard.holds(owner):
                self.drop_packs()
            elif self._takes(args, kwargs):
                if not kwargs:
                    return function(owner, *args)
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
            and all(is_tensor(value) for value in given)
            # Code may ask whether two are one.
            and not any(one is other for one, other in combinations(given, 2))
            and (self._dtype is None or self._has_dtype(given))
        )

    def _has_dtype(self, given: tuple[Any, ...]) -> bool:
        """Return whether all are of the one dtype for which code that asks for dtypes was read."""
        if torch.is_autocast_enabled("cpu") or torch.is_autocast_enabled("cuda"):
            return False
        of_layers = [fused_call.own_weights() for fused_call in self.fused_calls]
        weights = [weight for found in of_layers if found is not None for weight in found]
        return None not in of_layers and all(value.dtype is self._dtype for value in (*given, *weights))


def compute_fused_call(owner: Any, key: str, index: int, x: Tensor) -> Tensor:
    """Compute a fused call: what the code of a stretch calls."""
    fused_call: FusedCall = owner._fused_sites[key].fused_calls[index]  # noqa: SLF001 - ours, put there by fuse
    return fused_call(owner, x)


def call_stretch(owner: Any, key: str, *args: Any, **kwargs: Any) -> Any:
    """Compute a stretch: what the methods of a fused block call."""
    site: Callable[..., Any] = owner._fused_sites[key]  # noqa: SLF001 - as above
    return site(owner, *args, **kwargs)
