"""Ids of everything that values refer to, looked up or inserted by the one writer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import sqlalchemy as sa

from results.database.bulk import next_id
from results.database.key_lists import any_of
from results.database.schema import Base, Benchmark, Commit, Environment, Machine, Point, Project, Run, Series
from results.ingest.series_ids import SeriesIds

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

    from sqlalchemy.engine import Connection

    from results.files.records import CommitRecord

# What may have grown when somebody else has written.
GROWING: tuple[type[Base], ...] = (Project, Machine, Environment, Commit, Run, Benchmark, Point, Series)
LARGEST_IDS = "SELECT " + ", ".join(f"(SELECT max(id) FROM {table.__tablename__})" for table in GROWING)  # noqa: S608


_STORED_COMMIT = sa.select(Commit.id, Commit.date, Commit.subject, Commit.ordered_at, Commit.position).where(
    Commit.project_id == sa.bindparam("project"), Commit.hash == sa.bindparam("named")
)


class BenchmarkIdentity(NamedTuple):
    """Identity of a benchmark within a project."""

    name: str
    metric: str
    version: str


class StoredCommit(NamedTuple):
    """Commit as stored; `position` and `ordered_at` are None until a repository or a date gives them."""

    id: int
    ordered_at: datetime | None
    position: int | None


class Dimensions:
    """Cache of ids by identity, kept from one transaction to the next.

    Call `begin` first in every transaction, which empties it if another writer came in between, `end` last, and
    `clear` after one that was rolled back.
    """

    def __init__(self) -> None:
        self._ids: dict[tuple[object, ...], int] = {}
        self._benchmarks: dict[tuple[int, str], dict[BenchmarkIdentity, int]] = {}
        self._seen: tuple[int | None, ...] = ()
        self.series = SeriesIds()

    def clear(self) -> None:
        """Empty the cache."""
        self._ids.clear()
        self._benchmarks.clear()
        self._seen = ()
        self.series.clear()

    def begin(self, connection: Connection) -> None:
        """Begin a transaction: empty the cache if another writer has inserted anything since the last one."""
        if _largest_ids(connection) != self._seen:
            self.clear()

    def end(self, connection: Connection) -> None:
        """End a transaction: the cache now matches the database."""
        self._seen = _largest_ids(connection)

    def _id(
        self,
        connection: Connection,
        table: type[Base],
        identity: Mapping[str, Any],
        others: Mapping[str, Any],
    ) -> int:
        cached = (table.__tablename__, *identity.values())
        found = self._ids.get(cached)
        if found is None:
            columns = table.__table__.c
            where = [columns[name] == value for name, value in identity.items()]
            found = connection.execute(sa.select(columns.id).where(*where)).scalar()
            if found is None:
                found = next_id(connection, table)
                connection.execute(sa.insert(table), {"id": found, **identity, **others})
            self._ids[cached] = found
        return found

    def project(self, connection: Connection, name: str) -> int:
        """Return the id of the project `name`."""
        return self._id(connection, Project, {"name": name}, {})

    def machine(self, connection: Connection, name: str) -> int:
        """Return the id of the machine `name`."""
        return self._id(connection, Machine, {"name": name}, {"details": {}})

    def environment(self, connection: Connection, name: str, *, details: Mapping[str, Any]) -> int:
        """Return the id of the environment `name`; `details` are stored if it is new."""
        return self._id(connection, Environment, {"name": name}, {"details": dict(details)})

    def commit(self, connection: Connection, project_id: int, commit: CommitRecord) -> StoredCommit:
        """Return `commit` as stored, inserted if new; a date or subject that was missing so far is filled in."""
        row = connection.execute(_STORED_COMMIT, {"project": project_id, "named": commit.hash}).first()
        if row is None:
            new = {"project_id": project_id, "hash": commit.hash, "position": None, "is_orphaned": None}
            known = {"date": commit.date, "subject": commit.subject, "ordered_at": commit.date}
            commit_id = next_id(connection, Commit)
            connection.execute(sa.insert(Commit), {"id": commit_id, **new, **known})
            return StoredCommit(commit_id, commit.date, None)
        ordered_at = row.ordered_at or commit.date
        if (row.date is None and commit.date) or (row.subject is None and commit.subject):
            known = {
                "date": row.date or commit.date,
                "subject": row.subject or commit.subject,
                "ordered_at": ordered_at,
            }
            connection.execute(sa.update(Commit).where(Commit.id == row.id).values(known))
            return StoredCommit(row.id, ordered_at, row.position)
        return StoredCommit(row.id, row.ordered_at, row.position)

    def benchmark(  # noqa: PLR0913 - the columns of a benchmark
        self,
        connection: Connection,
        project_id: int,
        identity: BenchmarkIdentity,
        *,
        unit: str,
        interval_level: float,
        parameter_names: Sequence[str],
    ) -> int:
        """Return the id of a benchmark; the other columns are stored if it is new."""
        if (project_id, identity.name) not in self._benchmarks:
            self.load_benchmarks(connection, project_id, [identity.name])
        known = self._benchmarks[project_id, identity.name]
        if identity not in known:
            known[identity] = next_id(connection, Benchmark)
            connection.execute(
                sa.insert(Benchmark).values(
                    id=known[identity],
                    project_id=project_id,
                    **identity._asdict(),
                    unit=unit,
                    interval_level=interval_level,
                    parameter_names=list(parameter_names),
                    continues_id=None,
                )
            )
        return known[identity]

    def load_benchmarks(self, connection: Connection, project_id: int, names: Iterable[str]) -> None:
        """Look up many benchmarks at once, which is cheaper than one by one."""
        unknown = [name for name in names if (project_id, name) not in self._benchmarks]
        if not unknown:
            return
        self._benchmarks.update(((project_id, name), {}) for name in unknown)
        columns = (Benchmark.id, Benchmark.name, Benchmark.metric, Benchmark.version)
        where = (Benchmark.project_id == project_id, any_of(Benchmark.name, keys=unknown))
        for benchmark_id, *identity in connection.execute(sa.select(*columns).where(*where)):
            self._benchmarks[project_id, identity[0]][BenchmarkIdentity(*identity)] = benchmark_id


def _largest_ids(connection: Connection) -> tuple[int | None, ...]:
    return tuple(connection.exec_driver_sql(LARGEST_IDS).one())
