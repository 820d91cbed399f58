"""Keep what was judged of each series, so that whoever asks next only reads; derived (docs/adr/0014)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import sqlalchemy as sa

from results.database.bulk import insert_rows
from results.database.error_translation import translate_db_errors
from results.database.key_lists import any_of
from results.database.schema import Environment, Machine, Project, Run, Source
from results.database.schema import JudgedSeries as Kept
from results.database.transactions import writing
from results.errors import StoreError
from results.judgement.changes.evidence import LEAST_CHANGE
from results.judgement.changes.from_histories import changes_of_place
from results.queries import history_tables, judged_series

if TYPE_CHECKING:
    from collections.abc import Collection
    from datetime import datetime

    from results.rows import JudgedSeries
    from results.store import Store

COLUMNS = ("series_id", "least_change", "digest", "found")


def keep_judged(store: Store, judged: Collection[JudgedSeries]) -> None:
    """Store judgements in place of earlier ones of the same series; a store that may not be written stays as it is.

    Of limits other than the default, only the last is kept.
    """
    if not judged:
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
    except StoreError:
        return  # what is not kept is judged again


def judge_grown(store: Store, *, since: datetime | None = None) -> int:
    """Judge the series that have changed at every place a file was read for since then, and keep it; return how many.

    Each place is kept when it is done. Without `since`, all places are judged.
    """
    n_judged = 0
    earlier = judged_series(store)
    for project, machine, environment in _places(store, since):
        for table in history_tables(store, project=project, machine=machine, environment=environment):
            judged = changes_of_place(table, earlier=earlier).judged
            keep_judged(store, judged)
            n_judged += len(judged)
    return n_judged


def _places(store: Store, since: datetime | None) -> list[tuple[str, str, str]]:
    query = (
        sa.select(Project.name, Machine.name, Environment.name)
        .select_from(Run)
        .join(Project, Project.id == Run.project_id)
        .join(Machine, Machine.id == Run.machine_id)
        .join(Environment, Environment.id == Run.environment_id)
        .distinct()
        .order_by(Project.name, Machine.name, Environment.name)
    )
    if since is not None:
        query = query.join(Source, Source.id == Run.source_id).where(Source.read_at >= since)
    with store.reading() as connection:
        return [(row[0], row[1], row[2]) for row in connection.execute(query)]
