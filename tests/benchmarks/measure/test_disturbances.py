"""What disturbs a measurement, on counters and a probe that the test turns."""

import subprocess
import sys

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from benchmarks.ruler.measure.counters import Counters, window_between
from benchmarks.ruler.measure.disturbances import MOST_HARM, Demand, MachineWatch, harm
from benchmarks.ruler.measure.probe import Probe, median_times_s
from benchmarks.ruler.record.part_speed import LEAST_SPEED, MOST_SLOW, Part

BEST_S = {"core": 1e-4, "product": 5e-4, "memory": 1e-4}
STEADY = {"eager": [2e-4, 2.01e-4] * 10}
# Every second sample waited three milliseconds for a processor.
HIT = {"eager": [2e-4, 3.2e-3] * 10}
LONG = {"eager": [0.02] * 3}


class Machine:
    """A machine whose counters and speed are what the test says."""

    def __init__(self, *, threads=1, data_bytes=None, is_on_host=True, says_waits=True, n_cpus=2):
        self.now_s = self.all_s = self.us_s = self.stolen_s = self.waited_s = self.throttled_s = 0.0
        self.speed = dict.fromkeys(Part, 1.0)
        self.says_waits = says_waits
        self.probe_now_s = 0.0
        self.demand = Demand(
            threads=threads, data_bytes=data_bytes, is_on_host=is_on_host, n_cpus=n_cpus, private_cache_bytes=2**20
        )

    def read(self):
        waits = {"1": self.waited_s, "2": 0.0} if self.says_waits else {}
        return Counters(
            now_s=self.now_s,
            own_s=self.us_s,
            busy_s=self.all_s,
            stolen_s=self.stolen_s,
            waited_s=waits,
            throttled_s=self.throttled_s,
        )

    def watch(self, *, best_s=BEST_S):
        def takes(part):
            def work():
                self.probe_now_s += BEST_S[part] / self.speed[part]

            return work

        def now():
            return self.probe_now_s

        probe = Probe(now=now, own_now=now, work={part: takes(part) for part in Part})
        return MachineWatch(self.demand, probe=probe, best_s=best_s, read=self.read)

    def passes(self, seconds, *, ours=1.0, theirs=0.0, waited=0.0, stolen=0.0, throttled=0.0):
        self.now_s += seconds
        self.us_s += ours * seconds
        self.all_s += (ours + theirs) * seconds
        self.waited_s += waited * seconds
        self.stolen_s += stolen * seconds
        self.throttled_s += throttled * seconds

    def after(self, durations_s=STEADY, **window):
        """The disturbance of one window of 0.2 s."""
        watch = self.watch()
        watch.start()
        self.passes(0.2, **window)
        return watch.disturbance(durations_s)


def test_our_own_work_disturbs_nobody():
    assert Machine(threads=2).after(ours=2.0) is None


def test_a_busy_neighbour_on_the_other_core_is_no_disturbance():
    assert Machine(threads=1).after(theirs=1.0, waited=0.02) is None


def test_time_lost_to_others_that_no_median_shows_is_no_disturbance():
    a_few_hit = {"eager": [2e-4, 2.01e-4] * 9 + [3.2e-3] * 2}
    assert Machine(threads=2).after(a_few_hit, ours=1.5, theirs=1.0, waited=0.3) is None


def test_a_neighbour_that_moves_the_median_is_named_with_its_load():
    assert Machine(threads=2).after(HIT, ours=1.3, theirs=0.8, waited=0.35) == (
        "other processes used 0.8 cores while this was measured, which waited for a processor 35 % of the time"
    )


def test_more_threads_than_processors_wait_for_each_other_and_not_for_others():
    assert Machine(threads=4).after(HIT, ours=2.0, theirs=0.01, waited=0.5) is None


def test_what_disturbed_is_told_without_advice_which_is_given_once_beside_a_table():
    said = Machine(threads=1).after(HIT, theirs=2.0, waited=0.4)
    assert said.endswith("40 % of the time")


def test_samples_longer_than_a_time_slice_are_all_met_alike_and_disturbed():
    assert "waited for a processor 10 % of the time" in Machine().after(LONG, theirs=2.0, waited=0.1)


def test_slow_samples_without_anybody_there_are_our_own():
    assert Machine(threads=2).after(HIT, ours=2.0) is None


