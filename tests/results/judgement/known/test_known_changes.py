"""Acknowledged changes: listed as known with their reason, no exit code 1; what comes on top is judged as before."""

from __future__ import annotations

import json
from dataclasses import replace
from xml.etree import ElementTree as ET

import click
import pytest

from results.exit_codes import ExitCode

NOTE = "pays for accuracy"


def test_an_acknowledged_regression_is_known_with_its_reason_and_passes(fusebench, measured):
    base, head = measured(1.0, 1.5)
    assert fusebench("gate", "--base", base, "--head", head).return_value == ExitCode.REGRESSION
    answer = fusebench("store", "acknowledge", head, "--note", NOTE, "--by", "Ada")
    assert answer.return_value == ExitCode.FINE
    answer = fusebench("gate", "--base", base, "--head", head)
    assert answer.return_value == ExitCode.FINE
    assert "4 known" in answer.stdout
    assert "Known:\n" in answer.stdout
    assert f"accepted at {head[:8]} by Ada on" in answer.stdout
    assert NOTE in answer.stdout
    assert "Regressions" not in answer.stdout


def test_taking_it_back_makes_it_a_regression_again(fusebench, measured, tmp_path):
    base, head = measured(1.0, 1.5)
    fusebench("store", "acknowledge", head, "--note", NOTE)
    assert fusebench("gate", "--base", base, "--head", head).return_value == ExitCode.FINE
    answer = fusebench("store", "acknowledge", head, "--undo")
    assert answer.return_value == ExitCode.FINE
    assert fusebench("gate", "--base", base, "--head", head).return_value == ExitCode.REGRESSION
    assert "[[acknowledgement]]" not in (tmp_path / "results/data/published/decisions.toml").read_text()
    assert "Known" not in fusebench("show").stdout


def test_taking_back_leaves_the_other_decisions_as_they_were_written(fusebench, measured, tmp_path):
    base, middle, head = measured(1.0, 1.5, 3.0)
    file = tmp_path / "results/data/published/decisions.toml"
    fusebench("store", "acknowledge", middle, "--benchmark", "mlp", "--note", NOTE)
    edited = file.read_text().replace(f'note = "{NOTE}"', f'note = "{NOTE}"   # agreed with everybody')
    file.write_text(edited)
    fusebench("store", "acknowledge", head)
    fusebench("store", "acknowledge", head, "--undo")
    assert file.read_text().partition("[[withdrawal]]")[0].strip() == edited.strip()
    assert fusebench("gate", "--base", base, "--head", middle).return_value == ExitCode.FINE


def test_taking_back_reaches_what_came_by_a_merge(fusebench, measured, tmp_path):
    base, head = measured(1.0, 1.5)
    fusebench("store", "acknowledge", head, "--note", NOTE)
    other = ("--db", tmp_path / "other.db")
    fusebench("store", "merge", tmp_path / "known.db", *other)
    assert fusebench("gate", "--base", base, "--head", head, *other).return_value == ExitCode.FINE
    undone = fusebench("store", "acknowledge", head, "--undo", *other)
    assert undone.stdout.startswith(f"{head[:8]}: 1 acknowledgement removed from ")
    assert fusebench("gate", "--base", base, "--head", head, *other).return_value == ExitCode.REGRESSION
    fusebench("store", "merge", tmp_path / "known.db", *other)
    undone = fusebench("store", "acknowledge", head, "--undo", "--file", "none.toml", *other)
    assert undone.return_value == ExitCode.FINE
    assert fusebench("gate", "--base", base, "--head", head, *other).return_value == ExitCode.REGRESSION


@pytest.mark.parametrize("option", ["--note", "--by"])
def test_a_reason_that_is_no_text_is_wrong_usage_and_nothing_is_written(fusebench, measured, tmp_path, option):
    _, head = measured(1.0, 1.5)
    answer = fusebench("store", "acknowledge", head, option, "caf\udce9")
    assert isinstance(answer.exception, click.UsageError)
    assert f"{option} holds bytes that are not UTF-8" in answer.exception.message
    assert not (tmp_path / "results").exists()


def test_taking_back_what_nobody_acknowledged_is_wrong_usage(fusebench, measured):
    base, head = measured(1.0, 1.5)
    fusebench("store", "acknowledge", head, "--where", "batch=64")
    for arguments in ((base,), (head, "--where", "batch=1"), (head, "--metric", "latency_s")):
        answer = fusebench("store", "acknowledge", *arguments, "--undo")
        assert "has no acknowledgement" in str(answer.exception)
    answer = fusebench("store", "acknowledge", head, "--where", "batch=64", "--undo")
    assert answer.return_value == ExitCode.FINE


