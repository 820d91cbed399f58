"""Who a curve belongs to: a provider, and the layout of its weights where that is not plain."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from results.rows import PointRow

PLAIN = "plain"


def contender_of(row: PointRow) -> str:
    """The name on the legend and in the URL: "fused", or "fused:packed" for a layout of its own."""
    return row.provider if row.weights == PLAIN else f"{row.provider}:{row.weights}"
