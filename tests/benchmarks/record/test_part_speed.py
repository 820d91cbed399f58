"""What slowness of a machine is told as, and what it leaves standing."""

import pytest

from benchmarks.ruler.record.part_speed import Part, disturbs_ratios, slowness, speed_of_slow
from results.files import disturbances as results_disturbances


def test_a_slow_host_of_a_gpu_disturbs_ratios_since_it_slows_those_alone_that_wait_for_it():
    told = slowness(Part.CORE, 0.8, is_on_host=False)
    assert told == "the GPU's host ran at 80 % of its best (one core's arithmetic)"
    assert disturbs_ratios(told)
    assert results_disturbances.disturbs_ratios(told)


@pytest.mark.parametrize(
    ("disturbed", "speed"),
    [
        (None, 1.0),
        ("the machine ran at 80 % of its best (one core's arithmetic)", 0.8),
        ("the machine ran at 80 % of its best (x); the machine ran at 75 % of its best (y)", 0.75),
        ("the machine ran at 60 % of its best (one core's arithmetic)", None),
        ("the machine ran at 80 % of its best (x); other processes used 1.2 cores", None),
    ],
)
def test_the_speed_of_a_merely_slow_machine_is_known(disturbed, speed):
    assert speed_of_slow(disturbed) == speed
    assert disturbs_ratios(disturbed) is (speed is None)
