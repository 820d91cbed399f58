"""What disturbs a measurement, on counters that the test turns."""

from pathlib import Path

import pytest

from benchmarks.ruler.measure.conditions import (
    LoadWatch,
    available_memory_bytes,
    busy_cpu_seconds,
    last_level_cache_bytes,
    own_cpu_seconds,
)
from benchmarks.ruler.measure.gpu import GpuState, GpuWatch


class Machine:
    """A machine whose counters say what the test says."""

    def __init__(self):
        self.now_s = self.all_s = self.us_s = 0.0

    def watch(self):
        return LoadWatch(
            now=lambda: self.now_s, cpu_seconds_of_all=lambda: self.all_s, cpu_seconds_of_us=lambda: self.us_s
        )

    def passes(self, seconds, *, ours, theirs):
        self.now_s += seconds
        self.us_s += ours * seconds
        self.all_s += (ours + theirs) * seconds


@pytest.fixture
def machine():
    return Machine()


def test_our_own_work_disturbs_nobody(machine):
    watch = machine.watch()
    watch.start()
    machine.passes(0.2, ours=2.0, theirs=0.0)
    assert watch.disturbance() is None
    assert watch.foreign_load() == pytest.approx(0.0)


def test_a_busy_neighbour_is_named_with_its_load_and_what_to_do(machine):
    watch = machine.watch()
    watch.start()
    machine.passes(0.2, ours=1.0, theirs=0.8)
    assert watch.disturbance() == (
        "other processes used 0.8 cores while this was measured; stop them, or measure with 1 thread"
    )


def test_a_little_load_is_tolerated_and_remembered(machine):
    watch = machine.watch()
    watch.start()
    machine.passes(0.2, ours=1.0, theirs=0.2)
    assert watch.disturbance() is None
    assert watch.max_foreign_load == pytest.approx(0.2)


def test_only_what_happened_since_the_start_counts(machine):
    watch = machine.watch()
    machine.passes(10.0, ours=0.0, theirs=2.0)
    watch.start()
    machine.passes(0.2, ours=1.0, theirs=0.0)
    assert watch.disturbance() is None


def test_where_the_system_does_not_say_nothing_is_claimed():
    watch = LoadWatch(cpu_seconds_of_all=lambda: None)
    watch.start()
    assert watch.disturbance() is None
    assert watch.max_foreign_load is None


@pytest.mark.skipif(not Path("/proc/stat").exists(), reason="this system has no /proc")
def test_this_machine_says_how_busy_it_is():
    assert busy_cpu_seconds() > own_cpu_seconds() > 0
    assert available_memory_bytes() > 2**20
    assert last_level_cache_bytes() >= 2**18


def gpu(throttle_reasons=0, clock=1980):
    return GpuState(sm_clock_mhz=clock, power_w=650.4, temperature_c=71, throttle_reasons=throttle_reasons)


def watch_of(machine, *states):
    readings = iter(states)
    watch = GpuWatch(machine.watch(), read=lambda: next(readings))
    watch.start()
    return watch


def test_a_throttled_gpu_disturbs_and_says_why(machine):
    watch = watch_of(machine, gpu(0x04 | 0x20, clock=1400))
    assert watch.disturbance() == (
        "the GPU was throttled by its power limit and its temperature (1400 MHz, 71 °C, 650 W); "
        "let it cool down, or raise its limit"
    )


def test_an_idle_gpu_or_set_clocks_do_not_disturb(machine):
    assert watch_of(machine, gpu(0x01)).disturbance() is None
    assert watch_of(machine, gpu(0x02)).disturbance() is None


def test_beside_a_calm_gpu_other_processes_still_disturb(machine):
    watch = watch_of(machine, gpu())
    machine.passes(0.2, ours=0.0, theirs=1.0)
    assert watch.disturbance().startswith("other processes used 1.0 cores")


def test_the_range_of_the_clock_is_remembered(machine):
    watch = watch_of(machine, gpu(clock=1980), gpu(clock=1755), None)
    for _ in range(3):
        watch.disturbance()
    assert watch.conditions() == {"gpu_sm_clock_min_mhz": 1755, "gpu_sm_clock_max_mhz": 1980}
