"""Workspaces are clean, are never shared by two streams or two graphs, and are had in a capture without clearing."""

import gc
from ctypes import CFUNCTYPE, POINTER, c_int, c_uint64, c_void_p
from types import SimpleNamespace

import pytest
import torch

from fused_mlp.gpu import workspace as workspace_module
from fused_mlp.gpu.workspace import FEWEST_COUNTERS, FEWEST_SUMS, CudaStreams, Workspaces

CPU = torch.device("cpu")
SMALL = {"n_counters": 3, "n_sums": 100}
LARGE = {"n_counters": 3, "n_sums": FEWEST_SUMS + 1}


class Graph:
    """A captured graph, as far as somebody can tell who only holds on to it."""


class FakeStreams:
    """A device with streams that are captured when the test says so."""

    def __init__(self):
        self.stream, self.capturing, self.graph, self.number = 7, False, None, None

    def current(self, _device):
        return self.stream

    def is_capturing(self, _device):
        return self.capturing

    def capturing_graph(self):
        return self.graph

    def capture_number(self, _device):
        return self.number

    def capture(self, graph, stream=7, number=None):
        self.stream, self.capturing, self.graph, self.number = stream, True, graph, number

    def run(self, stream=7):
        self.stream, self.capturing, self.graph = stream, False, None


@pytest.fixture
def streams():
    return FakeStreams()


@pytest.fixture
def workspaces(streams):
    return Workspaces(streams)


def share_memory(one, other):
    return one.sums.untyped_storage().data_ptr() == other.sums.untyped_storage().data_ptr()


@pytest.mark.parametrize("sizes", [SMALL, LARGE], ids=["small", "large"])
def test_a_new_workspace_is_zero_and_large_enough(workspaces, sizes):
    workspace = workspaces.take(CPU, **sizes)
    assert workspace.counters.dtype == torch.int32
    assert workspace.sums.dtype == torch.float32
    assert workspace.holds(**sizes)
    assert not workspace.counters.any()
    assert not workspace.sums.any()


def test_counters_and_sums_do_not_overlap(workspaces):
    workspace = workspaces.take(CPU, **SMALL)
    workspace.counters.fill_(1)
    assert not workspace.sums.any()


def test_calls_on_one_stream_share_a_workspace(workspaces):
    assert workspaces.take(CPU, **SMALL) is workspaces.take(CPU, n_counters=1, n_sums=7)


def test_two_streams_never_share(workspaces, streams):
    first = workspaces.take(CPU, **SMALL)
    streams.run(stream=8)
    assert not share_memory(first, workspaces.take(CPU, **SMALL))


def test_a_call_that_needs_more_gets_more_and_leaves_the_smaller_one_alive(workspaces):
    small = workspaces.take(CPU, **SMALL)
    address = small.sums.data_ptr()
    del small
    large = workspaces.take(CPU, **LARGE)
    assert large.holds(**LARGE)
    assert [outgrown.sums.data_ptr() for outgrown in workspaces._outgrown] == [address]
    assert workspaces.take(CPU, **SMALL) is large


def test_a_capture_gets_a_workspace_that_was_cleared_before(workspaces, streams):
    eager = workspaces.take(CPU, **SMALL)
    (spare,) = workspaces._reserve[CPU]
    graph = Graph()
    streams.capture(graph)
    captured = workspaces.take(CPU, **SMALL)
    assert captured is spare
    assert not share_memory(captured, eager)


def test_calls_in_one_capture_share_and_its_other_streams_do_not(workspaces, streams):
    workspaces.take(CPU, **SMALL)
    graph = Graph()
    streams.capture(graph)
    first = workspaces.take(CPU, **SMALL)
    assert workspaces.take(CPU, **SMALL) is first
    streams.capture(graph, stream=8)
    assert not share_memory(first, workspaces.take(CPU, **SMALL))


def test_two_graphs_captured_on_one_stream_never_share(workspaces, streams):
    workspaces.take(CPU, **SMALL)
    one, other = Graph(), Graph()
    streams.capture(one)
    of_one = workspaces.take(CPU, **SMALL)
    streams.run()
    workspaces.take(CPU, **SMALL)
    streams.capture(other)
    of_other = workspaces.take(CPU, **SMALL)
    assert not share_memory(of_one, of_other)
    assert workspaces._of_graphs[other][CPU, 7] is of_other


def test_without_a_reserve_each_captured_call_clears_memory_of_its_own(workspaces, streams):
    graph = Graph()
    streams.capture(graph)
    first, second = workspaces.take(CPU, **SMALL), workspaces.take(CPU, **SMALL)
    assert not share_memory(first, second)
    assert graph not in workspaces._of_graphs


def test_a_graph_that_torch_does_not_name_takes_nothing_from_the_reserve(workspaces, streams):
    workspaces.take(CPU, **SMALL)
    streams.capture(None)
    first, second = workspaces.take(CPU, **SMALL), workspaces.take(CPU, **SMALL)
    assert not share_memory(first, second)
    assert len(workspaces._reserve[CPU]) == 1


