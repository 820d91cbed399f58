"""Six saved traces and what they say, counted by hand: three of a CPU as torch 2.13 wrote them, three of a GPU.

The CPU's are of a gated MLP, dim 16, hidden 64, 8 rows, in float32, gelu_tanh. The GPU's are made after the form that
torch.profiler's exporters write, in bfloat16, each call's times written out in round numbers.
"""

from __future__ import annotations

import gzip
import shutil
from collections import defaultdict
from pathlib import Path
from types import SimpleNamespace

import pytest

from benchmarks.ruler.measure.stacks import folded_stacks
from benchmarks.ruler.record.outcome import GapRow, RuntimeKind
from benchmarks.ruler.traces.device_gaps import NO_DEVICE
from benchmarks.ruler.traces.event_names import is_step, stable_name
from benchmarks.ruler.traces.events import RUNTIME, UnreadableTrace, read_trace, trace_from_json
from benchmarks.ruler.traces.least_bytes import GENERATED
from benchmarks.ruler.traces.summary import NO_CALLS, NO_MEMORY, NO_RUNTIME, summarised

SAVED = Path(__file__).parent / "saved"
COMPUTING = frozenset(
    {"aten::addmm", "aten::mm", "aten::copy_", "aten::gelu", "aten::mul", "fused_mlp::gated_mlp"}
    | {"cpp_fused_gelu_mul_0", "triton_poi_fused_mul_silu_0"}
)
GEMM = "nvjet_tst_64x16_64x16_4x2_h_bz_TNT"
MICROSECOND = 1e-6


def summary_of(name):
    return summarised(
        read_trace(SAVED / f"{name}.json"), on_gpu=name.startswith("gpu"), computing=COMPUTING.__contains__
    )


def calls_by_name(summary):
    return {row.name: (row.kind, row.count, round(row.time_s * 1e6, 3)) for row in summary.runtime_calls}


def test_eager_on_a_cpu():
    summary = summary_of("cpu_eager")
    # h, gate and what each step of these makes: four of 8 x 64; the output: 8 x 16. All is freed between operators.
    assert summary.allocated_bytes == summary.freed_bytes == 4 * 8 * 64 * 4 + 8 * 16 * 4
    product = 4 * (8 * 16 + 16 * 64 + 8 * 64)
    assert summary.operators["aten::mm"].min_bytes == 3 * product
    assert summary.operators["aten::gelu"].min_bytes == 4 * 2 * 8 * 64
    assert summary.operators["aten::mul"].min_bytes == 4 * 3 * 8 * 64
    assert summary.operators_min_bytes == 3 * product + 4 * 5 * 8 * 64
    assert summary.operators["aten::mm"].inputs == ("float32[8,16] float32[16,64]", "float32[8,64] float32[64,16]")
    assert summary.operators["aten::mm"].allocated_bytes == 2 * 2048 + 512
    assert {detail.freed_bytes for detail in summary.operators.values()} == {0}
    assert summary.operators["aten::t"].min_bytes is None
    assert summary.gaps is None
    assert summary.runtime_calls is None
    assert summary.missing["gap_count"] == NO_DEVICE
    assert summary.missing["runtime_calls"] == NO_RUNTIME
    assert "operators_min_bytes" not in summary.missing


def test_one_operator_that_does_it_all_on_a_cpu():
    summary = summary_of("cpu_fused")
    assert summary.operators_min_bytes == 4 * (8 * 16 + 3 * 16 * 64 + 8 * 16)
    assert summary.allocated_bytes == summary.freed_bytes == 4 * (8 * 64 + 8 * 16)
    # What it computes in between is its own; the output is taken in aten::empty, and freed by whoever called.
    assert summary.operators["fused_mlp::gated_mlp"].allocated_bytes == 2048
    assert summary.operators["fused_mlp::gated_mlp"].freed_bytes == 2048
    assert summary.operators["aten::empty"].allocated_bytes == 512


def test_a_compiled_call_has_one_kernel_between_its_products():
    summary = summary_of("cpu_compiled")
    product = 4 * (8 * 16 + 16 * 64 + 8 * 64)
    assert summary.operators["aten::mm"].min_bytes == 3 * product
    (generated,) = [detail for name, detail in summary.operators.items() if "cpp_fused" in name]
    # It is given what it changes in place, and what that is multiplied by.
    assert generated.min_bytes == 4 * 2 * 8 * 64
    assert summary.operators_min_bytes == 3 * product + 4 * 2 * 8 * 64
    assert summary.operators_min_bytes < summary_of("cpu_eager").operators_min_bytes
    assert summary.allocated_bytes == summary.freed_bytes == 4 * (2 * 8 * 64 + 8 * 16)


