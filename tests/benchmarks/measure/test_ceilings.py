from benchmarks.ruler.measure.ceilings import LEAST_SAMPLES, best_seconds


class Machine:
    """A machine on which the first touch of memory takes ten times the whole budget."""

    def __init__(self):
        self.time_s, self.n_samples = 0.0, 0

    def now(self):
        return self.time_s

    def sample_s(self):
        lasted_s = 10.0 if self.n_samples == 0 else 0.5
        self.n_samples += 1
        self.time_s += lasted_s
        return lasted_s


def test_a_first_touch_longer_than_the_budget_is_no_ceiling():
    machine = Machine()
    assert best_seconds(machine.sample_s, now=machine.now, budget_s=1.0) == 0.5
    assert machine.n_samples == 1 + LEAST_SAMPLES


def test_a_short_sample_is_repeated_until_the_budget_is_used_up():
    machine = Machine()
    best_seconds(machine.sample_s, now=machine.now, budget_s=10.0)
    assert machine.now() >= 10.0 + 10.0
