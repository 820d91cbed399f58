"""What was judged of each series before, and where values came since."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from results.database.fetching import fetch_rows
from results.database.schema import Benchmark, Commit, Environment, JudgedPlace, Machine, Project, Run, Series, Source
from results.database.schema import JudgedSeries as Kept
from results.rows import JudgedSeries, RunsOfPlace, UnjudgedPlace
from results.rows.main_line import LEAST_ON_LINE

if TYPE_CHECKING:
    from collections.abc import Callable

    from results.store import Store

_KEPT = sa.select(Kept.series_id, Kept.least_change, Kept.digest, Kept.found)


def judged_series(store: Store) -> dict[bytes, JudgedSeries]:
    """Return every judgement of a series that is kept, by its digest."""
    with store.reading() as connection:
        return {
            digest: JudgedSeries(series_id=series_id, least_change=least_change, digest=digest, found=found)
            for series_id, least_change, digest, found in fetch_rows(connection, _KEPT)
        }


def unjudged_places(store: Store, *, detector: bytes | None = None) -> list[UnjudgedPlace]:
    """Return the places with values that came after the place was judged last, by name; a look at the runs alone.

    detector: digest of the one that judges; a place that another judged is unjudged, too. None: whichever did.
    """
    with store.reading() as connection:
        rows = [row for row in connection.execute(_PLACES).all() if not _is_judged(row, detector)]
        counts = connection.execute(_SERIES).all() if rows else ()
    n_series = {(row.project_id, row.machine_id, row.environment_id): row.n_series for row in counts}
    return [
        UnjudgedPlace(
            project=row.project,
            machine=row.machine,
            environment=row.environment,
            n_series=n_series.get((row.project_id, row.machine_id, row.environment_id), 0),
            runs=_runs_of(row),
        )
        for row in rows
    ]


def _is_judged(row: Any, detector: bytes | None) -> bool:  # noqa: ANN401 - a row
    return _runs_of(row) == _runs_of(row, "judged_") and detector in {None, row.detector}


def _runs_of(row: Any, prefix: str = "") -> RunsOfPlace:  # noqa: ANN401 - a row
    return RunsOfPlace(*(getattr(row, prefix + name) for name in RunsOfPlace._fields))


# As results.rows.main_line: what is judged of a place is its main line, if that holds a history.
_IS_ON_LINE = Commit.is_on_main_line.is_not(sa.false())
_HAS_LINE = sa.func.count(sa.case((_IS_ON_LINE, Run.commit_id)).distinct()) >= LEAST_ON_LINE


def _of_judged(aggregate: Callable[..., Any], column: sa.orm.InstrumentedAttribute[Any]) -> sa.ColumnElement[Any]:
    """Aggregate a column over the runs of a place that are judged."""
    return sa.case((_HAS_LINE, aggregate(sa.case((_IS_ON_LINE, column)))), else_=aggregate(column))


_RUNS = (
    sa.select(
        Run.project_id,
        Run.machine_id,
        Run.environment_id,
        _of_judged(sa.func.count, Run.id).label("n_runs"),
        sa.cast(_of_judged(sa.func.sum, Run.n_values), sa.BigInteger).label("n_values"),
        sa.cast(_of_judged(sa.func.sum, Run.position), sa.BigInteger).label("positions"),
        _of_judged(sa.func.max, Source.read_at).label("read_at"),
    )
    .join(Commit, Commit.id == Run.commit_id)
    .outerjoin(Source, Source.id == Run.source_id)
    .where(Run.n_values > 0)
    .group_by(Run.project_id, Run.machine_id, Run.environment_id)
    .subquery()
)
_PLACES = (
    sa.select(
        *_RUNS.c,
        Project.name.label("project"),
        Machine.name.label("machine"),
        Environment.name.label("environment"),
        *(getattr(JudgedPlace, name).label(f"judged_{name}") for name in RunsOfPlace._fields),
        JudgedPlace.detector,
    )
    .select_from(_RUNS)
    .join(Project, Project.id == _RUNS.c.project_id)
    .join(Machine, Machine.id == _RUNS.c.machine_id)
    .join(Environment, Environment.id == _RUNS.c.environment_id)
    .outerjoin(
        JudgedPlace,
        (JudgedPlace.project_id == _RUNS.c.project_id)
        & (JudgedPlace.machine_id == _RUNS.c.machine_id)
        & (JudgedPlace.environment_id == _RUNS.c.environment_id),
    )
    .order_by(Project.name, Machine.name, Environment.name)
)
_SERIES = (
    sa.select(
        Benchmark.project_id, Series.machine_id, Series.environment_id, sa.func.count(Series.id).label("n_series")
    )
    .join(Benchmark, Benchmark.id == Series.benchmark_id)
    .group_by(Benchmark.project_id, Series.machine_id, Series.environment_id)
)
