"""What is stored, by any suite's own words: projects, machines, benchmarks, parameters, series."""

from __future__ import annotations

import pytest

from results.queries import (
    benchmarks,
    commits,
    history_of,
    parameter_names,
    series_where,
    values_at,
)
from results.rows import Between
from results.store import open_store

A, B = "a" * 40, "b" * 40
GRID = {"n": ["1", "1e3", "1000000"], "kind": ["'csr'", "None", "True", "<class 'int'>"]}


@pytest.fixture(scope="module")
def suites(shared_database, tmp_path_factory, write_asv_run, timed, journals):
    """A store of a sweep and of two asv projects, one with parameters of every type."""
    tmp_path = tmp_path_factory.mktemp("suites")
    length = len(GRID["n"]) * len(GRID["kind"])
    grid = {"result": [float(i) for i in range(length)], "params": list(GRID.values()), "version": "g"}
    for project, machine in (("one", "laptop"), ("two", "server")):
        tree = tmp_path / project / "results"
        for number, commit in enumerate((A, B)):
            results = {"s.track_grid": grid, "s.time_it": timed(1e-3)}
            write_asv_run(tree, results, commit=commit, machine=machine, date=1_700_000_000_000 + number * 86_400_000)
        described = '{"s.track_grid": {"type": "track", "unit": "rows", "param_names": ["n", "kind"], "version": "g"}}'
        (tree / "benchmarks.json").write_text(described)
        (tmp_path / project / "asv.conf.json").write_text(f'{{\n"project": "{project}"\n}}')
    journals.write_journals(tmp_path / "sweep", journals.history(2, operations=("mlp",)))
    with open_store(shared_database) as store:
        store.ingest([tmp_path])
        yield store


def test_a_benchmark_lists_its_parameters_with_types_and_ranges(suites):
    (row,) = benchmarks(suites, project="one", benchmark="s.track_grid")
    n, kind = row.parameters
    assert (row.unit, row.version, row.n_series, row.continues) == ("rows", "g", 12, None)
    assert (n.name, n.types, n.values, n.least, n.most) == ("n", ("float", "int"), (1, 1000.0, 1000000), 1, 1e6)
    assert (kind.name, kind.types) == ("kind", ("bool", "none", "other", "str"))
    assert set(kind.values) == {True, "csr", None, "<class 'int'>"}
    assert kind.least is None
    (plain,) = benchmarks(suites, project="one", benchmark="s.time_it")
    assert plain.parameters == ()


def test_an_operation_of_the_sweep_has_its_axes_as_parameters(suites):
    (row,) = [row for row in benchmarks(suites, project="fusebench") if row.metric == "latency_s"]
    found = {parameter.name: parameter.values for parameter in row.parameters}
    assert found["batch"] == (1, 64)
    assert set(found["provider"]) == {"eager", "compiled", "fused"}


def test_parameter_names_are_those_of_the_projects(suites):
    assert parameter_names(suites, project=["one"]) == ["kind", "n"]
    assert "provider" in parameter_names(suites)


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        ({}, 12),
        ({"n": 1000}, 4),
        ({"n": 1000.0}, 4),
        ({"n": [1, 1000000]}, 8),
        ({"n": Between(2, None)}, 8),
        ({"n": Between(None, 1)}, 4),
        ({"n": Between(2, 999)}, 0),
        ({"n": "1000"}, 0),
        ({"kind": "csr"}, 3),
        ({"kind": None}, 3),
        ({"kind": True}, 3),
        ({"kind": 1}, 0),
        ({"kind": "<class 'int'>"}, 3),
        ({"kind": Between(0, 2)}, 0),
        ({"n": Between(1, 1000), "kind": ["csr", None]}, 4),
        ({"nobody": 1}, 0),
    ],
)
def test_series_are_chosen_by_parameters_with_their_types(suites, chosen, expected):
    assert len(series_where(suites, project="one", benchmark="s.track_grid", parameters=chosen)) == expected


def test_series_of_the_sweep_are_chosen_in_the_same_way(suites):
    found = series_where(suites, benchmark="mlp", metric="latency_s", parameters={"batch": 64, "hidden": Between(1000)})
    assert {parameter.value for row in found for parameter in row.parameters if parameter.name == "hidden"} == {1024}
    assert len(found) == 3


def test_any_set_of_series_has_its_histories(suites):
    chosen = series_where(suites, project=["one", "two"], metric="time")
    histories = history_of(suites, series_ids=[row.series_id for row in chosen])
    assert [history.series for history in histories] == chosen
    assert [[value.commit for value in history.values] for history in histories] == [[A, B], [A, B]]


def test_values_of_a_commit_can_be_chosen_too(suites):
    found = values_at(suites, commit=A, project="one", parameters={"n": Between(2, 2000), "kind": "csr"})
    assert [(row.benchmark, row.value) for row in found] == [("s.track_grid", 4.0)]


def test_commits_of_one_project_alone(suites):
    assert [row.commit for row in commits(suites, project="one")] == [A, B]
