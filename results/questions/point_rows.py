"""Rows of sweep points: their order, who wins among them, which are beside each other; pure."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from results.rows import PointRow, WinnerRow

if TYPE_CHECKING:
    from collections.abc import Sequence


def by_shape(row: PointRow) -> tuple[object, ...]:
    """The order in which points are listed: what was computed, then how large, then by whom."""
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
    """Everything that must be equal to compete; who packs its weights competes with who leaves them plain."""
    return by_shape(row)[:-2]


def winner_among(rows: Sequence[PointRow]) -> WinnerRow | None:
    """Who is fastest among the points of one shape; None if none of them is ok."""
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


def quotient(above: float | None, below: float | None, *, scale: float = 1.0) -> float | None:
    """`above` over `below`; None where either is not known or the latter is 0."""
    return above * scale / below if above is not None and below else None
