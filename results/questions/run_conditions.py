"""Conditions that held in runs: versions, the machine and its settings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import sqlalchemy as sa

from results.database.schema import Run

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from results.store import Store


def run_conditions(store: Store, *, run_ids: Collection[str]) -> dict[str, Mapping[str, object]]:
    """Return what held in each of the runs, by their ids; unknown ids are left out, asv's runs tell nothing."""
    with store.reading() as connection:
        rows = connection.execute(sa.select(Run.uid, Run.conditions).where(Run.uid.in_(run_ids))).all()
    return {row.uid: row.conditions for row in rows}
