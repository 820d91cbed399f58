"""What reports advise where nothing is certain, and what they tell beside it."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from results.explanations import reasons_of
from results.judgement.commit_findings import findings_of, undecided_of
from results.judgement.findings import FindingClass
from results.judgement.verdicts import judge
from results.output.report import ReportFormat, rendered
from results.output.reports.judgement_words import warnings
from tests.made_values import A, B, row


def slower_and_disturbed(metric="latency_s", **options):
    calm, slow = (row([factor * one for one in (1.0, 1.002, 0.998)], metric=metric) for factor in (1, 2))
    slow = slow._replace(commit=B, run_id="run-b", processes=tuple(
        one._replace(run_id="run-b", disturbed="stolen time") for one in slow.processes
    ))  # fmt: skip
    found = judge([calm], [slow], base_commit=A, head_commit=B, **options)
    assert found.n_perhaps_worse == 1
    return found


@pytest.mark.parametrize(
    ("metric", "is_paired", "advice"),
    [
        ("latency_s", False, f"measure both commits side by side, fusebench ab {A[:10]} {B[:10]}."),
        ("latency_s", True, "measured side by side already, so only a calmer machine tells more."),
        ("time", False, "measure both commits again with the suite's own runner."),
    ],
)
def test_what_looks_worse_is_measured_again_by_a_command_that_can(metric, is_paired, advice):
    found = slower_and_disturbed(metric, is_paired=is_paired)
    assert advice in warnings(found)[0]
    assert ("fusebench ab" in rendered(found, report_format=ReportFormat.TEXT)) is ("fusebench ab" in advice)


def test_a_comparison_side_by_side_whose_control_moved_advises_no_other():
    of_eager = [[row([factor * 1e-3] * 5, provider="eager", batch=b) for b in range(8)] for factor in (1, 2)]
    heads = [one._replace(commit=B) for one in of_eager[1]]
    for is_paired in (False, True):
        found = judge(of_eager[0], heads, base_commit=A, head_commit=B, is_paired=is_paired)
        assert found.is_control_moved
        assert ("fusebench ab" in warnings(found)[-1]) is not is_paired


def test_no_interval_stands_beside_a_change_that_was_disturbed():
    # The change is told as it was measured, and the interval would be about another one.
    found = slower_and_disturbed()
    [undecided] = undecided_of(found)
    [change] = json.loads(rendered(found, report_format=ReportFormat.JSON))["changes"]
    assert (undecided.interval, change["interval"]) == (None, None)
    assert "interval" not in rendered(found, report_format=ReportFormat.MARKDOWN)


def test_what_differs_on_two_stacks_at_one_commit_is_classed_as_the_stacks():
    calm = row([1.0, 1.002, 0.998])
    slow = row([2.0, 2.004, 1.996])._replace(run_id="run-b")
    for base, head, class_ in ((A, A, FindingClass.STACK), (A, B, FindingClass.CODE)):
        found = judge([calm], [slow], base_commit=base, head_commit=head, is_paired=True, has_controls=base != head)
        assert [one.class_ for one in findings_of(found)] == [class_]


def test_to_explain_all_findings_the_verdicts_are_gone_through_once():
    class Counting(tuple):
        __slots__ = ()
        n = 0

        def __iter__(self):
            Counting.n += 1
            return super().__iter__()

    def rows(commit, slowed):
        return [
            row([2.0 if i < slowed else 1.0] * 3, benchmark=f"suite.time_{i}", metric="time", commit=commit)
            for i in range(30)
        ]

    found = judge(rows(A, 0), rows(B, 10), base_commit=A, head_commit=B)
    findings = findings_of(found)
    assert len(findings) == 10
    why = reasons_of(None, replace(found, verdicts=Counting(found.verdicts)))
    assert {why.class_(one) for one in findings} == {None}
    assert Counting.n == 1


def suite(commit, factor, *, n=12, single=False):
    """A suite's benchmarks; single: one number of each, without an interval."""
    rows = [
        row([factor * one for one in (1.0, 1.002, 0.998)], benchmark=f"s.time_{i}", metric="time", commit=commit)
        for i in range(n)
    ]
    return [one._replace(ci_low=None, ci_high=None, processes=()) for one in rows] if single else rows


def test_what_moved_as_everything_did_is_told_by_how_much_and_not_as_measured_badly():
    found = judge(suite(A, 1.0), suite(B, 1.5), base_commit=A, head_commit=B)
    assert found.n_perhaps_worse == 12
    told = (
        "More than half of 12 series of time on m, e moved together, by +50.0 %: the machine, or all code. Measure the "
        "base again."
    )
    assert warnings(found) == [told]
    for report_format in (ReportFormat.TEXT, ReportFormat.MARKDOWN, ReportFormat.JUNIT, ReportFormat.GITHUB):
        text = rendered(found, report_format=report_format).replace("%25", "%")
        assert told in text
        assert text.count("moved together, by") == 1
        assert "not measured well enough" not in text
    assert "(measure the base again)" in rendered(found, report_format=ReportFormat.TEXT)
    # How far they lie apart holds the movement of all, and is no interval of one.
    changes = json.loads(rendered(found, report_format=ReportFormat.JSON))["changes"]
    assert {(change["interval"], change["p"]) for change in changes} == {(None, None)}


def test_everything_that_got_faster_is_told_and_warns_of_nothing():
    found = judge(suite(A, 1.5), suite(B, 1.0), base_commit=A, head_commit=B)
    assert warnings(found) == []
    assert "moved together, by -33.3 %" in rendered(found, report_format=ReportFormat.TEXT)


def test_a_single_number_is_not_advised_to_be_measured_again_which_changes_nothing():
    found = judge(suite(A, 1.0, n=2, single=True), suite(B, 1.5, n=2, single=True), base_commit=A, head_commit=B)
    [told] = warnings(found)
    assert told == (
        "2 series look worse and were not measured well enough to say: a single number is judged by its history, from "
        "8 runs at other commits on."
    )
    disturbed = slower_and_disturbed("time").verdicts
    [both] = warnings(replace(found, verdicts=(*found.verdicts, *disturbed)))
    assert both.endswith(
        "to say: measure both commits again with the suite's own runner; a single number is judged by its history, "
        "from 8 runs at other commits on."
    )


def test_numbers_without_a_ratio_are_to_be_looked_at():
    zero, one = (row([value] * 3, metric="time", commit=at) for value, at in ((0.0, A), (1.0, B)))
    [told] = warnings(judge([zero], [one], base_commit=A, head_commit=B))
    assert told.endswith("1 series looks worse and was not measured well enough to say: look at the numbers.")
