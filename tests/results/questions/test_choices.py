"""What selectors can offer: sweep points, commits, projects and places, without any measured number."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
import sqlalchemy as sa

from results.database.schema import Commit, Triage
from results.queries import (
    benchmark_names,
    commits,
    freshness,
    history_of,
    known_changes,
    latest_points,
    places,
    point_choices,
    projects,
    series_places,
    series_where,
)
from results.store import open_store

A, B = "a" * 40, "b" * 40


@pytest.fixture(scope="module")
def stored(shared_database, tmp_path_factory, write_asv_run, timed, journals):
    """A sweep on two machines, and an asv suite on a third."""
    folder = tmp_path_factory.mktemp("choices")
    for commit, day in ((A, 0), (B, 1)):
        results = {"s.time_it": timed(1.0), "s.time_more": timed(2.0)}
        write_asv_run(folder / "asv", results, commit=commit, date=1_700_000_000_000 + day * 86_400_000)
    sweeps = journals.history(3, operations=("mlp",))
    sweeps[2] = replace(sweeps[2], batches=(64,), states={("mlp", "fused"): "crashed"})
    elsewhere = [replace(sweep, machine="bench-02") for sweep in journals.history(1, operations=("linear",))]
    journals.write_journals(folder / "sweep", [*sweeps, *elsewhere])
    with open_store(shared_database) as store:
        store.ingest([folder / "sweep"])
        store.ingest([folder / "asv"], project="suite")
        yield store


def test_points_to_choose_are_those_of_the_newest_measurements(stored):
    def chosen(row):
        return (
            row.project, row.machine, row.environment, row.operation, row.provider, row.pass_, row.dtype,
            row.activation, row.batch, row.hidden, row.dim, row.cache, row.weights, row.threads,
            row.measured_at, row.contender,
        )  # fmt: skip

    offered = point_choices(stored)
    assert sorted((*row, row.contender) for row in offered) == sorted(map(chosen, latest_points(stored)))
    assert [row.measured_at for row in offered] == sorted((row.measured_at for row in offered), reverse=True)


def test_choosing_a_point_reads_no_value(stored):
    statements = []

    def keep(_connection, _cursor, statement, *_):
        statements.append(statement)

    sa.event.listen(stored.engine, "before_cursor_execute", keep)
    try:
        point_choices(stored)
        commits(stored)
        places(stored)
    finally:
        sa.event.remove(stored.engine, "before_cursor_execute", keep)
    assert statements
    assert not [statement for statement in statements if "FROM value" in statement or "JOIN value" in statement]


def test_commits_to_choose_come_in_their_order_with_where_the_sweep_was_measured(stored, journals):
    offered = commits(stored)
    in_order = [*(journals.commit_hash(i) for i in range(3))]
    assert [row.commit for row in offered] == [A, B, *in_order]
    assert [(row.subject, row.date) for row in offered][2:] == [
        (sweep.commit_subject, sweep.commit_date) for sweep in journals.history(3)
    ]
    by_commit = {row.commit: row for row in offered}
    assert (by_commit[A].machines, by_commit[A].sweep_machines) == ({"laptop"}, set())
    assert by_commit[journals.commit_hash(0)].sweep_machines == {"bench-01", "bench-02"}
    assert by_commit[journals.commit_hash(1)].sweep_machines == {"bench-01"}
    assert [row.commit for row in commits(stored, project="suite")] == [A, B]


def test_projects_to_choose_tell_whether_they_have_a_sweep(stored):
    assert [(row.project, row.has_sweep) for row in projects(stored)] == [("fusebench", True), ("suite", False)]


def test_places_to_choose_come_newest_first(stored, journals):
    assert [(row.machine, row.last_at) for row in places(stored, project="fusebench")] == [
        ("bench-01", journals.history(3)[2].commit_date),
        ("bench-02", journals.START),
    ]
    assert {row.machine for row in places(stored)} == {"bench-01", "bench-02", "laptop"}


def test_benchmarks_to_choose_are_named_once(stored):
    assert benchmark_names(stored) == ["linear", "mlp", "s.time_it", "s.time_more"]
    assert benchmark_names(stored, project="suite") == ["s.time_it", "s.time_more"]


def test_a_benchmarks_metrics_come_with_where_they_were_measured(stored):
    assert [tuple(row) for row in series_places(stored, project="suite", benchmark="s.time_it")] == [
        ("time", "laptop", "virtualenv-py3.11")
    ]
    found = series_places(stored, project="fusebench", benchmark="linear")
    assert {row.machine for row in found if row.metric == "latency_s"} == {"bench-02"}
    assert series_places(stored, project="suite", benchmark="mlp") == []


def test_an_empty_store_offers_nothing(opened):
    assert point_choices(opened) == commits(opened) == projects(opened) == places(opened) == []


@pytest.fixture
def undated(database, tmp_path, journals):
    """Five commits, of the last four of which nobody knows the date; read in another order than they were measured."""
    sweeps = journals.history(5, operations=("mlp",), batches=(1,), hiddens=(256,))
    journals.write_journals(tmp_path / "data", sweeps)
    for sweep in sweeps[1:]:
        (path,) = (tmp_path / "data").rglob(f"{sweep.commit[:8]}-*.jsonl")
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        for line in lines:
            line["run"]["commit_date"] = None
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with open_store(database) as store:
        store.ingest([tmp_path / "data"])
        yield store, [sweep.commit for sweep in sweeps]


def test_commits_without_a_date_stand_in_the_order_of_their_first_runs_as_in_histories(undated):
    store, in_order = undated
    assert [row.commit for row in commits(store)] == in_order
    series = series_where(store, metric="latency_s")
    for history in history_of(store, series_ids=[row.series_id for row in series]):
        assert [value.commit for value in history.values] == in_order
    assert {(row.commit, row.n_commits_behind) for row in freshness(store)} == {(in_order[-1], 0)}


def test_changes_known_at_commits_without_a_date_come_in_the_order_of_their_first_runs(undated):
    store, in_order = undated
    series_id = min(row.series_id for row in series_where(store, metric="latency_s"))
    with store.engine.connect() as connection, connection.begin():
        ids = dict(connection.execute(sa.select(Commit.hash, Commit.id)).all())
        for i, commit in enumerate(in_order, start=1):
            of_commit = {"id": i, "series_id": series_id, "commit_id": ids[commit], "decision": "accepted"}
            connection.execute(sa.insert(Triage).values(of_commit))
    assert [change.commit for change in known_changes(store)] == in_order[::-1]


def test_a_benchmark_left_behind_by_commits_without_a_date_is_known(undated, tmp_path, journals):
    store, in_order = undated
    journals.write_journals(tmp_path / "more", [journals.history(1, operations=("linear",))[0]])
    store.ingest([tmp_path / "more"])
    found = {row.benchmark: row.n_commits_behind for row in freshness(store)}
    assert found == {"linear": len(in_order) - 1, "mlp": 0}
