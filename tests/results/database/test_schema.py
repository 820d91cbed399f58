from __future__ import annotations

import contextlib
import os
import re
import sqlite3
from pathlib import Path

import pytest
import sqlalchemy as sa

from results.database.schema import Base
from results.database.transactions import VERSION_TABLE
from results.database.upgrade import SCHEMA_VERSION
from results.errors import NewerSchema, NoStore, NotAStore, StoreError
from results.queries import projects
from results.store import OpenMode, open_store

PAGE = Path(__file__).parents[3] / "docs" / "schema.md"
CLAIM_NEWER = f"UPDATE {VERSION_TABLE} SET version_num = '9999'"  # noqa: S608 - our own name
COLUMN_TYPES = {
    "UtcDateTime": "moment", "Text": "text", "Integer": "integer", "BigInteger": "integer", "Double": "number",
    "JSON": "json", "LargeBinary": "bytes", "Boolean": "boolean",
}  # fmt: skip


def test_migrations_lead_to_the_tables_of_the_code(opened, differences_from_the_code):
    with opened.reading() as connection:
        assert differences_from_the_code(connection) == []


def test_an_index_includes_what_the_code_says(opened):
    """Alembic compares an index's columns, and not what it includes or leaves out."""
    if opened.engine.dialect.name != "postgresql":
        pytest.skip("SQLite has no such indexes")
    of_value = "SELECT indexname, indexdef FROM pg_indexes WHERE tablename = 'value' AND schemaname = current_schema()"
    with opened.engine.connect() as connection:
        migrated = {row.indexname: row.indexdef for row in connection.exec_driver_sql(of_value)}
        connection.exec_driver_sql("CREATE SCHEMA coded")
        connection.exec_driver_sql("SET search_path TO coded")
        Base.metadata.create_all(connection)
        coded = {
            row.indexname: row.indexdef.replace(" coded.", " public.") for row in connection.exec_driver_sql(of_value)
        }
        connection.rollback()
    assert migrated == coded
    assert " INCLUDE (state, median, " in migrated["ix_value_series_id_run_id"]


def test_the_page_draws_the_tables_of_the_code():
    drawn = {
        table: dict(reversed(line.split()[:2]) for line in columns.strip().splitlines())
        for table, columns in re.findall(r"^    (\w+) \{\n(.*?)^    \}", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    }
    coded = {
        name: {column.name: COLUMN_TYPES[type(column.type).__name__] for column in table.columns}
        for name, table in Base.metadata.tables.items()
    }
    assert drawn == coded


def test_the_page_draws_what_refers_to_what():
    drawn = set(re.findall(r"^    (\w+) \|\|--o\{ (\w+) : \"([^\"]+)\"", PAGE.read_text(), re.MULTILINE))
    coded = {
        (key.referred_table.name, name, " ".join(column.name for column in key.columns))
        for name, table in Base.metadata.tables.items()
        for key in table.foreign_key_constraints
    }
    assert drawn == coded


def test_the_page_names_the_current_version():
    assert f"version {SCHEMA_VERSION}" in PAGE.read_text().splitlines()[0]


def test_opening_twice_migrates_once(database):
    for _ in range(2):
        open_store(database).close()


def test_a_newer_schema_is_refused_and_left_alone(tmp_path):
    path = tmp_path / "x.db"
    open_store(str(path)).close()
    with sqlite3.connect(path) as connection:
        connection.execute(CLAIM_NEWER)
    connection.close()
    with pytest.raises(NewerSchema, match=r"schema 9999.*Upgrade fusebench"):
        open_store(str(path))


def test_a_newer_schema_is_refused_on_any_database(database):
    with open_store(database) as store, store._engine.begin() as connection:
        connection.exec_driver_sql(CLAIM_NEWER)
    with pytest.raises(NewerSchema):
        open_store(database)


def test_somebody_elses_database_is_refused_and_left_alone(tmp_path):
    path = tmp_path / "x.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE recipe (id INTEGER)")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(NotAStore, match="recipe"):
        open_store(str(path))
    assert path.read_bytes() == before


def test_a_file_that_is_no_database_is_refused_and_says_what_is_safe(tmp_path):
    path = tmp_path / "x.db"
    path.write_bytes(b"hello, I am a text file and no database" * 100)
    with pytest.raises(NotAStore, match="files it was made from are untouched"):
        open_store(str(path))


def test_a_folder_is_refused(tmp_path):
    with pytest.raises(NotAStore, match="is a folder"):
        open_store(str(tmp_path))


def test_reading_where_there_is_nothing_creates_nothing(tmp_path):
    with pytest.raises(NoStore, match="make bench"):
        open_store(str(tmp_path / "x.db"), mode=OpenMode.READ)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("content", ["nothing", "no table"])
def test_reading_what_holds_nothing_yet_writes_nothing_into_it(tmp_path, content):
    path = tmp_path / "x.db"
    path.touch()
    if content == "no table":
        with contextlib.closing(sqlite3.connect(path)) as connection:
            connection.execute("VACUUM")
    before = path.read_bytes()
    with pytest.raises(NoStore, match=r"x\.db holds nothing yet.*fusebench ingest"):
        open_store(str(path), mode=OpenMode.READ)
    assert path.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == ["x.db"]
    with open_store(str(path)) as store:
        assert projects(store) == []


def test_a_database_that_is_gone_is_not_made_anew_by_who_goes_on_reading(tmp_path):
    path = tmp_path / "x.db"
    with open_store(str(path)) as store:
        assert projects(store) == []
        store.engine.dispose()  # as of a further thread, which has no connection yet
        path.unlink()
        with pytest.raises(NoStore, match=r"no database at .* any more"):
            projects(store)
        assert not path.exists()


def test_another_kind_of_database_is_refused_by_name():
    with pytest.raises(StoreError, match="mysql"):
        open_store("mysql://nobody@nowhere/none")


def test_a_password_is_never_shown(database):
    url = sa.make_url("postgresql+psycopg://me:secret@127.0.0.1:1/none")
    with pytest.raises(StoreError) as raised:
        open_store(url.render_as_string(hide_password=False))
    assert "secret" not in str(raised.value)


def test_without_a_url_the_environment_names_the_database(tmp_path, monkeypatch):
    monkeypatch.setenv("FUSEBENCH_DB", str(tmp_path / "named.db"))
    open_store().close()
    assert (tmp_path / "named.db").exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_says_so(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(StoreError):
        open_store(str(tmp_path / "sub" / "x.db"))
