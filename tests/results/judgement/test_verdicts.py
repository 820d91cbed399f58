"""Verdicts on two commits by values that were made up: every rule, in both directions where there are two."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

from results.exit_codes import ExitCode
from results.judgement.commit_findings import findings_of
from results.judgement.findings import FindingState, Turn
from results.judgement.outcomes import Doubt
from results.judgement.run_spreads import run_spreads
from results.judgement.verdicts import Change, Outcome, exit_code, judge
from results.output.report import ReportFormat, rendered
from results.rows import RunValues
from tests.made_values import failed, row

A, B = "a" * 40, "b" * 40


def judged(base, head, **options):
    return judge(base, head, base_commit=A, head_commit=B, **options)


def only(base, head, **options):
    """The verdict on one series, and the gate's answer."""
    judgement = judged(base, head, **options)
    [verdict] = judgement.verdicts
    return verdict.change, verdict.outcome, exit_code(judgement)


CALM = [1.0, 1.002, 0.998]


def times(factor, values=CALM):
    return [factor * value for value in values]


@pytest.mark.parametrize(
    ("factor", "change", "outcome", "code"),
    [
        (1.2, Change.SLOWER, Outcome.REGRESSION, ExitCode.REGRESSION),
        (0.8, Change.FASTER, Outcome.IMPROVEMENT, ExitCode.FINE),
        (1.0, Change.SAME, Outcome.UNCHANGED, ExitCode.FINE),
        (1.04, Change.UNCERTAIN, Outcome.UNCHANGED, ExitCode.FINE),
    ],
)
def test_a_time_is_slower_faster_the_same_or_uncertain(factor, change, outcome, code):
    assert only([row(CALM)], [row(times(factor), commit=B)]) == (change, outcome, code)


def test_of_a_throughput_the_other_direction_is_worse(monkeypatch):
    from results.judgement import thresholds
    from results.metrics import SWEEP_METRICS, Direction

    throughput = replace(SWEEP_METRICS["latency_s"], direction=Direction.HIGHER)
    monkeypatch.setattr(thresholds, "metric_of", lambda *_, **__: throughput)
    assert only([row(CALM)], [row(times(1.2), commit=B)])[0] is Change.FASTER
    assert only([row(CALM)], [row(times(0.8), commit=B)])[1:] == (Outcome.REGRESSION, ExitCode.REGRESSION)


def test_what_processes_of_one_commit_differ_by_is_not_certain():
    noisy = [1.0, 1.15, 0.9]
    change, outcome, code = only([row(noisy)], [row(times(1.1, noisy), commit=B)])
    assert (change, outcome, code) == (Change.UNCERTAIN, Outcome.UNDECIDED, ExitCode.FINE)


@pytest.mark.parametrize("factor", [1.5, 0.5])
@pytest.mark.parametrize("words", ["others took the processor", ""])
def test_what_was_disturbed_is_uncertain_in_both_directions(factor, words):
    head = row(times(factor), commit=B, disturbed=words)
    change, outcome, code = only([row(CALM)], [head])
    assert (change, outcome) == (Change.UNCERTAIN, Outcome.UNDECIDED)
    assert code is (ExitCode.NOTHING_COMPARABLE if factor > 1 else ExitCode.FINE)


def test_disturbed_processes_beside_others_count_for_nothing():
    spoilt = row([1.0, 1.001, 3.0], commit=B)
    calm, last = spoilt.processes[:2], spoilt.processes[2]._replace(disturbed="stolen time")
    assert only([row(CALM)], [spoilt._replace(processes=(*calm, last))])[0] is Change.SAME


def test_repeating_a_run_until_it_is_green_does_not_help():
    """Two runs that are slower and one that is not: their values count, not the newest run's."""
    slow = [row(times(1.3), commit=B, run=f"slow{i}") for i in range(2)]
    lucky = row(CALM, commit=B, run="lucky")
    assert judged([row(CALM)], [*slow, lucky]).verdicts[0].ratio == pytest.approx(1.19, abs=0.03)
    change, outcome, _ = only([row(CALM)], [failed(commit=B, run="first"), row(CALM, commit=B, run="second")])
    assert (change, outcome) == (Change.STATE_CHANGED, Outcome.FAILED)


