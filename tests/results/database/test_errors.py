"""What can be wrong with a database: each is told clearly, with what is safe and what to do; nothing is lost."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy import event

from results.database.schema import Quarantine, Value
from results.errors import NotAStore, StoreError
from results.exit_codes import ExitCode
from results.queries import commits
from results.store import OpenMode, open_store
from results.upkeep.housekeeping import compact, store_size
from results.upkeep.integrity import find_faults

ROOT = Path(__file__).parents[3]
NOBODY = 65534


@pytest.fixture
def tree(tmp_path, write_asv_run, timed):
    """An asv tree of six commits of 2,000 values each."""
    grid = {"result": [float(i) for i in range(2000)], "params": [[repr(i) for i in range(2000)]], "version": "g"}
    for number in range(6):
        write_asv_run(tmp_path / "tree", {"s.track_grid": grid}, commit=f"{number:x}" * 40)
    return tmp_path / "tree"


# Becomes somebody else once everything is loaded: not everybody may read the checkout.
AS_SOMEBODY_ELSE = f"""
import os, sys, encodings.idna, alembic.command, sqlalchemy.dialects.sqlite
import fusebench, results.commands.ingest, results.commands.show, results.commands.store
os.setgroups([])
os.setgid({NOBODY})
os.setuid({NOBODY})
fusebench.main()
"""


def fusebench(*arguments):
    command = [sys.executable, str(ROOT / "fusebench.py"), *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def n_values(db):
    with open_store(str(db)) as store, store.reading() as connection:
        assert find_faults(store) == []
        return connection.execute(sa.select(sa.func.count()).select_from(Value)).scalar()


def test_a_database_that_is_full_keeps_what_it_has_and_the_next_ingest_completes_it(tmp_path, tree):
    """SQLite's own limit on its size says what a full disk says."""
    db = tmp_path / "x.db"
    with open_store(str(db)) as store:
        store.engine.dispose()

        @event.listens_for(store.engine, "connect")
        def _limit(connection, _record):
            connection.execute("PRAGMA max_page_count = 190")

        with pytest.raises(StoreError, match=r"is the disk full.*stored before is safe; free space and run it again"):
            store.ingest([tree])
        with store.reading() as connection:
            assert not connection.execute(sa.select(Quarantine.path)).all(), "the files are not to blame"
    before = n_values(db)
    assert before % 2000 == 0
    assert 0 < before < 12_000
    with open_store(str(db)) as store:
        store.ingest([tree])
    assert n_values(db) == 12_000


@pytest.fixture
def small_disk(tmp_path):
    """A disk of 0.7 MB, where we may mount one."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=700k", "tmpfs", folder], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("no right to mount a small disk")
    yield folder
    subprocess.run(["umount", folder], check=True)


@pytest.mark.skipif(not shutil.which("mount"), reason="no mount")
def test_a_full_disk_is_told_and_nothing_is_lost(small_disk, tmp_path, tree):
    db = small_disk / "x.db"
    answer = fusebench("ingest", tree, "--db", db)
    assert answer.returncode == ExitCode.FAILED
    assert "free space and run it again" in answer.stderr
    assert "Traceback" not in answer.stderr
    shutil.copytree(small_disk, tmp_path / "larger")
    moved = tmp_path / "larger" / "x.db"
    assert n_values(moved) % 2000 == 0
    assert fusebench("ingest", tree, "--db", moved).returncode == ExitCode.FINE
    assert n_values(moved) == 12_000


def damage(db, *, at):
    content = bytearray(db.read_bytes())
    for page in range(at, len(content) // 4096, 3):
        content[page * 4096 : page * 4096 + 200] = b"\xff" * 200
    db.write_bytes(content)


def test_a_damaged_database_is_told_at_ingest_and_no_file_is_blamed(tmp_path, tree, write_asv_run, timed):
    db = tmp_path / "x.db"
    with open_store(str(db)) as store:
        store.ingest([tree])
    damage(db, at=60)
    write_asv_run(tree, {"s.track_grid": {"result": [1.0], "params": [["'new'"]], "version": "g"}}, commit="0" * 40)
    answer = fusebench("ingest", tree, "--db", db)
    assert answer.returncode == ExitCode.FAILED
    assert "is damaged or no database" in answer.stderr
    assert "move it away and run `fusebench ingest` again" in answer.stderr
    connection = sqlite3.connect(db)
    assert connection.execute("SELECT count(*) FROM quarantine").fetchone() == (0,)
    connection.close()


def test_store_check_says_that_a_database_is_damaged(tmp_path, tree):
    db = tmp_path / "x.db"
    with open_store(str(db)) as store:
        store.ingest([tree])
    damage(db, at=60)
    answer = fusebench("store", "check", "--db", db)
    assert answer.returncode == ExitCode.FAILED
    assert "Traceback" not in answer.stderr


def test_a_database_that_is_cut_off_is_refused(tmp_path, tree):
    db = tmp_path / "x.db"
    with open_store(str(db)) as store:
        store.ingest([tree])
    db.write_bytes(db.read_bytes()[:3000])
    with pytest.raises(NotAStore, match="damaged"):
        open_store(str(db))


@pytest.fixture
def shared(tree):
    """A folder that everybody may look into, with the tree and its database."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    shutil.copytree(tree, folder / "tree")
    (folder / "db").mkdir()
    with open_store(str(folder / "db" / "x.db")) as store:
        store.ingest([folder / "tree"])
    for path in folder.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)
    yield folder
    shutil.rmtree(folder)


