"""What `fusebench export` writes, and what it leaves behind when it is ended."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from results.commands.export import export
from results.commands.ingest import ingest
from results.commands.show import show
from results.exit_codes import ExitCode

ROOT = Path(__file__).parents[3]
FORMULAS = ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\tx", "\rx", '=HYPERLINK("http://x","y")']
# Writes a little, says so, and then takes for ever.
SLOW_EXPORT = """
import sys, time
import fusebench, results.commands.export as module

def write_slowly(sink, *arguments, **options):
    sink.write(b"unfinished")
    sink.flush()
    print("writing", flush=True)
    time.sleep(60)

module.write_table = write_slowly
fusebench.main()
"""


def run(command, *arguments):
    return CliRunner().invoke(command, list(map(str, arguments)), standalone_mode=False)


@pytest.fixture
def db(tmp_path, write_asv_run, timed):
    """Values of a benchmark whose parameter takes formulas and negative numbers, and of one without parameters."""
    texts = {
        "result": [float(i) for i in range(len(FORMULAS))],
        "params": [[repr(text) for text in FORMULAS]],
        "version": "v",
    }
    numbers = {"result": [-1.5, 2.5], "params": [["-5", "7"]], "version": "v"}
    mixed = {"result": [1.0, 2.0], "params": [["-5", "'-5x'"]], "version": "v"}
    suite = {"s.track_texts": texts, "s.track_numbers": numbers, "s.track_mixed": mixed, "s.time_it": timed(1e-3)}
    write_asv_run(tmp_path / "tree", suite)
    assert run(ingest, tmp_path / "tree", "--db", tmp_path / "x.db").return_value == ExitCode.FINE
    return tmp_path / "x.db"


def exported(db, path, *arguments):
    answer = run(export, "--db", db, "--output", path, *arguments)
    assert answer.return_value == ExitCode.FINE, answer.exception
    with path.open(newline="") as opened:
        return list(csv.DictReader(opened))


def test_a_text_that_a_spreadsheet_would_run_is_no_formula_in_csv(db, tmp_path):
    rows = exported(db, tmp_path / "out.csv", "--where", "benchmark=s.track_texts")
    assert sorted(row["param_param1"] for row in rows) == sorted(f"'{text}" for text in FORMULAS)


def test_negative_numbers_stay_numbers_in_csv(db, tmp_path):
    rows = exported(db, tmp_path / "out.csv", "--where", "benchmark=s.track_numbers")
    assert [(float(row["value_unit"]), int(row["param_param1"])) for row in rows] == [(-1.5, -5), (2.5, 7)]
    mixed = exported(db, tmp_path / "out.csv", "--where", "benchmark=s.track_mixed")
    assert [row["param_param1"] for row in mixed] == ["-5", "'-5x"]


def test_json_keeps_texts_as_they_are(db, tmp_path):
    answer = run(export, "--db", db, "--output", tmp_path / "out.json", "--where", "benchmark=s.track_texts")
    assert answer.return_value == ExitCode.FINE
    assert [row["param_param1"] for row in json.loads((tmp_path / "out.json").read_text())] == FORMULAS


def test_show_escapes_formulas_in_csv_too(tmp_path, write_asv_run, timed):
    write_asv_run(tmp_path / "tree", {"s.time_it": timed(1e-3)}, machine="=cmd()")
    run(ingest, tmp_path / "tree", "--db", tmp_path / "x.db")
    (row,) = csv.DictReader(run(show, "--db", tmp_path / "x.db", "--format", "csv").stdout.splitlines())
    assert row["machine"] == "'=cmd()"


@pytest.mark.parametrize("name", ["points.xlsx", "points.cvs", "points", "points.parquet.gz"])
def test_a_suffix_that_is_no_format_is_refused_and_nothing_is_written(db, tmp_path, name):
    answer = run(export, "--db", db, "--output", tmp_path / name)
    assert isinstance(answer.exception, click.UsageError)
    assert ".csv, .json, .parquet" in answer.exception.message
    assert not (tmp_path / name).exists()


def test_a_format_that_is_named_goes_into_a_file_of_any_name(db, tmp_path):
    assert exported(db, tmp_path / "points.txt", "--format", "csv")


def test_binary_is_not_written_to_a_terminal(db):
    leader, follower = os.openpty()
    for output in ((), ("--output", os.ttyname(follower))):
        command = [sys.executable, "-m", "fusebench", "export", "--db", db, "--format", "parquet", *output]
        done = subprocess.run(
            command, cwd=ROOT, stdout=follower, stderr=subprocess.PIPE, stdin=follower, text=True, check=False
        )
        assert done.returncode == ExitCode.WRONG_USAGE, done.stderr
        assert "not for a terminal" in done.stderr
    os.close(leader)
    os.close(follower)


def test_a_device_is_written_to_and_not_replaced(db):
    before = Path("/dev/null").stat()
    assert run(export, "--db", db, "--format", "csv", "--output", "/dev/null").return_value == ExitCode.FINE
    assert Path("/dev/null").stat().st_rdev == before.st_rdev != 0


def test_a_link_goes_on_pointing_to_the_file_that_is_written(db, tmp_path):
    (tmp_path / "link.csv").symlink_to(tmp_path / "real.csv")
    assert exported(db, tmp_path / "link.csv")
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "real.csv").is_file()


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_an_export_that_is_ended_leaves_no_part_file_and_the_old_file_as_it_was(db, tmp_path, signum):
    (tmp_path / "out").mkdir()
    path = tmp_path / "out" / "points.csv"
    path.write_text("old")
    command = [sys.executable, "-c", SLOW_EXPORT, "export", "--db", db, "--output", path]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "writing\n"
        assert len(list(path.parent.iterdir())) == 2
        process.send_signal(signum)
        process.wait(timeout=30)
    assert process.returncode == 128 + signum
    assert list(path.parent.iterdir()) == [path]
    assert path.read_text() == "old"
