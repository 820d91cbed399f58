"""Keep what was judged of each series, so that whoever asks next only reads; derived (docs/adr/0014)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import sqlalchemy as sa

from results.database.bulk import insert_rows
from results.database.error_translation import translate_db_errors
from results.database.key_lists import any_of
from results.database.schema import Environment, JudgedPlace, Machine, Project
from results.database.schema import JudgedSeries as Kept
from results.database.transactions import writing
from results.errors import StoreError
from results.judgement.changes.evidence import LEAST_CHANGE
from results.judgement.changes.from_histories import changes_of_place
from results.judgement.changes.judged import detector_digest
from results.queries import history_tables, judged_series, unjudged_places

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from sqlalchemy.engine import Connection

    from results.rows import JudgedSeries, UnjudgedPlace
    from results.store import Store

COLUMNS = ("series_id", "least_change", "digest", "found")


def keep_judged(store: Store, judged: Collection[JudgedSeries], *, places: Sequence[UnjudgedPlace] = ()) -> None:
    """Store judgements in place of earlier ones of the same series; a store that may not be written stays as it is.

    Of limits other than the default, only the last is kept. places: all of whose series are judged now, as they were
    before their values were read.
    """
    if not judged and not places:
        return
    least_changes = {one.least_change for one in judged}
    try:
        with translate_db_errors(store.engine.url), writing(store.engine) as connection:
            connection.execute(sa.delete(Kept).where(Kept.least_change.not_in({LEAST_CHANGE, *least_changes})))
            for least_change in least_changes:
                series_ids = [one.series_id for one in judged if one.least_change == least_change]
                is_meant = any_of(Kept.series_id, keys=series_ids)
                connection.execute(sa.delete(Kept).where(Kept.least_change == least_change, is_meant))
            rows = ((one.series_id, one.least_change, one.digest, one.found) for one in judged)
            insert_rows(connection, Kept, COLUMNS, rows)
            for place in places:
                _mark_judged(connection, place)
    except StoreError:
        return  # what is not kept is judged again


def judge_unjudged(store: Store, *, on_place: Callable[[UnjudgedPlace], None] | None = None) -> int:
    """Judge the series of every place with values that came after it was judged last; return how many were judged.

    What is judged of a place is kept when the place is done. on_place: called before each.
    """
    n_judged = 0
    unjudged = unjudged_places(store)
    earlier = judged_series(store) if unjudged else {}
    for place in unjudged:
        if on_place is not None:
            on_place(place)
        tables = history_tables(store, project=place.project, machine=place.machine, environment=place.environment)
        judged = [one for table in tables for one in changes_of_place(table, earlier=earlier).judged]
        keep_judged(store, judged, places=[place])
        n_judged += len(judged)
    return n_judged


def _mark_judged(connection: Connection, place: UnjudgedPlace) -> None:
    ids = connection.execute(
        sa.select(
            sa.select(Project.id).where(Project.name == place.project).scalar_subquery(),
            sa.select(Machine.id).where(Machine.name == place.machine).scalar_subquery(),
            sa.select(Environment.id).where(Environment.name == place.environment).scalar_subquery(),
        )
    ).one()
    key = dict(zip(("project_id", "machine_id", "environment_id"), ids, strict=True))
    connection.execute(sa.delete(JudgedPlace).filter_by(**key))
    state = {**key, **place.runs._asdict(), "detector": detector_digest()}
    connection.execute(sa.insert(JudgedPlace).values(**state))
