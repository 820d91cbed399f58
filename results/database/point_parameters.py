"""Parameters of many points at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import sqlalchemy as sa

from results.database.fetching import fetch_rows
from results.database.key_lists import any_of
from results.database.schema import Parameter
from results.files.parameters import value_from_typed
from results.rows import ParameterValue

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlalchemy.engine import Connection

ParametersOfPoint = dict[int, tuple[ParameterValue, ...]]
_PARAMETERS = (
    sa.select(Parameter.point_id, Parameter.name, Parameter.type, Parameter.text, Parameter.number)
    .where(any_of(Parameter.point_id, "point_ids"))
    .order_by(Parameter.point_id, Parameter.position)
)


def parameters_of_points(connection: Connection, point_ids: Iterable[int]) -> ParametersOfPoint:
    """Return the parameters of each point, in their order; a point without any is left out."""
    found: dict[int, list[ParameterValue]] = {}
    # Thousands of points share a few values.
    known: dict[tuple[str, str, str, float | None], ParameterValue] = {}
    for point_id, *typed in fetch_rows(connection, _PARAMETERS, {"point_ids": point_ids}):
        key = name, kind, text, number = tuple(typed)
        value = known.get(key)
        if value is None:
            value = known[key] = ParameterValue(name=name, value=value_from_typed(kind, text, number))
        found.setdefault(point_id, []).append(value)
    return {point_id: tuple(values) for point_id, values in found.items()}