def as_somebody_else(*arguments):
    """Run the command as a user to whom nothing belongs; skipped where we cannot."""
    if os.geteuid() != 0:
        pytest.skip("only root may become somebody else")
    command = [sys.executable, "-c", AS_SOMEBODY_ELSE, *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_a_database_that_may_not_be_written_can_be_read(shared):
    db = shared / "db" / "x.db"
    before = db.read_bytes()
    answer = as_somebody_else("store", "info", "--db", db)
    assert answer.returncode == ExitCode.FINE, answer.stderr
    assert "12,000  value" in answer.stdout
    assert [path.name for path in db.parent.iterdir()] == ["x.db"]
    assert db.read_bytes() == before


@pytest.mark.parametrize("command", [("ingest", "TREE"), ("ingest", "TREE", "--rebuild"), ("store", "compact")])
def test_writing_where_one_may_not_is_refused_and_changes_nothing(shared, command):
    db = shared / "db" / "x.db"
    before = db.read_bytes()
    arguments = [shared / "tree" if argument == "TREE" else argument for argument in command]
    answer = as_somebody_else(*arguments, "--db", db)
    assert answer.returncode == ExitCode.FAILED
    assert "read-only" in answer.stderr or "may not be written" in answer.stderr
    assert "another --db" in answer.stderr
    assert "Traceback" not in answer.stderr
    assert db.read_bytes() == before


def test_a_new_database_where_one_may_not_write_is_refused(shared):
    for db in (shared / "db" / "new.db", shared / "db" / "sub" / "new.db"):
        answer = as_somebody_else("ingest", shared / "tree", "--db", db)
        assert answer.returncode == ExitCode.FAILED
        assert "name another --db" in answer.stderr
        assert not db.exists()


def test_a_database_with_content_in_its_log_is_not_read_without_it(shared):
    db = shared / "db" / "x.db"
    writer = sqlite3.connect(db)
    writer.execute("UPDATE project SET name = 'in the log'")
    writer.commit()
    answer = as_somebody_else("store", "info", "--db", db)
    writer.close()
    assert answer.returncode == ExitCode.FAILED
    assert "Copy both to a folder of yours" in answer.stderr


def test_a_database_that_may_not_be_read_says_so(shared):
    db = shared / "db" / "x.db"
    db.chmod(0o600)
    assert "may not be read by this user" in as_somebody_else("store", "info", "--db", db).stderr


def test_reading_a_database_that_one_may_write_is_not_held_up_by_the_log_of_others(tmp_path, tree):
    db = str(tmp_path / "x.db")
    with open_store(db) as writer:
        writer.ingest([tree])
        with open_store(db, mode=OpenMode.READ) as reader:
            assert len(commits(reader)) == 6
            compact(writer)
            assert store_size(reader).n_rows["value"] == 12_000


def test_a_server_that_is_not_there_is_named_without_its_password():
    answer = fusebench("store", "info", "--db", "postgresql://me:secret@127.0.0.1:1/none")
    assert answer.returncode == ExitCode.FAILED
    assert "127.0.0.1" in answer.stderr
    assert "secret" not in answer.stderr
    assert "Traceback" not in answer.stderr
