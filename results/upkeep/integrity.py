"""Check a database: its pages, its schema, what refers to what, and the counts it keeps of itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import sqlalchemy as sa

from results.database.schema import Base, Project, Run, Value
from results.database.transactions import VERSION_TABLE
from results.database.upgrade import SCHEMA_VERSION

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sqlalchemy.engine import Connection

    from results.store import Store

MOST_NAMED = 10  # runs whose count is wrong that are named; of the others only the number is

# PostgreSQL enforces neither a constraint that was never validated nor a reference whose triggers are off.
_NOT_ENFORCED = """
SELECT conrelid::regclass || ': constraint ' || conname || ' was not validated' AS fault FROM pg_constraint
WHERE NOT convalidated AND connamespace = current_schema()::regnamespace
UNION
SELECT tgrelid::regclass || ': the triggers that enforce its references are disabled' FROM pg_trigger
JOIN pg_class ON pg_class.oid = tgrelid
WHERE tgisinternal AND tgenabled IN ('D', 'R') AND relnamespace = current_schema()::regnamespace
UNION
SELECT indrelid::regclass || ': index ' || indexrelid::regclass || ' is not valid' FROM pg_index
JOIN pg_class ON pg_class.oid = indrelid
WHERE NOT (indisvalid AND indisready) AND relnamespace = current_schema()::regnamespace
ORDER BY fault
"""


def find_faults(store: Store) -> list[str]:
    """Return the faults of the database, a line each; empty if it is whole.

    Follows every reference and counts every value: seconds for a million of them.
    Raises: StoreError if the database cannot be read.
    """
    with store.reading() as connection:
        # Where pages, tables or columns are missing, the further questions fail.
        return (
            list(_damaged_pages(connection))
            or list(_missing_columns(connection))
            or [
                *_wrong_version(connection),
                *_missing_constraints(connection),
                *_unenforced_constraints(connection),
                *_orphans(connection),
                *_wrong_counts(connection),
            ]
        )


def _damaged_pages(connection: Connection) -> Iterator[str]:
    """Yield what SQLite finds; PostgreSQL verifies pages by checksum whenever it reads them."""
    if connection.dialect.name == "sqlite":
        found = connection.exec_driver_sql("PRAGMA integrity_check").scalars()
        yield from (str(fault) for fault in found if fault != "ok")


def _missing_columns(connection: Connection) -> Iterator[str]:
    inspector = sa.inspect(connection)
    tables = set(inspector.get_table_names())
    for table in Base.metadata.sorted_tables:
        if table.name not in tables:
            yield f"table {table.name} is missing"
            continue
        columns = {column["name"] for column in inspector.get_columns(table.name)}
        yield from (
            f"{table.name}: column {name} is missing" for name in sorted({column.name for column in table.c} - columns)
        )


def _wrong_version(connection: Connection) -> Iterator[str]:
    rows = connection.execute(sa.text(f"SELECT version_num FROM {VERSION_TABLE}"))  # noqa: S608 - our own name
    versions = sorted(str(row[0]) for row in rows)
    if versions != [SCHEMA_VERSION]:
        yield f"{VERSION_TABLE} holds {' and '.join(versions) or 'nothing'} instead of {SCHEMA_VERSION} alone"


def _missing_constraints(connection: Connection) -> Iterator[str]:
    inspector = sa.inspect(connection)
    for table in Base.metadata.sorted_tables:
        present = {
            inspector.get_pk_constraint(table.name)["name"],
            *(key["name"] for key in inspector.get_foreign_keys(table.name)),
            *(key["name"] for key in inspector.get_unique_constraints(table.name)),
            *(index["name"] for index in inspector.get_indexes(table.name)),
        }
        for name in sorted(_names(connection, table) - present):
            yield f"{table.name}: {name} is missing"


def _names(connection: Connection, table: sa.Table) -> set[str]:
    """Return the names of the constraints and indexes that `table` has on this kind of database."""
    items: Iterable[sa.Constraint | sa.Index] = (*table.constraints, *table.indexes)
    is_left_out = connection.dialect.name == "sqlite"
    return {str(item.name) for item in items if not (is_left_out and getattr(item, "_ddl_if", None))}


def _unenforced_constraints(connection: Connection) -> Iterator[str]:
    if connection.dialect.name == "postgresql":
        yield from map(str, connection.exec_driver_sql(_NOT_ENFORCED).scalars())


def _orphans(connection: Connection) -> Iterator[str]:
    """Yield a line for each reference that rows hold and no row answers, whether a constraint forbids it or not."""
    for table in Base.metadata.sorted_tables:
        for key in sorted(table.foreign_key_constraints, key=lambda key: str(key.name)):
            parent = key.referred_table.alias()
            is_found = sa.exists().where(*(parent.c[pair.column.name] == pair.parent for pair in key.elements))
            is_given = (pair.parent.is_not(None) for pair in key.elements)
            query = sa.select(sa.func.count()).select_from(table).where(*is_given, ~is_found)
            if n_rows := connection.execute(query).scalar_one():
                columns = ", ".join(column.name for column in key.columns)
                yield f"{table.name}: {n_rows} rows refer by {columns} to a missing {key.referred_table.name}"


def _wrong_counts(connection: Connection) -> Iterator[str]:
    """Yield a line for each run that holds more or fewer values than were counted when it was stored."""
    counted = sa.select(Value.run_id, sa.func.count().label("n")).group_by(Value.run_id).subquery()
    n_stored = sa.func.coalesce(counted.c.n, 0)
    query = (
        sa.select(Project.name, Run.uid, Run.n_values, n_stored)
        .join(Project, Project.id == Run.project_id, isouter=True)
        .join(counted, counted.c.run_id == Run.id, isouter=True)
        .where(Run.n_values != n_stored)
        .order_by(Run.id)
    )
    rows = connection.execute(query).all()
    for project, uid, n_recorded, n_values in rows[:MOST_NAMED]:
        yield f"run {uid} of {project} holds {n_values} values and recorded {n_recorded}"
    if len(rows) > MOST_NAMED:
        yield f"and {len(rows) - MOST_NAMED} more runs hold another number of values than they recorded"
