"""Rules over all series of two commits: controls, shifts of everything, what is missing, and the exit code."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from results.exit_codes import ExitCode
from results.judgement.comparison.moderation import USUAL, Prior
from results.judgement.exact_only import exact_only
from results.judgement.outcomes import Change, ControlChange, Doubt, Judgement, Outcome
from results.judgement.verdicts import exit_code, judge
from tests.made_values import A, B, failed, row

CALM = [1.0, 1.002, 0.998]


def times(factor, values=CALM):
    return [factor * value for value in values]


def judged(base, head, **options):
    return judge(base, head, base_commit=A, head_commit=B, **options)


def at_head(one):
    """The same values, by a run of the head."""
    processes = tuple(each._replace(run_id="run-b") for each in one.processes)
    return one._replace(commit=B, run_id="run-b", processes=processes)


def controls(factor, *, n=8, values=CALM):
    """Base and head of eager at `n` shapes."""
    base = [row(values, provider="eager", batch=b) for b in range(n)]
    return base, [row(times(factor, values), provider="eager", batch=b, commit=B) for b in range(n)]


class TestControlsThatMove:
    """They moved if by a relevant change, and by three standard errors."""

    @pytest.mark.parametrize(
        ("factor", "is_moved"), [(1.0501, True), (1.0499, False), (1 / 1.0501, True), (1 / 1.0499, False), (1.2, True)]
    )
    def test_by_what_is_relevant_in_both_directions(self, factor, is_moved):
        [found] = judged(*controls(factor, values=[1.0, 1.0, 1.0])).controls
        assert (found.is_moved, found.n_series) == (is_moved, 8)
        assert (found.machine, found.environment) == ("m", "e")
        assert found.ratio == pytest.approx(factor)

    def test_what_did_not_move_at_all_has_not_moved_where_every_change_is_relevant(self):
        for values in ([1.0], [1.0, 1.0]):  # of two equal ones the standard error is 0
            [found] = judged(*controls(1.0, values=values), least_change=0).controls
            assert not found.is_moved
        told = judged(suite(A, [1.0] * 12), suite(B, [1.0] * 12), least_change=0)
        assert not any(verdict.doubt for verdict in told.verdicts)

    def test_the_limit_is_the_one_that_was_asked_for(self):
        [found] = judged(*controls(1.15, values=[1.0, 1.0, 1.0]), least_change=0.2).controls
        assert not found.is_moved

    @pytest.mark.parametrize(("factor", "is_moved"), [(math.exp(3.01), True), (math.exp(2.99), False)])
    def test_of_one_process_each_by_three_usual_spreads(self, factor, is_moved, monkeypatch):
        """USUAL.sd·√2 is the standard error of a difference of two; here it is 1."""
        monkeypatch.setattr("results.judgement.verdicts.USUAL", replace(USUAL, sd=1 / math.sqrt(2)))
        [found] = judged(*controls(factor, values=[1.0])).controls
        assert found.is_moved is is_moved

    @pytest.mark.parametrize(("factor", "is_moved"), [(3.01, True), (2.99, False)])
    def test_of_several_processes_by_three_of_their_own_standard_errors(self, factor, is_moved):
        """Processes at 0.9 and 1.1 (logs): variance 0.02, so a difference of two means has 0.1414."""
        values = [math.exp(0.9), math.exp(1.1)]
        se = math.sqrt(0.02 * (1 / 2 + 1 / 2))
        [found] = judged(*controls(math.exp(factor * se), values=values)).controls
        assert found.is_moved is is_moved


def test_where_no_controls_are_wanted_eager_is_a_series_like_any_other():
    base, head = controls(1.3)
    ours = row(CALM), row(times(1.3), commit=B)
    found = judged([*base, ours[0]], [*head, ours[1]], has_controls=False)
    assert found.count()[Outcome.REGRESSION] == 9
    assert found.controls == ()


def suite(commit, factors):
    return [
        row(times(factor), commit=commit, benchmark=f"s.time_{i}", metric="time", parameters={})
        for i, factor in enumerate(factors)
    ]


class TestShiftOfEverything:
    """Without controls more than half of ten series or more moving together is told as one."""

    @pytest.mark.parametrize(
        ("factors", "is_shift"),
        [
            ([1.3] * 10, True),
            ([1 / 1.3] * 10, True),
            ([1.3] * 9, False),
            ([1.3] * 6 + [1.0] * 4, True),
            ([1.3] * 4 + [1.0] * 6, False),
            ([1.04] * 10, False),
            ([1.3] * 3 + [0.7] * 3 + [1.0] * 5, False),
            ([1.3] * 40 + [1.0] * 40, False),
            ([1.3] * 41 + [1.0] * 39, True),
            ([0.7] * 40 + [1.0] * 40, False),
        ],
    )
    def test_is_no_regression_of_any(self, factors, is_shift):
        found = judged(suite(A, [1.0] * len(factors)), suite(B, factors))
        told = {verdict.doubt is Doubt.MOVED_TOGETHER for verdict in found.verdicts}
        assert told == {is_shift}
        assert [(one.is_moved, one.machine, one.environment) for one in found.shifts] == [(True, "m", "e")] * is_shift
        assert (found.count()[Outcome.REGRESSION] > 0) == (not is_shift and max(factors) > 1.05)

    @pytest.mark.parametrize("least_change", [0.0, 0.05])
    def test_is_none_where_the_middle_of_noisy_series_is_off_by_chance(self, least_change):
        """Ten moves between -25 and +45 %, whose median of 6 % has a standard error of 8 %."""
        moves = [-0.25, -0.2, -0.15, -0.1, 0.05, 0.07, 0.2, 0.25, 0.3, 0.45]
        found = judged(suite(A, [1.0] * 10), suite(B, map(math.exp, moves)), least_change=least_change)
        assert found.shifts == ()
        assert not found.n_perhaps_worse

    @pytest.mark.parametrize(("middle", "is_shift"), [(0.0169, True), (-0.0169, True), (0.0167, False)])
    def test_goes_beyond_three_standard_errors_of_the_median(self, middle, is_shift):
        """Half of the moves are 0.01 above the median and half below: its standard error is 1.858 × 0.01 / √11."""
        moves = [middle - 0.01] * 5 + [middle] + [middle + 0.01] * 5
        found = judged(suite(A, [1.0] * 11), suite(B, map(math.exp, moves)), least_change=0.0)
        assert bool(found.shifts) is is_shift

    def test_of_no_change_is_none_by_any_limit(self):
        """What slows three of ten down is told of them though every change is asked for."""
        factors = [1.3] * 3 + [1.002, 0.998, 1.001, 0.999, 1.003, 0.997, 1.0005]
        found = judged(suite(A, [1.0] * 10), suite(B, factors), least_change=0.0)
        assert (found.shifts, found.count()[Outcome.REGRESSION]) == ((), 3)

    def test_where_there_are_controls_they_tell(self):
        base, head = controls(1.0)
        ours = [row(CALM, batch=b) for b in range(12)]
        slower = [row(times(1.3), batch=b, commit=B) for b in range(12)]
        assert judged([*base, *ours], [*head, *slower]).count()[Outcome.REGRESSION] == 12


class TestMissing:
    """Series of one side only."""

    def test_what_failed_at_the_base_is_not_gone_and_what_fails_at_the_head_is_not_new(self):
        kept = [row(CALM, batch=1), row(CALM, batch=2)]
        base = [*kept, failed(batch=1, provider="compiled"), row(CALM, batch=2, provider="compiled")]
        head = [at_head(one) for one in kept]
        found = judged(base, head)
        assert [one.change for one in found.verdicts] == [Change.SAME, Change.SAME, Change.GONE]
        found = judged(kept, [*head, failed(batch=1, provider="new", commit=B)])
        assert found.only_at_head == ()
        found = judged(kept, [*head, row(CALM, batch=1, provider="new", commit=B)])
        assert len(found.only_at_head) == 1

    def test_what_is_gone_is_told_with_its_base_and_no_value_at_the_head(self):
        base = [row(CALM, batch=b, provider=p) for b in (1, 2) for p in ("eager", "fused")]
        head = [at_head(one) for one in base[:3]]
        [gone] = [one for one in judged(base, head, least_change=0.2).verdicts if one.change is Change.GONE]
        assert (gone.outcome, gone.ratio, gone.least_change) == (Outcome.FAILED, None, 0.2)
        assert (gone.head.commit, gone.head.state, gone.head.value, gone.head.processes) == (B, "gone", None, ())
        assert gone.base.value == 1.0

    def test_a_metric_of_a_point_that_failed_there_is_excused(self):
        base = [row(CALM), row(3, metric="operator_count")]
        found = judged(base, [failed(commit=B)])
        assert [one.metric for one in found.only_at_base] == ["operator_count"]
        elsewhere = judged(base, [failed(commit=B, benchmark="linear"), row(CALM, commit=B)])
        assert [one.change for one in elsewhere.verdicts][-1] is Change.GONE

    def test_a_point_that_fails_elsewhere_excuses_nothing_here(self):
        kept = [row(CALM, provider="eager"), row(CALM, provider="eager", machine="n")]
        base = [*kept, failed(), row(CALM, machine="n")]
        found = judged(base, [*map(at_head, kept), failed(commit=B)])
        assert [(one.change, one.head.machine) for one in found.verdicts][-1] == (Change.GONE, "n")
        assert exit_code(found) is ExitCode.FAILED

    def test_coverage_of_exact_metrics_alone_counts_no_times(self):
        base = [
            row(value, batch=b, metric=m) for b in (1, 2) for m, value in (("latency_s", CALM), ("operator_count", 3))
        ]
        found = exact_only(judged(base, [at_head(one) for one in base[:2]]))
        assert (found.n_compared, found.n_of_base) == (1, 2)
        found = exact_only(judged([at_head(one) for one in base[:2]], base))
        assert [one.metric for one in found.only_at_head] == ["operator_count"]

    def test_what_never_worked_is_no_verdict(self):
        assert judged([failed()], [failed(commit=B)]).verdicts == ()

    def test_metrics_that_explain_others_are_not_judged(self):
        found = judged([row(1.0, metric="compile_time_s")], [row(9.0, metric="compile_time_s", commit=B)])
        assert (found.verdicts, found.only_at_base, found.only_at_head) == ((), (), ())


class TestEvidence:
    """What is compared, and by which noise."""

    def test_exact_metrics_have_no_evidence_and_times_of_sides_that_failed_neither(self):
        base = [row(3, metric="operator_count"), row(CALM, batch=1), row(CALM, batch=2)]
        head = [row(3, metric="operator_count", commit=B), row(CALM, batch=1, commit=B), failed(batch=2, commit=B)]
        found = judged(base, head)
        assert [one.evidence is not None for one in found.verdicts] == [False, True, False]

    def test_the_floor_is_the_median_of_the_series_floors_and_none_without_any(self):
        base, head = controls(1.0, n=3)
        found = judged(base, head)
        floors = sorted(one.evidence.floor for one in found.verdicts)
        assert found.floor == floors[1]
        assert judged([row(3, metric="operator_count")], [row(3, metric="operator_count", commit=B)]).floor is None

    def test_a_history_counts_for_the_series_it_is_of(self):
        base, head = row(1.0, batch=1), row(1.3, batch=1, commit=B)
        wide = [one._replace(ci_low=0.5, ci_high=1.5) for one in (base, head)]
        assert judged([wide[0]], [wide[1]]).verdicts[0].outcome is Outcome.UNDECIDED
        spread = {head.series_id: Prior(sd=0.005, dof=20)}
        assert judged([wide[0]], [wide[1]], spreads=spread).verdicts[0].outcome is Outcome.REGRESSION
        other = {head.series_id + 10_000: Prior(sd=0.005, dof=20)}
        assert judged([wide[0]], [wide[1]], spreads=other).verdicts[0].outcome is Outcome.UNDECIDED

    def test_a_history_tells_what_is_certain(self):
        """Six percent are within the usual spread of single processes, and far beyond 0.2 %."""
        base, head = row(1.0), row(1.07, commit=B)
        assert judged([base], [head]).verdicts[0].outcome is Outcome.UNDECIDED
        spread = {head.series_id: Prior(sd=0.002, dof=20)}
        assert judged([base], [head], spreads=spread).verdicts[0].outcome is Outcome.REGRESSION

    def test_histories_are_asked_for_what_looks_changed_and_for_nothing_else(self):
        """A history costs a question; it counts for the verdicts as one that was there from the start does."""
        factors = [1.25, 1 / 1.3, 1.0, 1.2]
        base, head = (
            [row(one, batch=b, commit=at) for b, one in enumerate(of)] for at, of in ((A, [1.0] * 4), (B, factors))
        )
        asked = []

        def spreads_of(series_ids):
            asked.append(series_ids)
            return {one: Prior(sd=0.002, dof=20) for one in series_ids}

        found = judged(base, head, spreads=spreads_of, least_change=0.25)
        assert asked == [[base[0].series_id, base[1].series_id]]
        outcomes = [Outcome.REGRESSION, Outcome.IMPROVEMENT, Outcome.UNCHANGED, Outcome.UNCHANGED]
        assert [one.outcome for one in found.verdicts] == outcomes
        judged(base[2:], head[2:], spreads=spreads_of, least_change=0.25)
        assert len(asked) == 1

    def test_rounds_are_paired_where_that_is_said(self):
        """The machine drifts by far more than the difference, in both alike."""
        drift = [1.0, 1.5, 2.2, 3.1, 4.0]
        base, head = [row(drift)], [row([1.1 * one for one in drift], commit=B)]
        assert judged(base, head).verdicts[0].change is Change.UNCERTAIN
        assert judged(base, head, is_paired=True).verdicts[0].change is Change.SLOWER
        assert judged(base, head, is_paired=True).is_paired


def made(*outcomes, n_moved=0, **changes):
    verdict = judged([row(CALM)], [row(CALM, commit=B)]).verdicts[0]
    moved = ControlChange(machine="m", environment="e", ratio=1.2, n_series=8, is_moved=True)
    calm = replace(moved, is_moved=False)
    found = Judgement(
        base_commit=A, head_commit=B, verdicts=tuple(verdict._replace(outcome=one) for one in outcomes),
        only_at_base=(), only_at_head=(), least_change=0.05, controls=(calm, *[moved] * n_moved),
    )  # fmt: skip
    return replace(found, **changes)


@pytest.mark.parametrize(
    ("judgement", "code"),
    [
        (made(Outcome.UNCHANGED), ExitCode.FINE),
        (made(Outcome.IMPROVEMENT, Outcome.FIXED, Outcome.KNOWN, Outcome.CHANGED, Outcome.UNDECIDED), ExitCode.FINE),
        (made(Outcome.UNCHANGED, Outcome.REGRESSION), ExitCode.REGRESSION),
        (made(Outcome.REGRESSION, Outcome.FAILED), ExitCode.FAILED),
        (made(Outcome.FAILED, n_moved=1), ExitCode.FAILED),
        (made(Outcome.REGRESSION, n_moved=1), ExitCode.REGRESSION),
        (made(Outcome.UNCHANGED, n_moved=1), ExitCode.NOTHING_COMPARABLE),
        (made(), ExitCode.NOTHING_COMPARABLE),
    ],
)
def test_the_exit_code(judgement, code):
    assert exit_code(judgement) is code


def test_what_may_be_worse_does_not_pass():
    verdict = judged([row(CALM)], [row(times(2.0), commit=B, disturbed="stolen time")]).verdicts[0]
    judgement = replace(made(), verdicts=(verdict,))
    assert (judgement.n_perhaps_worse, exit_code(judgement)) == (1, ExitCode.NOTHING_COMPARABLE)


def test_counts_of_a_judgement():
    base = [row(CALM, batch=b, provider=p) for b in (1, 2) for p in ("eager", "fused")]
    head = [at_head(one) for one in base[:3]] + [row(CALM, batch=1, provider="new", commit=B)]
    found = judged([*base, row(CALM, benchmark="linear")], head)
    assert (found.n_compared, found.n_of_base) == (3, 5)
    counts = found.count_changes()
    assert (counts[Change.SAME], counts[Change.GONE], counts[Change.NEW]) == (3, 1, 1)
