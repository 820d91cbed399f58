"""`fusebench ingest` and `fusebench gate` on what `make bench` measured, and on a tree of somebody else's asv."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]

FINE, REGRESSION, FAILED, NOTHING_COMPARABLE, WRONG_USAGE = 0, 1, 2, 3, 64
BASE, SLOW = "a" * 40, "b" * 40
TIMES = ("latency_s", "latency_ci_low_s", "latency_ci_high_s", "samples_s")
AXES = ("provider", "batch", "hidden")
FOREIGN = "suite.Sorting.time_sort"


@pytest.fixture
def store(measured_clone, tmp_path):
    """Ingest the clone's measurements into a new database; return its path."""
    path = tmp_path / "kept.db"
    answer = measured_clone.shell.fusebench("ingest", "--db", path)
    assert answer.code == FINE, answer.output
    return path


@pytest.fixture
def gate(measured_clone):
    """Run `fusebench gate` in the clone."""

    def run(base, head, *options):
        return measured_clone.shell.fusebench("gate", "--base", base, "--head", head, *options)

    return run


@pytest.fixture
def slowed(measured_clone, tmp_path):
    """Copy the clone's journal as two commits, `fused` 1.5 times slower in SLOW; return their folder.

    Nothing in them is disturbed or wide, since that is not judged: other tests may run beside the measurement. All
    visits of a point took its latency.
    """
    lines = [json.loads(line) for line in measured_clone.journal.read_text().splitlines()]
    folder = tmp_path / "slowed" / "journal" / lines[0]["run"]["machine"]
    folder.mkdir(parents=True)
    for commit, subject in ((BASE, "Careful"), (SLOW, "Careless")):
        for line in lines:
            line["run"] |= {"commit": commit, "run_id": commit[:6], "commit_subject": subject}
            if line["kind"] != "timing":
                continue
            line["disturbed"] = None
            if line["state"] == "ok":
                line |= {"latency_ci_low_s": 0.98 * line["latency_s"], "latency_ci_high_s": 1.02 * line["latency_s"]}
                line["samples_s"] = [line["latency_s"] for _ in line["samples_s"]]
                for visit in line["visits"]:
                    visit |= {"median_s": line["latency_s"], "disturbed": None}
            if commit == SLOW and line["point"]["provider"] == "fused" and line["state"] == "ok":
                line |= {name: times_1_5(line[name]) for name in TIMES}
                for visit in line["visits"]:
                    visit["median_s"] = times_1_5(visit["median_s"])
        (folder / f"{commit[:8]}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return tmp_path / "slowed"


def times_1_5(value):
    return [1.5 * one for one in value] if isinstance(value, list) else 1.5 * value


def content_of(database):
    """Everything in the database, as SQL."""
    with closing(sqlite3.connect(database)) as connection:
        return list(connection.iterdump())


def foreign_tree(folder, *, commit, seconds):
    """An asv results folder as asv writes it, of one benchmark without parameters."""
    columns = ["result", "params", "version", "started_at", "duration", "stats_ci_99_a", "stats_ci_99_b",
               "stats_q_25", "stats_q_75", "stats_number", "stats_repeat", "samples"]  # fmt: skip
    samples = [seconds * (1 + 0.002 * (i % 5 - 2)) for i in range(10)]
    row = [[seconds], [], "v1", 1_750_000_000_000, 2.0, [seconds * 0.995], [seconds * 1.005],
           [seconds * 0.998], [seconds * 1.002], [1], [10], [samples]]  # fmt: skip
    machine = {"machine": "laptop", "arch": "x86_64", "cpu": "", "num_cpu": "2", "os": "Linux", "ram": "4"}
    date = 1_750_000_000_000 + int(commit[0]) * 3_600_000
    content = {
        "commit_hash": commit, "env_name": "virtualenv-py3.11", "date": date,
        "params": {**machine, "python": "3.11"}, "python": "3.11", "requirements": {}, "env_vars": {},
        "result_columns": columns, "results": {FOREIGN: row}, "durations": {}, "version": 2,
    }  # fmt: skip
    place = folder / "laptop"
    place.mkdir(parents=True, exist_ok=True)
    (place / "machine.json").write_text(json.dumps({**machine, "version": 1}))
    path = place / f"{commit[:8]}-virtualenv-py3.11.json"
    path.write_text(json.dumps(content))
    return path


def test_a_commit_is_not_compared_with_itself(gate, store):
    answer = gate("HEAD", "HEAD", "--db", store)
    assert answer.code == WRONG_USAGE, answer.output
    assert "name two commits" in answer.err


def test_points_slowed_by_half_are_named_and_no_others(measured_clone, gate, store, slowed):
    assert measured_clone.shell.fusebench("ingest", slowed, "--db", store).code == FINE
    answer = gate(BASE, SLOW, "--db", store, "--format", "json")
    assert answer.code == REGRESSION, answer.output
    changes = json.loads(answer.out)["changes"]
    named = {
        (change["benchmark"].split()[0], *(change["parameters"][axis] for axis in AXES)): change for change in changes
    }
    points = {
        (point["operation"], *(point[axis] for axis in AXES)): point
        for point in measured_clone.shell.points("HEAD", "--db", store)
        if point["provider"] == "fused"
    }
    # A point that other programs disturbed while it was measured may be too noisy for even this to be sure.
    sure = {name for name, point in points.items() if point["disturbed"] is None}
    assert sure <= named.keys() <= points.keys()
    assert all(change["ratio"] == pytest.approx(1.5) for change in named.values())

    printed = gate(BASE, SLOW, "--db", store, "--all")
    assert printed.code == REGRESSION
    assert "+50.0 %" in printed.out
    assert "provider=fused" in printed.out
    assert "provider=eager" not in printed.out


def test_an_unmeasured_commit_is_answered_with_the_command_that_measures_it(measured_clone, gate, store):
    shell = measured_clone.shell
    unmeasured = shell.git("commit-tree", "HEAD^{tree}", "-p", "HEAD", "-m", "Not measured")
    answer = gate("HEAD", unmeasured, "--db", store)
    assert answer.code == NOTHING_COMPARABLE, answer.output
    assert f"git checkout {unmeasured} && {{ make bench;" in answer.err


def test_a_foreign_benchmark_in_seconds_is_judged_too(measured_clone, gate, tmp_path):
    tree, db = tmp_path / "results", tmp_path / "foreign.db"
    before, same, slower, unmeasured = (digit * 40 for digit in "1234")
    for commit, seconds in ((before, 0.02), (same, 0.02), (slower, 0.03)):
        foreign_tree(tree, commit=commit, seconds=seconds)
    assert measured_clone.shell.fusebench("ingest", tree, "--db", db).code == FINE
    assert gate(before, same, "--db", db).code == FINE
    worse = gate(before, slower, "--db", db)
    assert worse.code == REGRESSION, worse.output
    assert FOREIGN in worse.out
    unknown = gate(before, unmeasured, "--db", db)
    assert unknown.code == NOTHING_COMPARABLE, unknown.output
    assert f"asv run {unmeasured}^!" in unknown.err


def test_ingesting_again_adds_nothing(measured_clone, store):
    before = content_of(store)
    answer = measured_clone.shell.fusebench("ingest", "--db", store)
    assert answer.code == FINE, answer.output
    assert answer.out.startswith("0 values stored")
    assert content_of(store) == before


def test_a_truncated_file_is_named_and_the_rest_goes_in(measured_clone, gate, tmp_path):
    tree, db = tmp_path / "results", tmp_path / "foreign.db"
    before, after, torn = (digit * 40 for digit in "123")
    for commit in (before, after):
        foreign_tree(tree, commit=commit, seconds=0.02)
    path = foreign_tree(tree, commit=torn, seconds=0.02)
    path.write_bytes(path.read_bytes()[:-100])
    answer = measured_clone.shell.fusebench("ingest", tree, "--db", db)
    assert answer.code == FAILED, answer.output
    assert str(path) in answer.err
    assert "Traceback" not in answer.output
    assert gate(before, after, "--db", db).code == FINE


def test_noise_measures_the_commit_twice_against_itself_and_tells_the_same_of_what_it_stored(measured_clone, tmp_path):
    shell, data = measured_clone.shell, str(tmp_path / "noise")
    chosen = ("--operation", "linear", "--provider", "eager", "--pass", "forward", "--batch", "16", "--hidden", "256")
    answer = shell.fusebench(
        "noise", "--rounds", "2", "--format", "json", *chosen, FUSEBENCH_DATA=data, FUSEBENCH_CEILINGS="0"
    )
    assert answer.code == FINE, answer.output
    (series,) = json.loads(answer.out)["series"]
    assert (series["runs"], series["parameters"]["provider"]) == (2, "eager")
    assert series["floor"] > 0
    again = shell.fusebench("noise", "--from-store", "--format", "json", "--db", f"{data}/fusebench.db")
    assert json.loads(again.out) == json.loads(answer.out)


def test_explain_names_the_providers_part_of_a_slowdown_in_what_was_measured(measured_clone, slowed, tmp_path):
    db = tmp_path / "explained.db"
    measured_clone.shell.fusebench("ingest", slowed, "--db", db)
    answer = measured_clone.shell.fusebench("explain", BASE, SLOW, "--db", db, "--format", "json")
    assert answer.code == FINE, answer.output
    findings = [one for one in json.loads(answer.out)["findings"] if one["metric"] == "latency_s"]
    assert findings
    # The journal's profiles are equal: only timings were slowed, so no sentence may name a cause inside of the call.
    assert {one["explanation"]["sentence"] for one in findings} == {None}
    for one in findings:
        parts = one["explanation"]["parts"]
        assert sum(part["head_s"] for part in parts) == pytest.approx(1.5 * sum(part["base_s"] for part in parts))
