"""Rows of sweep points: their order, who wins among them, which are beside each other; pure."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from results.rows import OperationChoices, PointRow, WinnerRow

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from results.files.records import PointRecord


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


def nearest_along(point: PointRow, others: Iterable[PointRow]) -> dict[str, PointRow | None]:
    """Of `others`, the same contender one step along the batch and along the hidden, by the names NeighboursRow has.

    Along the hidden the dim follows: of several, the one nearest to the same fraction of the hidden.
    """
    alike = [row for row in others if (row.provider, row.weights) == (point.provider, point.weights)]
    by_batch = [row for row in alike if (row.hidden, row.dim) == (point.hidden, point.dim)]
    by_hidden = [row for row in alike if row.batch == point.batch]

    def off_fraction(row: PointRow) -> float:
        return abs(row.dim / row.hidden - point.dim / point.hidden)

    return {
        "smaller_batch": max((r for r in by_batch if r.batch < point.batch), key=lambda r: r.batch, default=None),
        "larger_batch": min((r for r in by_batch if r.batch > point.batch), key=lambda r: r.batch, default=None),
        "smaller_hidden": min(
            (r for r in by_hidden if r.hidden < point.hidden), key=lambda r: (-r.hidden, off_fraction(r)), default=None
        ),
        "larger_hidden": min(
            (r for r in by_hidden if r.hidden > point.hidden), key=lambda r: (r.hidden, off_fraction(r)), default=None
        ),
    }


def rivals_of(point: PointRow, others: Iterable[PointRow]) -> tuple[PointRow, ...]:
    """The other contenders at the shape of `point`, fastest first, those without a latency last."""

    def shape(row: PointRow) -> tuple[object, ...]:
        return (row.operation, row.pass_, row.dtype, row.activation, row.batch, row.hidden, row.dim, row.cache)

    def contender(row: PointRow) -> tuple[str, str]:
        return (row.provider, row.weights)

    found = [row for row in others if shape(row) == shape(point) and contender(row) != contender(point)]
    return tuple(sorted(found, key=lambda row: (row.latency_s is None, row.latency_s or 0.0, contender(row))))


def choices_of(operation: str, *, points: Sequence[PointRecord], places: Iterable[tuple[str, str]]) -> OperationChoices:
    """The axis values among `points`, and the (machine, environment) among `places`, each sorted."""
    found = list(places)

    def axis(value_of: Callable[[PointRecord], Any]) -> tuple[Any, ...]:
        return tuple(sorted({value_of(point) for point in points}))

    return OperationChoices(
        operation=operation,
        machines=tuple(sorted({machine for machine, _ in found})),
        environments=tuple(sorted({environment for _, environment in found})),
        providers=axis(lambda point: point.provider),
        passes=axis(lambda point: point.pass_),
        dtypes=axis(lambda point: point.dtype),
        activations=tuple(sorted({p.activation for p in points}, key=lambda a: (a is not None, a or ""))),
        batches=axis(lambda point: point.batch),
        hiddens=axis(lambda point: point.hidden),
        shapes=axis(lambda point: (point.hidden, point.dim)),
        caches=axis(lambda point: point.cache),
        weights=axis(lambda point: point.weights),
        threads=axis(lambda point: point.threads),
    )


def quotient(above: float | None, below: float | None, *, scale: float = 1.0) -> float | None:
    """`above` over `below`; None where either is not known or the latter is 0."""
    return above * scale / below if above is not None and below else None
