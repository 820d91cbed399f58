"""A head from before a benchmark existed: nothing is gone there, and nothing can be acknowledged."""

from __future__ import annotations

import json
from dataclasses import replace
from xml.etree import ElementTree as ET

import click
import pytest
import sqlalchemy as sa

from results.database.schema import Commit
from results.database.transactions import writing
from results.exit_codes import ExitCode
from results.judgement.known_levels import with_doubts, without_later
from results.judgement.outcomes import Change
from results.store import open_store
from tests import made_findings

NOTE = "retired"
OF_FUSED = ("--where", "provider=fused", "--note", NOTE)


def is_gone(fusebench, base, head):
    answer = fusebench("gate", "--base", base, "--head", head)
    assert answer.return_value in {ExitCode.FINE, ExitCode.FAILED}
    return answer.return_value is ExitCode.FAILED


def test_what_is_newer_than_the_head_is_not_there_yet_and_passes(fusebench, with_gone, beside):
    head, base = with_gone("-m")
    beside()
    answer = fusebench("gate", "--base", base, "--head", head)
    assert answer.return_value == ExitCode.FINE
    assert "gone" not in answer.stdout
    told = "Not there yet at the head, which is from before they were first measured, not compared (16): "
    assert told in " ".join(answer.stdout.split())
    assert "Measured at the base only" not in answer.stdout


def test_nothing_is_acknowledged_where_a_series_is_not_there_yet_and_that_is_told(
    fusebench, with_gone, beside, tmp_path
):
    head, _ = with_gone("-m")
    beside()
    answer = fusebench("store", "acknowledge", head, *OF_FUSED)
    assert isinstance(answer.exception, click.UsageError)
    assert "not there yet" in answer.exception.message
    assert "nothing was written" in answer.exception.message
    assert not (tmp_path / "results").exists()
    told = fusebench("store", "acknowledge", head, "--note", NOTE)
    assert told.return_value == ExitCode.FINE
    assert "; 24 that match were not there yet, written to " in told.stdout


def test_what_was_measured_before_the_head_is_gone_however_late_the_base(fusebench, with_gone):
    _, head, base = with_gone("m-m")
    assert is_gone(fusebench, base, head)


def test_every_format_tells_what_is_not_there_yet(fusebench, with_gone, beside):
    head, base = with_gone("-m")
    beside()

    def report(name):
        return fusebench("gate", "--base", base, "--head", head, "--format", name).stdout

    told = json.loads(report("json"))
    assert (told["exit_code"], told["counts"]["failed"], told["verdicts"]["gone"]) == (0, 0, 0)
    assert {one["parameters"]["provider"] for one in told["not_there_yet"]} == {"fused"}
    assert told["not_there_yet"] == told["only_at_base"]
    assert "Not there yet at the head" in report("markdown")
    suite = ET.fromstring(report("junit"))  # noqa: S314 - ours
    assert {one.get("message") for one in suite.iter("skipped")} == {"not there yet at the head"}


@pytest.mark.parametrize(
    ("beside_line", "expected"),
    [
        ((), ExitCode.FINE),  # one line: what is older cannot have lost it
        ((0,), ExitCode.FAILED),  # the head is of a branch, which may have taken it away
        ((1,), ExitCode.FAILED),  # and so may the main line what a branch still has
    ],
)
def test_of_another_branch_no_order_tells_that_it_was_not_there_yet(
    fusebench, with_gone, beside, beside_line, expected
):
    head, base = commits = with_gone("-m")
    beside(*(commits[number] for number in beside_line))
    answer = fusebench("gate", "--base", base, "--head", head)
    assert answer.return_value == expected
    if expected is not ExitCode.FINE:
        assert "so ask in a full clone" in " ".join(answer.stdout.split())
        assert " of them gone there" in fusebench("store", "acknowledge", head, *OF_FUSED).stdout
        assert not is_gone(fusebench, base, head)


