"""What fails by another ruler than it worked by at the base is known once it was acknowledged, as any failure."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from results.exit_codes import ExitCode
from results.judgement.known_levels import in_question, with_known
from results.judgement.verdicts import exit_code, judge
from results.output.report import ReportFormat, rendered
from results.output.reports.judgement_words import notes, warnings, why_undecided
from results.rows import KnownChange, KnownLevel
from tests.made_values import A, B, failed, row

NOTE = "dropped on purpose"
TOLD = (
    "1 series fails at the head, which another ruler measured there, and was ok at the base: mlp latency_s "
    "(provider=fused, batch=16, hidden=256, pass=forward) is wrong, wrong in this test. "
    f"Known: accepted at bbbbbbbb: {NOTE}."
)


@pytest.fixture
def ingested(fusebench, tmp_path, journals):
    """Ingest a commit for each state of `mlp fused`, the first by ruler 4 and the others by 5; their hashes.

    What stands beside it is by ruler 4 everywhere.
    """

    def ingest(*states, with_others=True):
        sweeps = journals.history(len(states), operations=("mlp",), batches=(1,), hiddens=(256,), ruler_version="4")
        found = []
        for number, (sweep, state) in enumerate(zip(sweeps, states, strict=True)):
            if number == 0:
                found.append(sweep)
                continue
            if with_others:
                found.append(replace(sweep, providers=("eager", "compiled")))
            point = {} if state == "ok" else {"states": {("mlp", "fused"): state}}
            found.append(replace(sweep, run_id=f"new{number}", providers=("fused",), ruler_version="5", **point))
        journals.write_journals(tmp_path / "data", found)
        assert fusebench("ingest", "data").return_value == ExitCode.FINE
        return [sweep.commit for sweep in sweeps]

    return ingest


def test_the_gate_passes_on_it_until_that_is_taken_back(fusebench, ingested):
    base, head = ingested("ok", "wrong")
    gate = ("gate", "--base", base, "--head", head)
    assert fusebench(*gate).return_value == ExitCode.NOTHING_COMPARABLE
    fusebench("store", "acknowledge", head, "--where", "provider=fused", "--note", NOTE)
    for report_format in ("text", "markdown", "junit", "json", "github"):
        answer = fusebench(*gate, "--format", report_format)
        assert answer.return_value == ExitCode.FINE
        assert NOTE in answer.stdout
    fusebench("store", "acknowledge", head, "--undo")
    assert fusebench(*gate).return_value == ExitCode.NOTHING_COMPARABLE


@pytest.mark.parametrize(
    ("states", "expected"),
    [
        (("ok", "wrong", "wrong"), ExitCode.FINE),
        (("ok", "wrong", "crashed"), ExitCode.NOTHING_COMPARABLE),  # it fails otherwise than was acknowledged
        (("ok", "wrong", "ok", "wrong"), ExitCode.NOTHING_COMPARABLE),  # it was mended, and fails again
    ],
)
def test_it_is_known_while_it_fails_the_same_and_never_worked_in_between(fusebench, ingested, states, expected):
    commits = ingested(*states)
    fusebench("store", "acknowledge", commits[1], "--note", NOTE)
    assert fusebench("gate", "--base", commits[0], "--head", commits[-1]).return_value == expected


def test_what_was_acknowledged_before_the_base_hides_nothing(fusebench, tmp_path, journals):
    sweeps = journals.history(3, operations=("mlp",), batches=(1,), hiddens=(256,), ruler_version="4")
    known, base, head = sweeps
    fails = {"providers": ("fused",), "ruler_version": "5", "states": {("mlp", "fused"): "wrong"}}
    newer = [replace(sweep, run_id=f"new{number}", **fails) for number, sweep in enumerate((known, head))]
    journals.write_journals(tmp_path / "data", [*newer, base, replace(head, providers=("eager", "compiled"))])
    fusebench("ingest", "data")
    fusebench("store", "acknowledge", known.commit, "--note", NOTE)
    gate = fusebench("gate", "--base", base.commit, "--head", head.commit)
    assert gate.return_value == ExitCode.NOTHING_COMPARABLE


def test_where_nothing_else_is_compared_the_rulers_are_told_and_nothing_passes(fusebench, ingested):
    base, head = ingested("ok", "wrong", with_others=False)
    fusebench("store", "acknowledge", head, "--note", NOTE)
    answer = fusebench("gate", "--base", base, "--head", head)
    assert answer.return_value == ExitCode.NOTHING_COMPARABLE
    assert "by other rulers (4 at the base, 5 at the head)" in answer.stderr


def test_it_is_told_with_the_reason_and_of_several_the_others_still_do_not_pass():
    eagers = [row([1.0, 1.002, 0.998], provider="eager", commit=commit) for commit in (A, B)]
    base = [row([1.0, 1.002, 0.998], batch=batch) for batch in (16, 32)]
    head = [failed("wrong", batch=batch, commit=B, version="4") for batch in (16, 32)]
    found = judge([*base, eagers[0]], [*head, eagers[1]], base_commit=A, head_commit=B)
    assert in_question(found) == [one.series_id for one in head]
    levels = [KnownLevel(change=_change(one), value=one, later=()) for one in head]
    one_known = with_known(found, levels[:1])
    assert exit_code(one_known) is ExitCode.NOTHING_COMPARABLE
    [told] = warnings(one_known)
    assert "1 series fails at the head" in told
    assert "batch=32" in told
    both = with_known(found, levels)
    assert (exit_code(both), warnings(both), why_undecided(both)) == (ExitCode.FINE, [], None)
    alone = with_known(
        judge([base[0], eagers[0]], [head[0], eagers[1]], base_commit=A, head_commit=B),
        levels,
    )
    assert TOLD in notes(alone)
    assert TOLD in rendered(alone, report_format=ReportFormat.TEXT)
    assert f"::notice title=fusebench::{TOLD}" in rendered(alone, report_format=ReportFormat.GITHUB)
    told = json.loads(rendered(one_known, report_format=ReportFormat.JSON))["failing_anew"]
    assert [(one["parameters"]["batch"], one["state"], one["reason"]) for one in told] == [
        (batch, "wrong", "wrong in this test") for batch in (16, 32)
    ]
    assert [one["known"] and one["known"]["note"] for one in told] == [NOTE, None]
    assert "only" not in " ".join(notes(both))


def _change(of_row):
    return KnownChange(
        series_id=of_row.series_id, point_id=1, project="fusebench", machine="m", environment="e", benchmark="mlp",
        metric="latency_s", parameters=(), commit=B, commit_date=None, decision="accepted", note=NOTE,
        decided_by=None, decided_at=None,
    )  # fmt: skip


def test_what_another_ruler_measured_at_the_commit_is_not_gone_there(fusebench, ingested):
    _, head = ingested("ok", "ok")
    assert "gone" not in fusebench("store", "acknowledge", head, "--note", NOTE).stdout
