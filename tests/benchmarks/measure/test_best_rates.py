"""Best rates, on a machine whose clock and disturbances the test turns."""

import pytest

from benchmarks.ruler.measure.best_rates import LEAST_ROUNDS, LEAST_SLOW_ROUNDS, MachineDisturbed, Trial, best_rates


class Machine:
    """A machine whose first sample of each trial takes ten times the budget; disturbed or slow at the rounds named."""

    def __init__(self, *, disturbed=lambda _: False, slow=lambda _: False):
        self.time_s, self.n_rounds, self.samples = 0.0, 0, {}
        self.disturbed, self.slow = disturbed, slow

    def now(self):
        return self.time_s

    def start(self):
        self.n_rounds += 1

    def disturbance(self, durations_s):
        assert durations_s
        if self.disturbed(self.n_rounds):
            return "the neighbours drill"
        return "the machine ran at half its best" if self.is_merely_slow else None

    @property
    def is_merely_slow(self):
        return bool(self.slow(self.n_rounds)) and not self.disturbed(self.n_rounds)

    def trial(self, quantity, *, seconds, amount=1.0):
        def sample_s():
            n = self.samples[quantity] = self.samples.get(quantity, 0) + 1
            # A machine that is disturbed shows times that it never reaches undisturbed: too short as well as too long.
            lasted_s = 10.0 if n == 1 else 0.001 if self.disturbed(self.n_rounds) else seconds
            self.time_s += lasted_s
            return lasted_s

        return Trial(quantity, amount, sample_s)

    def rates(self, *trials, budget_s=1.0, patience_s=2.0):
        return best_rates(trials, now=self.now, watch=self, budget_s=budget_s, patience_s=patience_s)


def test_a_first_touch_longer_than_the_budget_is_no_ceiling():
    machine = Machine()
    assert machine.rates(machine.trial("copy", seconds=0.5, amount=8.0)).per_s == {"copy": 16.0}
    assert machine.samples == {"copy": 1 + LEAST_ROUNDS}


def test_short_rounds_are_repeated_until_the_budget_is_used_up():
    machine = Machine()
    machine.rates(machine.trial("copy", seconds=0.5), budget_s=10.0)
    assert machine.now() >= 10.0 + 10.0


def test_of_several_ways_to_one_quantity_the_fastest_is_its_rate():
    machine = Machine()
    ways = machine.trial("read", seconds=0.5)._replace(quantity="bytes"), machine.trial("bytes", seconds=0.1)
    assert machine.rates(*ways).per_s == {"bytes": 10.0}


def test_a_disturbed_round_does_not_count_and_another_follows():
    machine = Machine(disturbed=lambda n_round: n_round == 2)
    assert machine.rates(machine.trial("copy", seconds=0.5)).per_s == {"copy": 2.0}
    assert machine.n_rounds == LEAST_ROUNDS + 1


def test_a_machine_that_stays_disturbed_gives_no_ceiling_and_says_why():
    machine = Machine(disturbed=lambda n_round: n_round > LEAST_ROUNDS - 1)
    with pytest.raises(MachineDisturbed, match=r"^the neighbours drill \(4 of 54 rounds were calm, 5 are needed\)$"):
        machine.rates(machine.trial("copy", seconds=0.5), budget_s=100.0, patience_s=0.0499)


def test_enough_quiet_rounds_are_enough_though_the_budget_was_not_used_up():
    machine = Machine(disturbed=lambda n_round: n_round > LEAST_ROUNDS)
    rates = machine.rates(machine.trial("copy", seconds=0.5), budget_s=100.0, patience_s=0.05)
    assert rates.per_s == {"copy": 2.0}


def test_how_far_undisturbed_rounds_lie_apart_is_told_of_each_quantity():
    machine = Machine()
    swinging = iter([1.0, *[0.25, 0.5] * 10])
    rates = machine.rates(
        machine.trial("steady", seconds=0.5),
        Trial("swinging", 1.0, lambda: next(swinging)),
        Trial("swinging", 1.0, lambda: 9.0),
        budget_s=10.0,
    )
    assert rates.per_s == {"steady": 2.0, "swinging": 4.0}
    assert rates.typical_over_best == {"steady": 1.0, "swinging": 1.5}


def test_of_a_machine_that_is_slow_throughout_the_best_of_many_rounds_counts_and_how_many_is_told():
    machine = Machine(slow=lambda _: True)
    moments = iter([9.0, *[0.5] * (LEAST_SLOW_ROUNDS - 1), 0.25])
    rates = machine.rates(machine.trial("x", seconds=0.5), Trial("copy", 1.0, lambda: next(moments)))
    assert rates.per_s == {"x": 2.0, "copy": 4.0}
    assert rates.n_slow == LEAST_SLOW_ROUNDS


def test_enough_calm_rounds_leave_the_slow_ones_out():
    machine = Machine(slow=lambda n_round: n_round % 2)
    rates = machine.rates(machine.trial("copy", seconds=0.5), budget_s=100.0, patience_s=3.0)
    assert rates.n_slow == 0
    assert machine.n_rounds < LEAST_SLOW_ROUNDS + LEAST_ROUNDS


def test_among_slow_rounds_those_that_neighbours_disturbed_do_not_count():
    machine = Machine(slow=lambda _: True, disturbed=lambda n_round: n_round == 3)
    rates = machine.rates(machine.trial("copy", seconds=0.5))
    assert rates.per_s == {"copy": 2.0}, "a disturbed sample of the test's machine takes a thousandth of a second"
    assert machine.n_rounds == LEAST_SLOW_ROUNDS + 1


def test_a_slow_machine_that_neighbours_use_gives_no_ceiling():
    machine = Machine(slow=lambda _: True, disturbed=lambda n_round: n_round > 2)
    with pytest.raises(MachineDisturbed, match="the neighbours drill"):
        machine.rates(machine.trial("copy", seconds=0.5), patience_s=0.5)


def test_a_slow_machine_is_waited_for_until_so_many_rounds_are_done_however_long_one_is():
    machine = Machine(slow=lambda _: True)
    rates = machine.rates(machine.trial("copy", seconds=4.0))
    assert rates.n_slow == LEAST_SLOW_ROUNDS


def test_a_slow_machine_is_not_waited_for_without_end():
    machine = Machine(slow=lambda _: True)
    with pytest.raises(MachineDisturbed, match="0 of 7 rounds were calm"):
        machine.rates(machine.trial("copy", seconds=9.0))
