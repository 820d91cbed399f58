"""Rows go in whole and exactly, however many statements they take."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
import sqlalchemy as sa

from results.database.bulk import ROWS_AT_ONCE, insert_columns, insert_rows, next_id
from results.database.schema import Commit, Project
from results.database.transactions import reading, writing
from results.ingest.dimensions import Dimensions

NUMBERS = [1, 82, 83, 84, ROWS_AT_ONCE + 7]
COLUMNS = ("id", "project_id", "hash", "date", "subject", "position")


def rows_of(first, n_rows):
    return [
        (first + i, 1, f"{first + i:040x}", datetime(2026, 1, 1, i % 24, tzinfo=UTC) if i % 3 else None,
         f"Grüße {i}" if i % 2 else None, i if i % 5 else None)
        for i in range(n_rows)
    ]  # fmt: skip


@pytest.mark.parametrize("as_columns", [False, True])
def test_every_row_comes_back_as_it_was_given_and_null_stays_null(opened, as_columns):
    given = []
    with writing(opened.engine) as connection:
        Dimensions().project(connection, "p")
        for n_rows in NUMBERS:
            rows = rows_of(next_id(connection, Commit), n_rows)
            if as_columns:
                insert_columns(connection, Commit, dict(zip(COLUMNS, zip(*rows, strict=True), strict=True)))
            else:
                insert_rows(connection, Commit, COLUMNS, iter(rows))
            given += rows
    with reading(opened.engine) as connection:
        columns = [Commit.__table__.c[name] for name in COLUMNS]
        found = connection.execute(sa.select(*columns).order_by(Commit.id)).all()
        assert connection.execute(sa.select(sa.func.count()).select_from(Project)).scalar() == 1
    assert [tuple(row) for row in found] == given
