"""Runs that measured sweep points, with the names of their project, commit and testbed; what held in runs."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import sqlalchemy as sa

from results.database.fetching import datetime_decoder, fetch_rows
from results.database.key_lists import any_of
from results.database.schema import OLDEST_FIRST, Commit, Environment, Machine, Project, Run
from results.database.snapshot_cache import cached_for_snapshot

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from datetime import datetime

    from sqlalchemy.engine import Connection

    from results.store import Store

FetchedRow = tuple[Any, ...]
Testbed = tuple[int, int]  # ids of machine and environment

_OF_BASE = re.compile(r"(?P<name>ab-[0-9a-f]+)-(?P<number>\d+)-base")


class MeasuringRun(NamedTuple):
    """Run with the names that the rows of its points show."""

    project: str
    commit: str
    commit_date: datetime | None
    commit_subject: str | None
    machine: str
    environment: str
    uid: str
    testbed: Testbed


def run_conditions(store: Store, *, run_ids: Collection[str]) -> dict[str, Mapping[str, object]]:
    """Return what held in each of the runs, by their ids; unknown ids are left out, asv's runs tell nothing."""
    with store.reading() as connection:
        rows = connection.execute(sa.select(Run.uid, Run.conditions).where(Run.uid.in_(run_ids))).all()
    return {row.uid: row.conditions for row in rows}


def runs_in_rounds(store: Store, *, base: str, head: str) -> list[tuple[str, str]]:
    """Return the ids of the runs of two commits, full hashes, that `ab` measured in rounds.

    Of what was asked for several times the latest, as `ab` itself judges.
    """
    ids = sa.select(Run.uid).join(Commit, Run.commit_id == Commit.id)
    with store.reading() as connection:
        at_base, at_head = (set(connection.scalars(ids.where(Commit.hash == commit))) for commit in (base, head))
    latest: dict[str, int] = {}
    for found in filter(None, map(_OF_BASE.fullmatch, at_base)):
        name, number = found["name"], int(found["number"])
        if f"{name}-{number}-head" in at_head:
            latest[name] = max(number, latest.get(name, 0))
    return [(f"{name}-{number}-base", f"{name}-{number}-head") for name, number in sorted(latest.items())]


def runs_by_id(connection: Connection, run_ids: Iterable[int]) -> dict[int, MeasuringRun]:
    """Return the runs of these ids, oldest first."""
    rows = fetch_rows(connection, _RUNS_BY_ID, {"run_ids": set(run_ids)})

    def order_key(row: FetchedRow) -> tuple[object, ...]:
        ordered_at, position, started_at, run_id = row[-4:]
        return (ordered_at, position, started_at is not None, started_at, run_id)

    return _runs(connection, (row[:-4] for row in sorted(rows, key=order_key)))


def runs_at(connection: Connection, testbeds: Collection[Testbed]) -> Mapping[int, MeasuringRun]:
    """Return every run on these machines and environments, oldest first."""
    return cached_for_snapshot(connection, (runs_at, frozenset(testbeds)), partial(_runs_at, connection, testbeds))


def _runs_at(connection: Connection, testbeds: Collection[Testbed]) -> dict[int, MeasuringRun]:
    machine_ids, environment_ids = ({testbed[i] for testbed in testbeds} for i in (0, 1))
    where = {"machine_ids": machine_ids, "environment_ids": environment_ids}
    found = _runs(connection, fetch_rows(connection, _RUNS_AT, where))
    return {run_id: run for run_id, run in found.items() if run.testbed in testbeds}


def _runs(connection: Connection, rows: Iterable[FetchedRow]) -> dict[int, MeasuringRun]:
    moment = datetime_decoder(connection)
    return {
        run_id: MeasuringRun(
            project, commit, moment(date), subject, machine, environment, uid, (machine_id, environment_id)
        )
        for run_id, project, commit, date, subject, machine, environment, uid, machine_id, environment_id in rows
    }


def _described(run: sa.FromClause) -> sa.Select[*tuple[Any, ...]]:
    return (
        sa.select(
            run.c.id,
            Project.name,
            Commit.hash,
            Commit.date,
            Commit.subject,
            Machine.name,
            Environment.name,
            run.c.uid,
            run.c.machine_id,
            run.c.environment_id,
        )
        .select_from(run)
        .join(Commit, Commit.id == run.c.commit_id)
        .join(Project, Project.id == run.c.project_id)
        .join(Machine, Machine.id == run.c.machine_id)
        .join(Environment, Environment.id == run.c.environment_id)
    )


# Found before anything is joined: asked for both at once, PostgreSQL may read every run of a small store.
_WANTED = (
    sa.select(Run.__table__)
    .where(any_of(Run.id, "run_ids"))
    .cte("wanted")
    .prefix_with("MATERIALIZED", dialect="postgresql")
)
_STANDING = tuple(_WANTED.c[column.key] for column in OLDEST_FIRST)
_RUNS_BY_ID = _described(_WANTED).add_columns(*_STANDING)
_RUNS_AT = (
    _described(Run.__table__)
    .where(any_of(Run.machine_id, "machine_ids"), any_of(Run.environment_id, "environment_ids"))
    .order_by(*OLDEST_FIRST)
)
