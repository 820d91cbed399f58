"""Databases of every released schema, frozen as dumps, brought up to date with all they hold."""

from __future__ import annotations

import re
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic.runtime.migration import HeadMaintainer

from results.database.schema import Commit, Quarantine, Series, Triage
from results.database.transactions import VERSION_TABLE
from results.database.upgrade import SCHEMA_VERSION
from results.errors import NewerSchema
from results.queries import commits, history_of, latest_points, profile_of, values_at
from results.store import open_store
from results.upkeep.housekeeping import store_size
from results.upkeep.integrity import find_faults

ROOT = Path(__file__).parents[3]
DUMPS = Path(__file__).parent / "schemas"
VERSIONS = sorted({path.name.split(".")[0] for path in DUMPS.glob("*.sql")})
A, B = "a" * 40, "b" * 40


def load(database, version):
    """Make `database` what a fusebench of schema `version` left."""
    if "://" not in database:
        connection = sqlite3.connect(database)
        connection.executescript((DUMPS / f"{version}.sqlite.sql").read_text())
        connection.close()
        return
    engine = sa.create_engine(database)
    with engine.connect() as connection:
        driver = connection.connection.driver_connection
        driver.execute((DUMPS / f"{version}.postgresql.sql").read_text())
        driver.commit()
    engine.dispose()


@pytest.fixture(params=VERSIONS)
def old(request, database):
    """The URL of a database of each released schema."""
    load(database, request.param)
    return database


def version_of(database):
    engine = sa.create_engine(database if "://" in database else f"sqlite:///{database}")
    with engine.connect() as connection:
        version = connection.exec_driver_sql(f"SELECT version_num FROM {VERSION_TABLE}").scalar()  # noqa: S608 - ours
    engine.dispose()
    return version


def test_every_step_but_the_newest_has_its_frozen_dump():
    steps = sorted(path.name[:4] for path in (ROOT / "results" / "database" / "migrations" / "versions").glob("0*.py"))
    assert steps[-1] == SCHEMA_VERSION
    assert steps[:-1] == VERSIONS


def test_an_old_store_gets_the_tables_of_the_code(old, differences_from_the_code):
    with open_store(old) as store, store.reading() as connection:
        assert differences_from_the_code(connection) == []
    assert version_of(old) == SCHEMA_VERSION


def test_what_an_old_store_holds_is_answered_as_before(old):
    with open_store(old) as store:
        assert find_faults(store) == []
        rows = store_size(store).n_rows
        assert (rows["run"], rows["value"], rows["measurement"], rows["profile"]) == (4, 34, 4, 4)
        assert [row.state for row in values_at(store, commit=A)] == ["ok", "ok", "failed", "skipped", "ok"]
        points = latest_points(store)
        assert [(row.provider, row.state) for row in points] == [("eager", "ok"), ("fused", "ok")]
        assert all(profile_of(store, point=point).operators for point in points)
        assert {row.commit for row in commits(store)} >= {A, B}
        with store.reading() as connection:
            assert connection.execute(sa.select(sa.func.count()).select_from(Quarantine)).scalar() == 1
            (triage,) = connection.execute(sa.select(Triage.__table__)).all()
        assert (triage.decision, triage.note, triage.decided_by) == ("accepted", "by hand", "somebody")


def test_an_old_store_keeps_the_order_it_had(old):
    with open_store(old) as store:
        with store.reading() as connection:
            assert all(
                row.ordered_at == row.date and row.position is None
                for row in connection.execute(sa.select(Commit.__table__))
            )
            ids = list(connection.execute(sa.select(Series.id)).scalars())
        for history in history_of(store, series_ids=ids):
            dates = [value.commit_date for value in history.values]
            assert dates == sorted(dates)


def test_an_old_store_takes_new_files(old, tmp_path, write_asv_run, timed, journals):
    write_asv_run(tmp_path / "new", {"s.time_it": timed(1e-3, version="v2")}, commit="c" * 40, date=1_700_000_002_000)
    journals.write_journals(tmp_path / "new", journals.history(3, operations=("mlp",))[2:])
    with open_store(old) as store:
        assert store.ingest([tmp_path / "new"], project="frozen").problems == ()
        assert len({row.commit for row in commits(store)}) == 6


@pytest.mark.slow
def test_two_processes_that_open_an_old_store_at_once_migrate_it_once(old):
    command = [sys.executable, str(ROOT / "fusebench.py"), "store", "info", "--db", old]
    both = [subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(2)]
    for process in both:
        _, said = process.communicate(timeout=120)
        assert process.returncode == 0, said.decode()
    assert version_of(old) == SCHEMA_VERSION


def test_a_step_that_fails_leaves_the_old_store_whole(old, monkeypatch):
    """As when the disk is full or the process is killed: all steps are one transaction."""

    class KilledError(Exception):
        pass

    def fail(_maintainer, step):
        if step.to_revisions == (SCHEMA_VERSION,):
            raise KilledError

    before = version_of(old)
    monkeypatch.setattr(HeadMaintainer, "update_to_step", fail)
    with pytest.raises(KilledError):
        open_store(old)
    assert version_of(old) == before
    monkeypatch.undo()
    with open_store(old) as store:
        assert store_size(store).n_rows["value"] == 34


def test_an_older_fusebench_refuses_a_newer_store_and_says_what_to_do(database, monkeypatch):
    open_store(database).close()
    monkeypatch.setattr("results.database.upgrade.SCHEMA_VERSION", "0001")
    with pytest.raises(NewerSchema, match=rf"schema {SCHEMA_VERSION}, this fusebench knows 0001; nothing was changed"):
        open_store(database)
    assert version_of(database) == SCHEMA_VERSION


def test_a_downgrade_is_refused_and_says_what_to_do_instead(database):
    from alembic import command
    from alembic.config import Config

    with open_store(database) as store, store.engine.begin() as connection:
        config = Config()
        config.set_main_option("script_location", str(ROOT / "results" / "database" / "migrations"))
        config.attributes |= {"connection": connection, "version_table": VERSION_TABLE}
        with pytest.raises(NotImplementedError, match=re.escape("build one again with `fusebench ingest`")):
            command.downgrade(config, "-1")
    assert version_of(database) == SCHEMA_VERSION
