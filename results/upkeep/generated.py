"""Fill a store with generated sweeps, for measuring how fast it answers."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from typing import TYPE_CHECKING

import sqlalchemy as sa

from results.database.bulk import insert_rows, next_id
from results.database.schema import Measurement, Profile, Run, Value
from results.database.transactions import refresh_statistics, writing
from results.files.records import CommitRecord, PointRecord
from results.ingest.dimensions import BenchmarkIdentity, Dimensions
from results.ingest.load_journal import SWEEP_INTERVAL_LEVEL
from results.ingest.runs import VALUE_COLUMNS
from results.ingest.series_ids import Testbed
from results.metrics import SWEEP_METRICS

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection

    from results.store import Store

OPERATIONS = ("linear", "mlp", "gated_mlp")
PROVIDERS = ("eager", "compiled", "fused", "triton")
BATCHES = (1, 16, 64, 256, 1024)
HIDDENS = (256, 512, 1024, 2048, 4096)
METRICS = ("latency_s", "speedup_vs_eager", "operator_count", "peak_memory_bytes")
START = datetime(2020, 1, 1, tzinfo=UTC)


def fill_with_sweeps(store: Store, *, n_commits: int) -> None:
    """Add `n_commits` commits of 300 points with 4 metrics each: 1,200 series."""
    with writing(store.engine) as connection:
        dimensions = Dimensions()
        project_id = dimensions.project(connection, "generated")
        testbed = Testbed(
            dimensions.machine(connection, "generated"),
            dimensions.environment(connection, "py3.11-cpu-t2", details={}),
        )
        ids = dimensions.series.sweep_points(connection, project_id, _points())
        points = {point_id: point for point, point_id in ids.items()}
        series: dict[tuple[int, str], int] = {}
        for operation, metric in itertools.product(OPERATIONS, METRICS):
            benchmark_id = _benchmark(connection, dimensions, project_id, operation, metric)
            point_ids = [point_id for point_id, point in points.items() if point.operation == operation]
            (found,) = dimensions.series.of_points(connection, testbed, [(benchmark_id, point_ids)])
            series.update(zip(((point_id, metric) for point_id in point_ids), found, strict=True))
        for number in range(n_commits):
            run_id = _run(connection, dimensions, project_id, testbed, number)
            _fill_run(connection, run_id, points, series, number)
    refresh_statistics(store.engine)


def _points() -> list[PointRecord]:
    return [
        PointRecord(
            operation=operation,
            provider=provider,
            pass_="forward",  # noqa: S106 - a pass of the network
            dtype="float32",
            activation="gelu",
            batch=batch,
            hidden=hidden,
            dim=hidden // 4,
            cache="warm",
            weights="plain",
            threads=2,
        )
        for operation, provider, batch, hidden in itertools.product(OPERATIONS, PROVIDERS, BATCHES, HIDDENS)
    ]


def _benchmark(connection: Connection, dimensions: Dimensions, project_id: int, operation: str, metric: str) -> int:
    return dimensions.benchmark(
        connection,
        project_id,
        BenchmarkIdentity(operation, metric, "1"),
        unit=SWEEP_METRICS[metric].unit,
        interval_level=SWEEP_INTERVAL_LEVEL,
        parameter_names=(),
    )


def _run(connection: Connection, dimensions: Dimensions, project_id: int, testbed: Testbed, number: int) -> int:
    date = START + timedelta(days=number)
    commit = CommitRecord(hash=blake2b(b"%d" % number, digest_size=20).hexdigest(), date=date, subject=f"{number}")
    run_id = next_id(connection, Run)
    connection.execute(
        sa.insert(Run).values(
            id=run_id,
            project_id=project_id,
            uid=f"generated {number}",
            commit_id=dimensions.commit(connection, project_id, commit).id,
            machine_id=testbed.machine_id,
            environment_id=testbed.environment_id,
            ordered_at=date,
            started_at=date,
            n_values=len(_points()) * len(METRICS),
            conditions={},
        )
    )
    return run_id


def _fill_run(
    connection: Connection,
    run_id: int,
    points: dict[int, PointRecord],
    series: dict[tuple[int, str], int],
    number: int,
) -> None:
    values = []
    for (point_id, _), series_id in series.items():
        median = (1 + point_id % 7 + number % 5 / 100) * 1e-4
        values.append((run_id, series_id, "ok", median, median * 0.99, median * 1.01, None, None, 30, 1, None, None))
    insert_rows(connection, Value, VALUE_COLUMNS, sorted(values, key=lambda row: row[1]))
    when = START + timedelta(days=number)
    common = [{"run_id": run_id, "point_id": point_id, "measured_at": when, "state": "ok"} for point_id in points]
    connection.execute(
        sa.insert(Measurement),
        [
            {**row, "ruler_version": "1", "flop": 1e9, "min_bytes": 1e6, "floor_s": 1e-5, "conditions": {}}
            for row in common
        ],
    )
    connection.execute(sa.insert(Profile), [{**row, "operator_count": 3.0, "bound": "compute"} for row in common])
