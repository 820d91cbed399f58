"""Digests by which an acknowledgement names the series that it is about."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

import sqlalchemy as sa

from results.database.fetching import fetch_rows
from results.database.key_lists import any_of
from results.database.point_parameters import parameters_of_points
from results.database.schema import Benchmark, Environment, Machine, Series

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from sqlalchemy.engine import Connection

    from results.rows import ParameterValue

N_CHARACTERS = 12
_NAMED = (
    sa.select(Series.id, Series.point_id, Benchmark.name, Benchmark.metric, Machine.name, Environment.name)
    .join(Benchmark, Benchmark.id == Series.benchmark_id)
    .join(Machine, Machine.id == Series.machine_id)
    .join(Environment, Environment.id == Series.environment_id)
    .where(any_of(Series.id, "series_ids"))
)


def digests_of_series(connection: Connection, series_ids: Collection[int]) -> dict[int, str]:
    """Return the digest of each series, by id: the same in every store, whatever the version of its benchmark."""
    rows = [tuple(row) for row in fetch_rows(connection, _NAMED, {"series_ids": series_ids})]
    parameters = parameters_of_points(connection, {point_id for _, point_id, *_ in rows})
    return {series_id: series_digest(names, parameters.get(point_id, ())) for series_id, point_id, *names in rows}


def series_digest(names: Iterable[str], parameters: Iterable[ParameterValue]) -> str:
    """Return the digest of a series. names: of its benchmark, metric, machine and environment."""
    point = sorted((one.name, repr(one.value)) for one in parameters)
    return hashlib.sha256(json.dumps([list(names), point]).encode()).hexdigest()[:N_CHARACTERS]
