"""Work, floors and bounds: arithmetic only."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.ruler.plan import work
from benchmarks.ruler.plan.points import CachePolicy, DeviceKind, Operation, Pass, Shape
from benchmarks.ruler.plan.roofline import Bound, Ceilings, Floor, bound_on_cpu, bound_on_cuda, floor

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
    activation=st.sampled_from(["relu", "gelu", "gelu_tanh", "silu"]),
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


@pytest.mark.parametrize(
    ("latency_s", "least", "bound"),
    [
        (5.9e-6, Floor(compute_s=1e-9, memory_s=1e-9, launch_s=0), Bound.OVERHEAD),
        (6.1e-6, Floor(compute_s=2e-6, memory_s=1e-6, launch_s=0), Bound.COMPUTE),
        (6.1e-6, Floor(compute_s=1e-6, memory_s=2e-6, launch_s=0), Bound.MEMORY),
    ],
)
def test_on_a_cpu_overhead_is_when_dispatch_takes_half_the_latency(latency_s, least, bound):
    assert bound_on_cpu(least, latency_s=latency_s, operator_count=3, dispatch_s=1e-6) is bound


def test_on_a_gpu_overhead_is_when_the_host_is_slower_than_the_device():
    least = Floor(compute_s=2e-6, memory_s=1e-6, launch_s=0)
    assert bound_on_cuda(least, host_time_s=5e-6, device_time_s=5e-6) is Bound.OVERHEAD
    assert bound_on_cuda(least, host_time_s=4e-6, device_time_s=5e-6) is Bound.COMPUTE
