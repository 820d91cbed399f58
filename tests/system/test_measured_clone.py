"""`make bench` in a fresh clone, and what a person does after it."""

from __future__ import annotations

import itertools
import re

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]

WRONG_USAGE = 64
OPERATIONS = ("linear", "mlp", "gated_mlp")
PROVIDERS = ("eager", "compiled", "fused")
KEYS = {
    "commit", "machine", "operation", "provider", "pass", "dtype", "activation", "batch", "hidden", "dim", "state",
    "latency_s", "latency_ci_low_s", "latency_ci_high_s", "device_time_s", "host_time_s", "operator_time_s",
    "kernel_launches", "operator_count", "peak_memory_bytes", "rows_per_s", "tflop_per_s", "speedup_vs_eager", "bound",
}  # fmt: skip
UNPROFILED = """
import json
from pathlib import Path
from results.queries import latest_points, profile_of
from results.store import OpenMode, open_store

published = {path.name for path in Path().glob("results/data/published/*/journal/*")}
with open_store(None, mode=OpenMode.READ) as store:
    rows = [row for row in latest_points(store) if row.state == "ok" and row.machine not in published]
    assert rows
    profiles = {str(row): profile_of(store, point=row) for row in rows}
print(json.dumps([point for point, profile in profiles.items() if profile is None or not profile.operators]))
"""


@pytest.fixture
def touched(measured_clone):
    """Change a tracked file of the kernels for one test; yield its name."""
    name = "kernels/fused_mlp/activations.py"
    path = measured_clone.shell.folder / name
    before = path.read_bytes()
    path.write_bytes(before + b"# touched\n")
    yield name
    path.write_bytes(before)


@pytest.fixture
def record(measured_clone):
    """Read everything that the clone keeps: file → content."""
    data = measured_clone.shell.folder / "results" / "data"
    kept = [*data.glob("local/journal/**/*.jsonl"), *data.glob("local/asv/*/*.json"), measured_clone.database]

    def read():
        return {str(path.relative_to(data)): path.read_bytes() for path in kept}

    return read


def test_make_bench_succeeds_and_complains_of_nothing(measured_clone):
    assert measured_clone.bench.code == 0, measured_clone.bench.output
    assert "Traceback" not in measured_clone.bench.output
    assert "fusebench dashboard" in measured_clone.bench.out


def test_every_point_of_the_quick_sweep_is_ok_and_explained(measured_clone):
    points = measured_clone.shell.points()
    assert all(point.keys() >= KEYS for point in points)
    assert [point for point in points if point["state"] != "ok"] == []
    sizes = {name: sorted({point[name] for point in points}) for name in ("batch", "hidden")}
    assert all(len(values) >= 2 for values in sizes.values())
    measured = {tuple(point[axis] for axis in ("operation", "provider", "batch", "hidden")) for point in points}
    assert measured >= set(itertools.product(OPERATIONS, PROVIDERS, sizes["batch"], sizes["hidden"]))
    for point in points:
        assert point["latency_ci_low_s"] <= point["latency_s"] <= point["latency_ci_high_s"], point
        # Without ceilings there is no bound, and the run has said why.
        was_refused = "ceilings were refused" in measured_clone.bench.output
        assert point["bound"] in {"overhead", "memory", "compute"} or (was_refused and point["bound"] is None), point
        assert point["kernel_launches"] is not None or point["operator_count"] is not None, point
    assert {point["commit"] for point in points} == {measured_clone.shell.git("rev-parse", "HEAD")}


def test_every_ok_point_has_a_profile_with_its_operators_in_the_database(measured_clone):
    assert measured_clone.shell.ask(UNPROFILED) == []


def test_the_table_names_every_point_with_its_units(measured_clone):
    printed = measured_clone.bench.out
    for point in measured_clone.shell.points():
        section = next(
            part
            for part in printed.split("\n\n")
            if f"{point['operation']} {point['pass']} " in part and f"hidden {point['hidden']}," in part
        )
        row = rf"^ *{point['batch']} +{point['provider']} +[\d.]+ (ns|µs|ms|s) +(> 100|[\d.]+)\s% "
        assert re.search(row, section, re.MULTILINE), f"{row} is not in\n{section}"
        assert "rows/s" in section
        assert "TFLOP/s" in section


def test_a_second_run_measures_nothing(measured_clone, record):
    before = record()
    answer = measured_clone.shell.fusebench("run")
    assert answer.code == 0, answer.output
    assert f"{len(measured_clone.shell.points())} recorded already" in answer.out
    after = record()
    journal = [name for name in before if name.endswith(".jsonl")]
    assert journal
    assert {name: after[name] for name in journal} == {name: before[name] for name in journal}
    assert answer.seconds < measured_clone.bench.seconds / 2


def test_files_that_no_commit_holds_are_refused_by_name(measured_clone, touched, record):
    before = record()
    answer = measured_clone.shell.fusebench("run")
    assert answer.code == WRONG_USAGE, answer.output
    assert touched in answer.output
    assert "--uncommitted" in answer.output
    assert record() == before


def test_uncommitted_files_are_measured_and_shown_but_never_recorded(measured_clone, touched, record):
    before = record()
    answer = measured_clone.shell.fusebench(
        "run", "--uncommitted", "--operation", "linear", "--provider", "eager,fused", "--batch", "16", "--hidden", "256"
    )
    assert answer.code == 0, answer.output
    assert re.search(r"^ *16 +fused +[\d.]+ .s ", answer.out, re.MULTILINE)
    assert record() == before
    assert "Nothing was recorded, as --uncommitted or FUSEBENCH_UNCOMMITTED asks." in answer.out


def test_plain_asv_on_the_same_environment_replays_without_measuring_again(measured_clone, record):
    before = record()
    shell = measured_clone.shell
    answer = shell.asv("run", "-E", f"existing:{shell.bin / 'python'}", "--set-commit-hash", "HEAD")
    assert answer.code == 0, answer.output
    assert "mlp.Mlp.time_forward" in answer.out
    assert "failed" not in answer.out
    after = record()
    journal = [name for name in before if name.endswith(".jsonl")]
    assert {name: after[name] for name in journal} == {name: before[name] for name in journal}
