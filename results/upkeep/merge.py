"""Merge another database's measurements into this one: what it lacks, nothing twice, nothing overwritten.

Things are the same if their names are: a run by its project and uid, a point by its key, and so on. A run that both
hold is completed where one knows more; where the two contradict each other, nothing of it is taken, and it is named.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from results.database.bulk import insert_rows, next_id
from results.database.error_translation import translate_db_errors
from results.database.schema import (
    Base,
    Ceiling,
    Commit,
    Decision,
    Execution,
    Measurement,
    Profile,
    ProfileKernel,
    ProfileOperator,
    Quarantine,
    Run,
    Triage,
    Value,
)
from results.database.transactions import refresh_statistics, writing
from results.errors import StoreError
from results.ingest.decisions import add_decisions, apply_decisions
from results.ingest.runs import BEGINNING, count_values
from results.upkeep.id_mapping import IdMapping, Ids, map_ids

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy.engine import Connection

    from results.store import Store

Rows = dict[Any, tuple[Any, ...]]


@dataclass(frozen=True, kw_only=True)
class MergeReport:
    """Outcome of a merge. `conflicts`: a line for each run left out because the two databases contradict each other."""

    n_runs_added: int
    n_runs_completed: int
    n_values: int
    conflicts: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class _RunTable:
    """Table of what a run holds: the column that with the run identifies a row, and the IdMapping of that column."""

    table: type[Base]
    column: str
    ids: str
    children: tuple[type[Base], ...] = ()


RUN_TABLES = (
    _RunTable(table=Value, column="series_id", ids="series"),
    _RunTable(table=Execution, column="benchmark_id", ids="benchmarks"),
    _RunTable(table=Measurement, column="point_id", ids="points"),
    _RunTable(table=Profile, column="point_id", ids="points", children=(ProfileOperator, ProfileKernel)),
)


def merge(store: Store, other: Store) -> MergeReport:
    """Add every run, value, profile, ceiling and decision of `other` that `store` lacks; a second time it adds none.

    One transaction a run: a merge that is killed is completed by the next. Raises: StoreError.
    """
    if _identity(store) == _identity(other):
        raise StoreError(f"{other.name} is the database to merge into; name two different ones. Nothing was changed")
    with translate_db_errors(store.engine.url), other.reading() as theirs:
        report = _Merge(store, theirs, name=other.name).run()
    refresh_statistics(store.engine)
    return report


def _identity(store: Store) -> object:
    with store.reading() as connection:
        if connection.dialect.name == "postgresql":
            query = "SELECT pg_postmaster_start_time(), current_database(), current_schema()"
            return tuple(connection.exec_driver_sql(query).one())
    return Path(store.engine.url.database or "").resolve()


class _Merge:
    """State of one merge: the two databases and what was added so far."""

    def __init__(self, store: Store, theirs: Connection, *, name: str) -> None:
        self._engine = store.engine
        self._theirs = theirs
        self._name = name
        self._n_added = self._n_completed = self._n_values = 0
        self._conflicts: dict[str, str] = {}

    def run(self) -> MergeReport:
        with writing(self._engine) as ours:
            ids = map_ids(ours, self._theirs)
            _merge_ceilings(ours, self._theirs, ids)
        for run in self._theirs.execute(sa.select(Run.__table__).order_by(Run.id)).all():
            with writing(self._engine) as ours:
                self._merge_run(ours, run, ids)
        with writing(self._engine) as ours:
            _merge_decisions(ours, self._theirs, ids)
            self._set_conflicts_aside(ours)
        return MergeReport(
            n_runs_added=self._n_added,
            n_runs_completed=self._n_completed,
            n_values=self._n_values,
            conflicts=tuple(f"run {uid}: {reason}" for uid, reason in self._conflicts.items()),
        )

    def _merge_run(self, ours: Connection, run: Any, ids: IdMapping) -> None:  # noqa: ANN401 - a row
        columns = {
            "project_id": ids.projects[run.project_id],
            "uid": run.uid,
            "commit_id": ids.commits[run.commit_id],
            "machine_id": ids.machines[run.machine_id],
            "environment_id": ids.environments[run.environment_id],
        }
        where = (Run.project_id == columns["project_id"], Run.uid == run.uid)
        stored = ours.execute(sa.select(Run.__table__).where(*where)).first()
        lacking: list[tuple[_RunTable, Rows]] = []
        for part in RUN_TABLES:
            rows = _rows_of(self._theirs, part, run.id, getattr(ids, part.ids))
            before = {} if stored is None else _rows_of(ours, part, stored.id, None)
            if stored is not None and (contradiction := _contradiction(part, rows, before, stored, columns)):
                self._conflicts[run.uid] = contradiction
                return
            lacking.append((part, {key: row for key, row in rows.items() if key not in before}))
        run_id = _inserted_run(ours, run, columns) if stored is None else stored.id
        for part, missing in lacking:
            _insert_part(ours, part, run_id, missing)
        n_new = {part.table: len(missing) for part, missing in lacking}
        if stored is None or any(n_new.values()):
            count_values(ours, run_id)
            self._n_added += stored is None
            self._n_completed += stored is not None
            self._n_values += n_new[Value]

    def _set_conflicts_aside(self, ours: Connection) -> None:
        start = f"{self._name}#"
        ours.execute(sa.delete(Quarantine).where(Quarantine.path.startswith(start, autoescape=True)))
        rows = [
            {"path": start + uid, "kind": "merge", "reason": reason, "signature": "", "found_at": datetime.now(tz=UTC)}
            for uid, reason in self._conflicts.items()
        ]
        if rows:
            ours.execute(sa.insert(Quarantine), rows)


def _contradiction(part: _RunTable, rows: Rows, before: Rows, stored: Any, columns: Mapping[str, Any]) -> str | None:  # noqa: ANN401
    """Return how the two databases contradict each other about a run; None if they do not."""
    if any(getattr(stored, name) != value for name, value in columns.items()):
        return "has another commit, machine or environment there"
    n_different = sum(before[key] != row for key, row in rows.items() if key in before)
    if not n_different:
        return None
    return f"{n_different} of its {part.table.__tablename__} rows are different there; nothing of it was taken"


def _rows_of(connection: Connection, part: _RunTable, run_id: int, ids: Ids | None) -> Rows:
    """Return a run's rows by local id: the table's other columns, and its children's as tuples."""
    table = part.table.__table__
    others = [column for column in table.c if column.name not in {"run_id", part.column}]
    query = sa.select(table.c[part.column], *others).where(table.c.run_id == run_id)
    rows: Rows = {row[0]: tuple(row[1:]) for row in connection.execute(query)}
    for child in part.children:
        found = _children_of(connection, child, run_id)
        rows = {key: (*row, found.get(key, ())) for key, row in rows.items()}
    return rows if ids is None else {ids[key]: row for key, row in rows.items()}


