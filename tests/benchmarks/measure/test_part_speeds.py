"""Speeds of a visit: the machine's, that of what products use of it, and of which stretches."""

import pytest

from benchmarks.ruler.record.part_speed import Part
from tests.benchmarks.measure.test_disturbances import STEADY, Machine


def test_slow_memory_is_no_slowness_of_products():
    machine = Machine(data_bytes=2**30)
    watch = machine.watch()
    watch.start()
    machine.speed[Part.MEMORY] = 0.25
    for _ in range(2):
        watch.disturbance(STEADY)
    assert watch.speeds() == {"machine_speed": pytest.approx(0.25), "speed_of_products": 1.0}
    machine.speed[Part.PRODUCT] = 0.5
    for _ in range(6):
        watch.disturbance(STEADY)
    assert watch.speeds() == {"machine_speed": pytest.approx(0.25), "speed_of_products": pytest.approx(0.5)}


def test_a_stretch_that_is_thrown_away_is_no_part_of_the_speed():
    machine = Machine()
    watch = machine.watch()
    machine.speed[Part.CORE] = 0.6
    watch.start()
    assert watch.disturbance(STEADY)
    watch.forget()
    assert watch.machine_speed() is None
    machine.speed[Part.CORE] = 1.0
    watch.disturbance(STEADY)
    watch.disturbance(STEADY)
    assert watch.machine_speed() == 1.0


def test_stretches_whose_slowness_moved_no_median_are_no_part_of_the_speed():
    machine = Machine()
    watch = machine.watch()
    machine.speed[Part.CORE] = 0.6
    watch.start()
    assert watch.disturbance(STEADY)
    assert watch.disturbance(STEADY)
    machine.speed[Part.CORE] = 1.0
    assert watch.disturbance(STEADY) is None
    watch.forget_disturbed()
    assert watch.machine_speed() == 1.0
    assert watch.conditions()["slow_quarter_core_s"] == pytest.approx(1e-4)
