"""Fixtures of the tests of ingest."""

from __future__ import annotations

import json

import pytest

A, B = "a" * 40, "b" * 40


@pytest.fixture
def tree(tmp_path, write_asv_run, timed):
    """An asv tree of two commits, one benchmark without parameters and one with two."""
    grid = {
        "result": [1.0, None, 3.0, float("nan"), 5.0, 6.0],
        "params": [["1", "2"], ["'a'", "None", "2.5"]],
        "version": "g1",
    }
    for commit in (A, B):
        write_asv_run(tmp_path / "tree", {"s.time_it": timed(1e-3), "s.track_grid": grid}, commit=commit)
    benchmarks = {
        "s.time_it": {"type": "time", "unit": "seconds", "version": "v1", "param_names": []},
        "s.track_grid": {"type": "track", "unit": "rows", "version": "g1", "param_names": ["n", "mode"]},
        "version": 2,
    }
    (tmp_path / "tree" / "benchmarks.json").write_text(json.dumps(benchmarks))
    return tmp_path / "tree"
