"""Visits of a sweep point's group → frozen rows."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

import sqlalchemy as sa

from results.database.schema import Measurement, Project, Run
from results.rows import PointRow, VisitRow

if TYPE_CHECKING:
    from results.store import Store

_VISITS = (
    sa.select(Measurement.visits)
    .join(Run, Run.id == Measurement.run_id)
    .join(Project, Project.id == Run.project_id)
    .where(
        Run.uid == sa.bindparam("run"),
        Project.name == sa.bindparam("project"),
        Measurement.point_id == sa.bindparam("point"),
    )
)


def visits_of(store: Store, *, point: PointRow) -> tuple[VisitRow, ...]:
    """Return the visits that `point` was measured in, in their order; none before ruler 3."""
    where = {"run": point.run_id, "project": point.project, "point": point.point_id}
    with store.reading() as connection:
        found = connection.execute(_VISITS, where).scalar()
    return tuple(VisitRow(**{**visit, "measured_at": _moment(visit["measured_at"])}) for visit in found or ())


def _moment(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)
