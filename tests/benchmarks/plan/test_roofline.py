"""Work, floors and bounds: arithmetic only."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.ruler.plan import work
from benchmarks.ruler.plan.points import CachePolicy, DeviceKind, Operation, Pass, Shape
from benchmarks.ruler.plan.roofline import Bound, Ceilings, Floor, bound_on_cpu, bound_on_cuda, floor, is_beaten

CEILINGS = Ceilings(
    device="d",
    measured_at="2026-01-01T00:00:00+00:00",
    matmul_flop_per_s={"float32": 1e12, "bfloat16": 4e12},
    copy_bytes_per_s=1e11,
    vector_instruction_per_s=5e11,
    dispatch_s=1e-6,
)
sizes = st.integers(1, 4096)
shapes = st.builds(
    Shape,
    operation=st.sampled_from(Operation),
    pass_=st.sampled_from(Pass),
    dtype=st.sampled_from(["float32", "bfloat16"]),
    activation=st.sampled_from(["relu", "gelu", "gelu_tanh", "silu", "quick_gelu"]),
    batch=sizes,
    hidden=sizes,
    dim=sizes,
    cache=st.just(CachePolicy.WARM),
)


def test_the_products_of_a_geglu_of_the_literature_are_counted_as_there(shape):
    geglu = replace(
        shape, operation=Operation.GATED_MLP, activation="gelu_tanh", batch=8192, dim=768, hidden=3072, dtype="bfloat16"
    )
    assert work.flop(geglu) == 3 * 2 * 8192 * 768 * 3072


def test_an_mlp_moves_its_weights_biases_input_and_output_once(shape):
    weights = 2 * shape.dim * shape.hidden + shape.hidden + shape.dim
    assert work.min_bytes(shape) == 4 * (weights + 2 * shape.batch * shape.dim)


def test_a_bare_linear_has_no_vector_instructions(shape):
    linear = replace(shape, operation=Operation.LINEAR, activation=None)
    assert work.vector_instructions(linear) == 0


@given(shapes, sizes)
def test_more_rows_are_never_less_work_nor_a_lower_floor(shape, more):
    larger = replace(shape, batch=shape.batch + more)
    assert work.flop(larger) > work.flop(shape)
    assert work.min_bytes(larger) > work.min_bytes(shape)
    for device in DeviceKind:
        assert floor(larger, CEILINGS, device=device).total_s >= floor(shape, CEILINGS, device=device).total_s


@given(shapes)
def test_training_is_more_work_than_the_forward_it_contains(shape):
    forward, training = (replace(shape, pass_=pass_) for pass_ in (Pass.FORWARD, Pass.FORWARD_BACKWARD))
    assert work.flop(training) == 3 * work.flop(forward)
    assert work.min_bytes(training) > work.min_bytes(forward)


def test_a_dtype_without_a_ceiling_has_no_floor(shape):
    assert floor(replace(shape, dtype="float16"), CEILINGS, device=DeviceKind.CPU) is None


def test_on_a_gpu_the_activation_runs_beside_the_products_and_a_launch_is_added(shape):
    heavy = replace(shape, batch=65536, dim=128, hidden=512, dtype="bfloat16")
    on_cpu = floor(heavy, CEILINGS, device=DeviceKind.CPU)
    on_gpu = floor(heavy, replace(CEILINGS, launch_s=2e-6), device=DeviceKind.CUDA)
    assert on_gpu.compute_s < on_cpu.compute_s
    assert on_gpu.total_s == pytest.approx(max(on_gpu.compute_s, on_gpu.memory_s) + 2e-6)


CURVE = {"65536": 4e11, "1048576": 2e11, "4194304": 2.2e11, "67108864": 1e10}
WITH_CURVE = replace(CEILINGS, bandwidth_bytes_per_s=CURVE)


@pytest.mark.parametrize(
    ("working_set", "bytes_per_s"),
    [(1, 4e11), (65536, 4e11), (1048575, 4e11), (1048576, 2.2e11), (67108863, 2.2e11), (67108864, 1e10), (2**40, 1e10)],
)
def test_data_has_the_bandwidth_of_the_level_it_lives_in_and_between_two_the_faster_one_s(working_set, bytes_per_s):
    assert WITH_CURVE.bytes_per_s(working_set) == bytes_per_s


@given(st.integers(1, 2**40), st.integers(1, 2**40))
def test_more_data_is_never_faster(one, other):
    smaller, larger = sorted((one, other))
    assert WITH_CURVE.bytes_per_s(smaller) >= WITH_CURVE.bytes_per_s(larger)


def test_without_a_curve_all_traffic_is_held_against_the_copy():
    assert CEILINGS.bytes_per_s(1) == CEILINGS.bytes_per_s_of_memory() == CEILINGS.copy_bytes_per_s


def test_a_warm_point_is_held_against_the_cache_its_data_lives_in_and_a_cold_one_against_memory(shape):
    one_row = replace(shape, batch=1, dim=256, hidden=512)
    warm = floor(one_row, WITH_CURVE, device=DeviceKind.CPU)
    cold = floor(replace(one_row, cache=CachePolicy.COLD), WITH_CURVE, device=DeviceKind.CPU)
    assert warm.memory_s == pytest.approx(work.min_bytes(one_row) / 2.2e11)
    assert cold.memory_s == pytest.approx(work.min_bytes(one_row) / 1e10)


MICRO = 1e-6
WORK = Floor(compute_s=5 * MICRO, memory_s=4 * MICRO, launch_s=0)


def bound_of(latency, operators, *, least=WORK, n_operators=1, overhead_parts=None, profiled=None):
    return bound_on_cpu(
        least,
        latency_s=latency * MICRO,
        operator_time_s=operators * MICRO,
        profiled_call_s=None if profiled is None else profiled * MICRO,
        operator_count=n_operators,
        dispatch_s=MICRO,
        overhead_parts=overhead_parts,
    )


def test_a_compiled_linear_of_60_around_a_product_of_12_is_bound_by_overhead_and_says_which_part():
    parts = {"cache look-up": 6e-6, "guards": 24e-6, "aten::t": 1e-6, "aten::view": 0.5e-6}
    found = bound_of(60, 12, overhead_parts=parts)
    assert found.bound is Bound.OVERHEAD
    assert found.overhead_s == pytest.approx(48 * MICRO)
    assert found.detail == "48 of 60 µs outside computing operators: guards 24, cache look-up 6, aten::t 1"


def test_what_was_profiled_outside_operators_for_longer_than_it_was_timed_is_shortened_alike():
    found = bound_of(60, 12, overhead_parts={"guards": 72e-6, "cache look-up": 24e-6})
    assert found.detail.endswith(": guards 36, cache look-up 12")


@pytest.mark.parametrize(
    ("least", "bound"),
    [(WORK, Bound.COMPUTE), (Floor(compute_s=4 * MICRO, memory_s=5 * MICRO, launch_s=0), Bound.MEMORY)],
)
def test_a_call_that_spends_its_time_in_operators_is_bound_by_the_larger_floor(least, bound):
    found = bound_of(60, 40, least=least)
    assert found.bound is bound
    assert "20 of 60 µs outside computing operators" in found.detail


def test_operators_that_take_longer_to_dispatch_than_to_work_are_overhead_whatever_passes_inside_them():
    found = bound_of(27, 20, least=Floor(compute_s=0.2 * MICRO, memory_s=1 * MICRO, launch_s=0), n_operators=3)
    assert found.bound is Bound.OVERHEAD
    assert found.detail.startswith("to dispatch 3 operators takes 3 µs at least, their work 0.2 µs of arithmetic")


def test_a_machine_that_was_slow_while_it_was_timed_is_no_overhead():
    found = bound_of(8700, 2900, profiled=3000)
    assert found.bound is Bound.COMPUTE
    assert found.overhead_s == pytest.approx(8700 * MICRO / 30)


def test_the_profiler_s_own_cost_is_no_overhead():
    assert bound_of(60, 40, profiled=160).overhead_s == pytest.approx(20 * MICRO)


def test_a_profile_slower_than_the_timing_leaves_no_overhead_and_not_less_than_none():
    assert bound_of(60, 70).overhead_s == 0.0


def test_on_a_gpu_overhead_is_when_the_host_is_slower_than_the_device():
    least = Floor(compute_s=2e-6, memory_s=1e-6, launch_s=0)
    found = bound_on_cuda(least, host_time_s=5e-6, device_time_s=5e-6)
    assert found.bound is Bound.OVERHEAD
    assert found.detail == "the host enqueues for 5 µs, the device works for 5 µs"
    assert bound_on_cuda(least, host_time_s=4e-6, device_time_s=5e-6).bound is Bound.COMPUTE


@pytest.mark.parametrize(
    ("latency", "outside", "said"),
    [
        (999, 500, "500 of 999 µs outside computing operators: guards 400, aten::t 100"),
        (999.6, 500, "500 µs of 1 ms outside computing operators: guards 400 µs, aten::t 100 µs"),
        (18631, 15000, "15 ms of 18.6 ms outside computing operators: guards 12 ms, aten::t 3 ms"),
        (2.5e6, 2e6, "2,000 ms of 2,500 ms outside computing operators: guards 1,600 ms, aten::t 400 ms"),
    ],
)
def test_times_from_a_thousand_microseconds_on_are_written_in_milliseconds(latency, outside, said):
    parts = {"guards": 0.8 * outside * MICRO, "aten::t": 0.2 * outside * MICRO}
    assert bound_of(latency, latency - outside, overhead_parts=parts).detail == said
    least = Floor(compute_s=0.018631, memory_s=0.0009, launch_s=0)
    assert bound_of(40000, 39000, least=least).detail.startswith("18.6 ms of arithmetic, 900 µs of traffic at least")


@pytest.mark.parametrize(
    ("floor_s", "latency_s", "beaten"),
    [(1.0, 1.0, False), (1.09, 1.0, False), (1.11, 1.0, True), (None, 1.0, False), (1.0, None, False)],
)
def test_a_floor_is_beaten_from_a_tenth_on(floor_s, latency_s, beaten):
    assert is_beaten(floor_s, latency_s) is beaten
