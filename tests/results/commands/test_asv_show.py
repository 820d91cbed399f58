"""What `asv show` prints for a real tree equals what the store answers: every value, interval and mark."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from results.commands.show import show
from results.queries import values_at
from results.store import open_store

# The number is apart: other code would be another version, and asv shows the newest version alone.
SUITE = """
from pathlib import Path

NUMBER = int(Path(__file__).with_name("number.txt").read_text())

class Suite:
    number, rounds, repeat, warmup_time = 2, 1, 5, 0
    params = [[1, 1000], ["a", "b"]]
    param_names = ["n", "kind"]

    def setup(self, n, kind):
        if (n, kind) == (1000, "b"):
            raise NotImplementedError("not for these")

    def time_sum(self, n, kind):
        sum(range(n))

    def track_rows(self, n, kind):
        if kind == "b":
            raise RuntimeError("broken")
        return n * 3 + NUMBER
    track_rows.unit = "rows"

def peakmem_list():
    return [0] * 100000

def mem_list():
    return [0] * 1000

def time_loop():
    sum(range(100))
time_loop.number, time_loop.repeat, time_loop.rounds, time_loop.warmup_time = 1, 4, 1, 0

def track_nan():
    return float("nan")

def track_ratio():
    return 0.123456789 / (1 + NUMBER)
track_ratio.unit = "ratio"

def track_shaky():
    return 1 // NUMBER