def test_dates_without_a_line_of_commits_excuse_nothing(fusebench, with_gone):
    head, base = with_gone("-m")
    answer = fusebench("gate", "--base", base, "--head", head)
    assert answer.return_value == ExitCode.FAILED
    assert "so ask in a full clone" in " ".join(answer.stdout.split())
    assert " of them gone there" in fusebench("store", "acknowledge", head, *OF_FUSED).stdout
    assert not is_gone(fusebench, base, head)


def test_what_the_line_of_the_head_measured_before_it_is_gone_though_a_branch_did_too(fusebench, with_gone, beside):
    _, side, head, base = with_gone("mm-m")
    beside(side)
    assert is_gone(fusebench, base, head)


def test_only_what_is_gone_can_be_not_there_yet():
    judgement = made_findings.judgement()
    gone = [one.base for one in judgement.verdicts if one.change is Change.GONE]
    rest = without_later(judgement, {one.base.series_id for one in judgement.verdicts})
    assert 0 < len(gone) < len(judgement.verdicts)
    assert (rest.not_yet, len(rest.verdicts)) == (tuple(gone), len(judgement.verdicts) - len(gone))
    assert rest.only_at_base == (*judgement.only_at_base, *gone)
    assert without_later(judgement, ()) == judgement


def test_only_what_is_gone_has_a_doubt_which_excuses_nothing():
    judgement = made_findings.judgement()
    doubted = with_doubts(judgement, {one.base.series_id: "or never there" for one in judgement.verdicts})
    changed = [one for one in judgement.verdicts if one not in doubted.verdicts]
    assert changed == [one for one in judgement.verdicts if one.change is Change.GONE]
    assert [one.outcome for one in doubted.verdicts] == [one.outcome for one in judgement.verdicts]
    assert [one.why for one in doubted.verdicts if one.change is Change.GONE] == ["or never there"]
    assert with_doubts(judgement, {}) == judgement


def test_where_no_date_tells_which_commit_is_older_what_is_missing_is_gone(fusebench, with_gone, tmp_path):
    head, base = with_gone("-m")
    with open_store(str(tmp_path / "known.db")) as store, writing(store.engine) as connection:
        connection.execute(sa.update(Commit).values(ordered_at=None, position=None))
    assert is_gone(fusebench, base, head)
    fusebench("store", "acknowledge", head, *OF_FUSED)
    assert not is_gone(fusebench, base, head)


def test_a_series_of_joined_versions_is_gone_where_the_older_one_was_there(fusebench, tmp_path, journals, beside):
    before, head, base = journals.history(3, operations=("mlp",))
    head = replace(head, ruler_version="2", providers=("eager", "fused"))
    journals.write_journals(tmp_path / "data", [before, head, replace(base, ruler_version="2")])
    fusebench("ingest", "data")
    beside()
    assert not is_gone(fusebench, base.commit, head.commit)
    fusebench("store", "join", "mlp", "1", "2")
    assert is_gone(fusebench, base.commit, head.commit)


def test_a_benchmark_of_asv_that_is_newer_than_the_head_is_not_there_yet(
    fusebench, tmp_path, write_asv_run, timed, beside
):
    results = {"s.time_it": timed(1e-3)}
    write_asv_run(tmp_path / "tree", results, commit="a" * 40, date=1_700_000_000_000)
    results["s.time_new"] = timed(1e-3)
    write_asv_run(tmp_path / "tree", results, commit="b" * 40, date=1_700_086_400_000)
    fusebench("ingest", "tree", "--project", "p")
    beside()
    answer = fusebench("gate", "--base", "b" * 40, "--head", "a" * 40)
    assert answer.return_value == ExitCode.FINE
    assert "not compared (1): s.time_new" in " ".join(answer.stdout.split())
    exact = fusebench("gate", "--base", "b" * 40, "--head", "a" * 40, "--exact")
    assert exact.return_value == ExitCode.NOTHING_COMPARABLE  # no count was measured at all
    assert "gone" not in exact.stdout
