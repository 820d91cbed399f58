"""Speeds that ceilings keep: the machine's, and that of what products use of it."""

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
