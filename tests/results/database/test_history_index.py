"""SQLite's index of histories: there when it helps, missing when it would hinder, and never needed for an answer."""

from __future__ import annotations

import pytest
import sqlalchemy as sa

from results.database import history_index
from results.queries import history_of, series_where
from results.store import open_store
from results.upkeep.merge import merge

N_SERIES = 400


@pytest.fixture
def write_runs(tmp_path, write_asv_run):
    """A function: a tree of runs of these numbers, 400 series each, of which one has failed."""

    def write(name, numbers):
        grid = {
            "params": [[str(i) for i in range(40)], [str(i) for i in range(10)]],
            "version": "g",
        }
        for number in numbers:
            results = {"s.track_grid": grid | {"result": [float(number)] * (N_SERIES - 1) + [None]}}
            write_asv_run(
                tmp_path / name, results, commit=f"{number:08x}" * 5, date=1_700_000_000_000 + number * 86_400_000
            )
        return tmp_path / name

    return write


@pytest.fixture
def sqlite_store(tmp_path):
    with open_store(str(tmp_path / "x.db")) as store:
        yield store


def is_there(store):
    with store.reading() as connection:
        return history_index.is_there(connection)


def drop(store):
    history_index.leave_out(store.engine, n_new_runs=1_000_000)


def all_histories(store):
    return history_of(store, series_ids=[row.series_id for row in series_where(store)])


def test_a_few_values_need_none(sqlite_store, write_runs):
    sqlite_store.ingest([write_runs("a", [1, 2])], project="p")
    assert not is_there(sqlite_store)


def test_histories_are_the_same_with_and_without(sqlite_store, write_runs):
    sqlite_store.ingest([write_runs("a", [3, 1, 2])], project="p")
    assert is_there(sqlite_store)
    with_it = all_histories(sqlite_store)
    assert [value.value for value in with_it[0].values] == [1.0, 2.0, 3.0]
    assert {value.state for value in with_it[-1].values} == {"failed"}
    drop(sqlite_store)
    assert not is_there(sqlite_store)
    assert all_histories(sqlite_store) == with_it


def test_a_history_is_read_from_it_alone(sqlite_store, write_runs):
    sqlite_store.ingest([write_runs("a", range(3))], project="p")
    asked = []
    sa.event.listen(sqlite_store.engine, "before_cursor_execute", lambda *told: asked.append(told[2:4]))
    history_of(sqlite_store, series_ids=[1])
    (statement,) = [told for told in asked if "value.median" in told[0]]
    with sqlite_store.reading() as connection:
        (row,) = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement[0]}", statement[1])
    assert f"USING COVERING INDEX {history_index.NAME} (series_id=?)" in row[3]


def test_it_is_left_out_while_many_runs_come_and_kept_while_few_do(sqlite_store, write_runs):
    """And whoever reads meanwhile is answered, by another connection that had the index before."""
    sqlite_store.ingest([write_runs("a", range(20))], project="p")
    seen = []
    with open_store(sqlite_store.name) as reader:
        assert len(all_histories(reader)[0].values) == 20

        def look(_):
            seen.append((is_there(reader), len(all_histories(reader)[0].values)))

        sqlite_store.ingest([write_runs("few", [20])], project="p", on_progress=look)
        assert seen[-1] == (True, 21)
        sqlite_store.ingest([write_runs("many", range(21, 24))], project="p", on_progress=look)
        assert seen[-1] == (False, 24)
        assert is_there(reader)


def test_what_a_killed_ingest_left_out_the_next_one_makes(sqlite_store, write_runs):
    tree = write_runs("a", range(3))
    sqlite_store.ingest([tree], project="p")
    drop(sqlite_store)
    report = sqlite_store.ingest([tree], project="p")
    assert report.n_values == 0
    assert is_there(sqlite_store)


def test_a_merge_leaves_it_out_while_it_brings_many_runs_and_only_then(sqlite_store, write_runs, tmp_path):
    sqlite_store.ingest([write_runs("a", range(3))], project="p")
    dropped = []
    sa.event.listen(
        sqlite_store.engine,
        "before_cursor_execute",
        lambda *told: dropped.append(told[2]) if told[2].startswith("DROP INDEX") else None,
    )
    with open_store(str(tmp_path / "other.db")) as other:
        other.ingest([write_runs("b", range(3, 6))], project="p")
        merge(sqlite_store, other)
        assert len(dropped) == 1
        assert is_there(sqlite_store)
        merge(sqlite_store, other)
        assert len(dropped) == 1
    assert [value.value for value in all_histories(sqlite_store)[0].values] == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]


def test_another_database_keeps_its_own_indexes(opened, write_runs):
    if opened.engine.dialect.name == "sqlite":
        pytest.skip("SQLite has the one that may be missing")

    def indexes():
        return sorted(index["name"] for index in sa.inspect(opened.engine).get_indexes("value"))

    before = indexes()
    opened.ingest([write_runs("a", range(3))], project="p")
    history_index.leave_out(opened.engine, n_new_runs=1_000_000)
    assert before
    assert indexes() == before
