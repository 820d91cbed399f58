"""What the self-check says of ceilings and floors, on values that the test chose."""

import os
from dataclasses import replace

import pytest

from benchmarks.ruler.checks import floors
from benchmarks.ruler.checks.conclusion import Kind
from benchmarks.ruler.checks.floors import FloorRow, Refusal
from benchmarks.ruler.plan.points import DeviceKind
from benchmarks.ruler.plan.settings import settings_from_environment
from benchmarks.ruler.sweep.sweep_plan import Recorded


def row(percent=50.0, bound="memory", disturbed=None):
    return FloorRow(point="eager", latency_s=1e-5, percent=percent, bound=bound, detail=None, disturbed=disturbed)


def test_ceilings_that_repeat_within_a_twentieth_pass_and_the_worst_is_named(known_ceilings):
    near = replace(known_ceilings, copy_bytes_per_s=known_ceilings.copy_bytes_per_s * 1.04)
    found = floors.summary_of_repeats(floors.repeated(known_ceilings, near))
    assert found.kind is Kind.PASS
    assert "copy, GB/s" in found.words
    far = replace(known_ceilings, dispatch_s=known_ceilings.dispatch_s * 1.1)
    found = floors.summary_of_repeats(floors.repeated(known_ceilings, far))
    assert found.kind is Kind.FAIL
    assert "dispatch" in found.words


def test_how_far_ceilings_of_a_slow_machine_lie_apart_is_told_and_not_judged(known_ceilings):
    far = replace(known_ceilings, dispatch_s=known_ceilings.dispatch_s * 1.1)
    found = floors.summary_of_repeats(floors.repeated(known_ceilings, far), was_slow=True)
    assert found.kind is Kind.UNDECIDED
    assert "dispatch" in found.words
    assert "the machine was slow throughout, 6 of 6 cases not counted" in found.words


def test_every_dtype_and_size_is_compared(known_ceilings):
    names = [each.quantity for each in floors.repeated(known_ceilings, known_ceilings)]
    assert len(names) == len(set(names)) == 2 + 2 + 2


def test_what_lies_between_two_levels_is_shown_and_not_judged(known_ceilings):
    curve = {"65536": 1e11, "131072": 1e11, "262144": 5e10, "524288": 2e10, "1048576": 1.9e10}
    first = replace(known_ceilings, bandwidth_bytes_per_s=curve)
    assert floors.sizes_between_levels(first) == [262144]
    second = replace(first, bandwidth_bytes_per_s={**curve, "262144": 7e10})
    found = floors.summary_of_repeats(floors.repeated(first, second))
    assert found.kind is Kind.PASS
    assert "1 between two levels" in found.words
    second = replace(first, bandwidth_bytes_per_s={**curve, "524288": 2.2e10})
    assert floors.summary_of_repeats(floors.repeated(first, second)).kind is Kind.FAIL


def test_data_about_as_large_as_a_cache_that_others_use_is_shown_and_not_judged(known_ceilings):
    curve = {"8388608": 1e11, "16777216": 9e10, "33554432": 8e10, "67108864": 7e10, "134217728": 6e10}
    first = replace(known_ceilings, bandwidth_bytes_per_s=curve)
    for size, rate in curve.items():
        second = replace(first, bandwidth_bytes_per_s={**curve, size: 0.8 * rate})
        assert floors.summary_of_repeats(floors.repeated(first, second)).kind is Kind.FAIL
        found = floors.summary_of_repeats(floors.repeated(first, second, shared_cache_bytes=2**25))
        is_about_its_size = size not in {"8388608", "134217728"}
        assert found.kind is (Kind.PASS if is_about_its_size else Kind.FAIL), size


def test_memory_that_swings_by_itself_is_shown_and_not_judged(known_ceilings):
    curve = {"65536": 1e11, "131072": 1e11, "262144": 1e11, "33554432": 2e10, "67108864": 1.9e10}
    first = replace(known_ceilings, bandwidth_bytes_per_s=curve)
    assert floors.sizes_in_memory(first) == [33554432, 67108864]
    slower = {"bandwidth_bytes_per_s": {**curve, "67108864": 1.5e10}, "copy_bytes_per_s": 1e9}
    assert floors.summary_of_repeats(floors.repeated(first, replace(first, **slower))).kind is Kind.FAIL
    second = replace(first, **slower, conditions={**first.conditions, "memory_swings": 1.6})
    found = floors.summary_of_repeats(floors.repeated(first, second))
    assert found.kind is Kind.PASS
    assert "memory was now fast and now slow, 3 of " in found.words


def test_ceilings_under_load_have_to_be_refused(known_ceilings):
    refused = Refusal(reason="others")
    assert str(floors.summary_of_load(refused, is_quiet=True)) == "pass: under load they are refused: others"
    assert floors.summary_of_load(refused, is_quiet=False).kind is Kind.UNDECIDED
    assert floors.summary_of_load(known_ceilings, is_quiet=False).kind is Kind.FAIL


SLOW = "the machine ran at 80 % of its best (one core's arithmetic)"
VERY_SLOW = SLOW.replace("80", "60")


def test_a_machine_that_gives_no_ceilings_decides_nothing_and_says_why():
    found = floors.summary_of_refusal(Refusal(reason="others"))
    assert found.kind is Kind.UNDECIDED
    assert "the machine gave no ceilings: others" in found.words


@pytest.mark.parametrize(
    ("rows", "kind", "part"),
    [
        ([row(), row(bound="compute")], Kind.PASS, "1 memory, 1 compute"),
        ([row(), row()], Kind.FAIL, "bounds: 2 memory"),
        ([row(110.5), row(bound="compute")], Kind.FAIL, "1 beat their floor"),
        ([row(110.0), row(bound="compute")], Kind.PASS, "0 beat their floor"),
        ([row(None), row(bound="compute")], Kind.FAIL, "1 have no floor"),
        ([row(None), row(None)], Kind.UNDECIDED, "ceilings were refused, 2 of 2 cases not counted"),
        ([row(), row(bound="compute"), row(disturbed="load")], Kind.PASS, "disturbed, 1 of 3 cases not counted"),
        ([row(), row(disturbed="load"), row(disturbed="load")], Kind.UNDECIDED, "2 of 3 cases not counted"),
        ([row(), row(bound="compute"), row(111.0, disturbed="load")], Kind.FAIL, "1 beat their floor"),
        ([row(111.0, disturbed="load")], Kind.FAIL, "1 beat their floor"),
        ([row(55.0, disturbed=SLOW), row(bound="compute", disturbed=SLOW)], Kind.PASS, "1 memory, 1 compute"),
        ([row(92.0, disturbed=SLOW), row(91.0, disturbed=SLOW)], Kind.UNDECIDED, "2 of 2 cases not counted"),
        ([row(None, disturbed=SLOW), row(bound="compute", disturbed=SLOW)], Kind.FAIL, "1 have no floor"),
        ([row(disturbed=VERY_SLOW), row(bound="compute", disturbed=VERY_SLOW)], Kind.UNDECIDED, "2 of 2 cases not"),
        ([], Kind.UNDECIDED, "of 0 points"),
    ],
)
def test_floors_pass_if_none_is_beaten_and_bounds_differ(rows, kind, part):
    found = floors.summary_of_floors(rows)
    assert found.kind is kind
    assert part in found.words


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