def test_states():
    ok, bad = row(CALM), failed()
    at_head = ok._replace(commit=B), bad._replace(commit=B)
    assert only([ok], [at_head[1]]) == (Change.STATE_CHANGED, Outcome.FAILED, ExitCode.FAILED)
    assert only([bad], [at_head[0]]) == (Change.STATE_CHANGED, Outcome.FIXED, ExitCode.FINE)
    assert judged([bad], [at_head[1]]).verdicts == ()
    flaky = [bad._replace(run_id="one"), ok._replace(run_id="two")]
    assert only(flaky, [at_head[0]])[1] is Outcome.UNDECIDED
    assert only(flaky, [at_head[1]])[1] is Outcome.FAILED


class TestExact:
    """Counts and errors are compared exactly, sizes within their tolerance."""

    @pytest.mark.parametrize(
        ("metric", "before", "after", "outcome"),
        [
            ("operator_count", 40, 41, Outcome.REGRESSION),
            ("kernel_launches", 3, 2, Outcome.IMPROVEMENT),
            ("operator_count", 0, 1, Outcome.REGRESSION),
            ("operator_count", 40, 40, Outcome.UNCHANGED),
            ("peak_memory_bytes", 10_000, 10_050, Outcome.UNCHANGED),
            ("peak_memory_bytes", 10_000, 10_200, Outcome.REGRESSION),
            ("error_rel", 1e-7, 1.5e-7, Outcome.UNCHANGED),
            ("error_rel", 1e-7, 1e-4, Outcome.REGRESSION),
            ("error_rel", 0.0, 1e-16, Outcome.UNCHANGED),
            ("error_rel", 0.0, 1e-6, Outcome.REGRESSION),
        ],
    )
    def test_a_change(self, metric, before, after, outcome):
        change, found, _ = only([row(before, metric=metric)], [row(after, metric=metric, commit=B)])
        assert found is outcome
        assert change is (Change.SAME if outcome is Outcome.UNCHANGED else Change.EXACT_CHANGE)

    @pytest.mark.parametrize(("dtype", "outcome"), [("bfloat16", Outcome.UNCHANGED), ("float32", Outcome.REGRESSION)])
    def test_an_error_is_held_against_the_rounding_of_its_dtype(self, dtype, outcome):
        point = {"metric": "error_rel", "parameters": {"provider": "fused", "dtype": dtype}}
        assert only([row(0.0, **point)], [row(3e-3, commit=B, **point)])[1] is outcome

    def test_a_lost_fusion_fails_though_its_time_is_inside_the_noise(self):
        noisy = [1.0, 1.1, 0.93]
        base = [row(noisy), row(1, metric="operator_count")]
        head = [row(times(1.03, noisy), commit=B), row(4, metric="operator_count", commit=B)]
        judgement = judged(base, head)
        assert {verdict.metric.name for verdict in judgement.with_outcome(Outcome.REGRESSION)} == {"operator_count"}
        assert exit_code(judgement) is ExitCode.REGRESSION

    def test_a_count_that_runs_of_one_commit_disagree_about_is_uncertain(self):
        head = [row(count, metric="operator_count", commit=B, run=str(count)) for count in (40, 44)]
        assert only([row(40, metric="operator_count")], head)[:2] == (Change.UNCERTAIN, Outcome.UNDECIDED)
        head = [row(count, metric="operator_count", commit=B, run=str(count)) for count in (41, 44)]
        assert only([row(40, metric="operator_count")], head)[1] is Outcome.REGRESSION


