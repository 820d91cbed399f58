"""What providers declare to run on a GPU, against what an H100 showed (results/data/published/h100)."""

import itertools
from dataclasses import replace

import pytest
import torch

from benchmarks.ruler.expectation import comparison
from benchmarks.ruler.expectation.declarations import expectation
from benchmarks.ruler.plan.points import DeviceKind, Operation, Pass, contender_from_name
from benchmarks.ruler.record.outcome import KernelRow, OperatorRow, ProfileOutcome, State


def on_gpu(shape, name, detail=None):
    return expectation(contender_from_name(name), shape, device=DeviceKind.CUDA, provider_detail=detail)


@pytest.mark.parametrize(("operation", "launches"), [("linear", 6), ("mlp", 9), ("gated_mlp", 8)])
def test_a_small_step_of_training_keeps_z_in_the_launch_that_makes_it_as_an_h100_showed(shape, operation, launches):
    small = {"dim": 64, "hidden": 256, "batch": 64, "activation": "gelu_tanh"}
    at = replace(shape, operation=Operation(operation), pass_=Pass.FORWARD_BACKWARD, dtype="bfloat16", **small)
    assert on_gpu(at, "fused", "single, plain weights").launches == launches


def test_z_is_kept_in_one_launch_where_the_kernels_say_that_it_pays(shape):
    saving_pays = pytest.importorskip("fused_mlp.linear.triton_epilogue").saving_pays
    for batch, dim, dtype in itertools.product((1, 64, 65, 4096), (64, 512, 513, 4096), ("float32", "bfloat16")):
        sizes = {"batch": batch, "dim": dim, "dtype": dtype, "operation": Operation.LINEAR}
        at = replace(shape, pass_=Pass.FORWARD_BACKWARD, **sizes)
        # One launch of two is spared.
        launches, wide = on_gpu(at, "fused", "pure").launches, on_gpu(replace(at, batch=65, dim=513), "fused", "pure")
        assert launches == wide.launches - saving_pays(batch, dim, getattr(torch, dtype))


def test_operators_on_a_gpu_are_declared_as_an_h100_showed_them(shape):
    mlp = replace(shape, operation=Operation.MLP)
    for name, kinds in [("fused-pointwise", ("own",)), ("fused-cublaslt", ("product", "product"))]:
        assert on_gpu(mlp, name).kinds == kinds
        assert on_gpu(mlp, name).operators == len(kinds)
    captured = on_gpu(mlp, "fused-captured", "single, plain weights, rule")
    assert (captured.operators, captured.kinds, captured.launches) == (1, ("copy",), 1)
    seen = ProfileOutcome(
        state=State.OK,
        operator_count=1.0,
        kernel_launches=1.0,
        kernels=(KernelRow(name="mlp_split_hidden_kernel", count=1, device_time_s=1e-6),),
        operators=(
            OperatorRow(name="aten::copy_", count=1, self_time_s=1e-6, total_time_s=1e-6, is_compute=True, outermost=1),
        ),
    )
    assert comparison.compared(seen, captured, shape=mlp, device=DeviceKind.CUDA).unexpected is None
