"""What was measured when → frozen rows."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import sqlalchemy as sa

from results.database.key_lists import any_of
from results.database.schema import Commit, Environment, Machine, Project, Run
from results.questions.newest_of_benchmarks import newest_of_benchmarks
from results.questions.series_filters import names_in
from results.rows import FreshnessRow

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from sqlalchemy.engine import Connection

    from results.store import Store


def freshness(
    store: Store,
    *,
    project: str | Collection[str] | None = None,
    machine: str | Collection[str] | None = None,
    environment: str | Collection[str] | None = None,
) -> list[FreshnessRow]:
    """When each benchmark (of asv) or operation (of the sweep) was last run on each machine and environment.

    Ordered by project, machine, environment, the longest not run first.
    """
    with store.reading() as connection:
        spots = newest_of_benchmarks(
            connection,
            [
                *names_in(Project.name, project),
                *names_in(Machine.name, machine),
                *names_in(Environment.name, environment),
            ],
        )
        runs = {row.id: row for row in connection.execute(_RUNS_BY_ID, {"run_ids": list({s.run_id for s in spots})})}
        timelines = _timelines(connection, {spot.project_id for spot in spots})
    rows = []
    for spot in spots:
        run = runs[spot.run_id]
        row = FreshnessRow(
            project=run.project,
            machine=run.machine,
            environment=run.environment,
            benchmark=spot.name,
            commit=run.commit,
            commit_date=run.commit_date,
            measured_at=run.started_at,
            n_commits_behind=timelines[spot.project_id].n_after(run.position, run.ordered_at),
        )
        rows.append((run.project, run.machine, run.environment, run.ordered_at, run.position or 0, spot.name, row))
    return [row for *_, row in sorted(rows, key=lambda keyed: keyed[:-1])]


_RUNS_BY_ID = (
    sa.select(
        Run.id,
        Run.started_at,
        Run.ordered_at,
        Commit.hash.label("commit"),
        Commit.date.label("commit_date"),
        Commit.position,
        Project.name.label("project"),
        Machine.name.label("machine"),
        Environment.name.label("environment"),
    )
    .join(Commit, Commit.id == Run.commit_id)
    .join(Project, Project.id == Run.project_id)
    .join(Machine, Machine.id == Run.machine_id)
    .join(Environment, Environment.id == Run.environment_id)
    .where(any_of(Run.id, "run_ids"))
)


@dataclass(frozen=True)
class _Timeline:
    """A project's commits: the last position git gave, and when each stored one stands in the order."""

    last_position: int | None
    moments: Sequence[datetime]

    def n_after(self, position: int | None, moment: datetime | None) -> int:
        """How many commits came after one."""
        if position is not None and self.last_position is not None:
            return self.last_position - position
        return len(self.moments) - bisect_right(self.moments, moment or _BEFORE_ALL)


_BEFORE_ALL = datetime.min.replace(tzinfo=UTC)


def _timelines(connection: Connection, project_ids: Collection[int]) -> dict[int, _Timeline]:
    found: dict[int, list[tuple[int | None, datetime]]] = {project_id: [] for project_id in project_ids}
    rows = connection.execute(
        sa.select(Commit.project_id, Commit.position, Commit.ordered_at).where(Commit.project_id.in_(project_ids))
    )
    for project_id, position, ordered_at in rows:
        found[project_id].append((position, ordered_at or _BEFORE_ALL))
    return {
        project_id: _Timeline(
            last_position=max((position for position, _ in commits if position is not None), default=None),
            moments=sorted(moment for _, moment in commits),
        )
        for project_id, commits in found.items()
    }
