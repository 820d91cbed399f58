"""What the self-check says of ceilings and floors, on values that the test chose."""

import os
from dataclasses import replace

import pytest

from benchmarks.ruler.checks import floors
from benchmarks.ruler.checks.floors import FloorRow, Refusal
from benchmarks.ruler.plan.points import DeviceKind
from benchmarks.ruler.plan.settings import settings_from_environment
from benchmarks.ruler.sweep.sweep_plan import Recorded


def row(percent=50.0, bound="memory"):
    return FloorRow(point="eager", latency_s=1e-5, percent=percent, bound=bound, detail=None)


def test_ceilings_that_repeat_within_a_twentieth_pass_and_the_worst_is_named(known_ceilings):
    near = replace(known_ceilings, copy_bytes_per_s=known_ceilings.copy_bytes_per_s * 1.04)
    words, is_passed = floors.summary_of_repeats(floors.repeated(known_ceilings, near))
    assert is_passed
    assert "copy, GB/s" in words
    far = replace(known_ceilings, dispatch_s=known_ceilings.dispatch_s * 1.1)
    words, is_passed = floors.summary_of_repeats(floors.repeated(known_ceilings, far))
    assert not is_passed
    assert "dispatch" in words


def test_every_dtype_and_size_is_compared(known_ceilings):
    names = [each.quantity for each in floors.repeated(known_ceilings, known_ceilings)]
    assert len(names) == len(set(names)) == 2 + 2 + 2


def test_what_lies_between_two_levels_is_shown_and_not_judged(known_ceilings):
    curve = {"65536": 1e11, "131072": 1e11, "262144": 5e10, "524288": 2e10, "1048576": 1.9e10}
    first = replace(known_ceilings, bandwidth_bytes_per_s=curve)
    assert floors.sizes_between_levels(first) == [262144]
    second = replace(first, bandwidth_bytes_per_s={**curve, "262144": 7e10})
    words, is_passed = floors.summary_of_repeats(floors.repeated(first, second))
    assert is_passed
    assert "1 between two levels" in words
    second = replace(first, bandwidth_bytes_per_s={**curve, "524288": 2.2e10})
    assert not floors.summary_of_repeats(floors.repeated(first, second))[1]


def test_ceilings_under_load_have_to_be_refused(known_ceilings):
    assert floors.summary_of_load(Refusal(reason="others")) == ("pass: under load they are refused: others", True)
    assert not floors.summary_of_load(known_ceilings)[1]


@pytest.mark.parametrize(
    ("rows", "is_passed", "part"),
    [
        ([row(), row(bound="compute")], True, "1 memory, 1 compute"),
        ([row(), row()], False, "bounds: 2 memory"),
        ([row(110.5), row(bound="compute")], False, "1 beat their floor"),
        ([row(110.0), row(bound="compute")], True, "0 beat their floor"),
        ([row(None), row(bound="compute")], False, "1 have no floor"),
        ([], False, "of 0 points"),
    ],
)
def test_floors_pass_if_none_is_beaten_and_bounds_differ(rows, is_passed, part):
    words, passed = floors.summary_of_floors(rows)
    assert passed is is_passed
    assert part in words


def test_rows_are_the_operation_s_points_that_are_ok(timing_line, profile_line):
    key = (timing_line.head.shape, timing_line.head.contender)
    recorded = Recorded(timings={key: timing_line}, profiles={key: profile_line})
    (found,) = floors.rows_of(recorded, timing_line.head.shape.operation)
    assert found.percent == pytest.approx(timing_line.floor_s / timing_line.outcome.latency_s * 100)
    assert found.bound == "overhead"
    assert list(floors.rows_of(recorded, "another")) == []


@pytest.mark.slow
def test_a_machine_whose_every_core_is_taken_gives_no_ceilings_and_says_why():
    settings, allowed = replace(settings_from_environment({}), threads=1), os.sched_getaffinity(0)
    found = floors.ceilings_now(settings, device=DeviceKind.CPU, n_busy=4)
    assert isinstance(found, Refusal)
    assert "other processes used" in found.reason
    assert os.sched_getaffinity(0) == allowed
