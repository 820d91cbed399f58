"""`fusebench status`: what was measured when, what fails since when and what was left behind, per machine."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from click.testing import CliRunner

from fusebench import cli
from results.exit_codes import ExitCode


@pytest.fixture
def fusebench(tmp_path, monkeypatch):
    """Run the real command outside of any repository, on a database of its own, 80 columns wide."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FUSEBENCH_DB", str(tmp_path / "status.db"))
    monkeypatch.setenv("COLUMNS", "80")

    def run(*arguments):
        return CliRunner().invoke(cli, [str(argument) for argument in arguments], standalone_mode=False)

    return run


@pytest.fixture
def swept(fusebench, tmp_path, journals):
    """Four commits on one machine, the last with fewer points and a crash since the third; an older one on another."""
    sweeps = journals.history(4, operations=("mlp", "linear"))
    sweeps[2] = replace(sweeps[2], states={("mlp", "fused"): "crashed"}, operations=("mlp",))
    sweeps[3] = replace(sweeps[3], states={("mlp", "fused"): "crashed"}, operations=("mlp",), batches=(1,))
    elsewhere = replace(journals.history(2)[1], machine="bench-02")
    journals.write_journals(tmp_path / "data", [*sweeps, elsewhere])
    fusebench("ingest", "data")
    return [sweep.commit for sweep in sweeps]


def told(fusebench, *arguments):
    """What the command says in JSON, by machine."""
    return {one["machine"]: one for one in json.loads(fusebench("status", "--format", "json", *arguments).stdout)}


def test_each_machine_tells_its_newest_run_with_how_many_points(fusebench, swept):
    machines = told(fusebench)
    assert {name: one["newest"]["commit"] for name, one in machines.items()} == {
        "bench-01": swept[3],
        "bench-02": swept[1],
    }
    text = " ".join(fusebench("status").stdout.split())
    assert f"Newest run: commit {swept[3][:8]} (Change number 3), measured 2026-01-08 13:05" in text
    assert "6 points" in text


def test_what_was_measured_at_older_commits_only_is_stale(fusebench, swept):
    rows = {row["benchmark"]: row for row in told(fusebench)["bench-01"]["benchmarks"]}
    assert {name: (row["commit"], row["n_commits_behind"]) for name, row in rows.items()} == {
        "linear": (swept[1], 2),
        "mlp": (swept[3], 0),
    }
    assert {name: (row["n_points"], row["n_stale_points"]) for name, row in rows.items()} == {
        "linear": (12, 0),
        "mlp": (12, 6),
    }
    lines = [line.split() for line in fusebench("status", "--machine", "bench-01").stdout.splitlines()]
    assert ["linear", swept[1][:8], "2026-01-06", "13:05", "2", "12"] in lines
    assert ["mlp", swept[3][:8], "2026-01-08", "13:05", "0", "6", "of", "12"] in lines


def test_what_was_never_run_on_a_machine_is_missing_there(fusebench, swept):
    assert {name: one["missing"] for name, one in told(fusebench).items()} == {
        "bench-01": ["gated_mlp"],
        "bench-02": [],
    }
    assert "Never run here (1): gated_mlp" in fusebench("status").stdout


def test_what_fails_says_since_which_commit_and_why(fusebench, swept):
    failures = told(fusebench)["bench-01"]["failures"]
    assert {(row["state"], row["since"], row["last_ok"]) for row in failures} == {("crashed", swept[2], swept[1])}
    assert {row["parameters"]["provider"] for row in failures} == {"fused"}
    text = " ".join(fusebench("status").stdout.split())
    assert f"mlp: 4 crashed since {swept[2][:8]}, ok until {swept[1][:8]}: fused is crashed in this test" in text
    assert "Nothing fails." in fusebench("status", "--machine", "bench-02").stdout


def test_known_changes_are_listed_until_they_are_taken_back(fusebench, swept):
    fusebench("store", "acknowledge", swept[2], "--note", "no memory", "--metric", "latency_s")
    assert {row["note"] for row in told(fusebench)["bench-01"]["known_changes"]} == {"no memory"}
    assert f"accepted at {swept[2][:8]}" in fusebench("status").stdout
    fusebench("store", "acknowledge", swept[2], "--undo")
    assert told(fusebench)["bench-01"]["known_changes"] == []


def test_it_fits_80_columns_and_shows_the_20_most_stale_of_many(fusebench, tmp_path, write_asv_run, timed):
    for number in range(2):
        names = [
            f"suite_{i:02}.TimeSomethingWithALongName.time_of_an_operation_{i:02}" for i in range(50 - 25 * number)
        ]
        write_asv_run(
            tmp_path / "tree",
            {
                name: timed(1.0) if name < "suite_10" else {"result": [None], "params": [], "version": "v"}
                for name in names
            },
            commit=f"{number}" * 40,
            date=1_700_000_000_000 + number * 86_400_000,
        )
    fusebench("ingest", "tree", "--project", "p")
    text = fusebench("status").stdout
    assert max(map(len, text.splitlines())) <= 80
    assert "… and 5 benchmarks more at older commits" in text
    assert "25 benchmarks measured at 11111111" in text
    assert "time_of_an_operation_44" in text
    assert "time_of_an_operation_03" not in text
    assert "40 series fail" in text
    assert "more kinds of failure" in text