def test_a_quota_that_stops_us_is_named_though_nobody_else_runs():
    # Who is stopped could have run, so it waits as well; and nobody took the processor.
    assert Machine(threads=2).after(HIT, ours=1.2, waited=0.4, throttled=0.4) == (
        "a CPU quota, as containers have, stopped this process 40 % of the time"
    )
    assert Machine().after(LONG, ours=0.9, throttled=0.1)


@pytest.mark.parametrize(("durations", "throttled"), [(STEADY, 0.4), (HIT, 0.02)])
def test_a_quota_that_no_median_shows_or_that_took_next_to_nothing_is_no_disturbance(durations, throttled):
    assert Machine().after(durations, ours=1.0 - throttled, throttled=throttled) is None


def test_where_the_system_does_not_count_waits_more_demand_than_processors_counts_as_lost():
    without = Machine(threads=2, says_waits=False)
    assert "other processes used 1.0 cores" in without.after(HIT, ours=1.2, theirs=1.0)
    assert Machine(threads=1, says_waits=False).after(HIT, ours=0.8, theirs=1.0) is None


@pytest.mark.parametrize(("speed", "told"), [(0.62, "62 %"), (1e-4, "less than 1 %")])
def test_a_machine_slower_than_its_best_disturbs_with_nobody_else_on_it(speed, told):
    machine = Machine()
    machine.speed[Part.CORE] = speed
    assert machine.after() == f"the machine ran at {told} of its best (one core's arithmetic)"
    machine.speed[Part.CORE] = float("inf")
    assert machine.after() is None, "a clock that stood still says nothing"


@pytest.mark.parametrize(
    ("speed", "samples", "window", "is_merely_slow"),
    [
        (0.6, STEADY, {}, True),
        (1.0, STEADY, {}, False),
        (0.6, STEADY, {"theirs": 0.9}, False),
        (0.6, HIT, {"ours": 0.9, "stolen": 0.1}, False),
        (0.6, HIT, {"ours": 0.8, "throttled": 0.2}, False),
        (1.0, HIT, {"ours": 0.6, "theirs": 1.4, "waited": 0.4}, False),
    ],
)
def test_a_machine_is_merely_slow_where_nobody_else_is_seen_on_it(speed, samples, window, is_merely_slow):
    machine = Machine()
    machine.speed = dict.fromkeys(Part, speed)
    watch = machine.watch()
    watch.start()
    machine.passes(0.2, **window)
    assert (watch.disturbance(samples) is not None) is (speed < 1 or samples is HIT)
    assert watch.is_merely_slow is is_merely_slow


def test_what_others_take_from_a_slow_machine_is_what_is_told():
    machine = Machine()
    machine.speed[Part.CORE] = 0.8
    told = machine.after(HIT, ours=0.6, theirs=1.4, waited=0.4)
    assert told.startswith("other processes used 1.4 cores")


@pytest.mark.parametrize("speed", [0.93, 1.0, 1.2])
def test_a_machine_within_eight_percent_of_its_best_is_fit(speed):
    machine = Machine()
    machine.speed = dict.fromkeys(Part, speed)
    assert machine.after() is None


def test_a_slow_memory_disturbs_only_calls_whose_data_leave_the_cores_caches():
    small, large = Machine(data_bytes=2**18), Machine(data_bytes=2**24)
    for machine in (small, large):
        machine.speed[Part.MEMORY] = 0.5
    assert small.after() is None
    assert "50 % of its best (reading memory)" in large.after()


def test_a_slow_second_core_disturbs_only_calls_that_use_it():
    alone, both = Machine(threads=2), Machine(threads=2)
    for machine in (alone, both):
        machine.speed[Part.PRODUCT] = 0.5
    assert alone.after(ours=1.0) is None
    assert "50 % of its best (a small matrix product)" in both.after(ours=1.9)


def test_a_product_of_several_threads_that_waited_for_a_processor_tells_nothing_of_the_machine():
    machine = Machine(threads=2)
    machine.speed[Part.PRODUCT] = 0.1
    assert machine.after(ours=1.5, theirs=1.0, waited=0.3) is None


