"""Policies of recomputation: what a backward pass computes again, and what is saved for it instead."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from fused_mlp.errors import InvalidArgument
from fused_mlp.vocabulary import CUDA_LEVELS, Implementation

if TYPE_CHECKING:
    from torch import Tensor


class Recompute(StrEnum):
    """Policy of recomputation in backward; the rest is saved by the forward pass, beside x and the weights.

    Of all these only what a gradient that is recorded reads: x for its weights', the weights for that of x, h for the
    last weight's. ALL reads x and the first weights for z as well.

    With z the hidden values before the activation, h those that the last product takes, M rows and H hidden values,
    elements kept by mlp / gated_mlp / linear (H: its outputs):

    ALL: z and h; nothing is kept. A product more of each first weight: 17 % more arithmetic in a training step of an
        mlp, 22 % of a gated one.
    ACTIVATION: the activation of what is kept, an elementwise pass; MH / 2MH / MH. Half of what eager keeps, and no
        product twice: what is taken unless said otherwise.
    NOTHING: no hidden value; 2MH / 3MH / MH. Spares a pass over the hidden values and costs the memory of one.

    Without an activation linear needs no z and keeps none.
    """

    ALL = "all"
    ACTIVATION = "activation"
    NOTHING = "nothing"


# Plain strings as values: graphs and TorchScript carry them as constants, enum members they would not.
_NAMES: dict[str, str] = {recompute: recompute.value for recompute in Recompute}
# A level on CUDA by name computes as it does without a gradient and writes no z, so z is computed again.
_WITHOUT_Z = tuple(level.value for level in CUDA_LEVELS)


def name_from_recompute(recompute: Recompute | str | None, implementation: Implementation | str | None = None) -> str:
    """Return the op's name of `recompute`; of None, "activation", or "all" with an implementation that writes no z.

    Raises: InvalidArgument if there is none such, or if `implementation` cannot keep what it asks for.
    """
    if implementation is None and recompute is None:
        return "activation"
    if implementation == Implementation.PURE and recompute is not None:
        expected = "None with implementation 'pure', of which PyTorch keeps what its own operators need"
        raise InvalidArgument("recompute", got=repr(str(recompute)), expected=expected)
    has_no_z = implementation in _WITHOUT_Z
    if recompute is None:
        return "all" if has_no_z else "activation"
    name = _NAMES.get(recompute) if isinstance(recompute, str) else None
    if name is None:
        raise InvalidArgument("recompute", got=repr(recompute), expected=f"one of {', '.join(_NAMES)}")
    if has_no_z and name != "all":
        expected = f"'all' with implementation {str(implementation)!r}, which writes nothing that could be kept"
        raise InvalidArgument("recompute", got=repr(name), expected=expected)
    return name


def saves_z(recompute: str) -> bool:
    """Return whether the forward pass keeps z. `recompute` as the ops spell it."""
    return recompute != Recompute.ALL


def saves_hidden(recompute: str) -> bool:
    """Return whether the forward pass keeps h. `recompute` as the ops spell it."""
    return recompute == Recompute.NOTHING


def saved_or_none(kept: Tensor, is_kept: bool) -> Tensor | None:  # noqa: FBT001 - the one thing it is about
    """Return `kept`, or None where backward does not read it or the op returned a tensor without elements for it."""
    return kept if is_kept else None
