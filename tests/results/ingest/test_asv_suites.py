"""Values and parameters of asv's suites, and whose they are."""

from __future__ import annotations

import json

import pytest
import sqlalchemy as sa

from results.database.schema import Parameter, Run
from results.queries import commits, values_at

A, B = "a" * 40, "b" * 40


def test_asvs_old_format_asks_for_asv_update(opened, tree):
    (old,) = tree.rglob("bbbb*.json")
    old.write_text(old.read_text().replace('"version": 2', '"version": 1'))
    assert "asv update" in opened.ingest([tree]).problems[0]


def test_asvs_null_is_failed_and_its_nan_is_skipped(opened, tree):
    opened.ingest([tree])
    rows = [row for row in values_at(opened, commit=A) if row.benchmark == "s.track_grid"]
    assert [row.state for row in rows] == ["ok", "failed", "ok", "skipped", "ok", "ok"]
    assert [row.value for row in rows] == [1.0, None, 3.0, None, 5.0, 6.0]


def test_parameters_are_typed_named_and_the_last_one_runs_fastest(opened, tree):
    opened.ingest([tree])
    rows = [row for row in values_at(opened, commit=A) if row.benchmark == "s.track_grid"]
    found = [tuple((p.name, p.value) for p in row.parameters) for row in rows]
    assert found[:4] == [
        (("n", 1), ("mode", "a")),
        (("n", 1), ("mode", None)),
        (("n", 1), ("mode", 2.5)),
        (("n", 2), ("mode", "a")),
    ]
    assert {row.unit for row in rows} == {"rows"}


def test_numbers_can_be_asked_for_in_ranges_in_sql(opened, tree):
    opened.ingest([tree])
    with opened.reading() as connection:
        query = sa.select(sa.func.count()).where(Parameter.name == "n", Parameter.number > 1)
        assert connection.execute(query).scalar() == 3


def test_benchmarks_json_that_comes_later_renames_parameters_and_units(opened, tree):
    described = tree / "benchmarks.json"
    content = described.read_text()
    described.unlink()
    opened.ingest([tree])
    row = next(row for row in values_at(opened, commit=A) if row.benchmark == "s.track_grid")
    assert [p.name for p in row.parameters] == ["param1", "param2"]
    described.write_text(content)
    opened.ingest([tree])
    row = next(row for row in values_at(opened, commit=A) if row.benchmark == "s.track_grid")
    assert ([p.name for p in row.parameters], row.unit) == (["n", "mode"], "rows")


@pytest.mark.parametrize("version", ["g1", "g2"])
def test_another_unit_is_of_values_of_that_version_alone_and_told_where_it_is_of_the_same(opened, tree, version):
    opened.ingest([tree])
    described = tree / "benchmarks.json"
    content = json.loads(described.read_text())
    content["s.track_grid"] |= {"unit": "columns", "version": version}
    described.write_text(json.dumps(content))
    notes = [note for note in opened.ingest([tree]).notes if "s.track_grid" in note]
    [unit] = {row.unit for row in values_at(opened, commit=A) if row.benchmark == "s.track_grid"}
    assert unit == ("columns" if version == "g1" else "rows")
    assert ["was rows and is columns, of the same version" in note for note in notes] == [True] * (version == "g1")
    assert not opened.ingest([tree]).notes


def test_a_new_version_of_a_benchmark_starts_a_new_series(opened, tree, write_asv_run, timed):
    write_asv_run(tree, {"s.time_it": timed(1e-3, version="v2")}, commit=B)
    opened.ingest([tree])
    ids = {row.series_id for commit in (A, B) for row in values_at(opened, commit=commit)}
    assert len(ids) == 1 + 6 + 1


def test_an_environment_that_asv_did_not_make_has_no_path_in_its_name(opened, tmp_path, write_asv_run, timed):
    for env in ("existing-py_home_me_bin_python", "existing-py_usr_bin_python3"):
        write_asv_run(tmp_path / env, {"s.time_it": timed(1.0)}, env=env, commit=A)
        opened.ingest([tmp_path / env], project="p")
    rows = values_at(opened, commit=A)
    assert {row.environment for row in rows} == {"existing-py3.11"}
    with opened.reading() as connection:
        assert connection.execute(sa.select(sa.func.count()).select_from(Run)).scalar() == 2


def test_the_project_is_named_by_the_asv_conf_above_the_tree(opened, tmp_path, write_asv_run, timed):
    (tmp_path / "asv.conf.json").write_text('{\n  // a comment\n  "project": "sundial",\n}')
    write_asv_run(tmp_path / ".asv" / "results", {"s.time_it": timed(1.0)})
    opened.ingest([tmp_path])
    assert [row.project for row in commits(opened)] == ["sundial"]


def test_suites_that_a_journal_records_are_not_read_from_asvs_view_of_it(
    opened, tmp_path, journals, write_asv_run, timed
):
    journals.write_journals(tmp_path, [journals.Sweep(commit=A, operations=("mlp",))])
    suites = {"mlp.MLP.time_forward": timed(1.0), "presets.Presets.time_forward": timed(1.0)}
    write_asv_run(tmp_path / "asv", suites, commit=A)
    opened.ingest([tmp_path])
    names = {row.benchmark for row in values_at(opened, commit=A)}
    assert names == {"mlp", "presets.Presets.time_forward"}
    assert {row.project for row in values_at(opened, commit=A)} == {"fusebench"}


def test_the_suite_of_models_is_a_view_of_a_journal_where_there_is_one(
    opened, tmp_path, journals, write_asv_run, timed
):
    suites = {"models.Models.time_forward": timed(1.0), "presets.Presets.time_forward": timed(1.0)}
    write_asv_run(tmp_path / "theirs", suites, commit=B)
    opened.ingest([tmp_path / "theirs"], project="theirs")
    assert {row.benchmark for row in values_at(opened, commit=B)} == set(suites)
    journals.write_journals(tmp_path / "ours", [journals.Sweep(commit=A, operations=("mlp",))])
    write_asv_run(tmp_path / "ours" / "asv", suites, commit=A)
    opened.ingest([tmp_path / "ours"])
    assert {row.benchmark for row in values_at(opened, commit=A)} == {"mlp", "presets.Presets.time_forward"}


def test_a_suite_that_a_run_of_ours_filtered_out_was_not_measured(opened, tmp_path, journals, write_asv_run):
    journals.write_journals(tmp_path, [journals.Sweep(commit=A, operations=("mlp",))])
    nan = float("nan")
    filtered_out = {"result": [nan, nan], "params": [["'eager'", "'fused'"]], "version": "2"}
    broken = {"result": [None, nan], "params": [["'eager'", "'fused'"]], "version": "2"}
    suites = {"linear.Linear.time_forward": filtered_out, "presets.Presets.time_forward": broken}
    write_asv_run(tmp_path / "asv", suites, commit=A)
    opened.ingest([tmp_path])
    assert {row.benchmark for row in values_at(opened, commit=A)} == {"mlp", "presets.Presets.time_forward"}
