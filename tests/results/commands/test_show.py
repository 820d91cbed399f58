from __future__ import annotations

import csv
import io
import json
import re
import subprocess
from dataclasses import replace
from datetime import timedelta

import pytest
from click.testing import CliRunner

from results.commands.show import show
from results.exit_codes import ExitCode
from results.files.disturbances import causes_in_short, disturbed_in_short
from results.store import open_store
from results.units import figures, in_words, with_prefix

PROMISED = {
    "commit", "machine", "operation", "provider", "pass", "dtype", "activation", "batch", "hidden", "dim", "state",
    "latency_s", "latency_ci_low_s", "latency_ci_high_s", "device_time_s", "host_time_s", "operator_time_s",
    "kernel_launches", "operator_count", "peak_memory_bytes", "rows_per_s", "tflop_per_s", "speedup_vs_eager",
    "bound",
}  # fmt: skip


def run_show(store, *arguments):
    return CliRunner().invoke(show, [*arguments, "--db", store.name], standalone_mode=False)


def test_json_has_every_promised_key_for_every_point(journal_store):
    rows = json.loads(run_show(journal_store(), "--format", "json").stdout)
    assert len(rows) == 36
    assert all(set(row) >= PROMISED for row in rows)
    assert rows[0]["kernel_launches"] is None


def test_csv_has_the_same_columns_as_json(journal_store):
    store = journal_store()
    rows = list(csv.DictReader(io.StringIO(run_show(store, "--format", "csv").stdout)))
    assert set(rows[0]) == set(json.loads(run_show(store, "--format", "json").stdout)[0])
    assert float(rows[0]["latency_s"]) > 0


def test_text_is_a_table_for_each_operation_and_shape(journal_store):
    text = run_show(journal_store()).stdout
    assert text.count("hidden 1024") == 3
    for word in ("latency", "rows/s", "TFLOP/s", "× eager", "operators", "bound", "fused", "µs"):
        assert word in text


def test_text_gives_the_reason_of_a_point_without_numbers(journal_store, journals):
    store = journal_store([journals.Sweep(states={("mlp", "fused"): "unavailable"})])
    text = run_show(store, "--all").stdout
    assert re.search("unavailable +fused is unavailable in this test", text)