def test_the_probe_is_not_slowed_by_neighbours_that_take_the_processors():
    probe = Probe()
    calm = median_times_s([probe.times_s() for _ in range(15)])
    programs = [subprocess.Popen([sys.executable, "-S", "-c", "while True: pass"]) for _ in range(4)]
    try:
        busy = median_times_s([probe.times_s() for _ in range(15)])
    finally:
        for program in programs:
            program.kill()
            program.wait()
    # By the wall it would be twice as long at least; caches and the other hyperthread are others' to take.
    assert busy[Part.CORE] < 2 * calm[Part.CORE]


def test_calls_on_a_gpu_need_of_the_host_one_core():
    machine = Machine(is_on_host=False, data_bytes=2**30)
    machine.speed = {Part.CORE: 1.0, Part.PRODUCT: 0.2, Part.MEMORY: 0.2}
    assert machine.after() is None


def test_a_slow_moment_at_one_end_of_a_window_disturbs_nothing():
    machine = Machine()
    watch = machine.watch()
    watch.start()
    machine.speed[Part.CORE] = 1 / 1.4
    assert watch.disturbance(STEADY) is None
    assert "71 % of its best" in watch.disturbance(STEADY)
    machine.speed[Part.CORE] = 1.0
    assert watch.disturbance(STEADY) is None


@given(st.lists(st.sampled_from([1.0, 0.95, 0.9, 0.6]), min_size=1, max_size=12))
def test_the_speed_of_a_visit_is_below_the_least_exactly_where_more_than_a_quarter_of_it_is(speeds):
    machine = Machine()
    watch = machine.watch()
    told = []
    for speed in speeds:
        machine.speed[Part.CORE] = speed
        # The probe before a stretch finds what the one after it does.
        watch._readings[:] = [watch._probe.times_s()]
        told.append(watch.disturbance(STEADY))
    n_slow = sum(each is not None for each in told)
    assert (watch.machine_speed() < LEAST_SPEED) is (n_slow > MOST_SLOW * len(speeds))
    assert watch.conditions()["slow_quarter_core_s"] == pytest.approx(1e-4 / watch.machine_speed(), rel=1e-3)


def test_without_a_known_best_no_speed_is_claimed_and_the_probe_recorded():
    machine = Machine()
    machine.speed[Part.CORE] = 0.5
    watch = machine.watch(best_s=None)
    watch.start()
    assert watch.disturbance(STEADY) is None
    assert watch.machine_speed() is None
    assert watch.probe_s() == pytest.approx({"core": 2e-4, "product": 5e-4, "memory": 1e-4})


def test_time_that_a_hypervisor_takes_is_named_where_samples_show_it():
    assert Machine().after(HIT, stolen=0.2).startswith("the host kept 20 % of the processor time from this machine")
    assert Machine().after(STEADY, stolen=0.2) is None


def test_of_stolen_time_only_our_part_is_ours():
    before = Counters(now_s=0.0, own_s=0.0, busy_s=0.0, stolen_s=0.0)
    after = Counters(now_s=1.0, own_s=0.5, busy_s=1.0, stolen_s=0.2)
    assert window_between(before, after).stolen == pytest.approx(0.1)


def test_only_what_happened_since_the_start_counts():
    machine = Machine(threads=2)
    watch = machine.watch()
    machine.passes(10.0, theirs=2.0, waited=0.9, stolen=0.9)
    watch.start()
    machine.passes(0.2)
    assert watch.disturbance(HIT) is None
    assert watch.conditions()["load_by_others"] == pytest.approx(0.0, abs=1e-9)


def test_where_the_system_says_nothing_nothing_is_claimed():
    nothing = Counters(now_s=0.0, own_s=0.0, busy_s=None, stolen_s=None)
    watch = MachineWatch(Demand(threads=1), probe=None, read=lambda: nothing)
    watch.start()
    assert watch.disturbance(HIT) is None
    assert watch.conditions() == {"load_by_others": None, "machine_speed": None}


@example(samples=[1.953125e-3, 1.953125e-3, 4.168600775759739e-4, 4.168600775759739e-4, 4.168600775759739e-4], lost=0.0)
@given(samples=st.lists(st.floats(1e-4, 2e-3), min_size=5), lost=st.floats(0, 1))
def test_harm_is_never_negative_and_equal_samples_have_none(samples, lost):
    assert harm({"eager": samples}, lost=lost) >= 0
    assert harm({"eager": [samples[0]] * 9}, lost=lost) < MOST_HARM
