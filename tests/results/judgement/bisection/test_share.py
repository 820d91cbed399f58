"""What a trial answers: bad beyond half of the change between the ends, good below, nothing while it is not certain."""

from __future__ import annotations

import math

import numpy as np
import pytest

from results.judgement.bisection.search import Answer, Ask, Ending, Trial, next_step
from results.judgement.bisection.share import ERROR, share_of
from results.judgement.bisection.target import Kind, target_of
from results.judgement.verdicts import judge
from tests.made_values import A, B, failed, row

LOOKS = (3, 5, 8, 11)
BATCHES = (1, 16, 64)


class Machine:
    """Two commits measured in rounds: what both share, what eager and ours have of their own, strays, disturbances."""

    def __init__(self, seed, *, noise, common=0.02, strays=0.0, t3=False):
        self.rng = np.random.default_rng(seed)
        self.noise, self.common, self.strays, self.t3 = noise, common, strays, t3

    def measured(self, change, *, rounds, batches=BATCHES, run="1"):
        """Return rows of both sides; `change`: log ratio of `fused` at the head."""
        sides = []
        for commit, own in ((A, 0.0), (B, change)):
            machine = self.rng.normal(0, self.common, rounds)
            sides.append([])
            for provider, effect in (("eager", 0.0), ("fused", own)):
                for batch in batches:
                    values = 1e-4 * batch * np.exp(effect + machine + self._own(rounds))
                    sides[-1].append(row(values, commit=commit, provider=provider, batch=batch, run=commit[0] + run))
        return sides

    def _own(self, rounds):
        drawn = self.rng.standard_t(3, rounds) / math.sqrt(3) if self.t3 else self.rng.normal(0, 1, rounds)
        strays = np.where(self.rng.random(rounds) < self.strays, self.rng.uniform(0.3, 1, rounds), 0.0)
        return self.noise * drawn + strays


def target_between(machine, change, *, rounds=5):
    base, head = machine.measured(change, rounds=rounds)
    return target_of(judge(base, head, base_commit=A, head_commit=B, is_paired=True, least_change=0.03))


def answered(machine, target, change):
    """Ask look by look, as the command does."""
    for rounds in LOOKS:
        share = share_of(target, *machine.measured(change, rounds=rounds), n_looks=len(LOOKS))
        if share.answer is not Answer.SKIPPED:
            break
    return share


@pytest.mark.parametrize(
    "kind",
    [{"noise": 0.01}, {"noise": 0.02}, {"noise": 0.03}, {"noise": 0.01, "t3": True}, {"noise": 0.01, "strays": 0.02}],
    ids=["1 %", "2 %", "3 %", "t3", "strays"],
)
def test_of_trials_at_most_one_in_a_hundred_errs(kind):
    machine = Machine(11, **kind)
    target = target_between(Machine(5, noise=0.005), math.log(1.1))
    n, wrong, unknown = 200, 0, 0
    for i in range(n):
        is_bad = i % 2 == 0
        share = answered(machine, target, math.log(1.1) if is_bad else 0.0)
        unknown += share.answer is Answer.SKIPPED
        wrong += share.answer is (Answer.GOOD if is_bad else Answer.BAD)
    assert wrong <= ERROR * n
    # Noise costs answers, never right ones.
    assert unknown <= (0.25 if kind.get("strays") else 0.1) * n


