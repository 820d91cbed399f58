from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import sqlalchemy as sa
from click.testing import CliRunner

from results.commands.ingest import ingest
from results.database.schema import Base, Ceiling, Machine, Quarantine, Run, Value
from results.exit_codes import ExitCode
from results.queries import latest_points, profile_of, values_at

A, B = "a" * 40, "b" * 40


def count(store, table):
    with store.reading() as connection:
        return connection.execute(sa.select(sa.func.count()).select_from(table)).scalar()


def counts(store):
    return {table.name: count(store, table) for table in Base.metadata.sorted_tables}


def test_ingesting_the_same_journals_twice_adds_nothing(opened, tmp_path, journals):
    journals.write_journals(tmp_path, journals.history(2))
    assert opened.ingest([tmp_path]).n_values > 0
    before = counts(opened)
    again = opened.ingest([tmp_path])
    assert (again.n_values, again.n_files_unchanged, counts(opened)) == (0, again.n_files, before)


def test_ingesting_the_same_asv_tree_twice_adds_nothing(opened, tree):
    assert opened.ingest([tree]).n_values == 14
    before = counts(opened)
    again = opened.ingest([tree])
    assert (again.n_values, again.n_files_unchanged, counts(opened)) == (0, again.n_files, before)


def test_the_same_tree_copied_elsewhere_adds_no_value(opened, tree, tmp_path):
    import shutil

    opened.ingest([tree], project="p")
    before = count(opened, Value)
    shutil.copytree(tree, tmp_path / "copy")
    opened.ingest([tmp_path / "copy"], project="p")
    assert count(opened, Value) == before


def test_touching_a_file_does_not_read_it_again(opened, tree):
    opened.ingest([tree])
    for path in tree.rglob("*.json"):
        path.touch()
    again = opened.ingest([tree])
    assert (again.n_values, again.n_files_unchanged) == (0, again.n_files)


def test_a_changed_asv_file_replaces_its_own_values_only(opened, tree, write_asv_run, timed):
    opened.ingest([tree])
    write_asv_run(tree, {"s.time_it": timed(2e-3)}, commit=B)
    opened.ingest([tree])
    assert [row.value for row in values_at(opened, commit=B)] == [2e-3]
    assert len(values_at(opened, commit=A)) == 7


def test_a_vanished_file_leaves_its_values(opened, tree):
    opened.ingest([tree])
    before = count(opened, Value)
    for path in tree.rglob("bbbb*.json"):
        path.unlink()
    opened.ingest([tree])
    assert count(opened, Value) == before


def test_an_appended_journal_adds_only_its_new_lines(opened, tmp_path, journals):
    sweep = journals.Sweep(commit=A, operations=("mlp",), providers=("eager",))
    (path,) = journals.write_journals(tmp_path, [sweep])
    first = opened.ingest([path])
    journals.write_journals(tmp_path, [replace(sweep, run_id="another", providers=("fused",))])
    second = opened.ingest([path])
    assert first.n_values == second.n_values
    assert {row.provider for row in latest_points(opened)} == {"eager", "fused"}


def test_within_a_run_the_last_line_of_a_point_counts(opened, tmp_path, journals):
    sweep = journals.Sweep(commit=A, operations=("mlp",), providers=("eager",), batches=(1,), hiddens=(256,))
    crashed = replace(sweep, states={("mlp", "eager"): "crashed"})
    journals.write_journals(tmp_path, [crashed, sweep])
    opened.ingest([tmp_path])
    assert [row.state for row in latest_points(opened)] == ["ok"]
    journals.write_journals(tmp_path, [crashed])
    opened.ingest([tmp_path])
    (row,) = latest_points(opened)
    assert (row.state, row.latency_s, row.operator_count) == ("crashed", None, None)
    assert count(opened, Value) == 1


def test_two_runs_of_a_commit_are_two_values_and_the_newer_is_shown(opened, tmp_path, journals):
    sweep = journals.Sweep(commit=A, operations=("mlp",), providers=("eager",), batches=(1,), hiddens=(256,))
    later = replace(sweep, run_id="later", slowdowns={("mlp", "eager"): 2.0})
    paths = journals.write_journals(tmp_path, [sweep, later])
    lines = [json.loads(line) for line in paths[0].read_text().splitlines()]
    for line in lines[2:]:
        line["run"]["started_at"] = "2026-06-01T00:00:00+00:00"
    paths[0].write_text("".join(json.dumps(line) + "\n" for line in lines))
    opened.ingest([tmp_path])
    (row,) = latest_points(opened)
    assert row.run_id == "later"
    assert count(opened, Run) == 2


def test_a_torn_last_line_is_left_out_until_it_is_whole(opened, tmp_path, journals):
    (path,) = journals.write_journals(tmp_path, [journals.Sweep(commit=A, operations=("mlp",))])
    whole = path.read_bytes()
    path.write_bytes(whole[:-200])
    report = opened.ingest([tmp_path])
    assert not report.problems
    assert "cut off" in report.notes[0]
    path.write_bytes(whole)
    assert not opened.ingest([tmp_path]).notes
    assert profile_of(opened, point=latest_points(opened)[-1]) is not None
    assert count(opened, Base.metadata.tables["profile"]) == 12


def test_a_broken_line_in_the_middle_is_named_and_the_journal_set_aside(opened, tmp_path, journals):
    (path,) = journals.write_journals(tmp_path, [journals.Sweep(commit=A)])
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join([*lines[:2], "{not json\n", *lines[2:]]))
    report = opened.ingest([tmp_path])
    assert len(report.problems) == 1
    assert report.problems[0].startswith(f"{path}: line 3: not JSON")
    assert count(opened, Value) == 0


