"""--rebuild: the new database is built beside the old one and swapped in whole, on both kinds."""

from __future__ import annotations

import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
import sqlalchemy as sa

from results.database.schema import Run, Value
from results.errors import StoreError
from results.queries import commits
from results.store import open_store
from results.upkeep.housekeeping import store_size
from results.upkeep.integrity import find_faults
from results.upkeep.rebuild import NAMESPACE, REBUILD_LOCK, rebuild_store

ROOT = Path(__file__).parents[3]
A, B = "a" * 40, "b" * 40


@pytest.fixture
def tree(tmp_path, write_asv_run, timed):
    """An asv tree of two commits of four values each."""
    for commit in (A, B):
        grid = {"result": [1.0, 2.0, None], "params": [["10", "1e3", "'x'"]], "version": "g"}
        write_asv_run(tmp_path / "tree", {"s.time_it": timed(1e-3), "s.track_grid": grid}, commit=commit)
    return tmp_path / "tree"


def of_commit(tree, commit):
    (path,) = tree.rglob(f"{commit[:8]}*.json")
    return path


def rebuild(database, *paths, may_lose=False):
    return rebuild_store(database, paths, project="p", may_lose=may_lose, on_progress=None)


def is_sqlite(database):
    return "://" not in database


def leftovers(database):
    """What a rebuild builds in, if it is still there."""
    if is_sqlite(database):
        return list(Path(database).parent.glob("*.rebuild-*"))
    engine = sa.create_engine(database)
    with engine.connect() as connection:
        found = [name for name in sa.inspect(connection).get_schema_names() if name == NAMESPACE]
    engine.dispose()
    return found


def counts(store):
    """How many runs there are, and values by run, as one reader sees them with some time in between."""
    with store.reading() as connection:
        per_run = sa.select(sa.func.count()).select_from(Value).group_by(Value.run_id)
        values = tuple(connection.execute(per_run).scalars())
        time.sleep(0.05)
        n_runs = connection.execute(sa.select(sa.func.count()).select_from(Run)).scalar()
        return n_runs, values


def test_a_rebuilt_store_holds_what_the_old_one_held_and_leaves_nothing_beside_it(database, tree):
    with open_store(database) as store:
        store.ingest([tree], project="p")
        before = store_size(store).n_rows
    _, report = rebuild(database, tree)
    assert (report.n_values, leftovers(database)) == (8, [])
    with open_store(database) as store:
        assert store_size(store).n_rows == before
        assert find_faults(store) == []
        assert store.ingest([tree], project="p").n_files_unchanged == 3


def test_a_rebuilt_store_has_every_key_index_and_reference(database, tree, differences_from_the_code):
    rebuild(database, tree)
    rebuild(database, tree)
    with open_store(database) as store, store.reading() as connection:
        assert differences_from_the_code(connection) == []


def test_a_rebuild_that_would_lose_runs_leaves_the_old_store_as_it_is(database, tree):
    with open_store(database) as store:
        store.ingest([tree], project="p")
    of_commit(tree, B).unlink()
    with pytest.raises(StoreError, match=r"1 runs .* would be lost"):
        rebuild(database, tree)
    assert leftovers(database) == []
    with open_store(database) as store:
        assert [row.commit for row in commits(store)] == [A, B]
    rebuild(database, tree, may_lose=True)
    with open_store(database) as store:
        assert [row.commit for row in commits(store)] == [A]


def test_the_same_run_of_another_project_is_no_substitute(database, tree):
    with open_store(database) as store:
        store.ingest([tree], project="another")
    with pytest.raises(StoreError, match=r"2 runs .* would be lost"):
        rebuild(database, tree)


@contextmanager
def reader(database):
    """Read over and over in a thread; what was seen and what went wrong."""
    seen, wrong, stop = set(), [], threading.Event()

    def read():
        while not stop.is_set():
            try:
                with open_store(database) as store:
                    seen.add(counts(store))
            except Exception as error:  # noqa: BLE001 - the test tells it
                wrong.append(error)
                return

    thread = threading.Thread(target=read)
    thread.start()
    try:
        yield seen, wrong
    finally:
        stop.set()
        thread.join()


def test_readers_see_the_old_store_or_the_new_one_and_never_half(database, tree):
    with open_store(database) as store:
        store.ingest([of_commit(tree, A)], project="p")
    with reader(database) as (seen, wrong):
        for attempt in range(4):
            rebuild(database, tree if attempt % 2 == 0 else of_commit(tree, A), may_lose=True)
    assert wrong == []
    assert seen <= {(1, (4,)), (2, (4, 4))}


def test_an_ingest_that_remembers_the_old_store_stops_and_says_so(database, tree, write_asv_run, timed):
    with open_store(database) as store:
        store.ingest([tree], project="p")
        rebuild(database, tree)
        write_asv_run(tree, {"s.time_it": timed(1.0)}, commit="c" * 40)
        with pytest.raises(StoreError, match="rebuilt by another process meanwhile"):
            store.ingest([tree], project="p")
    with open_store(database) as store:
        assert store.ingest([tree], project="p").n_values == 1


def test_a_second_rebuild_at_once_is_refused(database, tree):
    if is_sqlite(database):
        pytest.skip("files are built under names of their own")
    with open_store(database) as store, store.engine.connect() as connection:
        connection.execute(sa.select(sa.func.pg_advisory_lock(REBUILD_LOCK)))
        with pytest.raises(StoreError, match="another process is rebuilding"):
            rebuild(database, tree)


def test_a_rebuilt_file_is_written_ahead_like_any_other(tmp_path, tree):
    database = str(tmp_path / "x.db")
    rebuild(database, tree)
    connection = sqlite3.connect(database)
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    connection.close()


def test_a_file_whose_mode_was_changed_is_written_ahead_once_opened(tmp_path):
    database = str(tmp_path / "x.db")
    open_store(database).close()
    connection = sqlite3.connect(database)
    connection.execute("PRAGMA journal_mode = DELETE")
    connection.close()
    open_store(database).close()
    connection = sqlite3.connect(database)
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    connection.close()


def test_what_a_killed_rebuild_left_is_removed_by_the_next(tmp_path, tree):
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    left = tmp_path / f"x.db.rebuild-{ended.pid}"
    ours = tmp_path / "x.db.rebuild-1"  # process 1 is alive
    for path in (left, ours):
        path.write_bytes(b"half")
    rebuild(str(tmp_path / "x.db"), tree)
    assert (left.exists(), ours.exists()) == (False, True)


@pytest.mark.slow
def test_kill_9_during_a_rebuild_leaves_the_old_store_or_the_new_one(database, tree):
    command = [sys.executable, str(ROOT / "fusebench.py"), "ingest", str(tree), "--db", database, "--project", "p"]
    with open_store(database) as store:
        store.ingest([of_commit(tree, A)], project="p")
    started = time.perf_counter()
    subprocess.run([*command, "--rebuild"], check=True, capture_output=True, cwd=ROOT)
    takes_s = time.perf_counter() - started
    for moment in range(6):
        if moment % 2:
            rebuild(database, of_commit(tree, A), may_lose=True)
        process = subprocess.Popen([*command, "--rebuild"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT)
        time.sleep(random.Random(moment).uniform(0.4, 1.0) * takes_s)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        with open_store(database) as store:
            assert counts(store) in {(1, (4,)), (2, (4, 4))}
            assert find_faults(store) == []
    rebuild(database, tree)
    with open_store(database) as store:
        assert counts(store) == (2, (4, 4))
    assert leftovers(database) == []
