"""Readers of a database that another process has locked: they wait, and not for ever."""

from __future__ import annotations

import math
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest
import sqlalchemy as sa

from results import store as stores
from results.database import transactions
from results.database.error_translation import BUSY_TIMEOUT_S
from results.database.snapshot_cache import cached_for_snapshot
from results.errors import LockedStore
from results.queries import projects
from results.store import OpenMode, open_store
from tests.postgresql import locked


def test_a_reader_waits_equally_long_on_each_database(opened):
    with opened.reading() as connection:
        if connection.dialect.name == "sqlite":
            assert connection.exec_driver_sql("PRAGMA busy_timeout").scalar() == 1000 * BUSY_TIMEOUT_S
        else:
            name = "SELECT setting FROM pg_settings WHERE name = 'lock_timeout'"
            assert connection.exec_driver_sql(name).scalar() == str(1000 * BUSY_TIMEOUT_S)


WAITING = "SELECT count(*) FROM pg_locks WHERE relation = CAST('value' AS regclass) AND NOT granted"


@pytest.fixture
def impatient(tmp_path, databases):
    """A store in PostgreSQL whose readers wait for a lock 0.3 s."""
    with databases("postgresql", tmp_path) as url, open_store(url, lock_wait_s=0.3) as store:
        yield store


def test_a_reader_of_a_locked_table_waits_no_longer_than_it_was_told_to_and_reads_again_later(impatient):
    with impatient.reading() as connection:
        assert connection.exec_driver_sql("SHOW lock_timeout").scalar() == "300ms"
    with locked(impatient, "project"), pytest.raises(LockedStore, match="locked by another process"):
        projects(impatient)
    assert projects(impatient) == []


def test_who_opens_a_store_whose_version_is_locked_waits_no_longer_than_who_reads_it(impatient):
    with ThreadPoolExecutor(1) as pool, locked(impatient, transactions.VERSION_TABLE):
        opening = pool.submit(open_store, impatient.name, mode=OpenMode.READ, lock_wait_s=0.3)
        with pytest.raises(LockedStore, match="locked by another process"):
            opening.result(timeout=60)  # less than who is not told to waits
    open_store(impatient.name, mode=OpenMode.READ, lock_wait_s=0.3).close()


@pytest.mark.parametrize("table", ["project", "value", "fusebench_version"])
def test_whether_a_store_can_be_read_is_told_of_each_table(impatient, table):
    impatient.check_readable()
    with locked(impatient, table), pytest.raises(LockedStore):
        impatient.check_readable()
    impatient.check_readable()


def test_asking_whether_a_store_can_be_read_holds_no_table(impatient):
    """Else it and a migration, which changes tables one after another, would wait for each other."""
    with impatient.engine.connect() as other, other.begin():
        other.execute(sa.text("LOCK TABLE value IN ACCESS EXCLUSIVE MODE"))
        with ThreadPoolExecutor(1) as threads:
            asked = threads.submit(impatient.check_readable)
            while not other.execute(sa.text(WAITING)).scalar():
                assert not asked.done()
            other.execute(sa.text("SET LOCAL lock_timeout = '50ms'"))
            for table in ("project", "machine", "benchmark", "series"):
                other.execute(sa.text(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE"))
            with pytest.raises(LockedStore):
                asked.result()


def test_a_snapshot_begun_with_a_wait_of_its_own_is_known_again(impatient):
    for answer in (1, 2):
        with impatient.reading() as connection:
            assert cached_for_snapshot(connection, "key", lambda answer=answer: answer) == 1


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
