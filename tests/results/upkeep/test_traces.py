from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner

from results.commands.store import store
from results.exit_codes import ExitCode
from results.files.paths import trace_path
from results.queries import latest_points, profile_of
from results.store import open_store


@pytest.fixture
def data(tmp_path, journals):
    """A folder with three runs, a day apart up to now, each with a trace of every point; and its database."""
    today = datetime.now(tz=UTC)
    for number in range(3):
        sweep = journals.Sweep(
            commit=journals.commit_hash(number), commit_date=today - timedelta(days=2 - number, hours=2),
            operations=("mlp",), providers=("eager",), batches=(1,), hiddens=(256, 1024),
        )  # fmt: skip
        lines = journals.lines_of(sweep)
        for line in lines:
            if line["kind"] == "profile":
                name = f"{sweep.commit[:8]}/{line['point']['hidden']}.json"
                line["trace"] = name
                trace = tmp_path / "data" / "traces" / name
                trace.parent.mkdir(parents=True, exist_ok=True)
                trace.write_text("x" * 1000)
        path = tmp_path / "data" / "journal" / "bench-01" / f"{sweep.commit[:8]}-x.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    (tmp_path / "data" / "traces" / "of-somebody-else.json").write_text("x")
    with open_store(str(tmp_path / "x.db")) as opened:
        opened.ingest([tmp_path / "data"])
    return tmp_path / "data", str(tmp_path / "x.db")


def retain(data, *arguments):
    folder, db = data
    command = ["retain-traces", str(folder), "--db", db, *map(str, arguments)]
    answer = CliRunner().invoke(store, command, standalone_mode=False)
    return answer, sorted(str(path.relative_to(folder / "traces")) for path in (folder / "traces").rglob("*.json"))


def of_runs(journals, *numbers):
    names = [f"{journals.commit_hash(n)[:8]}/{hidden}.json" for n in numbers for hidden in (256, 1024)]
    return sorted([*names, "of-somebody-else.json"])


def test_traces_of_the_newest_runs_stay(data, journals):
    answer, left = retain(data, "--keep", 1)
    assert "4 traces removed. Reclaimed 4 kB." in answer.stdout
    assert left == of_runs(journals, 2)


def test_young_traces_stay(data, journals):
    assert retain(data, "--older-than", 1.5)[1] == of_runs(journals, 1, 2)


def test_a_trace_goes_only_if_every_rule_lets_it_go(data, journals):
    assert retain(data, "--keep", 0, "--older-than", 1.5)[1] == of_runs(journals, 1, 2)
    assert retain(data, "--keep", 3, "--older-than", 0)[1] == of_runs(journals, 1, 2)


def test_a_dry_run_names_them_and_removes_none(data, journals):
    answer, left = retain(data, "--keep", 2, "--dry-run")
    assert len(answer.stdout.splitlines()) == 2
    assert left == of_runs(journals, 0, 1, 2)


def test_without_a_rule_nothing_is_removed(data, journals):
    answer, left = retain(data)
    assert "name the traces to keep" in answer.exception.message
    assert left == of_runs(journals, 0, 1, 2)


def test_what_was_measured_stays_when_its_trace_goes(data):
    retain(data, "--keep", 0)
    with open_store(data[1]) as opened:
        points = latest_points(opened)
        assert len(points) == 2
        assert all(profile_of(opened, point=point).operator_count for point in points)


def test_removing_twice_removes_nothing_more(data):
    retain(data, "--keep", 0)
    answer, _ = retain(data, "--keep", 0)
    assert answer.return_value == ExitCode.FINE
    assert "0 traces removed" in answer.stdout


@pytest.mark.parametrize("name", ["../secret", "a/../../secret", "/etc/passwd"])
def test_a_name_that_leads_out_of_the_traces_is_no_trace(tmp_path, name):
    assert trace_path(tmp_path / "journal" / "m" / "x.jsonl", name) is None


def test_a_trace_lies_beside_the_journal_folder_or_the_journal():
    assert trace_path(Path("/data/journal/m/x.jsonl"), "t.json") == Path("/data/traces/t.json")
    assert trace_path(Path("/data/x.jsonl"), "t.json") == Path("/data/traces/t.json")