class TestMissing:
    """Series that one commit measured and the other did not."""

    def grid(self, commit, *, providers=("eager", "fused"), batches=(1, 16)):
        return [row(CALM, commit=commit, provider=p, batch=b) for p, b in itertools.product(providers, batches)]

    def test_a_hole_is_gone_and_fails(self):
        judgement = judged(self.grid(A), self.grid(B)[:-1])
        assert judgement.count_changes()[Change.GONE] == 1
        assert exit_code(judgement) is ExitCode.FAILED
        assert (judgement.n_compared, judgement.n_of_base) == (3, 4)
        assert "3 compared of 4 that the base measured" in rendered(judgement, report_format=ReportFormat.TEXT)

    def test_nearly_all_gone_fails(self):
        batches = tuple(range(1, 100))
        head = [*self.grid(B, providers=("eager",), batches=batches), *self.grid(B, providers=("fused",))[:1]]
        assert exit_code(judged(self.grid(A, batches=batches), head)) is ExitCode.FAILED

    def test_a_provider_that_vanished_is_gone(self):
        assert exit_code(judged(self.grid(A), self.grid(B, providers=("eager",)))) is ExitCode.FAILED

    def test_other_axes_are_no_failure_and_are_told(self):
        judgement = judged(self.grid(A), self.grid(B, batches=(1,)))
        assert exit_code(judgement) is ExitCode.FINE
        assert len(judgement.only_at_base) == 2
        text = rendered(judgement, report_format=ReportFormat.TEXT)
        assert "2 compared of 4 that the base measured" in text
        assert "Measured at the base only, not compared (2)" in text

    def test_what_is_new_passes_and_is_counted(self):
        judgement = judged(self.grid(A)[:-1], self.grid(B))
        assert judgement.count_changes()[Change.NEW] == 1
        assert exit_code(judgement) is ExitCode.FINE

    def test_other_machines_and_rulers_are_nothing_comparable(self):
        for other in ({"machine": "n"}, {"version": "4"}):
            head = [row(CALM, commit=B, **other)]
            assert exit_code(judged([row(CALM)], head)) is ExitCode.NOTHING_COMPARABLE

    def test_nothing_measured_never_passes(self):
        assert exit_code(judged([], [])) is ExitCode.NOTHING_COMPARABLE
        assert exit_code(judged([row(CALM)], [])) is ExitCode.NOTHING_COMPARABLE
        assert exit_code(judged([], [row(CALM, commit=B)])) is ExitCode.NOTHING_COMPARABLE

    def test_counts_of_a_point_that_fails_are_not_gone_besides(self):
        base = [row(CALM), row(3, metric="operator_count")]
        judgement = judged(base, [failed(commit=B)])
        assert [verdict.change for verdict in judgement.verdicts] == [Change.STATE_CHANGED]


class TestControls:
    """Eager tells what the machine did."""

    def both(self, *, eager, ours, n=8, runs=(None, None)):
        base = [row(CALM, provider=p, batch=b, run=runs[0]) for p in ("eager", "fused") for b in range(n)]
        head = [row(times(f), provider=p, batch=b, commit=B, run=runs[1]) for p, f in (("eager", eager), ("fused", ours)) for b in range(n)]  # fmt: skip # noqa: E501
        return judged(base, head)

    def test_a_machine_that_is_3_percent_slower_slows_nothing(self):
        assert exit_code(self.both(eager=1.03, ours=1.03)) is ExitCode.FINE
        assert self.both(eager=1.03, ours=1.03).count()[Outcome.UNCHANGED] == 16

    def test_one_run_that_measured_both_commits_tells_the_same_as_two(self):
        one, two = (self.both(eager=1.03, ours=1.2, runs=("r", run)) for run in ("r", "s"))
        assert [each.ratio for each in one.verdicts] == [each.ratio for each in two.verdicts]
        assert (one.controls, one.floor) == (two.controls, two.floor)

    def test_it_hides_no_change_of_all_of_ours_either(self):
        assert self.both(eager=1.04, ours=0.97 * 1.04 * 1.1).count()[Outcome.REGRESSION] == 8

    def test_where_it_moves_nothing_is_said_of_kernels_and_nothing_passes(self):
        for ours in (1.2, 1.0, 1.5):
            judgement = self.both(eager=1.2, ours=ours)
            assert exit_code(judgement) is ExitCode.NOTHING_COMPARABLE
            assert judgement.count()[Outcome.REGRESSION] == 0
            assert {verdict.doubt for verdict in judgement.verdicts} == {Doubt.CONTROL_MOVED}
            assert "machine or torch changed" in rendered(judgement, report_format=ReportFormat.TEXT).lower()

    def test_counts_are_judged_all_the_same(self):
        base = [row(CALM, provider="eager", batch=b) for b in range(8)]
        head = [row(times(1.2), provider="eager", batch=b, commit=B) for b in range(8)]
        counts = [row(n, metric="operator_count", commit=c) for n, c in ((1, A), (2, B))]
        assert exit_code(judged([*base, counts[0]], [*head, counts[1]])) is ExitCode.REGRESSION

    def test_a_shift_of_all_series_without_any_control_is_one_and_no_regression(self):
        def tree(commit, factor, n):
            return [
                row(factor, commit=commit, benchmark=f"suite.time_{i}", metric="time", parameters={}) for i in range(n)
            ]

        judgement = judged(tree(A, 1.0, 30), tree(B, 1.3, 30))
        assert judgement.count()[Outcome.REGRESSION] == 0
        assert exit_code(judgement) is ExitCode.NOTHING_COMPARABLE
        few = judged(tree(A, 1.0, 3), tree(B, 1.6, 3))
        assert few.count()[Outcome.REGRESSION] == 3


