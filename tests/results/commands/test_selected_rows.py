"""`show` and `export` choose rows by any parameter, and write them in every format."""

from __future__ import annotations

import csv
import importlib.util
import io
import json
import sys

import click
import pytest
from click.testing import CliRunner

import fusebench
from results.commands.export import export
from results.commands.ingest import ingest
from results.commands.show import show
from results.exit_codes import ExitCode

A, B = "a" * 40, "b" * 40


def run(command, *arguments):
    return CliRunner().invoke(command, [str(argument) for argument in arguments], standalone_mode=False)


@pytest.fixture
def foreign(tmp_path, write_asv_run, timed):
    """An asv tree of two commits and its database."""
    grid = {"result": [1.0, 2.0, None], "params": [["10", "1e3", "'x'"]], "version": "g"}
    for commit in (A, B):
        write_asv_run(tmp_path / "tree", {"s.time_it": timed(1e-3), "s.track_grid": grid}, commit=commit)
    db = tmp_path / "x.db"
    run(ingest, tmp_path / "tree", "--db", db)
    return tmp_path / "tree", db


def test_show_filters_points_by_any_axis(journal_store):
    opened = journal_store()
    arguments = ("--db", opened.name, "--format", "json", "--where", "batch=64", "--where", "provider=fused")
    rows = json.loads(run(show, *arguments, "--where", "provider=eager").stdout)
    assert {(row["batch"], row["provider"]) for row in rows} == {(64, "fused"), (64, "eager")}


def test_show_filters_values_by_parameter_whatever_the_spelling_of_a_number(foreign):
    _, db = foreign
    rows = json.loads(run(show, "--db", db, "--format", "json", "--where", "param1=1000").stdout)
    assert [row["value"] for row in rows] == [2.0]
    rows = json.loads(run(show, "--db", db, "--format", "json", "--where", "param1=x").stdout)
    assert [row["state"] for row in rows] == ["failed"]


@pytest.mark.parametrize("where", ["colour=red", "batch", "batch=many"])
def test_a_filter_that_makes_no_sense_says_what_there_is(journal_store, where):
    answer = run(show, "--db", journal_store().name, "--where", where)
    assert answer.exception.exit_code == ExitCode.WRONG_USAGE


def test_export_writes_every_commit_with_units_in_the_columns(foreign):
    _, db = foreign
    rows = list(csv.DictReader(io.StringIO(run(export, "--db", db).stdout)))
    assert len(rows) == 8
    assert {row["commit"] for row in rows} == {A, B}
    first = next(row for row in rows if row["benchmark"] == "s.time_it")
    assert (first["value_seconds"], first["value_unit"]) == ("0.001", "")
    assert {row["param_param1"] for row in rows} == {"", "10", "1000.0", "x"}


def test_export_of_a_sweep_has_every_commit_and_may_be_filtered(journal_store, tmp_path):
    opened = journal_store()
    path = tmp_path / "out.json"
    arguments = ("--db", opened.name, "--format", "json", "--output", path, "--where", "operation=mlp")
    assert run(export, *arguments).return_value == ExitCode.FINE
    rows = json.loads(path.read_text())
    assert len(rows) == 3 * 12
    assert {"latency_s", "peak_memory_bytes", "pass"} <= set(rows[0])


def test_parquet_without_pyarrow_says_what_to_install(foreign, monkeypatch):
    _, db = foreign
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    answer = run(fusebench.cli, "export", "--db", db, "--format", "parquet")
    assert isinstance(answer.exception, click.UsageError)
    assert "pip install 'fusebench[parquet]'" in answer.exception.message


@pytest.mark.skipif(importlib.util.find_spec("pyarrow") is None, reason="pyarrow is not installed")
def test_parquet_holds_what_json_holds(journal_store, tmp_path):
    opened = journal_store()
    path = tmp_path / "out.parquet"
    assert run(export, "--db", opened.name, "--format", "parquet", "--output", path).return_value == ExitCode.FINE
    table = importlib.import_module("pyarrow.parquet").read_table(path)
    as_json = json.loads(run(export, "--db", opened.name, "--format", "json").stdout)
    assert table.num_rows == len(as_json)
    assert table.column("latency_s").to_pylist() == [row["latency_s"] for row in as_json]
