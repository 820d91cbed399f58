"""Folded stacks: on trees of events made by hand, and on a real profile."""

import json
import random
from dataclasses import dataclass, field, replace
from types import SimpleNamespace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.ruler.measure.profiling import profile_call
from benchmarks.ruler.measure.stacks import MOST_BYTES, MOST_STACKS, folded_stacks
from benchmarks.ruler.plan.points import Contender, Operation, Pass
from benchmarks.ruler.providers import registry as providers
from benchmarks.ruler.providers.workload import one_call, workload

CPU = torch.device("cpu")
NODE = "autograd::engine::evaluate_function: "


@dataclass(kw_only=True)
class Event:
    """As much of the profiler's event as folding looks at; times in microseconds."""

    name: str
    self_cpu_time_total: float = 0.0
    cpu_parent: "Event | None" = None
    kernels: list = field(default_factory=list)


def kernel(name, time_us):
    """A kernel as the device's event has it, and as the operator that launched it has it."""
    event = SimpleNamespace(name=name, self_device_time_total=time_us)
    return event, SimpleNamespace(name=name, duration=time_us)


def sums(stacks):
    """Nanoseconds by kind."""
    found = {}
    for text in stacks:
        frames, _, time_ns = text.rpartition(" ")
        kind = frames.partition(";")[0]
        found[kind] = found.get(kind, 0) + int(time_ns)
    return found


@pytest.fixture
def step():
    return Event(name="ProfilerStep*", self_cpu_time_total=100.0)


@pytest.fixture
def linear(step):
    """A linear of two operators, which launches one kernel: its events, the outermost first, and the kernel's."""
    outer = Event(name="aten::linear", self_cpu_time_total=3.0, cpu_parent=step)
    view = Event(name="aten::t", self_cpu_time_total=0.6, cpu_parent=outer)
    event, launched = kernel("gemm", 30.0)
    product = Event(name="aten::addmm", self_cpu_time_total=9.0, cpu_parent=outer, kernels=[launched])
    return [outer, view, product], [event]


def test_operators_are_nested_in_operators_with_their_own_time_of_one_call_in_nanoseconds(step, linear):
    events, _ = linear
    assert folded_stacks([step, *events], [], n_calls=3) == (
        "host;forward;aten::linear 1000",
        "host;forward;aten::linear;aten::addmm 3000",
        "host;forward;aten::linear;aten::t 200",
    )


def test_the_time_of_kernels_is_a_set_of_its_own_below_the_operators_that_launched_them(step, linear):
    events, kernels = linear
    stacks = folded_stacks([step, *events], kernels, n_calls=3)
    assert [text for text in stacks if text.startswith("device;")] == [
        "device;forward;aten::linear;aten::addmm;gemm 10000"
    ]
    assert not [text for text in stacks if text.startswith("host;") and "gemm" in text]


def test_what_the_backward_graph_calls_is_backward_whichever_thread_and_annotation_it_is_in(step):
    mine = Event(name="mine", self_cpu_time_total=1.0, cpu_parent=step)
    nodes = [Event(name=NODE + "MmBackward0", self_cpu_time_total=2.0, cpu_parent=parent) for parent in (mine, None)]
    product = Event(name="aten::mm", self_cpu_time_total=4.0, cpu_parent=nodes[1])
    assert folded_stacks([step, mine, *nodes, product], [], n_calls=1) == (
        f"host;backward;{NODE}MmBackward0 2000",
        f"host;backward;{NODE}MmBackward0;aten::mm 4000",
        f"host;backward;mine;{NODE}MmBackward0 2000",
        "host;forward;mine 1000",
    )


def test_the_rulers_own_wait_for_the_device_is_neither_forward_nor_backward(step):
    wait = Event(name="cudaDeviceSynchronize", self_cpu_time_total=7.0, cpu_parent=step)
    assert folded_stacks([step, wait], [], n_calls=1) == ("host;waiting;cudaDeviceSynchronize 7000",)


def test_a_kernel_that_no_operator_launched_is_kept_and_one_that_two_events_claim_is_counted_once(step, linear):
    events, kernels = linear
    _, launched = kernel("gemm", 30.0)
    runtime = Event(name="cudaLaunchKernel", cpu_parent=events[2], kernels=[launched])
    stacks = folded_stacks([step, *events, runtime], [*kernels, kernel("alone", 3.0)[0]], n_calls=3)
    assert [text for text in stacks if text.startswith("device;")] == [
        "device;(no operator);alone 1000",
        "device;forward;aten::linear;aten::addmm;gemm 10000",
    ]


