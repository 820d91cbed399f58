"""Weights that no cache holds take the place of a module's, call by call, and are gone afterwards."""

from dataclasses import replace

import pytest
import torch
from torch import nn

from benchmarks.ruler.measure.clock import EnqueuedTimes
from benchmarks.ruler.plan.points import Contender, Operation, Weights
from benchmarks.ruler.providers import compiled as compiled_providers
from benchmarks.ruler.providers import registry as providers
from benchmarks.ruler.providers.workload import workload
from benchmarks.ruler.record.outcome import State, TimingOutcome
from benchmarks.ruler.worker import device_time
from benchmarks.ruler.worker.cold_weights import cold_weights, n_sets, rotating_parameters
from benchmarks.ruler.worker.device_time import with_cold_device_time, with_device_time

CPU = torch.device("cpu")
TIMED = TimingOutcome(state=State.OK, latency_s=1e-5)


def module_of_bytes(n_bytes):
    linear = nn.Linear(n_bytes // 4 // 16, 16, bias=False)
    return linear.requires_grad_(requires_grad=False)


def test_all_copies_together_are_several_times_the_cache_before_one_comes_again():
    linear = module_of_bytes(2**14)
    x = torch.randn(2, linear.in_features)
    seen, original = [], linear.weight.data_ptr()
    with cold_weights(lambda: linear(x), [linear.weight], cache_bytes=2**16) as call:
        for _ in range(30):
            call()
            seen.append(linear.weight.data_ptr())
    n = n_sets([linear.weight], cache_bytes=2**16)
    assert n * 2**14 > 3 * 2**16
    assert seen[:n] == seen[n : 2 * n]
    assert len(set(seen[:n])) == n
    assert original not in seen
    assert linear.weight.data_ptr() == original


@pytest.mark.parametrize("operation", list(Operation))
@pytest.mark.parametrize("name", ["eager", "fused", "fused-pure", "packed-eager"])
def test_a_call_on_other_copies_gives_what_it_gave(shape, operation, name):
    check_on_copies(shape, operation, name)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_what_is_compiled_takes_other_copies_without_compiling_again(shape):
    torch._dynamo.reset()
    compiled_providers.clear_counters()
    check_on_copies(shape, Operation.MLP, "compiled")
    assert compiled_providers.graphs_compiled() == 1


def check_on_copies(shape, operation, name):
    load = workload(replace(shape, operation=operation, activation="gelu"), device=CPU)
    packed = Weights.PACKED if name == "packed-eager" else Weights.PLAIN
    with torch.inference_mode():  # as the worker builds it
        built = providers.build(Contender(provider=name, weights=packed), load)
    if not hasattr(built, "function"):
        pytest.skip(built.reason)
    with torch.inference_mode():
        before = built.function(load.x).clone()
        parameters = rotating_parameters(built.function)
        assert parameters
        with cold_weights(lambda: built.function(load.x), parameters, cache_bytes=2**18) as call:
            for _ in range(3):
                torch.testing.assert_close(call(), before)
        torch.testing.assert_close(built.function(load.x), before, rtol=0, atol=0)


def test_an_error_leaves_the_weights_what_they_were():
    linear, original = nn.Linear(4, 4), None
    original = linear.weight.data_ptr()

    def fails():
        raise RuntimeError("out of memory")

    with pytest.raises(RuntimeError), cold_weights(fails, tuple(linear.parameters()), cache_bytes=2**10) as call:
        call()
    assert linear.weight.data_ptr() == original


@pytest.fixture
def timed_by_address(monkeypatch):
    """A stream on which a call takes 1 µs on the weights it saw before, 9 µs on others."""

    def install(linear):
        known = {linear.weight.data_ptr()}

        def times(call, *, calls, block_s):
            seconds = 0.0
            for _ in range(calls):
                call()
                seconds += 1e-6 if linear.weight.data_ptr() in known else 9e-6
            return EnqueuedTimes(host_time_s=1e-6, device_time_s=seconds / calls)

        monkeypatch.setattr(device_time, "time_behind_blocked_stream", times)

    return install


def test_hot_and_cold_are_measured_apart(timed_by_address):
    linear = module_of_bytes(2**14)
    timed_by_address(linear)
    x = torch.randn(2, linear.in_features)
    hot = with_device_time(TIMED, lambda: linear(x))
    both = with_cold_device_time(hot, lambda: linear(x), linear, cache_bytes=2**16)
    assert (both.device_time_s, both.device_time_cold_s) == (pytest.approx(1e-6), pytest.approx(9e-6))
    assert both.host_time_s == hot.host_time_s


def test_weights_that_no_cache_could_hold_are_cold_at_every_call(timed_by_address):
    linear = module_of_bytes(2**16)
    timed_by_address(linear)
    hot = with_device_time(TIMED, lambda: None)
    assert with_cold_device_time(hot, lambda: None, linear, cache_bytes=2**13).device_time_cold_s == hot.device_time_s


def test_of_a_function_that_may_hold_its_weights_there_is_no_cold_time(timed_by_address):
    linear = module_of_bytes(2**14)
    timed_by_address(linear)
    hot = with_device_time(TIMED, lambda: None)
    assert with_cold_device_time(hot, lambda: None, lambda x: x, cache_bytes=2**16) == hot


def test_of_inference_tensors_there_is_no_cold_time(timed_by_address):
    with torch.inference_mode():
        linear = module_of_bytes(2**14)
    timed_by_address(linear)
    hot = with_device_time(TIMED, lambda: None)
    assert with_cold_device_time(hot, lambda: None, linear, cache_bytes=2**16) == hot


def test_who_replays_a_graph_is_known():
    assert {"fused-captured", "compiled-cudagraphs"} <= providers.CAPTURED <= providers.PROVIDERS.keys()
