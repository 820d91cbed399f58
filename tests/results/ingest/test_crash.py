"""Many writers at once, and writers killed at any moment."""

from __future__ import annotations

import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest
import sqlalchemy as sa

from results.database.schema import Base, Source, Value
from results.errors import ResultsError
from results.store import OpenMode, open_store

ROOT = Path(__file__).parents[3]
# Everything but when and from where, and what was judged: whoever asks judges what a killed ingest did not.
NOT_CONTENT = {"source", "quarantine", "judged_series", "judged_place"}


@pytest.fixture
def trees(tmp_path, write_asv_run, timed, journals):
    """Eight trees that overlap: each holds most of the same runs, and one of its own."""
    grid = {"result": [float(i) for i in range(60)], "params": [[str(i) for i in range(60)]], "version": "g"}
    suite = {"s.time_it": timed(1e-3), "s.track_grid": grid, "s.time_other": timed(2e-3)}
    whole = tmp_path / "whole"
    for number in range(12):
        date = 1_700_000_000_000 + number * 86_400_000
        write_asv_run(whole, suite, commit=journals.commit_hash(number), date=date)
    journals.write_journals(whole, journals.history(2, operations=("mlp",)))
    folders = []
    for number in range(8):
        folder = tmp_path / f"tree{number}"
        shutil.copytree(whole, folder)
        left_out = journals.commit_hash(number)
        for path in folder.rglob(f"{left_out[:8]}-virtualenv*.json"):
            path.unlink()
        folders.append(folder)
    return whole, folders


@pytest.fixture
def large_tree(tmp_path, write_asv_run, timed, journals):
    """A tree that takes long enough to go in for a kill to strike in its middle, on a fast machine too."""
    size = 2000
    grid = {"result": [float(i) for i in range(size)], "params": [[str(i) for i in range(size)]], "version": "g"}
    folder = tmp_path / "large"
    for number in range(24):
        date = 1_700_000_000_000 + number * 86_400_000
        suite = {"s.time_it": timed(1e-3), "s.track_grid": grid}
        write_asv_run(folder, suite, commit=journals.commit_hash(number), date=date)
    journals.write_journals(folder, journals.history(2, operations=("mlp",)))
    return folder


@pytest.fixture
def start_ingest():
    """Start an ingest. Whatever becomes of the test, none is left: a later test would be blamed for its pipes."""
    started = []

    def start(folder, database):
        command = [sys.executable, str(ROOT / "fusebench.py"), "ingest", str(folder), "--db", database]
        command += ["--project", "p"]
        started.append(subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE))
        return started[-1]

    yield start
    for process in started:
        with process:
            process.kill()


def content_of(database):
    """Everything stored, with names in place of ids, so that two databases can be compared."""
    from results.queries import commits, history_of, latest_points, profile_of, values_at

    with open_store(database) as store:
        with store.reading() as connection:
            ids = list(connection.execute(sa.select(Value.series_id).distinct()).scalars())
        histories = sorted(
            repr((history.series.benchmark, history.series.metric, history.series.parameters, history.values))
            for history in history_of(store, series_ids=ids)
        )
        points = latest_points(store)
        profiles = [profile_of(store, point=point) for point in points]
        runs = [(row.commit, len(values_at(store, commit=row.commit))) for row in commits(store)]
        return histories, runs, profiles


def count_rows(database):
    with open_store(database) as store, store.reading() as connection:
        return {
            table.name: connection.execute(sa.select(sa.func.count()).select_from(table)).scalar()
            for table in Base.metadata.sorted_tables
            if table.name not in NOT_CONTENT
        }


@pytest.mark.slow
@pytest.mark.parametrize("round_number", [0, *(pytest.param(n, marks=pytest.mark.exhaustive) for n in range(1, 10))])
def test_eight_processes_at_once_store_every_value_exactly_once(start_ingest, database, tmp_path, trees, round_number):
    whole, folders = trees
    processes = [start_ingest(folder, database) for folder in folders]
    for process in processes:
        _, said = process.communicate(timeout=500)
        assert process.returncode == 0, said.decode()
    alone = str(tmp_path / "alone.db")
    start_ingest(whole, alone).communicate(timeout=500)
    assert count_rows(database) == count_rows(alone)
    found, expected = content_of(database), content_of(alone)
    assert [line for line in found[0] if line not in set(expected[0])] == []
    assert found == expected


@pytest.mark.slow
def test_a_reader_is_never_kept_waiting_or_shown_half_a_file(start_ingest, database, trees):
    whole, _ = trees
    open_store(database).close()
    process = start_ingest(whole, database)
    seen = set()
    with open_store(database) as store:
        while process.poll() is None:
            with store.reading() as connection:
                per_run = sa.select(sa.func.count()).select_from(Value).group_by(Value.run_id)
                seen.update(connection.execute(per_run).scalars())
    process.communicate()
    assert process.returncode == 0
    assert seen <= {62, 76}, "a run is there whole or not at all"


def n_files_in(database):
    """How many files have gone in so far; none if there is no database yet."""
    if "://" not in database:
        return n_files_in_sqlite(database)
    try:
        with open_store(database, mode=OpenMode.READ) as store, store.reading() as connection:
            return connection.execute(sa.select(sa.func.count()).select_from(Source)).scalar()
    except ResultsError:
        return 0


def n_files_in_sqlite(path):
    """As n_files_in, in a fraction of the time that a file takes to go in."""
    try:
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
            return connection.execute("SELECT count(*) FROM source").fetchone()[0]
    except sqlite3.OperationalError:
        return 0


def kill_in_the_middle(process, database, chance, *, n_files):
    """SIGKILL when a random number of files is in, at a random moment of the next; how many were in."""
    n_wanted = chance.randrange(n_files)
    while (n_in := n_files_in(database)) < n_wanted and process.poll() is None:
        time.sleep(0.001)
    time.sleep(chance.uniform(0, 0.03))
    process.send_signal(signal.SIGKILL)
    process.communicate()
    return n_in


def emptied(database):
    """The same PostgreSQL database without its rows: to make another takes seconds of the server's disk."""
    with open_store(database) as store, store.engine.begin() as connection:
        names = ", ".join(table.name for table in Base.metadata.sorted_tables)
        connection.exec_driver_sql(f"TRUNCATE {names}")
    return database


@pytest.mark.slow
@pytest.mark.parametrize("n_kills", [4, pytest.param(20, marks=pytest.mark.exhaustive)])
def test_kill_9_at_any_moment_leaves_a_database_that_the_next_ingest_completes(
    start_ingest, make_database, large_tree, n_kills
):
    undisturbed = make_database()
    start_ingest(large_tree, undisturbed).communicate()
    expected, rows, n_files = content_of(undisturbed), count_rows(undisturbed), n_files_in(undisturbed)
    n_incomplete = 0
    for moment in range(n_kills):
        database = emptied(undisturbed) if "://" in undisturbed else make_database()
        kill_in_the_middle(start_ingest(large_tree, database), database, random.Random(moment), n_files=n_files)
        n_incomplete += 0 < n_files_in(database) < n_files
        if "://" not in database and Path(database).exists():
            connection = sqlite3.connect(database)
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            connection.close()
        _, said = (finished := start_ingest(large_tree, database)).communicate()
        assert finished.returncode == 0, said.decode()
        assert content_of(database) == expected
        assert count_rows(database) == rows
    assert n_incomplete >= n_kills // 2, "the kills missed the ingest"
