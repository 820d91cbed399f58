"""SeriesFilter → conditions on series, benchmark and parameters."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, cast

import sqlalchemy as sa

from results.database.schema import Benchmark, Environment, Machine, Parameter, Project, Series
from results.files.parameters import ParameterType, typed_from_value
from results.rows import Between

if TYPE_CHECKING:
    from collections.abc import Collection

    from results.rows import SeriesFilter

COLUMNS = {
    "project": Project.name,
    "machine": Machine.name,
    "environment": Environment.name,
    "benchmark": Benchmark.name,
    "metric": Benchmark.metric,
    "unit": Benchmark.unit,
    "version": Benchmark.version,
}
NUMBERS = (ParameterType.INT.value, ParameterType.FLOAT.value)
# A repr that is no literal (`<class 'int'>`) is compared as text.
TEXTS = (ParameterType.STR.value, ParameterType.OTHER.value)


def conditions_from(chosen: SeriesFilter) -> list[sa.ColumnElement[bool]]:
    """Return the conditions for a query that has series, benchmark, project, machine and environment joined."""
    conditions = [
        condition
        for name, column in COLUMNS.items()
        for condition in names_in(column, cast("dict[str, str | None]", chosen).get(name))
    ]
    for name, choice in (chosen.get("parameters") or {}).items():
        is_meant = _is_between(choice) if isinstance(choice, Between) else _is_one_of(_as_collection(choice))
        # By name and number there is an index; the points are then looked up by key.
        points = sa.select(Parameter.point_id).where(Parameter.name == name, is_meant)
        conditions.append(Series.point_id.in_(points))
    return conditions


def names_in(
    column: sa.orm.InstrumentedAttribute[str], choice: str | Collection[str] | None
) -> list[sa.ColumnElement[bool]]:
    """Return the condition that a name is the chosen one, or one of several; none if nothing is chosen."""
    return [] if choice is None else [column.in_([choice] if isinstance(choice, str) else list(choice))]


def _is_between(choice: Between) -> sa.ColumnElement[bool]:
    ends: list[sa.ColumnElement[bool]] = [Parameter.number.is_not(None), Parameter.type.in_(NUMBERS)]
    if choice.least is not None:
        ends.append(Parameter.number >= choice.least)
    if choice.most is not None:
        ends.append(Parameter.number <= choice.most)
    return sa.and_(*ends)


def _is_one_of(values: Collection[object]) -> sa.ColumnElement[bool]:
    kinds: list[sa.ColumnElement[bool]] = []
    for value in values:
        typed = typed_from_value(cast("float | bool | str | None", value))
        if typed.type in NUMBERS and typed.number is not None and not math.isnan(typed.number):
            kinds.append(sa.and_(Parameter.number == typed.number, Parameter.type.in_(NUMBERS)))
        else:
            types = TEXTS if typed.type in TEXTS else (typed.type.value,)
            kinds.append(sa.and_(Parameter.text == typed.text, Parameter.type.in_(types)))
    return sa.or_(sa.false(), *kinds)


def _as_collection(choice: object) -> Collection[object]:
    if choice is None or isinstance(choice, str | int | float):
        return (choice,)
    return cast("Collection[object]", choice)
