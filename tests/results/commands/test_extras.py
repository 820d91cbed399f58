"""What a command says that lacks a part of the installation, and what it suggests for a misspelt name."""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

import fusebench
from results.commands.extras import error_of_missing_extra, require_modules
from results.exit_codes import ExitCode

ROOT = Path(__file__).parents[3]


def typed(*arguments):
    return CliRunner().invoke(fusebench.cli, list(map(str, arguments)), standalone_mode=False)


def missing(module, *, command="show", extra="results"):
    error = error_of_missing_extra(ModuleNotFoundError("gone", name=module), command=command, extra=extra)
    return error and error.message


@pytest.mark.parametrize(
    ("module", "command", "extra", "named"),
    [
        ("sqlalchemy", "show", "results", "results"),
        ("sqlalchemy.orm", "show", "results", "results"),
        ("sqlalchemy", "dashboard", "dashboard", "dashboard"),  # which brings results
        ("dash", "dashboard", "dashboard", "dashboard"),
        ("werkzeug", "dashboard", "dashboard", "dashboard"),  # which dash brings
        ("greenlet", "show", "results", "results"),  # which SQLAlchemy brings
        ("psycopg", "show", "results", "postgres"),
        ("psycopg", "dashboard", "dashboard", "postgres"),
        ("pyarrow", "export", "results", "parquet"),
        ("pynvml", "run", "bench", "bench"),
        ("torch", "run", "bench", "bench"),
    ],
)
def test_the_extra_that_brings_the_module_is_named(module, command, extra, named):
    message = missing(module, command=command, extra=extra)
    assert f"`fusebench {command}` needs {module.partition('.')[0]}" in message
    assert message.endswith(f"pip install 'fusebench[{named}]'")


def test_a_missing_module_of_ours_is_a_fault_of_ours():
    assert missing("results.no_such_module") is None


def test_a_library_that_fails_to_load_is_named_by_where_it_failed():
    source = "raise ImportError('no pq wrapper available')"
    with pytest.raises(ImportError) as raised:
        exec(source, {"__name__": "psycopg.pq"})  # noqa: S102 - stands for a library
    error = error_of_missing_extra(raised.value, command="show", extra="results")
    assert "psycopg (no pq wrapper available)" in error.message
    assert "fusebench[postgres]" in error.message


def test_every_extra_that_is_named_exists():
    provided = set(importlib.metadata.metadata("fusebench").get_all("Provides-Extra"))
    assert {"results", *fusebench.EXTRAS.values(), "postgres", "parquet"} <= provided


@pytest.mark.parametrize("module", ["sqlalchemy", "rich"])
def test_a_command_whose_import_fails_exits_64_and_names_the_pip_command(module):
    program = f"import sys; sys.modules[{module!r}] = None; import fusebench; fusebench.main()"
    done = subprocess.run(
        [sys.executable, "-c", program, "gate", "--base", "a", "--head", "b"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == ExitCode.WRONG_USAGE, done.stderr
    assert f"needs {module}" in done.stderr
    assert "pip install 'fusebench[results]'" in done.stderr
    assert "Traceback" not in done.stderr


def test_what_a_run_needs_is_checked_before_it_starts():
    require_modules(("sys", "json"), command="run", extra="bench")
    with pytest.raises(click.UsageError, match=r"needs no_such_thing, .*fusebench\[bench\]"):
        require_modules(("json", "no_such_thing"), command="run", extra="bench")


@pytest.mark.parametrize(
    ("words", "suggestion"),
    [
        (("shwo",), "Did you mean show?"),
        (("dashbord",), "Did you mean dashboard?"),
        (("stroe", "check"), "Did you mean store?"),
        (("store", "chekc"), "Did you mean check?"),
        (("store", "acknowlege", "HEAD"), "Did you mean acknowledge?"),
        (("xyz",), "There are run, advise, article, show, "),
        (("store", "xyz"), "There are "),
        (("show", "--formt", "json"), "--format"),
    ],
)
def test_a_misspelt_name_is_answered_with_the_right_one(words, suggestion):
    answer = typed(*words)
    assert isinstance(answer.exception, click.UsageError)
    assert suggestion in answer.exception.format_message()
