"""Readers of a database that another process has locked: they wait, and not for ever."""

from __future__ import annotations

import pytest
import sqlalchemy as sa

from results.database import engines, transactions
from results.database.error_translation import BUSY_TIMEOUT_S
from results.errors import StoreError
from results.queries import projects


def test_a_reader_waits_equally_long_on_each_database(opened):
    with opened.reading() as connection:
        if connection.dialect.name == "sqlite":
            assert connection.exec_driver_sql("PRAGMA busy_timeout").scalar() == 1000 * BUSY_TIMEOUT_S
        else:
            name = "SELECT setting FROM pg_settings WHERE name = 'lock_timeout'"
            assert connection.exec_driver_sql(name).scalar() == str(1000 * BUSY_TIMEOUT_S)


def test_a_reader_of_a_locked_table_says_so_and_reads_again_later(opened, monkeypatch):
    if opened.engine.dialect.name == "sqlite":
        pytest.skip("whoever writes locks no reader out")
    soon = transactions.BEGIN_READING.replace(f"'{BUSY_TIMEOUT_S}s'", "'100ms'")
    for module in (transactions, engines):
        monkeypatch.setattr(module, "BEGIN_READING", soon)
    with opened.engine.connect() as other, other.begin():
        other.execute(sa.text("LOCK TABLE project IN ACCESS EXCLUSIVE MODE"))
        with pytest.raises(StoreError, match="locked by another process"):
            projects(opened)
    assert projects(opened) == []


def test_a_writer_waits_for_another_writer_as_long_as_it_takes(opened):
    if opened.engine.dialect.name == "sqlite":
        pytest.skip("SQLite knows one time for all")
    with transactions.writing(opened.engine) as connection:
        assert connection.exec_driver_sql("SHOW lock_timeout").scalar() == "0"
