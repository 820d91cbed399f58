"""What fusing and preparing a model did: values that print as tables."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import nn

    from fused_mlp.activations import Activation
    from fused_mlp.modules.packing import PackReport
    from fused_mlp.vocabulary import Operation

_WIDTH = 120
_NARROWEST = 40
"""Characters of a table's lines, and of its last column where the others take nearly all of them."""


@dataclass(frozen=True, kw_only=True)
class Replaced:
    """Layers that are computed as one operation.

    Attributes:
        path: of the block in the model, "" for the model itself.
        block: its class's name.
        operation: which; layers: paths of its linear layers below the block; activation: its activation.
    """

    path: str
    block: str
    operation: Operation
    layers: tuple[str, ...]
    activation: Activation


@dataclass(frozen=True, kw_only=True)
class Kept:
    """Block with linear layers that was left as it was, and why."""

    path: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class Packed:
    """Weights that were packed: where, and what it took."""

    path: str
    report: PackReport


@dataclass(frozen=True, kw_only=True)
class FusionReport:
    """Result of `fuse`; prints as a table.

    Attributes:
        model: the model, the same object.
        why_packed_only: why the operations cannot run here on plain weights, at its length; None if they can.
    """

    model: nn.Module
    replaced: tuple[Replaced, ...]
    kept: tuple[Kept, ...]
    packed: tuple[Packed, ...] = ()
    why_packed_only: str | None = None

    def __str__(self) -> str:
        if not self.replaced and not self.kept:
            return "no block with linear layers was found, or none was chosen"
        rows = [
            (
                item.path or "(the model)",
                item.block,
                item.operation.value,
                f"{', '.join(item.layers)}; {item.activation}",
            )
            for item in self.replaced
        ]
        rows += [(item.path or "(the model)", "", "kept", item.reason) for item in self.kept]
        text = _table(("path", "block", "computed as", "layers; activation, or reason"), rows)
        if self.packed:
            n_bytes = sum(item.report.n_bytes for item in self.packed)
            seconds = sum(item.report.seconds for item in self.packed)
            text += f"\n{len(self.packed)} packed: {n_bytes / 2**20:.1f} MiB beside the weights, in {seconds:.2f} s"
        if self.why_packed_only is not None:
            text += f"\nno fused operation runs here on plain weights: {self.why_packed_only}"
        return text


@dataclass(frozen=True, kw_only=True)
class PreparationReport:
    """Result of `prepare`; prints as a table."""

    packed: tuple[Packed, ...]
    kept: tuple[Kept, ...]

    def __str__(self) -> str:
        rows = [
            (item.path or "(the model)", item.report.implementation.value, f"{item.report.n_bytes / 2**20:.1f} MiB")
            for item in self.packed
        ]
        rows += [(item.path or "(the model)", "kept", item.reason) for item in self.kept]
        return _table(("path", "packed by", "size, or reason"), rows) if rows else "nothing to pack"


def _table(heads: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    widths = [max(len(row[column]) for row in (heads, *rows)) for column in range(len(heads) - 1)]
    margin = sum(widths) + 2 * len(widths)
    lines = []
    for *cells, last in (heads, *rows):
        first = "".join(f"{cell:<{width}}  " for cell, width in zip(cells, widths, strict=True))
        room = max(_WIDTH - margin, _NARROWEST)
        head, *more = textwrap.wrap(last, room, break_long_words=False, break_on_hyphens=False) or [""]
        lines += [f"{first}{head}".rstrip(), *(" " * margin + part for part in more)]
    return "\n".join(lines)
