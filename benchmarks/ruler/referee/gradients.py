"""Whether tensors that all contenders share require gradients: found again as it was, or not."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from collections.abc import Sequence

_requires, _is_leaf = attrgetter("requires_grad"), attrgetter("is_leaf")


class RequiredGradients:
    """Tensors, each a leaf of autograd's graph, and which of them require gradients."""

    def __init__(self, tensors: Sequence[torch.Tensor]) -> None:
        self._requiring = [each for each in tensors if each.requires_grad]
        self._others = [each for each in tensors if not each.requires_grad]

    def repaired(self) -> bool:
        """Have them require gradients as they did; return whether one did not, or was no leaf any more."""
        # One that requires none is a leaf.
        if (
            all(map(_requires, self._requiring))
            and all(map(_is_leaf, self._requiring))
            and not any(map(_requires, self._others))
        ):
            return False
        with torch.inference_mode(mode=False):
            for each in (*self._requiring, *self._others):
                torch.Tensor.detach_(each)
            for each in self._requiring:
                torch.Tensor.requires_grad_(each)
        return True
