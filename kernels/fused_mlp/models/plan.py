"""What becomes of a block, as values: what is asked for, and what was found."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from torch import nn

    from fused_mlp.models.reading.block_patterns import Pattern

CANNOT_RUN = "the fused operations cannot run here"
"""Why a block is kept, in a row; the report says once what is missing, which may be a compiler's whole command."""


class Mode(StrEnum):
    """What a model is fused for. INFERENCE leaves training to the blocks' own code."""

    TRAINING = "training"
    INFERENCE = "inference"


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How blocks are fused. why_packed_only: why plain weights cannot be used here; None if they can."""

    mode: Mode
    recompute: str
    why_packed_only: str | None


@dataclass(kw_only=True)
class Plan:
    """What becomes of one block. sites: as fuse_block takes them; reasons: why nothing, or why not more."""

    block: nn.Module
    sites: dict[str, Callable[..., Any]] = field(default_factory=dict)
    patterns: list[Pattern] = field(default_factory=list)
    layers: list[nn.Module] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)


class Done:
    """What has its place already: blocks that are fused, and the layers that they compute."""

    def __init__(self, blocks: Iterable[nn.Module]) -> None:
        self._blocks = set(blocks)
        self._blocks_of: dict[nn.Module, list[nn.Module]] = {}

    def add(self, plan: Plan) -> None:
        """Note that the plan's block is fused."""
        self._blocks.add(plan.block)
        for layer in plan.layers:
            self._blocks_of.setdefault(layer, []).append(plan.block)

    def is_fused(self, block: nn.Module) -> bool:
        """Return whether a block is fused."""
        return block in self._blocks

    def is_computed(self, layer: nn.Module) -> bool:
        """Return whether a layer is part of a block that is fused."""
        return layer in self._blocks_of

    def is_computed_around(self, layer: nn.Module, block: nn.Module) -> bool:
        """Return whether a layer is part of a fused block that is in `block`, or holds it.

        Blocks that only share the layer may each compute it.
        """
        others = self._blocks_of.get(layer, ())
        return any(block in {*other.modules()} or other in {*block.modules()} for other in others)
