"""What the self-check says of the referee, on outcomes that the test chose."""

import math

import pytest

from benchmarks.ruler.checks import cheats, rotation_cost
from benchmarks.ruler.checks.cheats import CHEATS, Judged, summary_of_cheats, summary_of_honest
from benchmarks.ruler.checks.conclusion import Kind
from benchmarks.ruler.checks.rotation_cost import SHAPES, CostRow, summary_of_costs
from benchmarks.ruler.measure.statistics import MedianInterval
from benchmarks.ruler.plan.plugins import names_in_module
from benchmarks.ruler.record.outcome import State
from tests.benchmarks import cheating_providers


def judged(provider, state):
    return Judged(point="a point", provider=provider, state=state, reason="because")


def test_the_self_check_knows_every_cheat_of_the_suite():
    assert set(names_in_module(CHEATS)) == set(cheating_providers.PROVIDERS)


@pytest.mark.parametrize(
    ("rows", "is_passed", "part"),
    [
        ([judged("eager", State.OK), judged("a", State.WRONG)], True, "1 of 1 cheats found out"),
        ([judged("eager", State.OK), judged("a", State.OK)], False, "missed: a"),
        ([judged("eager", State.OK), judged("a", State.CRASHED)], False, "missed: a"),
        ([judged("eager", State.WRONG), judged("a", State.WRONG)], False, "eager was harmed"),
        ([judged("eager", State.OK)], False, "0 of 0"),
    ],
)
def test_every_cheat_has_to_be_found_out_and_eager_unharmed(rows, is_passed, part):
    found = summary_of_cheats(rows)
    assert (found.kind is Kind.PASS) == is_passed
    assert part in found.words


def test_an_honest_provider_called_wrong_is_named_with_the_reason():
    rows = [judged("eager", State.OK), judged("fused", State.UNAVAILABLE)]
    assert str(summary_of_honest(rows)) == "pass: 0 of 1 honest points called wrong"
    found = summary_of_honest([*rows, judged("compiled", State.WRONG)])
    assert found.kind is Kind.FAIL
    assert "compiled at a point: because" in found.words
    assert summary_of_honest([]).kind is Kind.UNDECIDED


def cost(low, median, high, disturbed=None):
    ratio = MedianInterval(median=median, low=low, high=high)
    return CostRow(shape=SHAPES[0], provider="eager", fixed_s=1e-5, ratio=ratio, disturbed=disturbed)


@pytest.mark.parametrize(
    ("rows", "is_passed"),
    [
        ([cost(1.0, 1.01, 1.02)], True),
        ([cost(0.99, 1.01, 1.02), cost(1.01, 1.015, 1.05)], True),
        ([cost(1.0, 1.0, 1.0), cost(1.0, 1.0, 1.0), cost(1.03, 1.04, 1.05)], False),
        ([cost(1.0, 1.03, 1.05)], False),
        ([], False),
    ],
)
def test_rotation_may_cost_two_percent_in_the_middle_and_nowhere_more_beyond_doubt(rows, is_passed):
    assert (summary_of_costs(rows).kind is Kind.PASS) == is_passed


def test_what_a_disturbed_machine_made_rotation_cost_is_not_counted():
    calm, slow = cost(1.0, 1.0, 1.0), cost(1.3, 1.4, 1.5, disturbed="load")
    assert summary_of_costs([calm, slow]).kind is Kind.PASS
    assert summary_of_costs([slow]).kind is Kind.UNDECIDED


class Watching:
    """A watch that sees nothing but what was sampled."""

    def start(self):
        self.lasted_s = None

    def disturbance(self, durations_s):
        self.lasted_s = durations_s
        return "load"

    def forget(self):
        raise AssertionError


def test_the_cost_of_rotation_is_a_ratio_at_every_shape(monkeypatch):
    monkeypatch.setattr(rotation_cost, "_PAIRS", 3)
    clock, device = rotation_cost.CpuClock(), rotation_cost.torch.device("cpu")
    for shape in (SHAPES[0], SHAPES[-1]):
        watch = Watching()
        row = rotation_cost._row(shape, "eager", device=device, clock=clock, watch=watch)
        assert row.disturbed == "load"
        assert [len(each) for each in watch.lasted_s.values()] == [3, 3]
        assert 0 < row.ratio.low <= row.ratio.median <= row.ratio.high < math.inf
        assert row.fixed_s > 0


@pytest.mark.parametrize("question", cheats.Question)
def test_each_question_about_the_referee_can_be_asked_alone(monkeypatch, question):
    rows = {"cheating_rows": [judged("a", State.WRONG)], "honest_rows": [judged("a", State.OK)]}
    for name, found in rows.items():
        monkeypatch.setattr(cheats, name, lambda _, found=found: found)
    monkeypatch.setattr(rotation_cost, "cost_rows", lambda _: [cost(1.0, 1.0, 1.0)])
    said = []
    (found,) = cheats.reported(said.append, questions=(question,))
    assert found.kind is Kind.PASS
    words = {"cheats": "cheats found out", "honest": "called wrong", "rotation": "rotation costs"}
    assert words[question] in found.words
