"""Ids of points and of their series, looked up or inserted many at once by the one writer."""

from __future__ import annotations

import itertools
from functools import partial
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import orjson
import sqlalchemy as sa

from results.database.bulk import insert_rows, next_id
from results.database.key_lists import any_of
from results.database.schema import Parameter, Point, Series
from results.files.parameters import Typed, typed_from_repr, typed_from_value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from sqlalchemy.engine import Connection

    from results.files.records import PointRecord

Parameters = tuple[tuple[str, ...], ...]


class Testbed(NamedTuple):
    """Machine and environment that a series is measured on."""

    machine_id: int
    environment_id: int


class Grid(NamedTuple):
    """All combinations of the `parameters` of an asv benchmark (reprs), the last one running fastest.

    `subject`: the benchmark's name. `names`: of the parameters, for points that are new.
    """

    benchmark_id: int
    subject: str
    parameters: Parameters
    names: Sequence[str]


class Points(NamedTuple):
    """Points of a benchmark or operation by key; `parameters_of` is asked for a new one's, by its index in `keys`."""

    subject: str
    keys: Sequence[str]
    parameters_of: Callable[[int], Iterable[tuple[str, Typed]]]


class SeriesIds:
    """Cache of the ids of points and series by identity."""

    def __init__(self) -> None:
        self._points: dict[tuple[int, str], dict[str, int]] = {}
        self._series: dict[tuple[int, Testbed], dict[int, int]] = {}
        self._of_grids: dict[Testbed, dict[tuple[int, Parameters], tuple[int, ...]]] = {}

    def clear(self) -> None:
        """Empty the cache."""
        self._points.clear()
        self._series.clear()
        self._of_grids.clear()

    def of_grids(
        self, connection: Connection, project_id: int, testbed: Testbed, grids: Sequence[Grid]
    ) -> list[tuple[int, ...]]:
        """Return the series ids of every combination of each grid."""
        known = self._of_grids.setdefault(testbed, {})
        new = [grid for grid in grids if (grid.benchmark_id, grid.parameters) not in known]
        if new:
            points = self.points(connection, project_id, [_points_of(grid) for grid in new])
            wanted = [(grid.benchmark_id, ids) for grid, ids in zip(new, points, strict=True)]
            for grid, ids in zip(new, self.of_points(connection, testbed, wanted), strict=True):
                known[grid.benchmark_id, grid.parameters] = tuple(ids)
        return [known[grid.benchmark_id, grid.parameters] for grid in grids]

    def sweep_points(
        self, connection: Connection, project_id: int, points: Sequence[PointRecord]
    ) -> dict[PointRecord, int]:
        """Return the ids of points of our own sweep."""
        of_operation: dict[str, list[PointRecord]] = {}
        for point in points:
            of_operation.setdefault(point.operation, []).append(point)
        axes = {operation: [_axes(point) for point in found] for operation, found in of_operation.items()}
        wanted = [
            Points(
                operation,
                [_digest(orjson.dumps(values, option=orjson.OPT_SORT_KEYS)) for values in found],
                partial(_typed_axes, found),
            )
            for operation, found in axes.items()
        ]
        ids = self.points(connection, project_id, wanted)
        return {
            point: point_id
            for found, point_ids in zip(of_operation.values(), ids, strict=True)
            for point, point_id in zip(found, point_ids, strict=True)
        }

    def points(self, connection: Connection, project_id: int, wanted: Sequence[Points]) -> list[list[int]]:
        """Return the ids of the points of each, inserting new ones."""
        self._load_points(connection, project_id, [points.subject for points in wanted])
        new: list[tuple[int, int, str, str]] = []
        parameters: list[tuple[object, ...]] = []
        point_id = 0
        for subject, keys, parameters_of in wanted:
            known = self._points[project_id, subject]
            for position, key in enumerate(keys):
                if key in known:
                    continue
                point_id = point_id + 1 if new else next_id(connection, Point)
                known[key] = point_id
                new.append((point_id, project_id, subject, key))
                parameters.extend(
                    (point_id, i, name, typed.type.value, typed.text, typed.number)
                    for i, (name, typed) in enumerate(parameters_of(position))
                )
        if new:
            insert_rows(connection, Point, ("id", "project_id", "subject", "key"), new)
            columns = ("point_id", "position", "name", "type", "text", "number")
            insert_rows(connection, Parameter, columns, parameters)
        return [[self._points[project_id, subject][key] for key in keys] for subject, keys, _ in wanted]

    def _load_points(self, connection: Connection, project_id: int, subjects: Iterable[str]) -> None:
        unknown = [subject for subject in dict.fromkeys(subjects) if (project_id, subject) not in self._points]
        if not unknown:
            return
        self._points.update(((project_id, subject), {}) for subject in unknown)
        where = (Point.project_id == project_id, any_of(Point.subject, keys=unknown))
        rows = connection.execute(sa.select(Point.subject, Point.key, Point.id).where(*where))
        for subject, key, point_id in rows:
            self._points[project_id, subject][key] = point_id

    def of_points(
        self, connection: Connection, testbed: Testbed, wanted: Sequence[tuple[int, Sequence[int]]]
    ) -> list[list[int]]:
        """Return the ids of series on one testbed, inserting new ones; wanted: (benchmark id, point ids)."""
        self._load_series(connection, testbed, [benchmark_id for benchmark_id, _ in wanted])
        new: list[tuple[int, ...]] = []
        series_id = 0
        for benchmark_id, point_ids in wanted:
            known = self._series[benchmark_id, testbed]
            for point_id in point_ids:
                if point_id not in known:
                    series_id = series_id + 1 if new else next_id(connection, Series)
                    known[point_id] = series_id
                    new.append((series_id, benchmark_id, point_id, *testbed))
        if new:
            insert_rows(connection, Series, ("id", "benchmark_id", "point_id", "machine_id", "environment_id"), new)
        return [[self._series[benchmark_id, testbed][i] for i in point_ids] for benchmark_id, point_ids in wanted]

    def _load_series(self, connection: Connection, testbed: Testbed, benchmark_ids: Iterable[int]) -> None:
        unknown = [i for i in dict.fromkeys(benchmark_ids) if (i, testbed) not in self._series]
        if not unknown:
            return
        self._series.update(((benchmark_id, testbed), {}) for benchmark_id in unknown)
        columns = (Series.benchmark_id, Series.point_id, Series.id)
        on_testbed = (Series.machine_id == testbed.machine_id, Series.environment_id == testbed.environment_id)
        rows = connection.execute(sa.select(*columns).where(any_of(Series.benchmark_id, keys=unknown), *on_testbed))
        for benchmark_id, point_id, series_id in rows:
            self._series[benchmark_id, testbed][point_id] = series_id


def _points_of(grid: Grid) -> Points:
    combinations = list(itertools.product(*grid.parameters))
    names = [*grid.names, *(f"param{i + 1}" for i in range(len(grid.names), len(grid.parameters)))]

    def parameters_of(position: int) -> Iterable[tuple[str, Typed]]:
        return zip(names, map(typed_from_repr, combinations[position]), strict=False)

    return Points(grid.subject, [_digest(orjson.dumps(combination)) for combination in combinations], parameters_of)


def _axes(point: PointRecord) -> dict[str, Any]:
    axes: dict[str, Any] = msgspec.to_builtins(point)
    del axes["operation"]
    return axes


def _typed_axes(found: Sequence[Mapping[str, Any]], position: int) -> Iterable[tuple[str, Typed]]:
    return ((name, typed_from_value(value)) for name, value in found[position].items())


def _digest(identity: bytes) -> str:
    return blake2b(identity, digest_size=16).hexdigest()