def test_points_that_beat_their_floor_have_no_percentage_and_text_says_what_to_do(journal_store, journals, tmp_path):
    store = journal_store([])
    lines = list(journals.lines_of(journals.Sweep()))
    fast = [line for line in lines if line["kind"] == "timing" and line["point"]["provider"] == "fused"]
    for line in fast:
        line["floor_s"] = 20 * line["latency_s"]
    (tmp_path / "fast.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    store.ingest([tmp_path / "fast.jsonl"])
    text = run_show(store, "--all").stdout
    assert text.count("ceiling not valid") == len(fast) + 1
    assert f"ceiling not valid, {len(fast)} of" in text
    assert "fusebench run --again" in text
    rows = json.loads(run_show(store, "--format", "json").stdout)
    assert {row["percent_of_floor"] is None for row in rows if row["provider"] == "fused"} == {True}
    assert {row["percent_of_floor"] is None for row in rows if row["provider"] != "fused"} == {False}
    assert "ceiling not valid" not in run_show(journal_store()).stdout


@pytest.mark.parametrize(("planned", "n_told"), [(3, 2), (1, 0), (None, 0), ("three", 0), (2.5, 0)])
def test_points_of_fewer_visits_than_planned_are_told_with_the_run_that_completes_them(
    journal_store, journals, tmp_path, planned, n_told
):
    store = journal_store([])
    lines = list(journals.lines_of(journals.Sweep(operations=("mlp",), ruler_version="3", n_visits=1)))
    points = [line for line in lines if line["kind"] == "timing"]
    for line in points[:2]:
        line["conditions"] = {**line["conditions"], "visits_planned": planned}
        line["disturbed"] = "someone compiled" if n_told else None
    (tmp_path / "begun.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert store.ingest([tmp_path / "begun.jsonl"]).problems == ()
    text = " ".join(run_show(store, "--all").stdout.split())
    assert text.count("1 of 3 visits") == n_told
    assert (f"fewer visits than planned, {n_told} of 12 points" in text) is bool(n_told)
    assert ("undecided, disturbed, 1 of 3 visits" in text) is bool(n_told)
    assert ("complete the visits: fusebench run, while" in text) is bool(n_told)
    assert text.count("with the options and at the commit of these points") == bool(n_told)
    assert "--again" not in text
    rows = json.loads(run_show(store, "--format", "json").stdout)
    assert {row["visits_planned"] for row in rows} - {None} == ({planned} if isinstance(planned, int) else set())


SLOW = "the machine ran at {} % of its best (one core's arithmetic)"
WAITED = "other processes used {} cores while this was measured, which waited for a processor {} % of the time"
OLD = f"{SLOW.format(51)}; measure again when it is quiet and cool; {SLOW.format(60)}; measure again when it is cool"


def test_percents_of_older_journals_are_told_as_those_of_now():
    older = SLOW.format(60).replace(" %", "%")
    assert causes_in_short([older, SLOW.format(70)]) == f"{SLOW.format(60)}, at worst"
    assert disturbed_in_short(older) == SLOW.format(60)


@pytest.mark.parametrize(
    ("disturbed", "told"),
    [
        ([SLOW.format(74), SLOW.format(60)], f"12 of 12 points: {SLOW.format(60)}, at worst\n"),
        ([SLOW.format(74)], f"12 of 12 points: {SLOW.format(74)}; it slows calls in turns alike, so × eager stands\n"),
        ([OLD, SLOW.format(74)], f"12 of 12 points: {SLOW.format(51)}, at worst\n"),
        ([WAITED.format("1.0", 20) + "; stop them"], f"points: {WAITED.format('1.0', 20)}\n"),
        (
            [f"{SLOW.format(60)}; {WAITED.format('1.0', 20)}", WAITED.format("1.8", 12)],
            f"points: {WAITED.format('1.8', 12)}, at worst; {SLOW.format(60)}\n",
        ),
        (["a", "b", "c", "d", "e", "e"], "points: e; a; b; and 2 more\n"),
    ],
)
def test_text_tells_each_cause_of_disturbance_once_and_what_to_do_once(
    journal_store, journals, tmp_path, disturbed, told
):
    store = journal_store([])
    lines = list(journals.lines_of(journals.Sweep(operations=("mlp",))))
    for number, line in enumerate(line for line in lines if line["kind"] == "timing"):
        line["disturbed"] = disturbed[number % len(disturbed)]
    (tmp_path / "busy.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    store.ingest([tmp_path / "busy.jsonl"])
    text = run_show(store, "--all").stdout
    assert told in text
    assert text.count("measure again") == 1
    assert "stop them" not in text


def test_text_is_of_the_machine_that_measured_last_and_names_the_others(journal_store, journals):
    before, after = journals.history(2)
    published = [replace(each, machine="cpu-box") for each in (before, after)]
    own = replace(after, machine="mine", run_id="e1", commit_date=after.commit_date + timedelta(days=1))
    store = journal_store([*published, own])
    answer = run_show(store)
    assert "Measured on other machines, too: cpu-box (--where machine=cpu-box)." in answer.stderr
    assert answer.stdout == run_show(store, "--where", "machine=mine").stdout
    other = run_show(store, "--where", "machine=cpu-box")
    assert other.stdout
    assert other.stderr == ""
    assert run_show(store, before.commit).stderr == ""
    # Programs are given everything.
    assert len(json.loads(run_show(store, "--format", "json").stdout)) == 72


def test_a_revision_shows_that_commits_points(journal_store, journals):
    rows = json.loads(run_show(journal_store(), journals.commit_hash(0)[:8], "--format", "json").stdout)
    assert {row["commit"] for row in rows} == {journals.commit_hash(0)}


def test_an_unmeasured_revision_says_what_measures_it(journal_store):
    answer = run_show(journal_store(), "0123456789")
    assert answer.return_value == ExitCode.NOTHING_COMPARABLE
    assert "`git checkout 0123456789 && { make bench; git checkout -; }`" in answer.stderr


@pytest.mark.parametrize(
    ("failing", "calls"),
    [
        ("git checkout 0123456789", ["git checkout 0123456789"]),
        ("make bench", ["git checkout 0123456789", "make bench", "git checkout -"]),
    ],
)
def test_measuring_another_revision_ends_at_the_branch_it_began_at(journal_store, failing, calls):
    typed = run_show(journal_store(), "0123456789").stderr.split("`")[1]
    stub = f'call() {{ echo "$*"; [ "$*" != "{failing}" ]; }}; git() {{ call git "$@"; }}; make() {{ call make "$@"; }}'
    done = subprocess.run(["bash", "-c", f"{stub}; {typed}"], capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == calls


def test_an_empty_store_says_what_to_do(tmp_path):
    with open_store(str(tmp_path / "x.db")) as store:
        answer = run_show(store)
    assert answer.return_value == ExitCode.NOTHING_COMPARABLE
    assert "make bench" in answer.stderr


def test_a_store_of_another_suite_shows_its_values(tmp_path, write_asv_run, timed):
    grid = {"result": [1.0, None], "params": [["'a'", "'b'"]], "version": "v"}
    write_asv_run(tmp_path / "results", {"s.time_it": timed(2e-3), "s.track_size": grid})
    with open_store(str(tmp_path / "x.db")) as store:
        store.ingest([tmp_path / "results"])
        text = run_show(store).stdout
        rows = json.loads(run_show(store, "--format", "json").stdout)
        lines = run_show(store, "--format", "csv").stdout.splitlines()
    assert "2 ms" in text
    assert "param1=a" in text
    assert "failed" in text
    assert [row["value"] for row in rows] == [2e-3, 1.0, None]
    assert rows[1]["parameters"] == {"param1": "a"}
    assert len(lines) == 4


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (with_prefix(1.234e-5, "s"), "12.3 µs"),
        (with_prefix(2, "s"), "2 s"),
        (with_prefix(3e-10, "s"), "300 ps"),
        (with_prefix(None, "s"), "–"),
        (with_prefix(12_345), "12.3 k"),
        (with_prefix(2e9, "B"), "2 GB"),
        (figures(0.000012), "1.2e-05"),
        (figures(float("inf")), "inf"),
        (in_words(3.0, unit="rows"), "3 rows"),
        (in_words(2048, unit="bytes"), "2.05 kB"),
    ],
)
def test_quantities_are_written_for_people(written, expected):
    assert written == expected


def test_text_marks_who_is_fastest_and_who_is_tied(journal_store, journals):
    """A winner is named only where the intervals are apart; packed weights compete with plain ones."""
    clear = run_show(journal_store()).stdout
    assert "fastest" in clear
    assert "tied" not in clear
    equal = journals.Sweep(slowdowns={("mlp", "fused"): 1.28}, operations=("mlp",))
    tied = run_show(journal_store([equal]), "--all").stdout
    assert tied.count("tied") == 8
    assert "fastest" not in tied


def test_text_names_the_ruler_of_each_point_where_a_commit_was_measured_by_two(journal_store, journals):
    sweep = journals.Sweep(operations=("mlp",), batches=(1,), hiddens=(256,), run_id="old", ruler_version="4")
    newer = replace(sweep, run_id="new", ruler_version="5", providers=("eager", "fused"))
    lines = run_show(journal_store([sweep, newer])).stdout.splitlines()
    assert {tuple(line.split()[1:3]) for line in lines if line.startswith("    1")} == {
        ("compiled", "4"),
        ("eager", "5"),
        ("fused", "5"),
    }