def test_calls_of_a_capture_without_a_name_share_a_workspace_that_nobody_clears(workspaces, streams):
    workspaces.take(CPU, **SMALL)
    (spare,) = workspaces._reserve[CPU]
    streams.capture(None, number=41)
    assert workspaces.take(CPU, **SMALL) is workspaces.take(CPU, **SMALL) is spare
    streams.capture(None, number=41, stream=8)
    assert not share_memory(workspaces.take(CPU, **SMALL), spare)


def test_two_captures_without_a_name_never_share(workspaces, streams):
    taken = []
    for number in (41, 42):
        streams.run()
        workspaces.take(CPU, **SMALL)
        streams.capture(None, number=number)
        taken.append(workspaces.take(CPU, **SMALL))
    assert not share_memory(*taken)
    streams.run()
    assert not any(share_memory(workspaces.take(CPU, **SMALL), one) for one in taken)


def test_captures_without_a_name_keep_no_more_than_a_bounded_memory(workspaces, streams, monkeypatch):
    monkeypatch.setattr(workspace_module, "MOST_UNNAMED_CAPTURES", 2)
    for number in (41, 42, 43):
        streams.run()
        workspaces.take(CPU, **SMALL)
        streams.capture(None, number=number)
        first = workspaces.take(CPU, **SMALL)
    assert first is not workspaces.take(CPU, **SMALL)
    assert len(workspaces._reserve[CPU]) == 1


def test_a_call_too_large_for_what_its_capture_holds_leaves_the_reserve_alone(workspaces, streams):
    workspaces.take(CPU, **LARGE)
    graph = Graph()
    streams.capture(graph)
    workspaces.take(CPU, **LARGE)
    streams.run()
    workspaces.take(CPU, **LARGE)
    streams.capture(graph)
    workspaces.take(CPU, n_counters=3, n_sums=4 * FEWEST_SUMS)
    assert len(workspaces._reserve[CPU]) == 1


@pytest.mark.parametrize(("code", "status", "expected"), [(0, 1, 2**40 + 5), (0, 0, None), (900, 1, None)])
def test_the_driver_is_asked_for_the_number_of_the_capture(monkeypatch, code, status, expected):
    asked = []

    @CFUNCTYPE(c_int, c_void_p, POINTER(c_int), POINTER(c_uint64), c_void_p, c_void_p, c_void_p)
    def ask(stream, status_out, number_out, *rest):
        asked.append((stream, *rest))
        status_out[0], number_out[0] = status, 2**40 + 5
        return code

    monkeypatch.setattr(workspace_module, "_cuda_driver", lambda: SimpleNamespace(cuStreamGetCaptureInfo_v2=ask))
    monkeypatch.setattr(CudaStreams, "current", lambda *_: 2**40 + 7)
    assert CudaStreams().capture_number(CPU) == expected
    assert asked == [(2**40 + 7, None, None, None)]


def test_without_a_driver_no_capture_has_a_number(monkeypatch):
    monkeypatch.setattr(workspace_module, "_cuda_driver", lambda: None)
    assert CudaStreams().capture_number(CPU) is None


def test_a_larger_call_later_in_a_capture_leaves_the_workspace_of_the_first_alone(workspaces, streams):
    workspaces.take(CPU, **SMALL)
    graph = Graph()
    streams.capture(graph)
    first = workspaces.take(CPU, **SMALL)
    larger = workspaces.take(CPU, **LARGE)
    assert larger.holds(**LARGE)
    assert workspaces.take(CPU, **SMALL) is first


def test_a_call_outside_captures_fills_the_reserve_again(workspaces, streams):
    workspaces.take(CPU, **LARGE)
    graph = Graph()
    streams.capture(graph)
    workspaces.take(CPU, **LARGE)
    assert workspaces._reserve[CPU] == []
    streams.run()
    workspaces.take(CPU, **SMALL)
    assert [spare.holds(**LARGE) for spare in workspaces._reserve[CPU]] == [True]


def test_a_graph_that_is_gone_returns_its_workspace(workspaces, streams):
    workspaces.take(CPU, **SMALL)
    graph = Graph()
    streams.capture(graph)
    lent = workspaces.take(CPU, **SMALL)
    streams.run()
    del graph
    streams.graph = None
    gc.collect()
    assert workspaces._reserve[CPU] == [lent]


def test_a_graph_object_that_is_not_the_user_s_counts_as_unknown(monkeypatch):
    monkeypatch.setattr(torch._C._CUDAGraph, "get_currently_capturing_graph", Graph, raising=False)
    assert CudaStreams().capturing_graph() is None


def test_no_stream_of_the_cpu_is_captured():
    assert CudaStreams().current(CPU) == 0
    assert not CudaStreams().is_capturing(CPU)


def test_the_least_is_as_the_docs_say(workspaces):
    workspace = workspaces.take(CPU, n_counters=1, n_sums=1)
    n_bytes = workspace.counters.numel() * 4 + workspace.sums.numel() * 4
    assert n_bytes == 4 * (FEWEST_COUNTERS + FEWEST_SUMS) == 260 * 1024
