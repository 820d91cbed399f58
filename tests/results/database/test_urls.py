"""Which databases a person may name, how, and that no message repeats a password."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
import sqlalchemy as sa

from results.database.upgrade import OBSOLETE_INDEX
from results.database.urls import displayed, url_from_text
from results.errors import InvalidDatabaseUrl, StoreError
from results.exit_codes import ExitCode
from results.redaction import redact
from results.store import OpenMode, open_store

ROOT = Path(__file__).parents[3]
SECRET = "t0ps3cret"  # noqa: S105 - nobody's

WRONG = {
    "an unknown scheme": "mysql://user:{}@localhost/db",
    "a scheme of another driver": "mongodb+srv://user:{}@localhost/db",
    "no scheme": "user:{}@localhost/db",
    "an empty scheme": "://user:{}@localhost/db",
    "one slash": "postgres:/user:{}@localhost/db",
    "no slashes": "postgres:user:{}@localhost/db",
    "a password without its @": "postgres://user:{}/db",
    "a port that is no number": "postgres://user:{}@localhost:54x2/db",
    "a port out of range": "postgres://user:{}@localhost:99999/db",
    "a port in the query that is no number": "postgres://user:{}@localhost/db?port=abc",
    "an @ in the password": "postgres://user:a@{}@localhost/db",
    "a keyword form of libpq": "host=localhost user=user password={}",
    "a host for SQLite": "sqlite://user:{}@localhost/x.db",
    "an option of SQLite with a wrong value": "sqlite:///x.db?timeout=abc&password={}",
    "the home of nobody": "~no-such-user/u:{}@x.db",
}
IN_MEMORY = (":memory:", "sqlite://", "sqlite:///", "sqlite:///:memory:", "sqlite:///file::memory:?uri=true")


@pytest.mark.parametrize("named", ["postgres", "postgresql", "postgresql+psycopg", "postgresql+psycopg2", "Postgres"])
def test_every_name_of_postgresql_is_accepted(named):
    url = url_from_text(f"{named}://user:pw@localhost:5433/db")
    assert (url.drivername, url.host, url.port, url.password) == ("postgresql+psycopg", "localhost", 5433, "pw")


def test_postgres_is_opened_like_postgresql(database):
    if "://" not in database:
        pytest.skip("SQLite has one name")
    with open_store(database.replace("postgresql+psycopg://", "postgres://")) as store:
        assert store.engine.dialect.name == "postgresql"


@pytest.mark.parametrize("what", WRONG)
def test_what_cannot_be_opened_is_wrong_usage_and_repeats_no_password(what):
    with pytest.raises(InvalidDatabaseUrl, match="Name an SQLite file") as raised:
        url_from_text(WRONG[what].replace("{}", SECRET))
    assert SECRET not in str(raised.value)
    assert raised.value.exit_code == ExitCode.WRONG_USAGE


def test_the_advice_about_an_at_sign_is_read_to_its_end():
    with pytest.raises(InvalidDatabaseUrl) as raised:
        url_from_text(WRONG["an @ in the password"].replace("{}", SECRET))
    assert "holds more than one at sign; write %40 for one in a name or password." in redact(str(raised.value))


def test_an_option_of_sqlite_opens_its_file_as_ever():
    assert url_from_text("sqlite:///x.db?timeout=5").database == "x.db"
    with pytest.raises(InvalidDatabaseUrl, match="has an option `mode`"):
        url_from_text("sqlite:///x.db?mode=ro")


@pytest.mark.parametrize("named", IN_MEMORY)
def test_a_database_in_memory_is_refused_with_advice(named):
    with pytest.raises(InvalidDatabaseUrl, match=r"memory.*ends? with the command.*results/data/fusebench\.db"):
        open_store(named)


def test_a_password_in_the_query_is_not_displayed():
    url = url_from_text(f"postgres://user@localhost/db?password={SECRET}&sslmode=prefer")
    assert url.query["password"] == SECRET, "it still opens the database"
    assert SECRET not in displayed(url)
    assert "sslmode=prefer" in displayed(url)


def fusebench(*arguments, **environ):
    command = [sys.executable, str(ROOT / "fusebench.py"), *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, env={**os.environ, **environ}, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("how", ["option", "environment"])
def test_the_command_exits_64_for_an_unknown_scheme_and_a_port_that_is_no_number(how):
    for what in ("an unknown scheme", "a port that is no number"):
        named = WRONG[what].replace("{}", SECRET)
        answer = fusebench("show", "--db", named) if how == "option" else fusebench("show", FUSEBENCH_DB=named)
        assert answer.returncode == ExitCode.WRONG_USAGE
        assert SECRET not in answer.stdout + answer.stderr
        assert "Traceback" not in answer.stderr


def test_wrong_usage_of_a_command_repeats_no_password():
    for arguments in (("store", "info", f"postgres://u:{SECRET}@h/d"), ("ingest", f"postgres://u:{SECRET}@h/d")):
        answer = fusebench(*arguments)
        assert answer.returncode == ExitCode.WRONG_USAGE
        assert SECRET not in answer.stdout + answer.stderr
        assert "***" in answer.stderr


def test_a_traceback_repeats_no_password():
    """Whatever fails unforeseen with a URL in its words."""
    program = (
        "import sys, fusebench, results.store\n"
        "def fail(url=None, *, mode): raise RuntimeError(f'no idea what {url} is')\n"
        "results.store.open_store = fail\n"
        f"sys.argv = ['fusebench', 'store', 'info', '--db', 'postgres://u:{SECRET}@h/d']\n"
        "fusebench.main()\n"
    )
    answer = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert answer.returncode == ExitCode.OUR_FAULT
    assert "RuntimeError: no idea what postgres://u:***@h/d is" in answer.stderr
    assert SECRET not in answer.stdout + answer.stderr


def test_a_password_is_in_no_line_of_store_output(database):
    if "://" not in database:
        pytest.skip("SQLite has no passwords")
    named = f"{database}?password={SECRET}"
    open_store(named).close()
    for command in ("info", "check", "compact"):
        answer = fusebench("store", command, "--db", named)
        assert answer.returncode == ExitCode.FINE, answer.stderr
        assert SECRET not in answer.stdout + answer.stderr
        assert "password=***" in answer.stdout
    with (
        pytest.raises(StoreError) as raised,
        open_store(f"{named}&passfile=/{SECRET}") as store,
        store.reading() as found,
    ):
        found.execute(sa.text("SELECT nothing FROM nowhere"))
    assert SECRET not in str(raised.value)


@pytest.mark.parametrize("mode", OpenMode)
def test_a_database_with_the_former_index_of_histories_opens(tmp_path, mode):
    """Written by fusebench before docs/adr/0008: opening it for writing drops the index."""
    db = tmp_path / "x.db"
    open_store(str(db)).close()
    with sqlite3.connect(db) as connection:
        connection.execute(f"CREATE INDEX {OBSOLETE_INDEX} ON value (series_id, run_id) WHERE series_id > 0")
    connection.close()
    with open_store(str(db), mode=mode) as store, store.reading() as reader:
        indexes = [row[0] for row in reader.exec_driver_sql("SELECT name FROM sqlite_master WHERE type = 'index'")]
    assert (OBSOLETE_INDEX in indexes) == (mode is OpenMode.READ)
