"""What a file says may be odder than its kind: deep, endless, cut off, or linked to elsewhere."""

from __future__ import annotations

import io
import json
import os
import sys
import time
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from results.errors import UnreadableFile
from results.files import asv_trees, paths
from results.files.ceilings import ceilings_from_bytes
from results.files.json_fields import Malformed, as_text, shown
from results.files.paths import read_regular_file
from results.queries import values_at

A, B = "a" * 40, "b" * 40
DEEP = "[" * 1000 + "]" * 1000  # what the parser takes and Python cannot print


@pytest.fixture(autouse=True)
def usual_recursion_limit():
    """Inductor, run by a test before, raises the limit of its process for good."""
    raised = sys.getrecursionlimit()
    sys.setrecursionlimit(1000)
    yield
    sys.setrecursionlimit(raised)


@pytest.fixture
def tree(tmp_path, write_asv_run, timed):
    """An asv tree of one good result file."""
    write_asv_run(tmp_path / "tree", {"s.time_it": timed(1.0)}, commit=A)
    return tmp_path / "tree"


def test_a_value_nested_too_deeply_for_python_is_named_and_shown():
    deep = json.loads("[" * 900 + "]" * 900)
    for _ in range(2000):
        deep = [deep]
    assert shown(deep) == "something nested too deeply"
    with pytest.raises(Malformed, match="`x` is nested too deeply"):
        as_text(deep, named="x")


@pytest.mark.parametrize("n_processes", [0, 1])
@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("benchmarks.json", f'{{"s.time_it": {{"param_names": {DEEP}}}}}'),
        ("benchmarks.json", f'{{"s.time_it": {{"version": {DEEP}}}}}'),
        ("laptop/machine.json", f'{{"machine": "laptop", "cpu": {DEEP}}}'),
    ],
)
def test_a_description_nested_too_deeply_is_named_and_the_results_go_in(tmp_path, tree, name, content, n_processes):
    from results.store import open_store

    (tree / name).write_text(content)
    with open_store(str(tmp_path / "x.db")) as store:
        report = store.ingest([tree], n_processes=n_processes)
    assert report.n_values == 1
    (problem,) = report.problems
    assert problem.startswith(f"{tree / name}: ")
    assert "nested too deeply" in problem


def test_requirements_nested_too_deeply_are_named(opened, tree):
    path = next(tree.glob("laptop/*virtualenv*.json"))
    path.write_text(
        json.dumps(json.loads(path.read_text()) | {"requirements": {"numpy": 1}}).replace(": 1}", f": {DEEP}}}", 1)
    )
    (problem,) = opened.ingest([tree]).problems
    assert "`requirements: numpy` is nested too deeply" in problem


def test_a_project_is_searched_in_a_time_that_grows_with_the_file(tree, opened):
    (tree / "asv.conf.json").write_text("\n" * 300_000 + '\t"project": "late"')
    started = time.monotonic()
    opened.ingest([tree])
    assert time.monotonic() - started < 20
    assert {row.project for row in values_at(opened, commit=A)} == {"late"}


def test_a_folder_of_journals_that_is_a_link_is_not_followed(tmp_path, tree, journals):
    journals.write_journals(tmp_path / "elsewhere", [journals.Sweep(commit=B, operations=("mlp",))])
    (tmp_path / "journal").symlink_to(tmp_path / "elsewhere")
    assert asv_trees.AsvTree(tree, None, {}).covered == frozenset()
    (tmp_path / "journal").unlink()
    (tmp_path / "elsewhere").rename(tmp_path / "journal")
    assert asv_trees.AsvTree(tree, None, {}).covered == {"mlp"}


def test_a_device_is_never_opened(monkeypatch):
    monkeypatch.setattr(os, "open", lambda *_arguments: pytest.fail("opened"))
    with pytest.raises(UnreadableFile, match="is a device"):
        read_regular_file(Path("/dev/null"))


@pytest.mark.parametrize("content", [None, b"longer than allowed"])
def test_a_file_without_a_size_is_read_up_to_the_limit(tmp_path, monkeypatch, content):
    """Files of /proc say that they have no bytes, and some have no end or nothing yet."""

    class Endless(io.BytesIO):
        def read(self, size):
            return content if content is None else content[:size]

    path = tmp_path / "x.json"
    path.touch()
    monkeypatch.setattr(paths, "LARGEST_FILE", 8)
    monkeypatch.setattr(paths, "open", lambda *_arguments: Endless(), raising=False)
    monkeypatch.setattr(os, "fstat", lambda _descriptor: path.stat())
    with pytest.raises(UnreadableFile, match="more than its size says"):
        read_regular_file(path)