@pytest.mark.parametrize(
    ("factors", "known_at", "expected"),
    [
        ((1.0, 1.5, 1.5), 1, ExitCode.FINE),  # still as slow as it was acknowledged
        ((1.0, 1.5, 1.2), 1, ExitCode.FINE),  # slower than the base, faster than acknowledged
        ((1.0, 1.5, 2.0), 1, ExitCode.REGRESSION),  # a later one on top
        ((1.0, 1.5, 1.5, 2.0, 1.5), 1, ExitCode.FINE),  # a later one, mended
        ((1.0, 1.5, 1.0, 1.5), 1, ExitCode.REGRESSION),  # mended, and slower again
        ((1.0, 1.0, 1.5), 1, ExitCode.REGRESSION),  # acknowledged where nothing had changed yet
        ((1.0, 1.5, 2.0), 2, ExitCode.FINE),  # acknowledged with all that came before
    ],
)
def test_an_acknowledgement_explains_its_change_and_no_other(fusebench, measured, factors, known_at, expected):
    commits = measured(*factors)
    fusebench("store", "acknowledge", commits[known_at], "--note", NOTE)
    assert fusebench("gate", "--base", commits[0], "--head", commits[-1]).return_value == expected


def test_what_was_acknowledged_before_the_base_hides_nothing(fusebench, measured):
    _, known, base, head = measured(1.0, 2.0, 1.0, 2.0)
    fusebench("store", "acknowledge", known)
    assert fusebench("gate", "--base", base, "--head", head).return_value == ExitCode.REGRESSION
    assert fusebench("gate", "--base", known, "--head", head).return_value == ExitCode.FINE


def test_series_that_were_not_selected_are_regressions_still(fusebench, measured):
    base, head = measured(1.0, 1.5)
    fusebench("store", "acknowledge", head, "--where", "batch=64")
    answer = fusebench("gate", "--base", base, "--head", head)
    assert answer.return_value == ExitCode.REGRESSION
    assert "2 regressions, 2 known" in answer.stdout


def test_a_known_failure_passes_until_it_fails_in_another_way(fusebench, measured, tmp_path, journals):
    (base,) = measured(1.0)
    crashed = replace(journals.history(2, operations=("mlp",))[1], states={("mlp", "fused"): "crashed"}, batches=(1,))
    wrong = replace(journals.history(3, operations=("mlp",))[2], states={("mlp", "fused"): "wrong"}, batches=(1,))
    journals.write_journals(tmp_path / "data", [crashed, wrong])
    fusebench("ingest", "data")
    assert fusebench("gate", "--base", base, "--head", crashed.commit).return_value == ExitCode.FAILED
    fusebench("store", "acknowledge", crashed.commit, "--decision", "to_fix", "--note", "no memory")
    answer = fusebench("gate", "--base", base, "--head", crashed.commit)
    assert (answer.return_value, "to fix at" in answer.stdout) == (ExitCode.FINE, True)
    assert fusebench("gate", "--base", base, "--head", wrong.commit).return_value == ExitCode.FAILED


def test_every_format_of_the_gate_tells_what_is_known_and_why(fusebench, measured):
    base, head = measured(1.0, 1.5)
    fusebench("store", "acknowledge", head, "--note", NOTE, "--by", "Ada")

    def report(name):
        return fusebench("gate", "--base", base, "--head", head, "--format", name).stdout

    assert "### Known (1)\n" in report("markdown")
    assert NOTE in report("markdown")
    told = json.loads(report("json"))
    assert (told["exit_code"], told["counts"]["known"], told["counts"]["regression"]) == (0, 4, 0)
    known = told["changes"][0]
    assert known["outcome"] == "known"
    assert (known["known"]["commit"], known["known"]["by"], known["known"]["note"]) == (head, "Ada", NOTE)
    suite = ET.fromstring(report("junit"))  # noqa: S314 - ours
    assert (suite.get("failures"), suite.get("skipped")) == ("0", "4")
    assert NOTE in suite.find(".//skipped").get("message")


def test_show_lists_known_changes_of_what_it_shows(fusebench, measured):
    base, head = measured(1.0, 1.5)
    assert "Known" not in fusebench("show").stdout
    fusebench("store", "acknowledge", head, "--where", "batch=64", "--note", NOTE, "--by", "Ada")
    shown = fusebench("show").stdout
    assert "Known changes:" in shown
    assert f"accepted at {head[:8]} by Ada on" in shown
    assert NOTE in shown
    assert "Known" not in fusebench("show", base).stdout
    assert "Known" not in fusebench("show", "--where", "batch=1").stdout


def test_an_asv_suite_has_known_changes_too(fusebench, tmp_path, write_asv_run, timed):
    for day, (commit, value) in enumerate((("a" * 40, 1e-3), ("b" * 40, 2e-3))):
        results = {"s.time_it": timed(value)}
        write_asv_run(tmp_path / "tree", results, commit=commit, date=1_700_000_000_000 + day * 86_400_000)
    fusebench("ingest", "tree", "--project", "p")
    gate = ("gate", "--base", "a" * 40, "--head", "b" * 40)
    assert fusebench(*gate).return_value == ExitCode.REGRESSION
    fusebench("store", "acknowledge", "b" * 40, "--note", NOTE)
    assert fusebench(*gate).return_value == ExitCode.FINE
    assert NOTE in fusebench("show").stdout
