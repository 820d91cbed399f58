"""Readers of a database that another process has locked: they wait, and not for ever."""

from __future__ import annotations

import math
import sqlite3
from contextlib import closing

import pytest
import sqlalchemy as sa

from results import store as stores
from results.database import engines, transactions
from results.database.error_translation import BUSY_TIMEOUT_S
from results.errors import LockedStore, StoreError
from results.queries import projects
from results.store import open_store


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


@pytest.fixture
def locked_out(tmp_path):
    """A store without a write-ahead log, whose file another connection has to itself; and that connection."""
    path = tmp_path / "x.db"
    with open_store(str(path), lock_wait_s=0.01) as store:
        store.close()
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("PRAGMA journal_mode = DELETE")
            other.execute("BEGIN EXCLUSIVE")
            yield store, other


def test_a_reader_waits_no_longer_than_it_was_told_to(locked_out):
    store, other = locked_out
    with pytest.raises(LockedStore, match="locked by another process"):
        projects(store)
    other.execute("ROLLBACK")
    with store.reading() as connection:
        assert connection.exec_driver_sql("PRAGMA busy_timeout").scalar() == 10
    with transactions.writing(store.engine) as connection:
        assert connection.exec_driver_sql("PRAGMA busy_timeout").scalar() == 1000 * BUSY_TIMEOUT_S


def test_of_many_who_ask_for_its_state_one_waits_for_the_lock(locked_out, monkeypatch):
    store, other = locked_out
    monkeypatch.setattr(stores, "SAME_LOCK_S", math.inf)
    with pytest.raises(LockedStore):
        store.fingerprint()
    other.execute("ROLLBACK")
    with pytest.raises(LockedStore, match="locked by another process"):
        store.fingerprint()  # without another look
    monkeypatch.setattr(stores, "SAME_LOCK_S", 0.0)
    assert store.fingerprint()
