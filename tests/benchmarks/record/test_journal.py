"""The record on disk."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.ruler.errors import JournalError
from benchmarks.ruler.record import journal
from benchmarks.ruler.record.outcome import State, TimingOutcome


@pytest.fixture
def path(tmp_path):
    return tmp_path / "journal" / "m" / "c0ffee00-py3.11-cpu-t2.jsonl"


def test_what_is_appended_is_read_back_in_order(path, timing_line, profile_line):
    journal.append(path, [timing_line, profile_line])
    journal.append(path, [timing_line])
    assert journal.JournalReader(path).read() == [timing_line, profile_line, timing_line]


def test_a_failed_point_is_read_back_with_its_reason(path, timing_line):
    wrong = replace(timing_line, outcome=TimingOutcome(state=State.WRONG, reason="off by 0.1", error_rel=0.1))
    journal.append(path, [wrong])
    assert journal.JournalReader(path).read() == [wrong]


def test_no_file_has_no_lines(path):
    assert journal.JournalReader(path).read() == []


def test_the_path_names_machine_commit_and_environment(tmp_path, run, path):
    assert journal.journal_path(tmp_path, run) == path


@given(kept=st.integers(0, 4000))
def test_a_torn_last_line_is_ignored_and_cut_off_by_the_next_append(tmp_path_factory, kept, timing_line):
    path = tmp_path_factory.mktemp("torn") / "j.jsonl"
    journal.append(path, [timing_line, timing_line])
    content = path.read_bytes()
    first = content.index(b"\n") + 1
    cut = min(first + kept, len(content) - 1)
    path.write_bytes(content[:cut])
    assert journal.JournalReader(path).read() == [timing_line]
    journal.append(path, [timing_line])
    assert journal.JournalReader(path).read() == [timing_line, timing_line]


@pytest.mark.parametrize("bad", [b"{", b"[]", b'{"format": 1}', b"\xff", b'{"format": 1, "kind": "timing"}'])
def test_a_bad_line_in_the_middle_is_named(path, timing_line, bad):
    journal.append(path, [timing_line])
    path.write_bytes(path.read_bytes() + bad + b"\n" + path.read_bytes())
    with pytest.raises(JournalError, match=f"{path.name}:2: not a line of a journal"):
        journal.JournalReader(path).read()


def test_a_journal_of_a_later_format_is_refused(path, timing_line):
    journal.append(path, [timing_line])
    later = json.loads(path.read_text()) | {"format": 2}
    path.write_text(json.dumps(later) + "\n")
    with pytest.raises(JournalError, match="journal format 2, this ruler writes 1"):
        journal.JournalReader(path).read()


def test_a_folder_that_cannot_be_written_is_named(tmp_path, timing_line):
    (tmp_path / "journal").write_text("a file where a folder should be")
    with pytest.raises(JournalError, match="cannot be written"):
        journal.append(tmp_path / "journal" / "m" / "j.jsonl", [timing_line])


def test_every_key_of_a_line_is_in_the_documented_format(path, timing_line, profile_line, request):
    documented = (request.config.rootpath / "docs" / "file-formats.md").read_text(encoding="utf-8")
    journal.append(path, [timing_line, profile_line])
    for line in path.read_text(encoding="utf-8").splitlines():
        values = json.loads(line)
        for key in [*values, *values["run"], *values["point"]]:
            assert f"`{key}`" in documented, key


def test_a_journal_that_cannot_be_read_is_named_once_with_what_to_do(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(JournalError) as raised:
        journal.JournalReader(tmp_path / "file" / "a.jsonl").read()
    assert str(raised.value) == (
        f"{tmp_path}/file/a.jsonl: cannot be read (Not a directory); mend that, or set FUSEBENCH_DATA to another folder"
    )