class TestRunToRun:
    """500 flat series that vary by 2 % from process to process, 20 pairs of equal commits."""

    @pytest.mark.parametrize("n_processes", [1, 3])
    def test_equal_commits_are_green(self, n_processes):
        rng = np.random.default_rng(8)
        n_red = 0
        for _ in range(20):
            sides = [
                [row(np.exp(rng.normal(0, 0.02, n_processes)), commit=c, batch=b) for b in range(100)] for c in (A, B)
            ]
            n_red += exit_code(judged(*sides)) is not ExitCode.FINE
        assert n_red <= 3  # of 20 at 2 %: more in 1 of 1,000

    def test_a_history_that_varies_makes_a_change_uncertain_and_a_calm_one_certain(self):
        rng = np.random.default_rng(8)
        base, head = row(1.0), row(1.12, commit=B)

        def spreads(sd):
            values = tuple(float(np.exp(rng.normal(0, sd))) for _ in range(40))
            runs = tuple(f"{i:040x}" for i in range(40))
            return run_spreads([RunValues(head.series_id, runs, runs, values)], without=B)

        calm, wild = spreads(0.01), spreads(0.1)
        assert calm[head.series_id].sd == pytest.approx(0.01, rel=0.4)
        assert only([base], [head], spreads=calm)[1] is Outcome.REGRESSION
        assert only([base], [head], spreads=wild)[1] is Outcome.UNDECIDED


class TestFindings:
    """One for each surface and direction, as JSON has them."""

    def test_a_surface_is_one_finding_with_its_points_the_worst_first(self):
        base = [row(CALM, batch=b) for b in (1, 2, 3)]
        head = [row(times(f), batch=b, commit=B) for b, f in ((1, 1.0), (2, 1.2), (3, 1.4))]
        [found] = findings_of(judged(base, head))
        assert [{p.name: p.value for p in point}["batch"] for point in found.points] == [3, 2]
        assert (found.n_points, found.turn, found.state) == (3, Turn.SLOWER, FindingState.SUSPECTED)
        assert (found.last_good, found.first_bad) == (A, B)
        assert found.interval[0] < found.ratio < found.interval[1]
        assert math.isclose(found.ratio, 1.4, rel_tol=1e-6)

    def test_the_comment_of_ten_thousand_is_short_enough(self):
        n = 10_000
        base = [row(1, metric="operator_count", batch=b) for b in range(n)]
        head = [row(2, metric="operator_count", batch=b, commit=B) for b in range(n)]
        text = rendered(judged(base, head), report_format=ReportFormat.MARKDOWN)
        assert len(text) <= 65_536
        assert text.count("\n|") > 20
