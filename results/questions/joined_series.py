"""Series of versions that were declared equal: they are one series with one history."""

from __future__ import annotations

from typing import TYPE_CHECKING

import sqlalchemy as sa

from results.database.key_lists import any_of
from results.database.schema import Benchmark, Series
from results.files.decisions import continuation_chain

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlalchemy.engine import Connection

_CONTINUATIONS = sa.select(Benchmark.id, Benchmark.continues_id).where(Benchmark.continues_id.is_not(None))
_SERIES_OF_BENCHMARKS = sa.select(
    Series.id, Series.benchmark_id, Series.point_id, Series.machine_id, Series.environment_id
).where(any_of(Series.benchmark_id, "benchmark_ids"))


def joined_series(connection: Connection) -> dict[int, tuple[int, ...]]:
    """Return for each series that is one with others all of their ids, the oldest version's first."""
    older = {newer: continued for newer, continued in connection.execute(_CONTINUATIONS) if continued is not None}
    if not older:
        return {}
    benchmark_ids = sorted({*older, *older.values()})
    rank = {benchmark_id: continuation_chain(benchmark_id, older) for benchmark_id in benchmark_ids}
    together: dict[tuple[int, ...], list[tuple[int, int]]] = {}
    for series_id, benchmark_id, *testbed_and_point in connection.execute(
        _SERIES_OF_BENCHMARKS, {"benchmark_ids": benchmark_ids}
    ):
        chain = rank[benchmark_id]
        together.setdefault((chain[-1], *testbed_and_point), []).append((len(chain), series_id))
    groups = [tuple(series_id for _, series_id in sorted(found)) for found in together.values() if len(found) > 1]
    return {series_id: group for group in groups for series_id in group}


def first_of(series_id: int, joined: dict[int, tuple[int, ...]]) -> int:
    """Return the oldest of the series that `series_id` is one with, or itself."""
    return joined.get(series_id, (series_id,))[0]


def all_of(series_ids: Iterable[int], joined: dict[int, tuple[int, ...]]) -> set[int]:
    """Return `series_ids` and all that are one with them."""
    return {one for series_id in series_ids for one in joined.get(series_id, (series_id,))}
