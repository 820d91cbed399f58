"""The ids of everything values refer to: looked up, or made, by the one writer that is in."""

from __future__ import annotations

import itertools
from dataclasses import asdict
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson
import sqlalchemy as sa

from results.bulk import insert_rows, next_id
from results.parameters import Typed, typed_from_repr, typed_from_value
from results.schema import (
    Base,
    Benchmark,
    Commit,
    Environment,
    Machine,
    Parameter,
    Point,
    Project,
    Run,
    Series,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from sqlalchemy.engine import Connection

    from results.records import CommitRecord, PointRecord

Parameters = tuple[tuple[str, ...], ...]


class Place(NamedTuple):
    """Where a series is measured."""

    machine_id: int
    environment_id: int


class BenchmarkIdentity(NamedTuple):
    """What tells one benchmark from another within a project."""

    name: str
    metric: str
    version: str


class Dimensions:
    """Ids by identity, remembered from one transaction to the next.

    Call `enter` first in every transaction: it forgets what other writers may have added to, and `forget` after
    one that was rolled back.
    """

    def __init__(self) -> None:
        self._ids: dict[tuple[object, ...], int] = {}
        self._points: dict[tuple[int, str], dict[str, int]] = {}
        self._series: dict[tuple[int, Place], dict[int, int]] = {}
        self._combinations: dict[tuple[object, ...], tuple[int, ...]] = {}
        self._seen: tuple[int, ...] = ()

    def forget(self) -> None:
        """Remember nothing."""
        self._ids.clear()
        self._points.clear()
        self._series.clear()
        self._combinations.clear()
        self._seen = ()

    def enter(self, connection: Connection) -> None:
        """Begin a transaction: what was remembered holds only if nobody has written in between."""
        if self._state(connection) != self._seen:
            self.forget()
        for cached in [cached for cached in self._ids if cached[0] == "run"]:
            del self._ids[cached]

    def leave(self, connection: Connection) -> None:
        """End a transaction: what is remembered is what the database now holds."""
        self._seen = self._state(connection)

    def _state(self, connection: Connection) -> tuple[int, ...]:
        tables: tuple[type[Base], ...] = (
            Project,
            Machine,
            Environment,
            Commit,
            Run,
            Benchmark,
            Point,
            Series,
        )
        return tuple(next_id(connection, table) for table in tables)

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
                connection.execute(sa.insert(table).values(id=found, **identity, **others))
            self._ids[cached] = found
        return found

    def project(self, connection: Connection, name: str) -> int:
        """The id of the project `name`."""
        return self._id(connection, Project, {"name": name}, {})

    def machine(self, connection: Connection, name: str) -> int:
        """The id of the machine `name`."""
        return self._id(connection, Machine, {"name": name}, {"details": {}})

    def environment(self, connection: Connection, name: str, *, details: Mapping[str, Any]) -> int:
        """The id of the environment `name`; `details` are kept when it is new."""
        return self._id(connection, Environment, {"name": name}, {"details": dict(details)})

    def commit(self, connection: Connection, project_id: int, commit: CommitRecord) -> int:
        """The id of `commit`; a date or subject that was missing so far is filled in."""
        identity = {"project_id": project_id, "hash": commit.hash}
        others = {
            "date": commit.date,
            "subject": commit.subject,
            "position": None,
            "is_orphaned": None,
            "ordered_at": commit.date,
        }
        is_remembered = ("commits", project_id, commit.hash) in self._ids
        commit_id = self._id(connection, Commit, identity, others)
        if not is_remembered:
            columns = (Commit.date, Commit.subject, Commit.ordered_at)
            row = connection.execute(sa.select(*columns).where(Commit.id == commit_id)).one()
            if (row.date is None and commit.date) or (row.subject is None and commit.subject):
                known = {
                    "date": row.date or commit.date,
                    "subject": row.subject or commit.subject,
                    "ordered_at": row.ordered_at or commit.date,
                }
                connection.execute(sa.update(Commit).where(Commit.id == commit_id).values(known))
        return commit_id

    def run_id(self, connection: Connection, project_id: int, uid: str) -> int | None:
        """The id of the run `uid` of a project, if it is stored."""
        where = (Run.project_id == project_id, Run.uid == uid)
        return connection.execute(sa.select(Run.id).where(*where)).scalar()

    def remembered_run(self, identity: tuple[int, str], find: Callable[[], int]) -> int:
        """The id of the run `identity` (project, uid) within this transaction; `find` is called once for it."""
        cached = ("run", *identity)
        if cached not in self._ids:
            self._ids[cached] = find()
        return self._ids[cached]

    def remembered_runs(self) -> list[int]:
        """The runs asked for within this transaction."""
        return [run_id for cached, run_id in self._ids.items() if cached[0] == "run"]

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
        """The id of a benchmark; the rest is kept when it is new."""
        return self._id(
            connection,
            Benchmark,
            {"project_id": project_id, **identity._asdict()},
            {
                "unit": unit,
                "interval_level": interval_level,
                "parameter_names": list(parameter_names),
                "continues_id": None,
            },
        )

    def sweep_point(self, connection: Connection, project_id: int, point: PointRecord) -> int:
        """The id of a point of our own sweep."""
        axes = {"pass" if axis == "pass_" else axis: value for axis, value in asdict(point).items()}
        subject = axes.pop("operation")
        typed = {name: typed_from_value(value) for name, value in axes.items()}
        key = _digest(orjson.dumps(axes, option=orjson.OPT_SORT_KEYS))
        (point_id,) = self.points(connection, project_id, subject, [key], lambda _: typed.items())
        return point_id

    def series(self, connection: Connection, benchmark_id: int, place: Place, point_id: int) -> int:
        """The id of one series."""
        (series_id,) = self.series_of_points(connection, benchmark_id, place, [point_id])
        return series_id

    def series_of_combinations(  # noqa: PLR0913, PLR0917 - what identifies a series, and names for new ones
        self,
        connection: Connection,
        project_id: int,
        benchmark: tuple[int, str],
        place: Place,
        parameters: Parameters,
        names: Sequence[str],
    ) -> tuple[int, ...]:
        """The series of every combination of asv's `parameters`, the last one running fastest.

        `benchmark` is its id and its name.
        """
        benchmark_id, name = benchmark
        cached = (benchmark_id, place, parameters)
        found = self._combinations.get(cached)
        if found is None:
            combinations = list(itertools.product(*parameters))
            keys = [_digest(orjson.dumps(combination)) for combination in combinations]

            def parameters_of(position: int) -> Iterable[tuple[str, Typed]]:
                return [
                    (names[i] if i < len(names) else f"param{i + 1}", typed_from_repr(text))
                    for i, text in enumerate(combinations[position])
                ]

            point_ids = self.points(connection, project_id, name, keys, parameters_of)
            found = tuple(self.series_of_points(connection, benchmark_id, place, point_ids))
            self._combinations[cached] = found
        return found

    def points(
        self,
        connection: Connection,
        project_id: int,
        subject: str,
        keys: Sequence[str],
        parameters_of: Callable[[int], Iterable[tuple[str, Typed]]],
    ) -> list[int]:
        """The ids of the points with these keys; `parameters_of` is asked for a new one's, by its place in `keys`."""
        known = self._points.get((project_id, subject))
        if known is None:
            where = (Point.project_id == project_id, Point.subject == subject)
            rows = connection.execute(sa.select(Point.key, Point.id).where(*where))
            known = self._points[project_id, subject] = {row.key: row.id for row in rows}
        new: dict[str, int] = {}
        parameters: list[tuple[object, ...]] = []
        if missing := [position for position, key in enumerate(keys) if key not in known]:
            point_id = next_id(connection, Point)
            for position in missing:
                if keys[position] in new:
                    continue  # asv allows the same value twice in a parameter
                new[keys[position]] = point_id
                parameters.extend(
                    (point_id, i, name, typed.type.value, typed.text, typed.number)
                    for i, (name, typed) in enumerate(parameters_of(position))
                )
                point_id += 1
            rows_of_points = [(i, project_id, subject, key) for key, i in new.items()]
            insert_rows(connection, Point, ("id", "project_id", "subject", "key"), rows_of_points)
            columns = ("point_id", "position", "name", "type", "text", "number")
            insert_rows(connection, Parameter, columns, parameters)
            known.update(new)
        return [known[key] for key in keys]

    def series_of_points(
        self, connection: Connection, benchmark_id: int, place: Place, point_ids: Sequence[int]
    ) -> list[int]:
        """The ids of a benchmark's series at these points in one place."""
        known = self._series.get((benchmark_id, place))
        if known is None:
            where = (
                Series.benchmark_id == benchmark_id,
                Series.machine_id == place.machine_id,
                Series.environment_id == place.environment_id,
            )
            rows = connection.execute(sa.select(Series.point_id, Series.id).where(*where))
            known = self._series[benchmark_id, place] = {row.point_id: row.id for row in rows}
        if missing := dict.fromkeys(point_id for point_id in point_ids if point_id not in known):
            first = next_id(connection, Series)
            new = {point_id: first + i for i, point_id in enumerate(missing)}
            columns = ("id", "benchmark_id", "point_id", "machine_id", "environment_id")
            insert_rows(connection, Series, columns, [(i, benchmark_id, point, *place) for point, i in new.items()])
            known.update(new)
        return [known[point_id] for point_id in point_ids]


def _digest(identity: bytes) -> str:
    return blake2b(identity, digest_size=16).hexdigest()
