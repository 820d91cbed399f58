"""Latencies in parts: they sum, none is invented, and what is not known has a reason."""

from __future__ import annotations

import json
from dataclasses import fields

import pytest
from hypothesis import given
from hypothesis import strategies as st

from results.files.stacks import FoldedStack
from results.judgement.latency_parts import PYTHON, Part, parts_of
from results.output.latency_parts import expectation_as_text, largest_part_in_words, parts_as_text
from results.output.profile_json import profile_as_json
from results.output.terminal import UNLIMITED
from results.rows import KernelRow, OperatorRow, PointRow, ProfileRow

MICRO = 1e-6
LISTS = {"operators": (), "kernels": (), "gaps": (), "missing": {}}
GEMM, GELU = (
    "ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_stages_64x3_tn",
    "void at::native::vectorized_elementwise_kernel<4, at::native::GeluCUDAKernelImpl(at::TensorIteratorBase&)>(int)",
)


def point(**micros):
    """A point that is ok; times in µs."""
    times = {f"{name}_s": None if value is None else value * MICRO for name, value in micros.items()}
    known = {"provider": "eager", "weights": "plain", "state": "ok", "measured_at": None}
    return PointRow(**{**dict.fromkeys(PointRow._fields), **known, **times})


def profile(*computing, kernels=(), **others):
    operators = tuple(
        OperatorRow(name=name, count=1.0, self_time_s=None, total_time_s=None, is_compute=True) for name in computing
    )
    rows = tuple(KernelRow(name=name, count=1.0, device_time_s=micros * MICRO) for name, micros in kernels)
    known = {field.name: None for field in fields(ProfileRow)}
    return ProfileRow(**{**known, **LISTS, "state": "ok", "operators": operators, "kernels": rows, **others})


def stacks(**micros):
    return [FoldedStack(tuple(name.split(";")), time * MICRO) for name, time in micros.items()]


EAGER = stacks(
    **{
        "forward;aten::linear;aten::addmm": 30,
        "forward;aten::linear;aten::addmm;aten::copy_": 10,
        "forward;aten::gelu": 8,
        "forward;aten::linear": 4,
        "forward;aten::linear;aten::t": 2,
    }
)
COMPUTING = ("aten::addmm", "aten::copy_", "aten::gelu")


def micros(found):
    return {each.part: round(each.time_s / MICRO, 6) for each in found.parts}


def test_a_latency_is_its_floor_what_is_above_it_and_what_is_outside_operators():
    found = parts_of(point(latency=60, operator_time=48, overhead=12, floor=25), profile(*COMPUTING), EAGER)
    assert micros(found) == {Part.FLOOR: 25, Part.PRODUCTS: 15, Part.OPERATORS: 8, Part.OUTSIDE: 12, Part.REST: 0}
    within = {each.part: dict(each.within) for each in found.parts}
    assert within[Part.PRODUCTS] == {"aten::addmm": pytest.approx(40 * MICRO)}
    assert within[Part.OUTSIDE] == {
        PYTHON: pytest.approx(6 * MICRO),
        "aten::linear": pytest.approx(4 * MICRO),
        "aten::t": pytest.approx(2 * MICRO),
    }
    assert found.reason is None


def test_a_floor_above_the_products_takes_from_the_other_operators():
    found = parts_of(point(latency=60, operator_time=48, overhead=12, floor=45), profile(*COMPUTING), EAGER)
    assert micros(found) == {Part.FLOOR: 45, Part.PRODUCTS: 0, Part.OPERATORS: 3, Part.OUTSIDE: 12, Part.REST: 0}


def test_a_profile_that_was_slower_than_the_timing_overlaps_and_one_that_was_faster_leaves_a_rest():
    slower = parts_of(point(latency=40, operator_time=48, overhead=0, floor=25), profile(*COMPUTING), EAGER)
    faster = parts_of(point(latency=90, operator_time=48, overhead=12, floor=25), profile(*COMPUTING), EAGER)
    assert micros(slower)[Part.REST] == -8
    assert micros(faster)[Part.REST] == 30
    said = [parts_as_text(found, point(), UNLIMITED)[0] for found in (slower, faster)]
    assert "overlap: the parts are of calls that were profiled" in said[0]
    assert "in no part: the calls that were profiled took less" in said[1]


def test_what_is_outside_operators_in_the_profile_is_no_longer_than_it_was_timed():
    found = parts_of(point(latency=60, operator_time=48, overhead=3, floor=25), profile(*COMPUTING), EAGER)
    (outside,) = [each for each in found.parts if each.part is Part.OUTSIDE]
    assert dict(outside.within) == {
        "aten::linear": pytest.approx(2 * MICRO),
        "aten::t": pytest.approx(1 * MICRO),
    }


