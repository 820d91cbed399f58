"""What the database says of a sweep point → rows; quotients of stored quantities are formed here; pure."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from results.rows import OperationChoices, PointRow, WinnerRow

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from results.records import PointRecord


def point_row(described: Any, point: PointRecord, metrics: Mapping[str, Any]) -> PointRow:  # noqa: ANN401 - a row of the database
    """One row from its three parts: the measurement, its axes, and its values by metric."""

    def median_of(name: str) -> float | None:
        value = metrics.get(name)
        return None if value is None else value.median

    latency = metrics.get("latency_s")
    speedup = metrics.get("speedup_vs_eager")
    latency_s = median_of("latency_s")
    return PointRow(
        project=described.project,
        commit=described.commit,
        commit_date=described.commit_date,
        commit_subject=described.commit_subject,
        machine=described.machine,
        environment=described.environment,
        ruler_version=described.ruler_version,
        operation=point.operation,
        provider=point.provider,
        pass_=point.pass_,
        dtype=point.dtype,
        activation=point.activation,
        batch=point.batch,
        hidden=point.hidden,
        dim=point.dim,
        cache=point.cache,
        weights=point.weights,
        threads=point.threads,
        state=described.state,
        reason=described.reason,
        disturbed=described.disturbed,
        provider_detail=described.provider_detail,
        latency_s=latency_s,
        latency_ci_low_s=None if latency is None else latency.ci_low,
        latency_ci_high_s=None if latency is None else latency.ci_high,
        sample_count=None if latency is None else latency.sample_count,
        device_time_s=median_of("device_time_s"),
        host_time_s=median_of("host_time_s"),
        operator_time_s=median_of("operator_time_s"),
        kernel_launches=median_of("kernel_launches"),
        operator_count=median_of("operator_count"),
        peak_memory_bytes=median_of("peak_memory_bytes"),
        rows_per_s=_quotient(point.batch, latency_s),
        tflop_per_s=_quotient(described.flop, latency_s, scale=1e-12),
        gb_per_s=_quotient(described.min_bytes, latency_s, scale=1e-9),
        floor_s=described.floor_s,
        percent_of_floor=_quotient(described.floor_s, latency_s, scale=100.0),
        speedup_vs_eager=median_of("speedup_vs_eager"),
        speedup_ci_low=None if speedup is None else speedup.ci_low,
        speedup_ci_high=None if speedup is None else speedup.ci_high,
        bound=described.bound,
        compile_time_s=median_of("compile_time_s"),
        compile_time_cold_s=median_of("compile_time_cold_s"),
        prepare_time_s=median_of("prepare_time_s"),
        error_rel=median_of("error_rel"),
        run_id=described.uid,
        point_id=described.point_id,
        measured_at=described.measured_at,
    )


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
        row.weights,
        row.threads,
        row.machine,
        row.environment,
        row.provider,
    )


def shape_of(row: PointRow) -> tuple[object, ...]:
    """Everything that must be equal for providers to compete."""
    return by_shape(row)[:-1]


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
        margin=None if runner_up is None else _quotient(runner_up.latency_s, winner.latency_s),
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


def _quotient(above: float | None, below: float | None, *, scale: float = 1.0) -> float | None:
    return above * scale / below if above is not None and below else None
