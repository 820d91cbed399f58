"""The newest run of each benchmark on each machine and environment, whatever came of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import sqlalchemy as sa

from results.database.key_lists import any_of
from results.database.schema import (
    OLDEST_FIRST,
    Benchmark,
    Commit,
    Environment,
    Execution,
    Machine,
    Measurement,
    Project,
    Run,
    Series,
)
from results.metrics import LATENCY

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy.engine import Connection


class Spot(NamedTuple):
    """A benchmark at a place, and its newest run there."""

    project_id: int
    machine_id: int
    environment_id: int
    name: str
    run_id: int


def newest_of_benchmarks(connection: Connection, places: Sequence[sa.ColumnElement[bool]]) -> list[Spot]:
    """The newest run of each benchmark at each place, whatever came of it."""
    names: dict[tuple[int, int, int], dict[str, list[int]]] = {}
    rows = connection.execute(
        sa.select(Benchmark.project_id, Series.machine_id, Series.environment_id, Benchmark.name, Benchmark.id)
        .join(Series, Series.benchmark_id == Benchmark.id)
        .join(Project, Project.id == Benchmark.project_id)
        .join(Machine, Machine.id == Series.machine_id)
        .join(Environment, Environment.id == Series.environment_id)
        .where(*places)
        .distinct()
    )
    for *place, name, benchmark_id in rows:
        names.setdefault((place[0], place[1], place[2]), {}).setdefault(name, []).append(benchmark_id)
    return [
        Spot(*place, name, run_id)
        for place, ids_of in names.items()
        for name, run_id in _newest_at(connection, place, ids_of).items()
    ]


def _newest_at(connection: Connection, place: tuple[int, int, int], ids_of: dict[str, list[int]]) -> dict[str, int]:
    """Walk back from the newest run, in ever larger steps, until every benchmark has been met.

    Most are in the newest run; no database can be told to stop there for those and go on for the others.
    """
    project_id, machine_id, environment_id = place
    where = {"project_id": project_id, "machine_id": machine_id, "environment_id": environment_id}
    run_ids = [row[0] for row in connection.execute(RUNS_OF_PLACE, where)][::-1]
    found: dict[str, int] = {}
    name_of = {benchmark_id: name for name, ids in ids_of.items() for benchmark_id in ids}
    start, step = 0, 1
    while start < len(run_ids) and len(found) < len(ids_of):
        chunk = {run_id: i for i, run_id in enumerate(run_ids[start : start + step])}
        wanted = [benchmark_id for benchmark_id, name in name_of.items() if name not in found]
        met = [
            *connection.execute(_EXECUTED, {"run_ids": list(chunk), "benchmark_ids": wanted}),
            *connection.execute(_SWEPT, {"run_ids": list(chunk), "benchmark_ids": wanted}),
        ]
        for run_id, benchmark_id in sorted(met, key=lambda pair: chunk[pair[0]]):
            found.setdefault(name_of[benchmark_id], run_id)
        start, step = start + step, min(2 * step, 128)
    return found


# Oldest first.
RUNS_OF_PLACE = (
    sa.select(Run.id, Commit.hash, Commit.date)
    .join(Commit, Commit.id == Run.commit_id)
    .where(
        Run.machine_id == sa.bindparam("machine_id"),
        Run.environment_id == sa.bindparam("environment_id"),
        Run.project_id == sa.bindparam("project_id"),
    )
    .order_by(*OLDEST_FIRST)
)
# What was run in a run: asv's word for it, and for the sweep one metric of its points.
_EXECUTED = sa.select(Execution.run_id, Execution.benchmark_id).where(
    any_of(Execution.run_id, "run_ids"),
    any_of(Execution.benchmark_id, "benchmark_ids"),
)
_SWEPT = (
    sa.select(Measurement.run_id, Benchmark.id)
    .join(Run, Run.id == Measurement.run_id)
    .join(
        Series,
        (Series.point_id == Measurement.point_id)
        & (Series.machine_id == Run.machine_id)
        & (Series.environment_id == Run.environment_id),
    )
    .join(Benchmark, Benchmark.id == Series.benchmark_id)
    .where(
        any_of(Measurement.run_id, "run_ids"),
        any_of(Benchmark.id, "benchmark_ids"),
        Benchmark.metric == LATENCY.name,
    )
    .distinct()
)
