"""What an implementation computes, reads and writes by its declared structure, and the time to expect of it."""

import itertools
from dataclasses import replace

import pytest

from benchmarks.ruler.expectation.comparison import compared
from benchmarks.ruler.expectation.declarations import _PACKED, _PLAIN, expectation
from benchmarks.ruler.expectation.structure import traffic_bytes
from benchmarks.ruler.plan import roofline, work
from benchmarks.ruler.plan.points import Contender, DeviceKind, Operation, Pass, contender_from_name
from benchmarks.ruler.record.outcome import ProfileOutcome, State

PROFILE = ProfileOutcome(state=State.OK)
CASES = [(Operation.LINEAR, None), (Operation.LINEAR, "silu"), (Operation.MLP, "gelu"), (Operation.GATED_MLP, "relu")]
ON_CPU = roofline.Ceilings(
    device="made up",
    measured_at="2026-01-02T03:04:05+00:00",
    matmul_flop_per_s={"float32": 1e11},
    copy_bytes_per_s=1e10,
    bandwidth_bytes_per_s={"1024": 1e11, "65536": 5e10, "16777216": 1e10},
    vector_instruction_per_s=5e10,
    dispatch_s=1e-6,
)
CEILINGS = {DeviceKind.CPU: ON_CPU, DeviceKind.CUDA: replace(ON_CPU, launch_s=2e-6)}
EVERY = [*_PLAIN, *(f"{name}:packed" for name in _PACKED)]


@pytest.mark.parametrize("device", list(DeviceKind))
@pytest.mark.parametrize("name", EVERY)
def test_a_structure_does_the_shapes_work_and_is_above_its_floor_or_the_reason_is_told(shape, device, name):
    for (operation, activation), pass_ in itertools.product(CASES, Pass):
        at = replace(shape, operation=operation, activation=activation, pass_=pass_)
        expected = expectation(contender_from_name(name), at, device=device, provider_detail="epilogue, plain weights")
        on_machine = {"device": device, "ceilings": CEILINGS[device]}
        seen = compared(PROFILE, expected, shape=at, **on_machine)
        if expected.structure is None:
            assert {"expected_bytes", "expected_time_s"} <= set(seen.missing)
            continue
        assert sum(each.flop for each in expected.structure) == work.flop(at)
        assert seen.expected_bytes == traffic_bytes(expected.structure) >= work.min_bytes(at)
        assert seen.expected_time_s >= roofline.floor(at, CEILINGS[device], device=device).total_s * (1 - 1e-9)


def test_what_eager_moves_is_what_each_operator_reads_and_writes(shape):
    at = replace(shape, batch=16, dim=32, hidden=64)
    seen = compared(
        PROFILE,
        expectation(Contender(provider="eager"), at, device=DeviceKind.CPU),
        shape=at,
        device=DeviceKind.CPU,
    )
    products = (16 * 32 + 32 * 64 + 64 + 16 * 64) + (16 * 64 + 64 * 32 + 32 + 16 * 32)
    assert seen.expected_bytes == 4 * (products + 2 * 16 * 64)
    assert seen.missing == {"expected_time_s": "no ceilings of this machine are known for the dtype"}


def test_fusing_more_never_moves_more(shape):
    for operation in (Operation.MLP, Operation.GATED_MLP):
        at = replace(shape, operation=operation)
        levels = ("eager", "fused-pointwise", "fused-epilogue", "fused-single")
        moved = [
            traffic_bytes(expectation(contender_from_name(name), at, device=DeviceKind.CUDA).structure)
            for name in levels
        ]
        assert moved == sorted(moved, reverse=True)
        assert moved[-1] == work.min_bytes(at)
