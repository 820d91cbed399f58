"""Commands that need no measurement: help, wrong usage, and the options that the documents name."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import fusebench

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md")))
WRONG_USAGE = 64


def typed(program):
    """Every line of the documents' code blocks that starts with `program`, split as a shell does."""
    lines = [
        line.strip()
        for document in DOCUMENTS
        for block in re.findall(r"^```\w*\n(.*?)^```", document.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
        for line in block.splitlines()
    ]
    return sorted({tuple(shlex.split(line, comments=True)) for line in lines if line.startswith(f"{program} ")})


def run(*command):
    return subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL, timeout=120
    )


@cache
def help_of(module, *command):
    """Return what `python -m MODULE COMMAND… --help` prints; assert that it succeeds."""
    done = run(sys.executable, "-m", module, *command, "--help")
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_readme_says_how_to_begin():
    assert {("make", "bench"), ("make", "test"), ("make", "dashboard")} <= set(typed("make"))


@pytest.mark.parametrize("words", typed("make"), ids=" ".join)
def test_make_knows_the_target(words):
    done = run(*words, "--dry-run")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("words", typed("fusebench"), ids=" ".join)
def test_the_command_and_its_options_exist(words):
    command, *rest = words[1:]
    said = help_of("fusebench", command)
    for word in rest:
        if word.startswith("--"):
            assert re.search(rf"{re.escape(word.partition('=')[0])}\b", said), f"{word} is not in\n{said}"


@pytest.mark.parametrize("words", typed("asv"), ids=" ".join)
def test_asv_has_the_command(words):
    assert f"asv {words[1]}" in help_of("asv", words[1])


@pytest.mark.parametrize("command", list(fusebench.COMMANDS))
def test_every_command_explains_itself(command):
    assert help_of("fusebench", command).startswith(f"Usage: fusebench {command} ")


def test_the_front_door_lists_its_commands():
    said = help_of("fusebench")
    assert [line.split()[0] for line in said.partition("Commands:\n")[2].splitlines()] == list(fusebench.COMMANDS)


@pytest.mark.parametrize("words", [["no-such-command"], *([name, "--no-such-option"] for name in fusebench.COMMANDS)])
def test_wrong_usage_exits_64_and_names_what_is_wrong(words):
    done = run(sys.executable, "-m", "fusebench", *words)
    assert done.returncode == WRONG_USAGE
    assert words[-1] in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("words", [["--help"], ["show", "--help"]])
def test_a_reader_that_leaves_is_no_regression(words):
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as abandoned:
        done = subprocess.run(
            [sys.executable, "-m", "fusebench", *words],
            cwd=ROOT, stdout=abandoned, stderr=subprocess.PIPE, text=True, check=False, timeout=120,
        )  # fmt: skip
    assert (done.returncode, done.stderr) == (128 + signal.SIGPIPE, "")