def _children_of(connection: Connection, child: type[Base], run_id: int) -> dict[int, tuple[tuple[Any, ...], ...]]:
    table = child.__table__
    others = [column for column in table.c if column.name not in {"run_id", "point_id"}]
    query = sa.select(table.c.point_id, *others).where(table.c.run_id == run_id)
    rows = connection.execute(query.order_by(table.c.point_id, table.c.position)).all()
    return {key: tuple(tuple(row[1:]) for row in group) for key, group in groupby(rows, key=lambda row: row[0])}


def _insert_part(ours: Connection, part: _RunTable, run_id: int, rows: Rows) -> None:
    if not rows:
        return
    names = [column.name for column in part.table.__table__.c if column.name not in {"run_id", part.column}]
    n_own = len(names)
    if part.table is Value:  # the large one; it holds only what every driver takes as it is
        ordered = ((run_id, key, *rows[key]) for key in sorted(rows))
        insert_rows(ours, Value, ("run_id", part.column, *names), ordered)
    else:
        ours.execute(
            sa.insert(part.table),
            [
                {"run_id": run_id, part.column: key, **dict(zip(names, row[:n_own], strict=True))}
                for key, row in rows.items()
            ],
        )
    for position, child in enumerate(part.children, start=n_own):
        columns = [column.name for column in child.__table__.c if column.name not in {"run_id", "point_id"}]
        of_child = [(run_id, key, *found) for key, row in rows.items() for found in row[position]]
        insert_rows(ours, child, ("run_id", "point_id", *columns), of_child)


def _inserted_run(ours: Connection, run: Any, columns: Mapping[str, Any]) -> int:  # noqa: ANN401 - a row
    commit = ours.execute(sa.select(Commit.ordered_at, Commit.position).where(Commit.id == columns["commit_id"])).one()
    run_id = next_id(ours, Run)
    ours.execute(
        sa.insert(Run).values(
            id=run_id,
            source_id=None,  # its file is not ours
            ordered_at=commit.ordered_at or run.started_at or BEGINNING,
            position=commit.position or 0,
            started_at=run.started_at,
            n_values=0,
            conditions=run.conditions,
            **columns,
        )
    )
    return run_id


def _merge_ceilings(ours: Connection, theirs: Connection, ids: IdMapping) -> None:
    """Keep the later of two measurements of the same ceiling."""
    for row in theirs.execute(sa.select(Ceiling.__table__)).all():
        identity = {
            "machine_id": ids.machines[row.machine_id],
            "environment_id": ids.environments[row.environment_id],
            "quantity": row.quantity,
        }
        where = [getattr(Ceiling, name) == value for name, value in identity.items()]
        stored = ours.execute(sa.select(Ceiling.measured_at).where(*where)).first()
        if stored is not None and (stored.measured_at or BEGINNING) >= (row.measured_at or BEGINNING):
            continue
        ours.execute(sa.delete(Ceiling).where(*where))
        ours.execute(sa.insert(Ceiling).values(value=row.value, measured_at=row.measured_at, **identity))


def _merge_decisions(ours: Connection, theirs: Connection, ids: IdMapping) -> None:
    known = [(row.kind, row.content) for row in ours.execute(sa.select(Decision.__table__))]
    decisions = theirs.execute(sa.select(Decision.__table__).order_by(Decision.id))
    new = [(row.kind, row.content) for row in decisions if (row.kind, row.content) not in known]
    add_decisions(ours, new, source_id=None)
    apply_decisions(ours)
    for row in theirs.execute(sa.select(Triage.__table__).where(Triage.decision_id.is_(None))).all():
        columns = {"series_id": ids.series[row.series_id], "commit_id": ids.commits[row.commit_id]}
        where = [getattr(Triage, name) == value for name, value in columns.items()]
        if ours.execute(sa.select(Triage.id).where(*where)).first() is None:
            others = {**dict(row._mapping), **columns, "id": next_id(ours, Triage)}  # noqa: SLF001
            ours.execute(sa.insert(Triage).values(others))
