"""Stored names never send control characters to the terminal."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from results.commands.ingest import ingest
from results.commands.judging.gate import gate
from results.commands.show import show
from results.commands.status import status
from results.commands.store import store
from results.printable import json_for_terminal, printable, printable_line

ROOT = Path(__file__).parents[3]
HOSTILE = "x\x1b]0;owned\x07\x1b[2J\x9b31m\u202egnp\r\n\x00"
CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
A, B = "a" * 40, "b" * 40


@given(st.text())
def test_a_printable_text_has_no_control_characters_but_line_breaks_and_tabs(text):
    assert not CONTROL.search(printable(text).replace("\t", ""))
    assert "\n" not in printable_line(text)
    assert printable(printable(text)) == printable(text)
    printable(text).encode()


@given(st.dictionaries(st.text(), st.text()))
def test_json_for_a_terminal_has_the_same_value(value):
    text = json.dumps(value, ensure_ascii=False)
    assert json.loads(json_for_terminal(text)) == value
    assert not CONTROL.search(json_for_terminal(text))


def run(command, *arguments):
    return CliRunner().invoke(command, list(map(str, arguments)), standalone_mode=False)


@pytest.fixture
def tree(tmp_path, write_asv_run, timed):
    """Results of two commits, a slower and a failing one, in which every name has control characters."""
    name = HOSTILE.replace("\x00", "")
    for commit, date, value in ((A, 1_700_000_000_000, 1e-3), (B, 1_700_000_100_000, 9e-3)):
        grid = {"result": [1.0 if commit == A else None], "params": [[repr(name)]], "version": "g"}
        suite = {f"s.time_{name}": timed(value), f"s.track_{name}": grid}
        path = write_asv_run(tmp_path / "tree", suite, commit=commit, date=date)
        document = json.loads(path.read_text()) | {"env_name": f"virtualenv-{name}"}
        path.write_text(json.dumps(document))
    return tmp_path / "tree"


def test_no_command_prints_a_control_character_of_a_stored_name(tree, tmp_path):
    db = tmp_path / "x.db"
    run(ingest, tree, "--db", db, "--project", "p\x1b[2J")
    for command, *arguments in (
        (show,),
        (show, "--all"),
        (show, "--format", "json"),
        (show, "--where", "benchmark=none"),
        (gate, "--base", A, "--head", B),
        (gate, "--base", A, "--head", B, "--format", "markdown"),
        (gate, "--base", A, "--head", B, "--format", "junit"),
        (gate, "--base", A, "--head", B, "--format", "json"),
        (status,),
        (status, "--format", "json"),
        (store, "info"),
        (store, "acknowledge", B, "--note", HOSTILE.replace("\x00", ""), "--file", tmp_path / "decisions.toml"),
        (show,),
    ):
        answer = run(command, *arguments, "--db", db)
        assert answer.exception is None or not isinstance(answer.exception, ValueError)
        printed = answer.stdout + answer.stderr
        assert printed
        assert not CONTROL.search(printed), (arguments, CONTROL.search(printed), printed)


def test_a_hostile_file_name_is_printed_with_escapes(tmp_path):
    folder = tmp_path / "tree"
    (folder / "journal" / "box").mkdir(parents=True)
    (folder / "journal" / "box" / "a\x1b[2Jb.jsonl").write_text("no journal\n")
    command = [sys.executable, "-m", "fusebench", "ingest", folder, "--db", tmp_path / "x.db"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert "a\\x1b[2Jb.jsonl" in done.stderr
    assert not CONTROL.search(done.stdout + done.stderr)


def test_an_error_message_has_no_control_characters(tmp_path):
    command = [sys.executable, "-m", "fusebench", "ingest", "/no\x1b[2Jsuch", "--db", tmp_path / "x.db"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 64
    assert "does not exist" in done.stderr
    assert not CONTROL.search(done.stdout + done.stderr)


def test_every_message_of_a_command_goes_through_the_one_function_that_escapes():
    modules = [path for path in (ROOT / "results" / "commands").glob("*.py") if path.name != "echo.py"]
    assert len(modules) > 10
    assert [path.name for path in modules if re.search(r"click\.s?echo|\bprint\(", path.read_text())] == []
