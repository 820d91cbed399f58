"""Gaps of a device's timeline and calls of its runtime, on traces made by hypothesis and by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.ruler.record.outcome import RuntimeKind
from benchmarks.ruler.traces.device_gaps import MOST_GAPS, device_gaps
from benchmarks.ruler.traces.events import trace_from_json
from benchmarks.ruler.traces.runtime_calls import runtime_calls, runtime_kind

END_US = 10_000


def step(start_us, end_us, number=2):
    times = {"ts": start_us, "dur": end_us - start_us}
    return {"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{number}", "pid": 1, "tid": 1, **times}


def kernel(start_us, length_us, stream=7, name="k", **args):
    return {
        "ph": "X",
        "cat": "kernel",
        "name": name,
        "pid": 0,
        "tid": stream,
        "ts": start_us,
        "dur": length_us,
        "args": {"stream": stream, **args},
    }


def runtime(name, start_us, length_us, **args):
    times = {"ts": start_us, "dur": length_us}
    return {"ph": "X", "cat": "cuda_runtime", "name": name, "pid": 1, "tid": 1, **times, "args": args}


activities = st.lists(st.tuples(st.integers(1, 900), st.integers(0, 90), st.sampled_from([7, 13, 20])), min_size=1)


@given(activities)
def test_what_is_busy_and_what_is_gap_make_the_whole_stretch(found):
    events = [step(0, END_US), *(kernel(*each) for each in found)]
    gaps = device_gaps(trace_from_json({"traceEvents": events}))
    first, last = min(start for start, _, _ in found), max(start + length for start, length, _ in found)
    assert gaps.device_busy_s + gaps.gap_time_s == pytest.approx((last - first) * 1e-6)
    assert gaps.device_busy_s <= sum(length for _, length, _ in found) * 1e-6 + 1e-12
    assert len(gaps.gaps) == min(gaps.gap_count, MOST_GAPS)
    assert gaps.longest_gap_s == max((gap.duration_s for gap in gaps.gaps), default=0)


def test_a_kernel_within_another_stretch_ends_no_gap():
    events = [step(0, END_US), kernel(10, 50, 7, "long"), kernel(20, 5, 13, "short"), kernel(70, 5, 7, "next")]
    (gap,) = device_gaps(trace_from_json({"traceEvents": events})).gaps
    assert (gap.after, gap.before) == ("long", "next")
    assert gap.duration_s == pytest.approx(10e-6)


def test_a_kernel_is_of_the_call_that_launched_it_and_between_calls_is_no_gap():
    events = [
        step(0, 100, 2),
        runtime("cudaLaunchKernel", 10, 5, correlation=1),
        kernel(20, 10, correlation=1),
        runtime("cudaLaunchKernel", 90, 5, correlation=2),
        kernel(120, 10, correlation=2),  # began when the next step had
        step(110, 200, 3),
        runtime("cudaLaunchKernel", 150, 5, correlation=3),
        kernel(160, 10, correlation=3),
    ]
    gaps = device_gaps(trace_from_json({"traceEvents": events}))
    assert gaps.gap_count == 0.5
    assert gaps.gap_time_s == pytest.approx(90e-6 / 2)


def test_without_an_activity_there_are_no_gaps_to_tell_of():
    assert device_gaps(trace_from_json({"traceEvents": [step(0, 100)]})) is None


def test_only_the_last_wait_of_a_call_is_the_rulers():
    events = [step(0, 100), runtime("cudaDeviceSynchronize", 10, 5), runtime("cudaDeviceSynchronize", 90, 7)]
    (row,) = runtime_calls(trace_from_json({"traceEvents": events}).host, n_calls=1)
    assert (row.kind, row.count, row.time_s) == (RuntimeKind.SYNCHRONISE, 1, pytest.approx(5e-6))


def test_the_rulers_wait_is_found_on_whatever_thread_it_is_filed():
    events = [step(0, 100), {**runtime("cudaDeviceSynchronize", 90, 7), "tid": 99}]
    assert runtime_calls(trace_from_json({"traceEvents": events}).host, n_calls=1) == ()


def test_a_wait_that_an_operator_makes_is_the_contenders():
    operator = {"ph": "X", "cat": "cpu_op", "name": "mine::op", "pid": 1, "tid": 1, "ts": 10, "dur": 20}
    events = [step(0, 100), operator, runtime("cudaDeviceSynchronize", 12, 5), runtime("cudaDeviceSynchronize", 90, 7)]
    (row,) = runtime_calls(trace_from_json({"traceEvents": events}).host, n_calls=1)
    assert row.time_s == pytest.approx(5e-6)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("cudaLaunchKernel", RuntimeKind.LAUNCH),
        ("cudaLaunchKernelExC", RuntimeKind.LAUNCH),
        ("cudaLaunchCooperativeKernel", RuntimeKind.LAUNCH),
        ("cuLaunchKernelEx", RuntimeKind.LAUNCH),
        ("cudaGraphLaunch", RuntimeKind.LAUNCH),
        ("hipExtModuleLaunchKernel", RuntimeKind.LAUNCH),
        ("cudaLaunchHostFunc", RuntimeKind.OTHER),
        ("cudaMemcpyAsync", RuntimeKind.MEMCPY),
        ("cuMemcpyHtoDAsync_v2", RuntimeKind.MEMCPY),
        ("cudaMemsetAsync", RuntimeKind.MEMSET),
        ("cuMemsetD32Async", RuntimeKind.MEMSET),
        ("cudaDeviceSynchronize", RuntimeKind.SYNCHRONISE),
        ("cudaEventSynchronize", RuntimeKind.SYNCHRONISE),
        ("cudaStreamWaitEvent", RuntimeKind.OTHER),
        ("cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags", RuntimeKind.OCCUPANCY),
        ("cudaFuncGetAttributes", RuntimeKind.OTHER),
    ],
)
def test_what_a_function_of_the_runtime_asks_for(name, kind):
    assert runtime_kind(name) is kind
