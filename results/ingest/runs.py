"""Records → rows, inside the writer's transaction: what journals and asv's files have in common."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from results.database.bulk import next_id
from results.database.schema import Ceiling, Commit, Run, Value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy.engine import Connection

    from results.files.records import CeilingRecord, CommitRecord
    from results.ingest.dimensions import Dimensions
    from results.ingest.series_ids import Place

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
class Desk:
    """What a loader writes with: the transaction, the ids it knows, and the file the records come from."""

    connection: Connection
    dimensions: Dimensions
    source_id: int


def store_run(  # noqa: PLR0913 - the columns of a run
    desk: Desk,
    *,
    project_id: int,
    uid: str,
    commit: CommitRecord,
    place: Place,
    started_at: datetime | None,
    conditions: dict[str, Any],
) -> int:
    """The id of the run `uid`, made or brought up to date."""
    connection = desk.connection
    commit_id = desk.dimensions.commit(connection, project_id, commit)
    run_id = desk.dimensions.run_id(connection, project_id, uid)
    stands = connection.execute(sa.select(Commit.ordered_at, Commit.position).where(Commit.id == commit_id)).one()
    columns = {
        "commit_id": commit_id,
        "ordered_at": stands.ordered_at or started_at or BEGINNING,
        "position": stands.position or 0,
        "machine_id": place.machine_id,
        "environment_id": place.environment_id,
        "source_id": desk.source_id,
        "started_at": started_at,
        "conditions": conditions,
    }
    if run_id is None:
        run_id = next_id(connection, Run)
        connection.execute(sa.insert(Run).values(id=run_id, project_id=project_id, uid=uid, n_values=0, **columns))
    else:
        connection.execute(sa.update(Run).where(Run.id == run_id).values(**columns))
    return run_id


def count_values(connection: Connection, run_id: int) -> None:
    """Bring the run's count of values up to date."""
    n_values = sa.select(sa.func.count()).where(Value.run_id == run_id).scalar_subquery()
    connection.execute(sa.update(Run).where(Run.id == run_id).values(n_values=n_values))


def n_values_stored(connection: Connection) -> int:
    """Of all runs, by what each has counted."""
    return connection.execute(sa.select(sa.func.sum(Run.n_values))).scalar() or 0


def load_ceilings(desk: Desk, records: Sequence[CeilingRecord]) -> int:
    """Keep a machine's measured ceilings in place of earlier ones; no values are stored: 0."""
    for record in records:
        machine_id = desk.dimensions.machine(desk.connection, record.machine)
        environment_id = desk.dimensions.environment(desk.connection, record.environment, details={})
        where = (Ceiling.machine_id == machine_id, Ceiling.environment_id == environment_id)
        desk.connection.execute(sa.delete(Ceiling).where(*where))
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
            desk.connection.execute(sa.insert(Ceiling), rows)
    return 0