@pytest.mark.parametrize(
    ("last", "reason"),
    [
        ('{"format": 2, "kind": "timing"}', "journal format 2"),
        ('{"hello": 1}', "journal format None"),
        ("[]", "is not an"),
    ],
)
def test_a_whole_last_line_that_is_none_of_ours_is_no_torn_one(opened, tmp_path, journals, last, reason):
    (journal,) = journals.write_journals(tmp_path, [journals.Sweep(commit=A)])
    n_lines = journal.read_text().count("\n")
    with journal.open("a") as file:
        file.write(last)
    (problem,) = opened.ingest([journal]).problems
    assert f"line {n_lines + 1}: " in problem
    assert reason in problem


def test_one_group_measured_twice_is_counted_as_one(opened, tmp_path, journals):
    sweep = journals.Sweep(commit=A, operations=("mlp",), run_id="1234abcd", batches=(1,), hiddens=(8,))
    (first,) = journals.write_journals(tmp_path / "first", [sweep])
    (second,) = journals.write_journals(tmp_path / "second", [replace(sweep, slowdowns={("mlp", "eager"): 2.0})])
    second.write_text(second.read_text().replace("T13:05:00", "T15:05:00"))
    opened.ingest([first])
    (note,) = opened.ingest([second]).notes
    assert "run 1234abcd measured 1 group twice" in note


@pytest.mark.parametrize("order", [("half", "whole"), ("whole", "half")])
def test_of_two_files_of_one_run_and_start_the_fuller_counts_and_is_named(
    opened, tmp_path, write_asv_run, timed, order
):
    write_asv_run(tmp_path / "half", {"s.time_it": timed(1.0)}, commit=A)
    write_asv_run(tmp_path / "whole", {"s.time_it": timed(1.0), "s.time_other": timed(3.0)}, commit=A)
    notes = [note for name in order for note in opened.ingest([tmp_path / name], project="p").notes]
    assert sorted(row.value for row in values_at(opened, commit=A)) == [1.0, 3.0]
    (note,) = notes
    assert "less complete file of the same run" in note


@pytest.mark.parametrize(
    ("field", "reason"),
    [
        ("parameters = { a = nan }", "`a` is nan, not a finite number"),
        (f"parameters = {{ a = 1{'0' * 400} }}", "not a finite number"),
        ('parameters = { a = "\\u0000" }', "`a` is '\\x00', not a text"),
        ("at = 0001-01-01T00:00:00+10:00", "in UTC outside the years 1 to 9999"),
    ],
)
def test_a_decision_that_no_database_stores_is_refused_by_its_key(opened, tmp_path, field, reason):
    head = f'format = 1\n[[acknowledgement]]\nproject = "p"\ncommit = "{A}"\ndecision = "accepted"\n'
    (tmp_path / "decisions.toml").write_text(head + field)
    (problem,) = opened.ingest([tmp_path]).problems
    assert reason in problem
    assert "database" not in problem


def test_a_moment_of_ceilings_without_an_offset_is_utc(monkeypatch):
    monkeypatch.setenv("TZ", "America/New_York")
    content = b'{"format": 1, "machine": "m", "environments": {"e": {"measured_at": "2026-01-05T12:00:00"}}}'
    (record,) = ceilings_from_bytes(content, path="m.json")
    assert record.measured_at == datetime(2026, 1, 5, 12, tzinfo=UTC)


def test_a_commit_that_asv_measured_again_is_told_since_its_file_forgets_what_was(
    opened, tmp_path, write_asv_run, timed
):
    noon, names = 1_700_000_000_000, "abc"
    for started, told in (
        ((noon, noon), None),
        ((noon, noon, noon + 5), None),  # another benchmark of the same commit
        ((noon + 9, noon, noon + 5), "1 benchmark of aaaaaaaa measured again"),
        ((noon + 99, noon + 99, noon + 99), "3 benchmarks of aaaaaaaa measured again"),
        ((noon + 99, noon + 99), None),
        ((noon, noon), None),  # an older copy
    ):
        results = {f"s.time_{name}": timed(1e-3) | {"started_at": at} for name, at in zip(names, started, strict=False)}
        write_asv_run(tmp_path / "tree", results, commit=A)
        notes = [note for note in opened.ingest([tmp_path / "tree"], project="p").notes if "measured again" in note]
        assert len(notes) == (told is not None)
        assert told is None or told in notes[0]