def test_the_range_of_an_annotation_on_the_device_is_no_kernel(step, linear):
    events, kernels = linear
    mine = Event(name="mine", cpu_parent=step, kernels=[kernel("mine", 40.0)[1]])
    assert sums(folded_stacks([step, mine, *events], kernels, n_calls=1))["device"] == 30_000


def test_names_cannot_break_the_form(step):
    names = ["a;b\nc\0d", " ", "graph_3_cpp_fused_0"]
    events = [Event(name=name, self_cpu_time_total=1.0, cpu_parent=step) for name in names]
    assert folded_stacks(events, [], n_calls=1) == (
        "host;forward;(unnamed) 1000",
        "host;forward;a b c d 1000",
        "host;forward;cpp_fused_0 1000",
    )


times_us = st.lists(st.integers(-20, 10**7).map(lambda ns: ns / 1000), max_size=40)


@given(host=times_us, device=times_us, n_calls=st.integers(1, 7))
def test_each_kinds_times_sum_to_their_total_to_the_nanosecond(host, device, n_calls):
    events = [Event(name=f"op{i % 11}", self_cpu_time_total=time_us) for i, time_us in enumerate(host)]
    kernels = [kernel(f"k{i % 5}", max(0.0, time_us)) for i, time_us in enumerate(device)]
    for event, (_, launched) in zip(events, kernels, strict=False):
        event.kernels.append(launched)
    found = sums(folded_stacks(events, [event for event, _ in kernels], n_calls=n_calls))
    expected = {
        "host": round(max(0, sum(round(time_us * 1000) for time_us in host)) / n_calls),
        "device": round(sum(round(max(0.0, time_us) * 1000) for time_us in device) / n_calls),
    }
    assert found == {kind: time_ns for kind, time_ns in expected.items() if time_ns}


@pytest.mark.parametrize("length", [8, 400])
def test_a_profile_is_bounded_keeps_its_largest_stacks_and_its_sum_in_the_same_order_each_time(length):
    events = [Event(name=f"{i:04}" * (length // 4), self_cpu_time_total=1 + i) for i in range(3000)]
    stacks = folded_stacks(events, [], n_calls=1)
    assert len(stacks) <= MOST_STACKS
    assert len(json.dumps(stacks, separators=(",", ":"))) <= MOST_BYTES + 2  # and the brackets
    assert len(stacks) == MOST_STACKS or len(json.dumps(stacks)) > MOST_BYTES - length - 100
    assert sums(stacks) == {"host": sum(1000 * (1 + i) for i in range(3000))}
    kept = [int(text.rpartition(" ")[2]) for text in stacks if not text.startswith("host;(other) ")]
    assert sorted(kept) == [1000 * (3001 - i) for i in range(len(kept), 0, -1)]
    random.Random(0).shuffle(events)
    assert folded_stacks(events, [], n_calls=1) == stacks


@pytest.fixture(scope="module")
def gated(shape):
    """The profile of eager's gated MLP, forward and backward, in which the forward is annotated."""
    load = workload(replace(shape, operation=Operation.GATED_MLP, pass_=Pass.FORWARD_BACKWARD), device=CPU)
    eager = providers.build(Contender(provider="eager"), load).function

    def annotated(x):
        with torch.profiler.record_function("the gated block"):
            return eager(x)

    return profile_call(one_call(load, annotated), device=CPU)


def test_the_flame_of_a_real_profile_sums_to_its_self_times_on_the_host(gated):
    total_s = sum(row.self_time_s for row in gated.operators)
    assert sums(gated.stacks) == {"host": pytest.approx(total_s * 1e9, abs=1)}


def test_the_operators_of_a_real_profile_have_the_time_in_the_flame_that_they_have_in_the_table(gated):
    found = {}
    for text in gated.stacks:
        frames, _, time_ns = text.rpartition(" ")
        name = frames.rpartition(";")[2]
        found[name] = found.get(name, 0) + int(time_ns)
    n_stacks = len(gated.stacks)  # each is rounded
    for row in gated.operators:
        assert found.get(row.name, 0) == pytest.approx(row.self_time_s * 1e9, abs=n_stacks), row.name


def test_a_real_profile_names_forward_backward_and_annotations(gated):
    frames = {text.rpartition(" ")[0] for text in gated.stacks}
    assert "host;forward;the gated block;aten::linear;aten::matmul;aten::mm" in frames
    assert f"host;backward;{NODE}MmBackward0;MmBackward0;aten::mm" in frames
    assert list(gated.stacks) == sorted(gated.stacks)
    assert {one.split(";")[1] for one in frames} == {"forward", "backward"}
    assert not any("ProfilerStep" in one for one in frames)