def test_a_machine_or_project_can_be_chosen(fusebench, swept):
    assert list(told(fusebench, "--machine", "bench-02")) == ["bench-02"]
    answer = fusebench("status", "--machine", "elsewhere")
    assert answer.return_value == ExitCode.NOTHING_COMPARABLE
    assert "Nothing is stored of elsewhere" in answer.stderr


def test_an_empty_store_says_how_to_fill_it(fusebench, tmp_path):
    (tmp_path / "empty").mkdir()
    fusebench("ingest", "empty")
    answer = fusebench("status")
    assert answer.return_value == ExitCode.NOTHING_COMPARABLE
    assert "make bench" in answer.stderr


def test_data_that_stopped_coming_alarms_with_an_exit_code_and_words(fusebench, swept, monkeypatch):
    """The newest runs are of 2026-01-08 on one machine, of 2026-01-06 on the other."""
    from datetime import datetime

    from results.commands import status as module

    class Clock(datetime):
        @classmethod
        def now(cls, tz):
            return datetime(2026, 1, 9, 13, 5, tzinfo=tz)

    monkeypatch.setattr(module, "datetime", Clock)
    assert fusebench("status").return_value == ExitCode.FINE
    assert fusebench("status", "--stale-after", "4", "--most-behind", "2").return_value == ExitCode.FINE
    answer = fusebench("status", "--stale-after", "2")
    assert answer.return_value == ExitCode.FAILED
    assert "Data stopped coming: 4 benchmarks" in answer.stderr
    assert f"linear: not run for 3 days, 2 commits behind, last at {swept[1][:8]}" in answer.stdout
    stopped = {
        name: {each["benchmark"] for each in one["stopped"]}
        for name, one in told(fusebench, "--most-behind", "1").items()
    }
    assert stopped == {"bench-01": {"linear"}, "bench-02": {"linear", "mlp", "gated_mlp"}}
    assert (
        fusebench("status", "--machine", "bench-01", "--stale-after", "0.5", "--all").stdout.count("not run for") == 2
    )


@pytest.mark.parametrize("option", [("--stale-after", "-1"), ("--stale-after", "nan"), ("--most-behind", "1.5")])
def test_an_impossible_limit_is_wrong_usage(fusebench, swept, option):
    assert "Invalid value" in fusebench("status", *option).exception.format_message()


def test_json_is_json_whatever_a_parameter_is(fusebench, tmp_path, write_asv_run, timed):
    ends = {"result": [None, None], "params": [["nan", "inf"]], "version": "v"}
    write_asv_run(tmp_path / "tree", {"s.time_it": timed(1.0), "s.time_ends": ends})
    fusebench("ingest", "tree", "--project", "p")
    text = fusebench("status", "--format", "json").stdout

    def refused(constant):
        raise AssertionError(f"{constant} is no JSON")

    [place] = json.loads(text, parse_constant=refused)
    assert [one["parameters"] for one in place["failures"]] == [{"param1": None}, {"param1": None}]


def test_what_is_known_to_be_gone_alarms_no_more_until_it_stops_again(fusebench, tmp_path, write_asv_run, timed):
    day = 86_400_000

    def measure(place, *names):
        results = {f"s.time_{name}": timed(1e-3) for name in names}
        write_asv_run(tmp_path / "tree", results, commit=f"{place}" * 40, date=1_700_000_000_000 + place * day)
        fusebench("ingest", "tree", "--project", "p")

    measure(1, "old", "kept")
    measure(2, "kept")
    alarm = fusebench("status", "--most-behind", "0")
    assert (alarm.return_value, "time_old: not run for" in alarm.stdout) == (ExitCode.FAILED, True)
    assert "fusebench store acknowledge" in alarm.stderr
    fusebench("store", "acknowledge", "2" * 40, "--benchmark", "s.time_old", "--note", "removed")
    quiet = fusebench("status", "--most-behind", "0")
    assert (quiet.return_value, "Data stopped coming" in quiet.stdout) == (ExitCode.FINE, False)
    assert "removed" in quiet.stdout
    measure(3, "old", "kept")
    measure(4, "kept")
    assert fusebench("status", "--most-behind", "0").return_value == ExitCode.FAILED


def test_a_known_slowdown_excuses_no_data_that_stops(fusebench, tmp_path, write_asv_run, timed):
    for place, names in enumerate((("old", "kept"), ("old", "kept"), ("kept",)), start=1):
        results = {f"s.time_{name}": timed(1e-3 * place) for name in names}
        write_asv_run(tmp_path / "tree", results, commit=f"{place}" * 40, date=1_700_000_000_000 + place * 86_400_000)
    fusebench("ingest", "tree", "--project", "p")
    fusebench("store", "acknowledge", "2" * 40)
    assert fusebench("status", "--most-behind", "0").return_value == ExitCode.FAILED


def test_what_fails_by_a_newer_ruler_alone_is_not_told_as_never_ok(fusebench, tmp_path, journals):
    sweeps = journals.history(3, operations=("mlp",), batches=(1,), hiddens=(256,), ruler_version="4")
    sweeps[2] = replace(sweeps[2], ruler_version="5", states={("mlp", "fused"): "wrong"})
    journals.write_journals(tmp_path / "rulers", sweeps)
    fusebench("ingest", "rulers")
    before = f"never ok by ruler 5, ok until {journals.commit_hash(1)[:8]} by another: fused is wrong"
    told = " ".join(fusebench("status").stdout.split())
    assert f"mlp: 1 wrong since {journals.commit_hash(2)[:8]}, {before}" in told
    assert "1 series that worked once failed when last measured" in " ".join(fusebench("changes").stdout.split())
