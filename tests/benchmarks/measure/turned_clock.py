"""A clock that the test turns, and what is timed and watched on it."""

import itertools

from benchmarks.ruler.measure.clock import Timed


class FakeClock:
    """Time passes only while a call runs, as much as the call says."""

    def __init__(self):
        self.time_s = 0.0
        self.log = []

    def now(self):
        return self.time_s

    def wall(self, call, *, calls):
        start = self.time_s
        for _ in range(calls):
            call()
        return self.time_s - start

    def timed(self, call, *, calls):
        start, last_output = self.time_s, None
        for _ in range(calls):
            last_output = call()
        return Timed(self.time_s - start, last_output)


class Op:
    """A call that takes the durations it is given, the last one for ever."""

    def __init__(self, clock, name, *durations_s):
        self.clock, self.name = clock, name
        self.durations_s = itertools.chain(durations_s[:-1], itertools.repeat(durations_s[-1]))

    def __call__(self):
        self.clock.log.append(self.name)
        self.clock.time_s += next(self.durations_s)


class CalmWatch:
    def start(self):
        pass

    def disturbance(self, _):
        return None


class Disturbed(CalmWatch):
    """Disturbed as often as the list says, then calm."""

    def __init__(self, reasons):
        self.reasons = iter(reasons)
        self.n_forgotten = 0
        self.n_times_all_forgotten = 0
        self.has_forgotten_disturbed = False

    def forget(self):
        self.n_forgotten += 1

    def forget_all(self):
        self.n_times_all_forgotten += 1

    def forget_disturbed(self):
        self.has_forgotten_disturbed = True

    def disturbance(self, _):
        return next(self.reasons, None)


def noisy(clock, name, *, base_s, spread):
    values = [base_s * (1 + spread * ((7 * i) % 11 - 5) / 5) for i in range(10_000)]
    return Op(clock, name, *values)
