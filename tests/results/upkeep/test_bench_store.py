"""The measuring of the store measures everything it says, on a small scale."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


def bench_store(*options):
    command = [sys.executable, str(ROOT / "tools" / "bench_store.py"), *options]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr
    return answer.stdout


@pytest.mark.exhaustive
@pytest.mark.slow
def test_one_table_holds_filling_answering_and_asv_publish():
    pytest.importorskip("asv")
    table = bench_store("--made", "3", "--commits", "3")
    heading = next(line for line in table.splitlines() if "SQLite" in line)
    assert "asv publish" in heading
    lines = (
        *("cold, values per CPU second", "--rebuild, cost", "incremental", "again, nothing changed", "one file added"),
        *("cold, --processes 2", "history of one series", "latest of all", "throughput by commit"),
        *("filling: fixed work before, after", "answering: fixed work before, after"),
    )
    assert [line for line in lines if line not in table] == []
    assert "3 of 3 commits: CPU" in table
    assert "0 values," in next(line for line in table.splitlines() if line.startswith("again"))


@pytest.mark.slow
def test_without_a_repository_it_says_so_and_prints_ours(tmp_path, write_asv_run, timed):
    write_asv_run(tmp_path / "tree", {"s.time_it": timed(1e-3)})
    write_asv_run(tmp_path / "tree", {"s.time_it": timed(1e-3)}, commit="d" * 40)
    table = bench_store(str(tmp_path / "tree"), "--commits", "2", "--postgresql", "none")
    assert "not measured: needs a git repository of those commits" in table
    assert "cold, cost" in table
