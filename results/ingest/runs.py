"""Runs and ceilings → rows, inside the writer's transaction: what journals and asv's files have in common."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

import sqlalchemy as sa

from results.database.bulk import next_id
from results.database.schema import Ceiling, Commit, Machine, Run, Source, Value
from results.errors import UnreadableFile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy.engine import Connection

    from results.files.records import CeilingRecord, CommitRecord
    from results.ingest.dimensions import Dimensions
    from results.ingest.series_ids import Testbed

VALUE_COLUMNS = (
    "run_id",
    "series_id",
    "state",
    "median",
    "ci_low",
    "ci_high",
    "q25",
    "q75",
    "sample_count",
    "calls_per_sample",
    "samples",
    "reason",
)

BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)

ValueRow = tuple[Any, ...]


@dataclass(frozen=True, kw_only=True)
class LoadContext:
    """State shared by the loaders of one transaction: the ids it knows, and the file the records come from.

    `notes`: what the user should know of the load, one line each.
    """

    connection: Connection
    dimensions: Dimensions
    source_id: int
    path: str
    notes: list[str] = field(default_factory=list)


class StoredRun(NamedTuple):
    """Run as stored; `source_id`: the file it was last read from."""

    id: int
    commit_id: int
    machine_id: int
    source_id: int | None
    started_at: datetime | None
    n_values: int


_STORED_RUN = sa.select(*(Run.__table__.c[name] for name in StoredRun._fields)).where(
    Run.project_id == sa.bindparam("project"), Run.uid == sa.bindparam("named")
)
_COUNT_VALUES = (
    sa.update(Run)
    .where(Run.id == sa.bindparam("counted"))
    .values(n_values=sa.select(sa.func.count()).where(Value.run_id == sa.bindparam("counted")).scalar_subquery())
)


def stored_run(context: LoadContext, project_id: int, uid: str) -> StoredRun | None:
    """Return the run `uid` of a project, if it is stored."""
    row = context.connection.execute(_STORED_RUN, {"project": project_id, "named": uid}).one_or_none()
    return None if row is None else StoredRun(*row)


def store_run(  # noqa: PLR0913 - the columns of a run
    context: LoadContext,
    stored: StoredRun | None,
    *,
    project_id: int,
    uid: str,
    commit: CommitRecord,
    testbed: Testbed,
    started_at: datetime | None,
    conditions: dict[str, Any],
) -> int:
    """Insert the run `uid`, or update the `stored` one; return its id.

    Raises: UnreadableFile if the stored run is of another machine or commit: run identities are never merged.
    """
    connection = context.connection
    stored_commit = context.dimensions.commit(connection, project_id, commit)
    if stored is not None and (stored.machine_id, stored.commit_id) != (testbed.machine_id, stored_commit.id):
        raise UnreadableFile(context.path, _conflict(context, stored, uid, testbed=testbed, commit=commit))
    columns = {
        "commit_id": stored_commit.id,
        "ordered_at": stored_commit.ordered_at or started_at or BEGINNING,
        "position": stored_commit.position or 0,
        "machine_id": testbed.machine_id,
        "environment_id": testbed.environment_id,
        "source_id": context.source_id,
        "started_at": started_at,
        "conditions": conditions,
    }
    if stored is not None:
        connection.execute(sa.update(Run).where(Run.id == stored.id).values(**columns))
        return stored.id
    run_id = next_id(connection, Run)
    connection.execute(sa.insert(Run), {"id": run_id, "project_id": project_id, "uid": uid, "n_values": 0, **columns})
    return run_id


def _conflict(context: LoadContext, stored: StoredRun, uid: str, *, testbed: Testbed, commit: CommitRecord) -> str:
    names = sa.select(Machine.name).where(Machine.id == sa.bindparam("machine"))
    theirs, ours = (
        context.connection.execute(names, {"machine": machine_id}).scalar_one()
        for machine_id in (stored.machine_id, testbed.machine_id)
    )
    their_commit = context.connection.execute(sa.select(Commit.hash).where(Commit.id == stored.commit_id)).scalar_one()
    return (
        f"run {uid} is of machine {ours} at commit {commit.hash[:12]} here, but of machine {theirs} at commit "
        f"{their_commit[:12]} in {path_of_source(context, stored.source_id)}: one identity for two runs; give one of "
        "them another `run_id` and ingest again"
    )


def path_of_source(context: LoadContext, source_id: int | None) -> str:
    """Return the path of a file that was read before, for messages."""
    path = context.connection.execute(sa.select(Source.path).where(Source.id == source_id)).scalar()
    return path or "another database that was merged"


def count_values(connection: Connection, run_id: int) -> None:
    """Update the run's count of values."""
    connection.execute(_COUNT_VALUES, {"counted": run_id})


def n_values_stored(connection: Connection) -> int:
    """Return how many values are stored, by what each run has counted."""
    return connection.execute(sa.select(sa.func.sum(Run.n_values))).scalar() or 0


def load_ceilings(context: LoadContext, records: Sequence[CeilingRecord]) -> int:
    """Store a machine's measured ceilings in place of earlier ones; return the number of values stored: 0."""
    connection, dimensions = context.connection, context.dimensions
    for record in records:
        machine_id = dimensions.machine(connection, record.machine)
        environment_id = dimensions.environment(connection, record.environment, details={})
        where = (Ceiling.machine_id == machine_id, Ceiling.environment_id == environment_id)
        connection.execute(sa.delete(Ceiling).where(*where))
        rows = [
            {
                "machine_id": machine_id,
                "environment_id": environment_id,
                "quantity": quantity,
                "value": value,
                "measured_at": record.measured_at,
            }
            for quantity, value in record.quantities.items()
        ]
        if rows:
            connection.execute(sa.insert(Ceiling), rows)
    return 0
