"""How things stand: freshness, failures, versions declared equal."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta

import pytest
import sqlalchemy as sa

from results.database.schema import Benchmark
from results.database.transactions import writing
from results.queries import (
    failures,
    freshness,
    history_of,
    latest_points,
    series_where,
    stacks_of,
    values_at,
)
from results.questions.history_tables import run_values
from results.store import open_store

DAY_MS = 86_400_000


@pytest.fixture
def suite(database, tmp_path, write_asv_run, timed):
    """A store, and a way to add an asv run of commit `number` with the given results."""

    def add(number, results):
        commit = f"{number:040x}"
        write_asv_run(tmp_path / "tree", results, commit=commit, date=1_700_000_000_000 + number * DAY_MS)
        store.ingest([tmp_path / "tree"], project="suite")
        return commit

    with open_store(database) as store:
        yield store, add


@pytest.fixture(scope="module")
def sweeps(journals):
    """Four commits of everything; the third is measured at one batch only."""
    sweeps = journals.history(4, operations=("mlp",), hiddens=(256, 512, 1024), batches=(1, 16, 64))
    sweeps[2] = replace(sweeps[2], batches=(1,))
    return sweeps


@pytest.fixture(scope="module")
def filled(shared_database, tmp_path_factory, sweeps, journals):
    """A store of `sweeps`, for reading only."""
    folder = tmp_path_factory.mktemp("data")
    journals.write_journals(folder, sweeps)
    with open_store(shared_database) as store:
        store.ingest([folder])
        yield store


@pytest.fixture
def growing(database, tmp_path, sweeps, journals):
    """As `filled`, of one test's own."""
    journals.write_journals(tmp_path / "data", sweeps)
    with open_store(database) as store:
        store.ingest([tmp_path / "data"])
        yield store


def test_a_journals_stacks_come_back_with_their_times(database, tmp_path, journals):
    (path,) = journals.write_journals(tmp_path, [journals.Sweep(operations=("mlp",), batches=(1,), hiddens=(256,))])
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    stacks = ["aten::linear;aten::addmm 1500", "aten::gelu 500"]
    path.write_text("".join(json.dumps({**line, "stacks": stacks}) + "\n" for line in lines))
    with open_store(database) as store:
        store.ingest([tmp_path])
        found = stacks_of(store, point=latest_points(store)[0])
    assert [stack.frames for stack in found] == [("aten::linear", "aten::addmm"), ("aten::gelu",)]
    assert [stack.time_s for stack in found] == pytest.approx([1.5e-6, 5e-7])


def test_freshness_tells_what_was_left_behind(suite, timed):
    store, add = suite
    for number in range(5):
        results = {"s.time_it": timed(1e-3)}
        if number < 2:
            results["s.time_old"] = timed(1e-3)
        add(number, results)
    found = {row.benchmark: (row.commit, row.n_commits_behind) for row in freshness(store)}
    assert found == {"s.time_it": (f"{4:040x}", 0), "s.time_old": (f"{1:040x}", 3)}
    assert [row.benchmark for row in freshness(store)] == ["s.time_old", "s.time_it"]
    assert freshness(store, machine="elsewhere") == []


def test_freshness_of_a_sweep_is_by_operation(growing, journals, tmp_path):
    newer = replace(journals.history(6, operations=("linear",))[5], batches=(1,))
    journals.write_journals(tmp_path / "more", [newer])
    growing.ingest([tmp_path / "more"])
    found = {row.benchmark: (row.commit, row.n_commits_behind) for row in freshness(growing)}
    assert found == {"mlp": (journals.commit_hash(3), 1), "linear": (newer.commit, 0)}


def test_a_sweep_was_measured_last_when_its_run_measured_last_not_when_that_began(filled, sweeps):
    began = sweeps[3].commit_date + timedelta(hours=1)
    assert {row.measured_at for row in freshness(filled)} == {began + timedelta(minutes=5)}