def test_on_a_gpu_the_device_waits_for_the_host_and_there_may_be_time_between_kernels():
    seen = profile(kernels=[(GEMM, 20), (GELU, 5)])
    found = parts_of(point(latency=60, device_time=27, host_time=58, floor=12), seen)
    assert micros(found) == {Part.FLOOR: 12, Part.PRODUCTS: 8, Part.OPERATORS: 5, Part.WAITING: 33, Part.REST: 2}


def test_a_device_that_the_host_is_ahead_of_does_not_wait_for_it():
    seen = profile(kernels=[(GEMM, 20), (GELU, 5)])
    ahead = parts_of(point(latency=30, device_time=27, host_time=10, floor=12), seen)
    assert micros(ahead) == {Part.FLOOR: 12, Part.PRODUCTS: 8, Part.OPERATORS: 5, Part.IDLE: 3, Part.REST: 2}
    # Of most of the call nothing ran: whatever was enqueued, it was waited for.
    assert Part.WAITING in micros(parts_of(point(latency=60, device_time=27, host_time=10, floor=12), seen))


@pytest.mark.parametrize(
    ("known", "reason"),
    [
        (
            {"latency": 60, "operator_time": 48, "overhead": 12},
            "no ceilings of the machine are known, so no part is its floor",
        ),
        ({"latency": 60, "operator_time": 48, "floor": 80}, "ceilings are not valid, so no part is its floor"),
        ({"latency": 60, "floor": 8}, "its operators' time is not known"),
    ],
)
def test_what_is_not_known_has_a_reason(known, reason):
    found = parts_of(point(**known), profile(*COMPUTING), EAGER)
    assert reason in found.reason
    assert Part.FLOOR not in micros(found)
    assert parts_as_text(found, point(**known), UNLIMITED)[-1].startswith("the parts of the latency: ")


def test_what_an_older_ruler_did_not_tell_is_the_rest_and_not_the_hosts():
    found = parts_of(point(latency=60, operator_time=48, floor=25), profile(*COMPUTING), EAGER)
    assert (micros(found)[Part.OUTSIDE], micros(found)[Part.REST]) == (6, 6)
    assert micros(parts_of(point(latency=60, operator_time=48, floor=25)))[Part.OUTSIDE] == 0


@pytest.mark.parametrize(("operator_time", "has_parts"), [(250, True), (83_200, False)])
def test_a_profile_that_was_disturbed_splits_nothing_and_says_so(operator_time, has_parts):
    at = point(latency=211, operator_time=operator_time, overhead=0)
    found = parts_of(at, profile(*COMPUTING), EAGER)
    assert bool(found.parts) == has_parts
    said = "".join(parts_as_text(found, at, UNLIMITED))
    assert ("394 × as long as the timed call, so it was disturbed" in said) != has_parts
    assert (largest_part_in_words(at) is not None) == has_parts


@pytest.mark.parametrize(("waited", "has_shares"), [(7, True), (400, False)])
def test_the_fastest_call_is_not_split_by_shares_of_calls_that_waited(waited, has_shares):
    profiled = stacks(**{"forward;aten::addmm": 40 * waited, "forward;aten::gelu": 8})
    found = parts_of(point(latency=100, operator_time=70, overhead=20), profile(*COMPUTING), profiled)
    assert (Part.PRODUCTS in micros(found)) is has_shares
    assert micros(found).get(Part.ALL_OPERATORS) == (None if has_shares else 70)


def test_a_point_that_was_not_measured_has_no_parts():
    found = parts_of(point()._replace(state="crashed"))
    assert (found.parts, found.latency_s, found.reason) == ((), None, "it was not measured: crashed")
    assert largest_part_in_words(point()._replace(state="crashed")) is None


@pytest.mark.parametrize(
    ("known", "words"),
    [
        (
            {"latency": 60, "operator_time": 12, "overhead": 48, "floor": 3},
            "80\N{NARROW NO-BREAK SPACE}% outside operators",
        ),
        ({"latency": 60, "operator_time": 58, "overhead": 2, "floor": 45}, "75\N{NARROW NO-BREAK SPACE}% floor"),
        (
            {"latency": 60, "operator_time": 58, "overhead": 2, "floor": 4},
            "90\N{NARROW NO-BREAK SPACE}% operators above the floor",
        ),
        ({"latency": 60, "operator_time": 58, "overhead": 2}, "97\N{NARROW NO-BREAK SPACE}% operators"),
        ({"latency": 60, "device_time": 15, "floor": 6}, "75\N{NARROW NO-BREAK SPACE}% the device waits for the host"),
    ],
)
def test_show_names_the_largest_part(known, words):
    assert largest_part_in_words(point(**known)) == words


