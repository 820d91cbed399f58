"""What the machine's parts take at best, by a probe on a clock that the test turns."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.ruler.measure.counters import minor_faults, read_counters, window_between
from benchmarks.ruler.measure.probe import Probe, buffer_bytes, usual_best_s
from benchmarks.ruler.measure.statistics import better_times_s
from benchmarks.ruler.record.part_speed import Part


def test_the_best_that_a_look_finds_is_what_a_fifth_of_its_readings_reach():
    turned, takes = [0.0], iter([9.0, *range(1, 11)] * 3)

    class Turned:
        def times_s(self):
            turned[0] += 0.05
            return {Part.CORE: next(takes)}

    assert usual_best_s(Turned(), now=lambda: turned[0]) == {Part.CORE: 3}


@given(*[st.dictionaries(st.sampled_from(list(Part)), st.floats(1e-6, 1e-2))] * 2)
def test_the_best_is_the_lesser_of_each_part_in_either_order(one, other):
    best = better_times_s(one, other)
    assert best == better_times_s(other, one) == better_times_s(best, one)
    assert set(best) == {*one, *other}


@pytest.mark.skipif(not Path("/proc/self/schedstat").exists(), reason="this system does not count waits")
def test_this_machine_counts_time_faults_and_waits():
    counters, faults = read_counters(), minor_faults()
    touched = bytearray(64 * 2**20)
    window = window_between(counters, read_counters())
    assert counters.busy_s > counters.own_s > 0
    assert counters.waited_s
    assert window.own_cores > 0
    assert minor_faults() > faults
    assert touched


def test_the_probe_of_this_machine_takes_a_few_times_half_a_millisecond_of_calls():
    times = Probe().times_s()
    assert set(times) == set(Part)
    assert all(time_s > 0 for time_s in times.values())


@pytest.mark.parametrize("cache_bytes", [2**23, 2**25, 260 * 10**6])
def test_what_the_probe_reads_is_in_no_cache_whatever_its_size(cache_bytes):
    assert buffer_bytes(cache_bytes) >= 2 * cache_bytes