def test_a_failure_says_since_when_and_when_first(suite, timed):
    store, add = suite
    failing = {"result": [None], "params": [], "version": "v1"}
    for number, results in enumerate([timed(1.0), failing, timed(1.0), failing, failing]):
        add(number, {"s.time_it": results, "s.time_fine": timed(1.0)})
    (row,) = failures(store)
    assert (row.benchmark, row.state, row.commit) == ("s.time_it", "failed", f"{4:040x}")
    assert (row.first_failed, row.last_ok, row.since) == (f"{1:040x}", f"{2:040x}", f"{3:040x}")
    assert row.n_runs == 2


def test_what_is_mended_or_skipped_is_no_failure(suite, timed):
    store, add = suite
    add(0, {"s.time_it": {"result": [None], "params": [], "version": "v1"}})
    add(1, {"s.time_it": timed(1.0), "s.time_na": {"result": [float("nan")], "params": [], "version": "v1"}})
    assert failures(store) == []


def test_a_benchmark_that_failed_when_it_was_last_run_still_fails(suite, timed):
    store, add = suite
    grid = {"result": [1.0, None], "params": [["1", "2"]], "version": "g"}
    add(0, {"s.track_grid": grid})
    add(1, {"s.time_it": timed(1.0)})
    (row,) = failures(store)
    assert [parameter.value for parameter in row.parameters] == [2]
    assert (row.commit, row.last_ok) == (f"{0:040x}", None)


def test_a_point_of_the_sweep_fails_by_its_own_newest_measurement(database, tmp_path, journals):
    sweeps = journals.history(3, operations=("mlp",), batches=(1, 64), hiddens=(256,))
    sweeps[1] = replace(sweeps[1], states={("mlp", "fused"): "crashed"})
    sweeps[2] = replace(sweeps[2], batches=(1,))
    journals.write_journals(tmp_path, sweeps)
    with open_store(database) as store:
        store.ingest([tmp_path])
        (row,) = failures(store)
        batch = next(parameter.value for parameter in row.parameters if parameter.name == "batch")
        assert (row.benchmark, row.metric, row.state, batch) == ("mlp", "latency_s", "crashed", 64)
        assert row.reason
        assert (row.since, row.last_ok) == (journals.commit_hash(1), journals.commit_hash(0))
        assert failures(store, machine="elsewhere") == []


def test_versions_declared_equal_have_one_history_and_are_compared(suite, timed):
    store, add = suite
    commits = [add(number, {"s.time_it": timed(1.0 + number, version=f"v{number // 2}")}) for number in range(4)]
    apart = series_where(store)
    assert [len(history.values) for history in history_of(store, series_ids=[r.series_id for r in apart])] == [2, 2]
    with writing(store.engine) as connection:
        rows = connection.execute(sa.select(Benchmark.version, Benchmark.id))
        ids = {row.version: row.id for row in rows}
        connection.execute(sa.update(Benchmark).where(Benchmark.id == ids["v1"]).values(continues_id=ids["v0"]))
    for history in history_of(store, series_ids=[row.series_id for row in apart]):
        assert [(value.commit, value.value) for value in history.values] == [
            (commit, 1.0 + number) for number, commit in enumerate(commits)
        ]
    for one in run_values(store, series_ids=[row.series_id for row in apart]):
        assert (one.commits, one.values) == (tuple(commits), (1.0, 2.0, 3.0, 4.0))
    before, after = (values_at(store, commit=commit)[0] for commit in (commits[1], commits[2]))
    assert before.series_id == after.series_id
    assert (before.version, after.version) == ("v0", "v1")


@pytest.mark.parametrize(("states", "is_told"), [({}, True), ({("mlp", "fused"): "crashed"}, False)])
def test_what_never_worked_by_a_ruler_tells_when_it_did_by_another(database, tmp_path, journals, states, is_told):
    sweeps = journals.history(3, operations=("mlp",), batches=(1,), hiddens=(256,), ruler_version="4", states=states)
    sweeps[2] = replace(sweeps[2], ruler_version="5", states={("mlp", "fused"): "wrong"})
    journals.write_journals(tmp_path, sweeps)
    with open_store(database) as store:
        store.ingest([tmp_path])
        [row] = failures(store)
    assert (row.version, row.last_ok, row.was_ok) == ("5", None, is_told)
    assert row.last_ok_otherwise == (journals.commit_hash(1) if is_told else None)
