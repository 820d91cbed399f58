"""Stored sweep points, and those that a PointFilter takes."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, cast

import sqlalchemy as sa

from results.database.fetching import fetch_rows
from results.database.schema import Environment, Machine, Measurement, Parameter, Point, Project, Run
from results.database.snapshot_cache import cached_for_snapshot
from results.files.parameters import value_from_typed
from results.files.records import PointRecord

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from sqlalchemy.engine import Connection

    from results.rows import PointFilter

PLACES = ("project", "machine", "environment")


def sweep_points(connection: Connection) -> Mapping[int, PointRecord]:
    """Return every point that a sweep has measured, by id."""
    return cached_for_snapshot(connection, sweep_points, partial(_sweep_points, connection))


def _sweep_points(connection: Connection) -> dict[int, PointRecord]:
    axes: dict[int, dict[str, Any]] = {}
    for point_id, subject, name, kind, text, number in fetch_rows(connection, _SWEEP_POINTS):
        of_point = axes.setdefault(point_id, {"operation": subject})
        of_point["pass_" if name == "pass" else name] = value_from_typed(kind, text, number)
    return {point_id: PointRecord(**found) for point_id, found in axes.items()}


_SWEEP_POINTS = (
    sa.select(Point.id, Point.subject, Parameter.name, Parameter.type, Parameter.text, Parameter.number)
    .join(Parameter, Parameter.point_id == Point.id)
    .where(sa.exists().where(Measurement.point_id == Point.id))
)


def chosen_points(points: Mapping[int, PointRecord], axes: PointFilter) -> list[int]:
    """Return the ids of the points that `axes` takes; its project, machine and environment are ignored."""
    wanted = {
        axis: _as_collection(choice) for axis, choice in axes.items() if axis not in PLACES and choice is not None
    }
    return [
        point_id
        for point_id, point in points.items()
        if all(getattr(point, axis) in allowed for axis, allowed in wanted.items())
    ]


def chosen_places(axes: PointFilter) -> list[sa.ColumnElement[bool]]:
    """Return the conditions on `run` for the project, machine and environment of `axes`."""
    conditions: list[sa.ColumnElement[bool]] = []
    if (project := axes.get("project")) is not None:
        ids = sa.select(Project.id).where(Project.name.in_(_as_collection(project)))
        conditions.append(Run.project_id.in_(ids))
    if (machine := axes.get("machine")) is not None:
        ids = sa.select(Machine.id).where(Machine.name.in_(_as_collection(machine)))
        conditions.append(Run.machine_id.in_(ids))
    if (environment := axes.get("environment")) is not None:
        ids = sa.select(Environment.id).where(Environment.name.in_(_as_collection(environment)))
        conditions.append(Run.environment_id.in_(ids))
    return conditions


def allowed_places(axes: PointFilter) -> dict[str, Collection[object]]:
    """Return the names that `axes` takes for project, machine and environment, where it chooses any."""
    chosen = {name: axes.get(name) for name in PLACES}
    return {name: _as_collection(choice) for name, choice in chosen.items() if choice is not None}


def _as_collection(choice: object) -> Collection[object]:
    if isinstance(choice, str | int):
        return (choice,)
    return cast("Collection[object]", choice)  # a range is asked with `in` too