def test_gaps_a_copy_and_a_fill_on_a_gpu():
    summary = summary_of("gpu_gaps")
    gaps = summary.gaps
    # 16-18 copy, 30-31 fill, 34-40 product, 44-46 its parts, 70-73 gelu, 100-105 product: 104-109 in the second call.
    assert gaps.device_busy_s == pytest.approx(19 * MICROSECOND)
    assert gaps.gap_count == 5
    assert gaps.gap_time_s == pytest.approx((70 + 74) / 2 * MICROSECOND)
    assert gaps.longest_gap_s == pytest.approx(31 * MICROSECOND)
    assert [round(gap.duration_s * 1e6, 3) for gap in gaps.gaps] == [31, 24, 12, 4, 3]
    assert (gaps.gaps[2].after, gaps.gaps[2].before) == ("Memcpy HtoD (Pageable -> Device)", "Memset (Device)")
    assert gaps.gaps[0].before == GEMM
    assert "Gelu" in gaps.gaps[0].after
    assert calls_by_name(summary) == {
        "cudaLaunchKernelExC": (RuntimeKind.LAUNCH, 2, 9),
        "cudaLaunchKernel": (RuntimeKind.LAUNCH, 2, 8),
        "cudaMemcpyAsync": (RuntimeKind.MEMCPY, 1, 5),
        "cudaMemsetAsync": (RuntimeKind.MEMSET, 1, 2),
        "cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags": (RuntimeKind.OCCUPANCY, 1, 1),
    }
    assert summary.allocated_bytes == summary.freed_bytes == 1024 + 1024 + 256
    assert summary.operators["aten::addmm"].allocated_bytes == 1024 + 256
    # The bias, x, W and the result of each product, in bfloat16; the copy, in and out; gelu, in and out.
    first, second = 2 * (64 + 8 * 16 + 16 * 64 + 8 * 64), 2 * (16 + 8 * 64 + 64 * 16 + 8 * 16)
    assert summary.operators["aten::addmm"].min_bytes == first + second
    assert summary.operators_min_bytes == first + second + 2 * 2 * 8 * 16 + 2 * 2 * 8 * 64
    assert summary.missing == {}


def test_one_launch_of_a_captured_graph():
    summary = summary_of("gpu_graph")
    # 10-11.5 copy, 20-24, 24.25-25.25, 25.5-29.
    assert summary.gaps.gap_count == 3
    assert summary.gaps.gap_time_s == pytest.approx(9 * MICROSECOND)
    assert summary.gaps.device_busy_s == pytest.approx(10 * MICROSECOND)
    assert summary.gaps.gaps[0] == GapRow(
        duration_s=pytest.approx(8.5 * MICROSECOND), after="Memcpy DtoD (Device -> Device)", before=GEMM
    )
    assert calls_by_name(summary) == {
        "cudaGraphLaunch": (RuntimeKind.LAUNCH, 1, 9),
        "cudaMemcpyAsync": (RuntimeKind.MEMCPY, 1, 4),
    }
    assert summary.allocated_bytes == 0


def test_two_streams_at_once_are_busy_once():
    summary = summary_of("gpu_streams")
    # 20-30 on one stream, 26-34 on the other, 36-38, 58-62: 24 of kernels in 20.
    assert summary.gaps.device_busy_s == pytest.approx(20 * MICROSECOND)
    assert summary.gaps.gap_count == 2
    assert summary.gaps.gap_time_s == pytest.approx(22 * MICROSECOND)
    assert summary.gaps.gaps[0].after == "triton_poi_fused_mul_silu_0"
    assert calls_by_name(summary) == {
        "cudaStreamSynchronize": (RuntimeKind.SYNCHRONISE, 1, 7),
        "cudaLaunchKernel": (RuntimeKind.LAUNCH, 3, 6),
        "cuLaunchKernelEx": (RuntimeKind.LAUNCH, 1, 3),
        "cudaEventRecord": (RuntimeKind.OTHER, 1, 1),
        "cudaStreamWaitEvent": (RuntimeKind.OTHER, 1, 1),
    }
    assert summary.missing["operators_min_bytes"] == f"triton_poi_fused_mul_silu_0: {GENERATED}"


