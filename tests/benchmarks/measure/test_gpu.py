"""What a GPU says of itself: what disturbs a measurement, and what is only so while it is measured."""

import pytest

from benchmarks.ruler.measure.gpu import GpuState, GpuWatch

STEADY = {"eager": [2e-4, 2.01e-4] * 10}


class Others:
    """The watch over the rest of the machine, where this happens."""

    def __init__(self, happens=None, *, is_merely_slow=False):
        self.happens, self.is_merely_slow = happens, is_merely_slow

    def start(self):
        pass

    def disturbance(self, _):
        return self.happens


def gpu(throttle_reasons=0, clock=1980):
    return GpuState(sm_clock_mhz=clock, power_w=650.4, temperature_c=71, throttle_reasons=throttle_reasons)


def watch_of(others, *states):
    readings = iter(states)
    watch = GpuWatch(others, read=lambda: next(readings))
    watch.start()
    return watch


def test_a_throttled_gpu_disturbs_and_says_why():
    watch = watch_of(Others(), gpu(0x08 | 0x20, clock=1400))
    assert watch.disturbance(STEADY) == (
        "the GPU was throttled by a hardware slowdown (heat or power) and its temperature (1400 MHz, 71 °C, 650 W)"
    )


def test_a_gpu_at_its_power_limit_is_a_condition_and_no_disturbance():
    watch = watch_of(Others(), gpu(0x04, clock=1400), gpu(), gpu())
    assert watch.disturbance(STEADY) is None
    watch.disturbance(STEADY)
    assert watch.conditions()["power_capped"] is True
    calm = watch_of(Others(), gpu())
    calm.disturbance(STEADY)
    assert calm.conditions()["power_capped"] is False
    assert watch_of(Others()).conditions()["power_capped"] is None


@pytest.mark.parametrize("bit", [0x08, 0x20, 0x40, 0x80])
def test_whatever_else_slows_a_gpu_down_disturbs(bit):
    assert watch_of(Others(), gpu(bit | 0x04)).disturbance(STEADY) is not None


def test_an_idle_gpu_or_set_clocks_do_not_disturb():
    assert watch_of(Others(), gpu(0x01)).disturbance(STEADY) is None
    assert watch_of(Others(), gpu(0x02)).disturbance(STEADY) is None


def test_beside_a_calm_gpu_other_processes_still_disturb():
    watch = watch_of(Others("other processes used 2.0 cores"), gpu())
    assert watch.disturbance(STEADY) == "other processes used 2.0 cores"


def test_the_range_of_the_clock_is_remembered():
    watch = watch_of(Others(), gpu(clock=1980), gpu(clock=1755), None)
    for _ in range(3):
        watch.disturbance(STEADY)
    assert watch.conditions() == {
        "gpu_sm_clock_min_mhz": 1755,
        "gpu_sm_clock_max_mhz": 1980,
        "power_capped": False,
    }


def test_a_slow_host_is_merely_slow_unless_the_gpu_was_throttled_too():
    watch = watch_of(Others("slow", is_merely_slow=True), gpu(), gpu(0x08), gpu())
    seen = []
    for _ in range(3):
        watch.disturbance(STEADY)
        seen.append(watch.is_merely_slow)
    assert seen == [True, False, True]
    calm = watch_of(Others(), gpu())
    calm.disturbance(STEADY)
    assert not calm.is_merely_slow
