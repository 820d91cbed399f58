"""Order of sweep points, and the winner among those of one shape; pure."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from results.rows import PointRow, WinnerRow

if TYPE_CHECKING:
    from collections.abc import Sequence


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


def winner_among(rows: Sequence[PointRow]) -> WinnerRow | None:
    """Return the fastest among the points of one shape; None if none of them is ok."""
    ranked = sorted((row for row in rows if row.latency_s is not None), key=lambda row: row.latency_s or math.inf)
    if not ranked:
        return None
    winner, runner_up = ranked[0], ranked[1] if len(ranked) > 1 else None
    return WinnerRow(
        winner=winner,
        runner_up=runner_up,
        eager=next((row for row in ranked if row.provider == "eager"), None),
        margin=None if runner_up is None else quotient(runner_up.latency_s, winner.latency_s),
        is_clear=runner_up is not None
        and winner.latency_ci_high_s is not None
        and runner_up.latency_ci_low_s is not None
        and winner.latency_ci_high_s < runner_up.latency_ci_low_s,
    )


def quotient(numerator: float | None, denominator: float | None, *, scale: float = 1.0) -> float | None:
    """Divide, scaled; None where either is unknown or the denominator is 0."""
    return numerator * scale / denominator if numerator is not None and denominator else None