def test_a_range_of_noisy_commits_leads_to_the_one_that_made_it_slower():
    rng = np.random.default_rng(3)
    wrong, n_searches = 0, 12
    for seed in range(n_searches):
        machine = Machine(seed, noise=0.015)
        n = int(rng.integers(5, 60))
        culprit = int(rng.integers(1, n + 1))
        unbuildable = set((rng.choice(n - 1, size=n // 8, replace=False) + 1).tolist())
        target, trials = target_between(machine, math.log(1.1)), []
        while isinstance(step := next_step(n, trials), Ask):
            change = math.log(1.1) if step.against < culprit <= step.place else 0.0
            answer = Answer.SKIPPED if step.place in unbuildable else answered(machine, target, change).answer
            one = Trial(place=step.place, answer=answer, against=step.against, is_confirmation=step.is_confirmation)
            trials.append(one)
        wrong += not step.last_good < culprit <= step.first_bad
        assert step.ending in {Ending.FOUND, Ending.RANGE}
    assert wrong == 0


def test_the_target_is_what_got_slower_most_and_its_points_alone():
    machine = Machine(1, noise=0.003)
    base, head = machine.measured(math.log(1.2), rounds=5)
    other = [one._replace(benchmark="linear", series_id=1000 + one.series_id) for one in base]
    target = target_of(judge([*base, *other], [*head, *other], base_commit=A, head_commit=B, is_paired=True))
    assert (target.kind, target.is_worse, target.benchmark, target.provider) == (Kind.TIME, True, "mlp", "fused")
    assert len(target.series) == target.n_compared == len(BATCHES)
    assert target.change == pytest.approx(math.log(1.2), abs=0.02)


def test_equal_ends_have_no_target():
    assert target_between(Machine(2, noise=0.003), 0.0) is None


def test_what_got_faster_is_followed_where_nothing_got_slower():
    machine = Machine(3, noise=0.003)
    target = target_between(machine, math.log(0.8))
    assert not target.is_worse
    for change, answer in ((math.log(0.8), Answer.BAD), (0.0, Answer.GOOD)):
        assert share_of(target, *machine.measured(change, rounds=5)).answer is answer


def test_half_of_the_change_is_no_answer_however_often_it_is_measured():
    machine = Machine(4, noise=0.01)
    target = target_between(machine, math.log(1.2))
    share = share_of(target, *machine.measured(target.change / 2, rounds=11))
    assert share.answer is Answer.SKIPPED
    assert share.may_become_certain


def test_what_a_commit_lacks_is_skipped_by_its_reason_and_not_measured_again():
    machine = Machine(6, noise=0.003)
    target = target_between(machine, math.log(1.2))
    base, head = machine.measured(0.0, rounds=3)
    lacking = [one for one in head if one.parameters[0].value == "eager"]
    for rows, why in ((lacking, "it has no latency_s"), ([*lacking, failed("unavailable", batch=1)], "unavailable: ")):
        share = share_of(target, base, rows)
        assert share.answer is Answer.SKIPPED
        assert why in share.why
        assert not share.may_become_certain


def test_disturbed_rounds_count_for_nothing():
    machine = Machine(7, noise=0.003)
    target = target_between(machine, math.log(1.2))
    base, head = machine.measured(math.log(1.2), rounds=3)
    disturbed = [
        one._replace(processes=tuple(each._replace(disturbed="time stolen") for each in one.processes)) for one in head
    ]
    share = share_of(target, base, disturbed)
    assert (share.answer, share.why, share.may_become_certain) == (Answer.SKIPPED, "disturbed", True)


def test_counts_are_compared_exactly():
    base, head = ([row(n, commit=at, metric="operator_count", unit="")] for at, n in ((A, 3.0), (B, 5.0)))
    target = target_of(judge(base, head, base_commit=A, head_commit=B, is_paired=True))
    assert (target.kind, target.change) == (Kind.COUNT, 2.0)
    for count, answer in ((3.0, Answer.GOOD), (5.0, Answer.BAD), (4.0, Answer.BAD)):
        share = share_of(target, base, [row(count, commit=B, metric="operator_count", unit="")])
        assert share.answer is answer
    assert share_of(target, base, []).answer is Answer.SKIPPED
    # Its latency alone tells how a point ended.
    assert "crashed in this test" in share_of(target, base, [failed(commit=B)]).why


def test_a_point_that_fails_is_followed_by_how_it_ends():
    base, head = [row(1.0)], [failed(commit=B)]
    target = target_of(judge(base, head, base_commit=A, head_commit=B, is_paired=True))
    assert target.kind is Kind.STATE
    assert share_of(target, base, head).answer is Answer.BAD
    assert share_of(target, base, [row(3.0, commit=B)]).answer is Answer.GOOD
