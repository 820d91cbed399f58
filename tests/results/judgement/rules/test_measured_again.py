"""A commit measured again until it looks better: what was worse once keeps a gate from passing."""

from __future__ import annotations

from dataclasses import replace

import pytest

from results.exit_codes import ExitCode
from results.judgement import thresholds
from results.judgement.outcomes import Outcome
from results.judgement.verdicts import exit_code, in_question, judge
from results.metrics import SWEEP_METRICS, Direction
from tests.made_values import A, B, failed, row

CALM = [1.0, 1.002, 0.998]


def judged(base, head, *, metric="operator_count"):
    """Judge the runs of one series at two commits, and a time that did not change."""
    sides = [
        [
            row(CALM, commit=commit),
            *(row(value, metric=metric, commit=commit, run=f"{i}") for i, value in enumerate(runs)),
        ]
        for commit, runs in ((A, base), (B, head))
    ]
    return judge(*sides, base_commit=A, head_commit=B)


@pytest.mark.parametrize("n_lucky", [1, 2, 9])
@pytest.mark.parametrize("metric", ["operator_count", "peak_memory_bytes"])
def test_a_count_that_was_worse_once_does_not_pass_however_often_it_is_measured_again(n_lucky, metric):
    assert exit_code(judged([40], [44], metric=metric)) is ExitCode.REGRESSION
    found = judged([40], [44, *[40] * n_lucky], metric=metric)
    assert (exit_code(found), found.n_perhaps_worse) == (ExitCode.NOTHING_COMPARABLE, 1)
    [verdict] = found.with_outcome(Outcome.UNDECIDED)
    assert verdict.why == "a run at the head is worse than any at the base"
    assert in_question(found) == [verdict.head.series_id]  # a person may acknowledge it


@pytest.mark.parametrize(
    ("base", "head"),
    [
        ([40, 44], [44]),  # so it was at the base now and then
        ([40, 44], [44, 40, 40]),
        ([40], [36, 40]),
        ([40, 44], [36, 41]),
    ],
)
def test_a_count_that_was_no_worse_than_at_the_base_passes(base, head):
    assert exit_code(judged(base, head)) is ExitCode.FINE


@pytest.mark.parametrize(
    ("base", "head", "code"),
    [
        ([10_000], [10_000, 10_050], ExitCode.FINE),  # within its tolerance
        ([10_000, 10_300], [10_000, 10_350], ExitCode.FINE),
        ([10_000, 10_300], [10_000, 10_500], ExitCode.NOTHING_COMPARABLE),
    ],
)
def test_by_its_tolerance(base, head, code):
    assert exit_code(judged(base, head, metric="peak_memory_bytes")) is code


@pytest.mark.parametrize(
    ("direction", "head", "code"),
    [
        (Direction.HIGHER, [40, 36], ExitCode.NOTHING_COMPARABLE),
        (Direction.HIGHER, [40, 44], ExitCode.FINE),
        (Direction.UNKNOWN, [40, 36], ExitCode.FINE),
        (Direction.UNKNOWN, [40, 44], ExitCode.FINE),
    ],
)
def test_by_the_direction_that_is_better(monkeypatch, direction, head, code):
    metrics = SWEEP_METRICS | {"operator_count": replace(SWEEP_METRICS["operator_count"], direction=direction)}
    monkeypatch.setattr(thresholds, "metric_of", lambda name, **_: metrics[name])
    assert exit_code(judged([40], head)) is code


@pytest.mark.parametrize("n_lucky", [1, 9])
def test_a_crash_is_one_however_often_it_works_afterwards(n_lucky):
    base = [row(CALM), row(CALM, provider="eager")]
    head = [failed(commit=B, run="first"), *(row(CALM, commit=B, run=f"lucky{i}") for i in range(n_lucky))]
    found = judge(base, [*head, row(CALM, provider="eager", commit=B)], base_commit=A, head_commit=B)
    assert exit_code(found) is ExitCode.FAILED