def test_a_journal_of_a_future_format_is_refused_by_its_number(opened, tmp_path, journals):
    (path,) = journals.write_journals(tmp_path, [journals.Sweep(commit=A)])
    path.write_text(path.read_text().replace('"format": 1', '"format": 2'))
    assert "journal format 2; this fusebench reads 1" in opened.ingest([tmp_path]).problems[0]


def test_a_truncated_file_is_named_the_rest_goes_in_and_the_exit_code_is_2(tmp_path, tree):
    (broken,) = tree.rglob("bbbb*.json")
    broken.write_bytes(broken.read_bytes()[:-20])
    answer = CliRunner().invoke(ingest, [str(tree), "--db", str(tmp_path / "x.db")], standalone_mode=False)
    assert answer.return_value == ExitCode.FAILED
    assert f"not read: {broken}: not JSON, cut off" in answer.stderr
    assert "7 values stored" in answer.stdout


@pytest.mark.parametrize(("content", "said"), [('{"a": 1', "not JSON, cut off ("), ("<html>", "not JSON (")])
def test_only_what_begins_like_json_is_called_cut_off(opened, tree, content, said):
    (broken,) = tree.rglob("bbbb*.json")
    broken.write_text(content)
    assert opened.ingest([tree]).problems[0].startswith(f"{broken}: {said}")


def test_a_file_that_broke_later_keeps_what_it_gave_before(opened, tree):
    opened.ingest([tree])
    before = count(opened, Value)
    (broken,) = tree.rglob("bbbb*.json")
    content = broken.read_bytes()
    broken.write_bytes(content[:-20])
    assert len(opened.ingest([tree]).problems) == 1
    assert len(opened.ingest([tree]).problems) == 1, "it is named again, not forgotten"
    assert (count(opened, Value), count(opened, Quarantine)) == (before, 1)
    broken.write_bytes(content)
    assert not opened.ingest([tree]).problems
    assert (count(opened, Value), count(opened, Quarantine)) == (before, 0)


def test_an_empty_file_says_so(opened, tree):
    (broken,) = tree.rglob("bbbb*.json")
    broken.write_bytes(b"")
    assert opened.ingest([tree]).problems == (f"{broken}: is empty",)


def test_a_result_of_another_machine_than_its_folders_is_set_aside(opened, tree):
    (path,) = tree.rglob("bbbb*.json")
    path.write_text(path.read_text().replace('"machine": "laptop"', '"machine": "desktop"'))
    assert "machine.json beside it says 'laptop'" in opened.ingest([tree]).problems[0]


def test_a_git_lfs_pointer_is_called_one(opened, tree):
    (path,) = tree.rglob("bbbb*.json")
    path.write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n")
    assert "git lfs pull" in opened.ingest([tree]).problems[0]


def test_other_json_files_in_a_project_are_left_alone(opened, tmp_path, tree):
    (tmp_path / "package.json").write_text("[")
    assert not opened.ingest([tmp_path]).problems


def test_what_machine_json_says_is_kept(opened, tree):
    opened.ingest([tree])
    with opened.reading() as connection:
        details = connection.execute(sa.select(Machine.details)).scalar()
    assert details == {"cpu": "x"}


@pytest.mark.parametrize("version", [1, 2])
def test_ceilings_of_a_machine_are_kept_without_what_they_were_measured_with(opened, tmp_path, version):
    path = tmp_path / "machines" / "bench-01.json"
    path.parent.mkdir()
    ceilings = {"measured_at": "2026-01-01T00:00:00Z", "device": "x", "matmul_flop_per_s": {"float32": 5e10}}
    expected = [("matmul_flop_per_s.float32", 5e10)]
    if version == 2:
        ceilings |= {"bandwidth_bytes_per_s": {"65536": 1e11}, "conditions": {"load_by_others": 0.1, "torch": "2.13"}}
        expected.insert(0, ("bandwidth_bytes_per_s.65536", 1e11))
    content = {"format": version, "machine": "bench-01", "environments": {"py3.11-cpu-t2": ceilings}}
    path.write_text(json.dumps({**content, "probe_s": {"py3.11-cpu-t2": {"core": 1e-3}}} if version == 2 else content))
    assert not opened.ingest([tmp_path]).problems
    with opened.reading() as connection:
        found = connection.execute(sa.select(Ceiling.quantity, Ceiling.value)).all()
    assert sorted(tuple(row) for row in found) == expected


def test_a_path_that_does_not_exist_is_wrong_usage(tmp_path):
    arguments = [str(tmp_path / "nowhere"), "--db", str(tmp_path / "x.db")]
    answer = CliRunner().invoke(ingest, arguments, standalone_mode=False)
    assert "nowhere does not exist" in str(answer.exception)


def test_where_nothing_was_measured_ingest_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    answer = CliRunner().invoke(ingest, [], standalone_mode=False)
    assert "make bench" in answer.stderr
    assert not list(Path(tmp_path).iterdir())


@pytest.mark.exhaustive
def test_the_real_corpus_goes_in_whole(tmp_path, corpus):
    from results.store import open_store

    with open_store(str(tmp_path / "x.db")) as store:
        report = store.ingest([corpus], project="scipy")
        assert not report.problems
        assert report.n_values > 1_200_000
        assert store.ingest([corpus], project="scipy").n_values == 0
