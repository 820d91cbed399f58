"""Order of sweep points; pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from results.rows import PointRow


def by_shape(row: PointRow) -> tuple[object, ...]:
    """Return the sort key of a list of points: what is computed, how large, by which contender."""
    return (
        row.operation,
        row.pass_,
        row.dtype,
        row.activation or "",
        row.hidden,
        row.dim,
        row.batch,
        row.cache,
        row.threads,
        row.machine,
        row.environment,
        row.provider,
        row.weights,
    )


def shape_of(row: PointRow) -> tuple[object, ...]:
    """Return everything that competing points have in common; packed weights compete with plain ones."""
    return by_shape(row)[:-2]


def quotient(numerator: float | None, denominator: float | None, *, scale: float = 1.0) -> float | None:
    """Divide, scaled; None where either is unknown or the denominator is 0."""
    return numerator * scale / denominator if numerator is not None and denominator else None