def test_a_floor_says_whether_it_is_traffic_or_arithmetic():
    known = point(latency=60, operator_time=58, overhead=2, floor=45)
    assert largest_part_in_words(known._replace(bound="memory")) == "75\N{NARROW NO-BREAK SPACE}% floor (traffic)"
    assert largest_part_in_words(known._replace(bound="compute")) == "75\N{NARROW NO-BREAK SPACE}% floor (arithmetic)"


TIMES = st.floats(min_value=0, max_value=1e6, allow_nan=False)
MAYBE = st.none() | TIMES


@given(
    known=st.fixed_dictionaries({"latency": TIMES, "operator_time": MAYBE, "overhead": MAYBE, "floor": MAYBE}),
    device=MAYBE,
    profiled=st.lists(st.tuples(st.sampled_from([*COMPUTING, "aten::t", "Torch-Compiled Region"]), TIMES)),
    kernels=st.lists(st.tuples(st.sampled_from([GEMM, GELU, "mine"]), TIMES)),
)
def test_parts_sum_to_the_latency_and_only_the_rest_may_be_below_zero(known, device, profiled, kernels):
    at = point(**known, device_time=device)
    folded = [FoldedStack(("forward", name), time * MICRO) for name, time in profiled]
    found = parts_of(at, profile(*COMPUTING, kernels=kernels), folded)
    if not found.parts:
        assert found.reason
        return
    most = max([known["latency"], *(abs(each.time_s) / MICRO for each in found.parts)]) * MICRO
    assert sum(each.time_s for each in found.parts) == pytest.approx(at.latency_s, abs=most * 1e-9 + 1e-18)
    assert all(each.time_s >= 0 for each in found.parts if each.part is not Part.REST)
    assert len({each.part for each in found.parts}) == len(found.parts)
    floors = [each.time_s for each in found.parts if each.part is Part.FLOOR]
    assert floors == ([min(at.floor_s, at.latency_s)] if at.floor_s is not None and at.has_valid_ceiling else [])
    assert bool(floors) or found.reason


def test_what_was_expected_stands_beside_what_was_seen():
    seen = profile(
        expected_operator_count=3.0, operator_count=4.0, expected_bytes=2e6, operators_min_bytes=3e6,
        expected_time_s=2e-5, unexpected="expected 3 operators, saw 4: extra aten::copy_",
    )  # fmt: skip
    table, words = expectation_as_text(point(latency=60), seen, UNLIMITED)
    rows = [line.split() for line in table.splitlines()]
    assert ["operators", "3", "4", "1.33", "×"] in rows
    assert ["traffic", "2", "MB", "3", "MB", "1.50", "×"] in rows
    assert [row[-2:] for row in rows if row[0] == "time"] == [["3.00", "×"]]
    assert "launches" not in table
    assert words == "unexpected: expected 3 operators, saw 4: extra aten::copy_"


@pytest.mark.parametrize(
    ("seen", "moved", "ratios"),
    [(1.0, 2e6, ["other operators"] * 2), (1.0, 3e7, ["other operators", "1.11 ×"]), (2.0, 3e7, ["2 ×", "1.11 ×"])],
)
def test_other_operators_than_expected_have_no_ratio_that_says_as_expected_or_too_little(seen, moved, ratios):
    unexpected = f"expected 1 operator, saw {seen:g}: aten::copy_, missing one of fused_mlp's"
    counts = {"expected_operator_count": 1.0, "operator_count": seen}
    found = profile(**counts, expected_bytes=2.7e7, operators_min_bytes=moved, unexpected=unexpected)
    told = expectation_as_text(point(latency=60), found, UNLIMITED)[0].splitlines()[2:]
    assert [line.split("  ")[-1].strip() for line in told] == ratios
    launches = profile(**counts, unexpected="expected 2 kernels, launched 3")
    assert "other operators" not in expectation_as_text(point(latency=60), launches, UNLIMITED)[0]
    assert expectation_as_text(point(latency=60), profile(), UNLIMITED) == []


def test_the_parts_are_in_the_json_with_what_they_consist_of():
    at = point(latency=60, operator_time=48, overhead=12, floor=25)
    found = json.loads(profile_as_json(at, profile(*COMPUTING), stacks=EAGER))
    assert sum(each["time_s"] for each in found["latency_parts"]) == pytest.approx(60 * MICRO)
    assert found["latency_parts"][1]["part"] == "products"
    assert found["latency_parts"][1]["within"] == [{"name": "aten::addmm", "time_s": pytest.approx(40 * MICRO)}]
    assert found["latency_parts_reason"] is None


def test_a_floor_within_the_ceilings_error_is_all_of_a_latency_and_no_more():
    found = parts_of(point(latency=100, floor=108, operator_time=90, overhead=10))
    assert micros(found)[Part.FLOOR] == 100
    assert sum(micros(found).values()) == pytest.approx(100)
