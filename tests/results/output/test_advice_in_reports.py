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
