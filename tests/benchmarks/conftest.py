"""Values that the ruler's tests share."""

import pytest

from benchmarks.ruler.axes import CachePolicy, Contender, Operation, Pass, Shape
from benchmarks.ruler.journal import Head, ProfileLine, Run, TimingLine
from benchmarks.ruler.outcome import KernelRow, OperatorRow, ProfileOutcome, State, TimingOutcome


@pytest.fixture(scope="session")
def shape():
    return Shape(
        operation=Operation.MLP,
        pass_=Pass.FORWARD,
        dtype="float32",
        activation="gelu",
        batch=8,
        hidden=32,
        dim=16,
        cache=CachePolicy.WARM,
    )


@pytest.fixture(scope="session")
def run():
    return Run(
        run_id="0123456789ab",
        started_at="2026-01-02T03:04:05.678+00:00",
        project="fusebench",
        commit="c0ffee" + 34 * "0",
        commit_date="2026-01-01T00:00:00+00:00",
        commit_subject='Fuse "all" → of it',
        machine="m",
        environment="py3.11-cpu-t2",
        ruler_version="1",
    )


@pytest.fixture(scope="session")
def timing_line(run, shape):
    return TimingLine(
        head=Head(
            run=run,
            conditions={"torch": "2.13.0", "load_by_others": 0.1, "driver": None},
            shape=shape,
            contender=Contender(provider="fused"),
            threads=2,
            measured_at="2026-01-02T03:04:06.000+00:00",
        ),
        group="abcdef01",
        outcome=TimingOutcome(
            state=State.OK,
            latency_s=1.25e-5,
            latency_ci_low_s=1.2e-5,
            latency_ci_high_s=1.3e-5,
            samples_s=(1.2e-5, 1.25e-5, 1.3e-5),
            calls_per_sample=17,
            stop="precision",
            speedup_vs_eager=2.0,
            error_rel=1e-7,
        ),
        flop=2 * 2 * 8 * 16 * 32,
        min_bytes=4 * (2 * 16 * 32 + 48 + 2 * 8 * 16),
        floor_s=1e-6,
    )


@pytest.fixture(scope="session")
def profile_line(timing_line):
    return ProfileLine(
        head=timing_line.head,
        outcome=ProfileOutcome(
            state=State.OK,
            operator_count=1.0,
            operator_time_s=1e-5,
            peak_memory_bytes=512,
            operators=(
                OperatorRow(name="fused_mlp::mlp", count=1.0, self_time_s=1e-5, total_time_s=1e-5, is_compute=True),
            ),
            kernels=(KernelRow(name="k", count=1.0, device_time_s=2e-6),),
        ),
        bound="overhead",
    )