# Of one call: operators, calls of the runtime outside them, the ruler's own wait; kernels without copies and fills.
HOST_NS = {
    "gpu_gaps": 10_000 + 30_000 + 15_000 + 25_000 + 10_000,
    "gpu_graph": 8_000 + 9_000 + 6_000,
    "gpu_streams": 10_000 + 1_000 + 8_000 + 1_000 + 6_000 + 7_000 + 10_000 + 5_000,
}
DEVICE_NS = {"gpu_gaps": 6_000 + 2_000 + 3_000 + 5_000, "gpu_graph": 8_500, "gpu_streams": 24_000}


@pytest.mark.parametrize("name", sorted(path.stem for path in SAVED.glob("*.json")))
def test_folded_stacks_sum_to_the_total(name):
    trace = read_trace(SAVED / f"{name}.json")
    events, kernels = events_as_torch_gives_them(trace)
    sums = defaultdict(int)
    for stack in folded_stacks(events, kernels, n_calls=len(trace.steps)):
        frames, _, time_ns = stack.rpartition(" ")
        sums[frames.partition(";")[0]] += int(time_ns)
    outermost_ns = sum(
        span.end_ns - span.start_ns
        for span in trace.host
        if not is_step(span.name) and (span.parent is None or is_step(span.parent.name))
    )
    assert sums["host"] == HOST_NS.get(name, round(outermost_ns / len(trace.steps)))
    assert sums["device"] == DEVICE_NS.get(name, 0)


def events_as_torch_gives_them(trace):
    """Spans in the form of torch.autograd.profiler_util.FunctionEvent, as far as folding looks, and the kernels."""
    inner_ns = defaultdict(int)
    for span in trace.host:
        if span.parent is not None:
            inner_ns[span.parent] += span.end_ns - span.start_ns
    events = {}
    for span in trace.host:
        own_ns = span.end_ns - span.start_ns - inner_ns[span]
        parent = events[span.parent] if span.parent is not None else None
        event = SimpleNamespace(name=span.name, cpu_parent=parent, self_cpu_time_total=own_ns / 1000, kernels=[])
        events[span] = event
    launched_by = {span.correlation: span for span in trace.host if span.category in RUNTIME}
    kernels = []
    for span in trace.device:
        if span.category == "kernel":
            time_us = (span.end_ns - span.start_ns) / 1000
            kernels.append(SimpleNamespace(name=span.name, self_device_time_total=time_us))
            launch = launched_by[span.correlation].parent
            events[launch].kernels.append(SimpleNamespace(name=span.name, duration=time_us))
    return list(events.values()), kernels


@pytest.mark.parametrize("name", sorted(path.stem for path in SAVED.glob("*.json")))
def test_a_compressed_trace_is_the_same_trace(name, tmp_path):
    packed = tmp_path / "trace.json.gz"
    with (SAVED / f"{name}.json").open("rb") as plain, gzip.open(packed, "wb") as sink:
        shutil.copyfileobj(plain, sink)
    assert [span.name for span in read_trace(packed).host] == [
        span.name for span in read_trace(SAVED / f"{name}.json").host
    ]


def one_kernel(duration):
    return b'{"traceEvents": [{"ph": "X", "cat": "kernel", "name": "k", "ts": 1, "dur": %s}]}' % duration


@pytest.mark.parametrize(
    "content",
    [
        *(b"", b"{}", b"[]", b'{"traceEvents": 3}', b"\x1f\x8b broken", b'{"traceEvents": [1]}', b"[" * 100_000),
        *(one_kernel(duration) for duration in (b"-8", b"1e999", b"NaN", b"null")),
    ],
)
def test_what_is_no_trace_is_named(tmp_path, content):
    (tmp_path / "t.json").write_bytes(content)
    with pytest.raises(UnreadableTrace, match=r"t\.json is no trace"):
        read_trace(tmp_path / "t.json")


def test_what_a_trace_lacks_has_its_reason():
    empty = summarised(trace_from_json({"traceEvents": []}), on_gpu=True, computing=COMPUTING.__contains__)
    assert set(empty.missing.values()) == {NO_CALLS}
    step = {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#2", "pid": 1, "tid": 1, "ts": 1.0, "dur": 5.0}
    bare = summarised(trace_from_json({"traceEvents": [step]}), on_gpu=True, computing=COMPUTING.__contains__)
    assert bare.missing["allocated_bytes"] == NO_MEMORY
    assert bare.missing["gap_count"] == "the trace holds no activity of the device"
    assert bare.runtime_calls == ()


def test_a_generated_kernels_stable_name_is_what_is_asked_for():
    names = {stable_name(span.name) for span in read_trace(SAVED / "cpu_compiled.json").host}
    assert COMPUTING & names >= {"aten::mm", "cpp_fused_gelu_mul_0"}