track_shaky.unit = ""
"""
CONFIGURATION = {
    "version": 1, "project": "made", "repo": ".", "branches": ["main"], "environment_type": "existing",
    "benchmark_dir": "benchmarks", "results_dir": "results", "html_dir": "html", "env_dir": "env",
}  # fmt: skip
N_ROWS = 4 + 4 + 6


@pytest.fixture(scope="module")
def asv(tmp_path_factory):
    """Run asv in a repository with two commits that it has measured; and the commits."""
    pytest.importorskip("asv")
    folder = tmp_path_factory.mktemp("made")
    asv_command = str(Path(sys.executable).with_name("asv"))

    def run(*command):
        answer = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        # asv answers 2 where a benchmark failed, and some are meant to.
        assert answer.returncode in {0, 2}, answer.stdout + answer.stderr
        return answer.stdout

    (folder / "benchmarks").mkdir()
    (folder / "benchmarks" / "__init__.py").touch()
    (folder / "asv.conf.json").write_text(json.dumps(CONFIGURATION, indent=1))
    run("git", "init", "-q", "-b", "main")
    run(asv_command, "machine", "--yes", "--machine", "box")
    commits = []
    (folder / "benchmarks" / "suite.py").write_text(SUITE)
    for number in range(2):
        (folder / "benchmarks" / "number.txt").write_text(str(number))
        run("git", "add", "-A")
        run("git", "-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-q", "-m", f"{number}")
        commits.append(run("git", "rev-parse", "HEAD").strip())
        measured = ["--set-commit-hash", commits[-1], "--machine", "box", "--record-samples"]
        run(asv_command, "run", "-E", f"existing:{sys.executable}", *measured)

    return folder, commits, lambda *arguments: run(asv_command, *arguments)


@pytest.fixture(scope="module")
def stored(asv, tmp_path_factory):
    folder, _, _ = asv
    with open_store(str(tmp_path_factory.mktemp("stored") / "x.db")) as store:
        assert store.ingest([folder / "results"]).problems == ()
        yield store


def printed(text):
    """Of each benchmark that `asv show --details` printed: its lines."""
    blocks = {}
    for line in text.splitlines():
        if heading := re.fullmatch(r"(\S+) \[box/\S+\]", line):
            lines = blocks[heading[1]] = []
        elif blocks and line.strip():
            lines.append(line.strip())
    return blocks


def cells_of(lines):
    """What asv printed for each combination of parameters, the last one fastest."""
    rules = [i for i, line in enumerate(lines) if set(line) == {"=", " "}]
    if not rules:
        return [lines[0]]
    # Above the last two rules are the names; in each line below, the first cell is the parameter's value.
    return [cell for line in lines[rules[-2] + 1 : rules[-1]] for cell in re.split(r"\s{2,}", line)[1:]]


def in_asvs_words(row):
    """A value as asv prints it: by its own function, from our numbers."""
    from asv.util import human_value

    value = {"failed": None, "skipped": float("nan")}.get(row.state, row.value)
    if row.metric == "track" and row.state == "ok" and row.value.is_integer():
        value = int(value)  # as the suite gave it; a store of numbers keeps no difference between 3 and 3.0
    half = None if row.q25 is None or row.state != "ok" else (row.q75 - row.q25) / 2
    return human_value(value, row.unit, err=half)


def intervals_in_asvs_words(rows):
    from asv.util import human_value

    def interval(row):
        if row.sample_count is None:
            return None
        return f"({human_value(row.ci_low, row.unit)}, {human_value(row.ci_high, row.unit)})"

    return [interval(row) for row in rows]


@pytest.mark.slow
@pytest.mark.parametrize("number", [0, 1])
def test_asv_show_prints_what_the_store_answers(asv, stored, number):
    _, commits, run = asv
    blocks = printed(run("show", "--details", commits[number]))
    by_name = {}
    for row in sorted(values_at(stored, commit=commits[number]), key=lambda row: row.series_id):
        by_name.setdefault(row.benchmark, []).append(row)
    assert set(blocks) == set(by_name)
    assert sum(map(len, by_name.values())) == N_ROWS
    for name, rows in by_name.items():
        assert cells_of(blocks[name]) == [in_asvs_words(row) for row in rows], name
        told = dict(line.split(": ", 1) for line in blocks[name] if re.match(r"(repeat|number|ci_99|samples): ", line))
        if any(row.sample_count is not None for row in rows):
            assert told["repeat"] == ", ".join(str(row.sample_count) for row in rows)
            assert told["number"] == ", ".join(str(row.calls_per_sample) for row in rows)
            known = [i for i, row in enumerate(rows) if row.sample_count is not None]
            shown = re.findall(r"\([^()]*\)|None", told["ci_99"])
            assert [shown[i] for i in known] == [intervals_in_asvs_words(rows)[i] for i in known], name
            assert told["samples"] == str([None if row.samples is None else list(row.samples) for row in rows])


@pytest.mark.slow
def test_asv_show_prints_when_and_how_long_as_the_store_answers(asv, stored, executions):
    from asv.util import human_time

    _, commits, run = asv
    blocks = printed(run("show", commits[1]))
    found = executions(stored, commits[1])
    assert {row.name for row in found} == set(blocks)
    for row in found:
        (line,) = [line for line in blocks[row.name] if line.startswith("started: ")]
        started = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(row.started_at.timestamp()))
        assert line == f"started: {started}, duration: {human_time(row.duration_s)}"


@pytest.mark.slow
def test_our_show_marks_what_failed_and_what_does_not_apply(asv, stored):
    _, commits, _ = asv
    arguments = [commits[0], "--db", stored.name]
    rows = json.loads(CliRunner().invoke(show, [*arguments, "--format", "json"], standalone_mode=False).stdout)
    assert len(rows) == N_ROWS
    states = [(row["benchmark"].rsplit(".", 1)[-1], row["state"]) for row in rows if row["state"] != "ok"]
    assert sorted(states) == [
        ("time_sum", "skipped"), ("track_nan", "skipped"), ("track_rows", "failed"), ("track_rows", "skipped"),
        ("track_shaky", "failed"),
    ]  # fmt: skip
    assert all((row["value"] is None) == (row["state"] != "ok") for row in rows)
    text = CliRunner().invoke(show, arguments, standalone_mode=False).stdout
    assert len(re.findall(r"  skipped\b", text)) == 3
    assert len(re.findall(r"  failed\b", text)) == 2
    assert "3 skipped, 2 failed" in text
