"""The host cost of a call is told as ratios within rounds; the timing itself is not tested here."""

import pytest
import torch

from benchmarks.ruler.checks.host_cost import ADD, EAGER, MODES, costs, markdown, samples, ways


class CountingClock:
    """A call of the nth way takes n seconds, and twice that every other time."""

    def __init__(self, calls_by_way):
        self.places = {id(call): place for place, call in enumerate(calls_by_way.values(), start=1)}
        self.calls = dict.fromkeys(self.places, 0)

    def now(self):
        return 0.0

    def wall(self, call, *, calls):
        self.calls[id(call)] += 1
        return self.places[id(call)] * calls * (1 + self.calls[id(call)] % 2)


def test_costs_are_medians_of_ratios_within_a_round():
    calls_by_way = {ADD: lambda: None, EAGER: lambda: None, "ours": lambda: None}
    found = costs(samples(calls_by_way, rounds=5, share_s=6.0, clock=CountingClock(calls_by_way)))
    assert (found["ours"].to_add, found["ours"].to_eager) == (3.0, 1.5)
    assert found["ours"].half_width == 0.0


def test_the_table_has_a_row_for_each_way_and_two_columns_for_each_mode():
    calls_by_way = {ADD: lambda: None, EAGER: lambda: None}
    found = costs(samples(calls_by_way, rounds=2, share_s=1.0, clock=CountingClock(calls_by_way)))
    lines = markdown({"grad": found, "no_grad": found})
    assert lines[0] == "| way | grad: ÷ eager | in adds | no_grad: ÷ eager | in adds |"
    assert lines[2].startswith(f"| {ADD} | 0.50 | 1.0 |")


@pytest.mark.parametrize("mode", MODES)
def test_every_way_computes_the_same(mode):
    ways_to_call = ways()
    with MODES[mode]():
        expected = ways_to_call[EAGER]()
        for name, call in ways_to_call.items():
            if name != ADD:
                torch.testing.assert_close(call(), expected, msg=name)


def test_every_way_gets_the_same_share_of_a_round():
    calls_by_way = {ADD: lambda: None, EAGER: lambda: None, "ours": lambda: None}
    clock = CountingClock(calls_by_way)
    taken = []
    real = clock.wall
    clock.wall = lambda call, *, calls: taken.append(calls) or real(call, calls=calls)
    samples(calls_by_way, rounds=1, share_s=12.0, clock=clock)
    assert taken[-3:] == [12, 6, 4]
