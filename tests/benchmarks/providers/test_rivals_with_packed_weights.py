"""Rivals whose weights are constants: inductor frozen, and onnxruntime. What they hold, and what they refuse."""

import sys
from dataclasses import replace

import pytest
import torch
from torch import nn

from benchmarks.ruler.expectation.comparison import compared
from benchmarks.ruler.expectation.declarations import expectation
from benchmarks.ruler.measure.attempt import attempt
from benchmarks.ruler.measure.profiling import profile_call
from benchmarks.ruler.plan.points import DeviceKind, Operation, Pass, contender_from_name
from benchmarks.ruler.providers import compiled as compiled_providers
from benchmarks.ruler.providers import registry as providers
from benchmarks.ruler.providers.built import Unavailable
from benchmarks.ruler.providers.workload import workload
from benchmarks.ruler.record.outcome import State

CPU = torch.device("cpu")
FROZEN, ONNX = contender_from_name("compiled-frozen:packed"), contender_from_name("onnxruntime:packed")
CASES = [(Operation.LINEAR, None), (Operation.MLP, "gelu"), (Operation.GATED_MLP, "silu")]

pytestmark = [
    # inductor and the exporter call what torch itself deprecates
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore:TypedStorage is deprecated:UserWarning"),
]


@pytest.fixture(autouse=True)
def compiled_anew():
    """Neither graphs nor counters of an earlier test."""
    torch._dynamo.reset()
    compiled_providers.clear_counters()
    yield
    torch._dynamo.reset()
    compiled_providers.clear_counters()


@pytest.fixture
def load(shape):
    return workload(replace(shape, batch=16, dim=64, hidden=128), device=CPU)


def tried(contender, load):
    with torch.inference_mode():
        return attempt(contender, load, load.reference())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("operation", "activation", "batch"),
    [(Operation.LINEAR, None, 1), (Operation.MLP, "gelu", 16), (Operation.GATED_MLP, "silu", 16)],
)
def test_frozen_weights_are_constants_of_one_graph_that_calls_no_product_of_aten(shape, operation, activation, batch):
    at = replace(shape, operation=operation, activation=activation, batch=batch, dim=64, hidden=128)
    load = workload(at, device=CPU)
    with torch.inference_mode():
        providers.build(contender_from_name("compiled"), load).function(load.x)  # whose code it must not take
    outcome, call = tried(FROZEN, load)
    assert outcome.reason is None
    assert "frozen" in outcome.provider_detail
    assert outcome.recompile_time_s > 0
    with torch.inference_mode():
        profile = profile_call(call, device=CPU)
    assert compiled_providers.graphs_compiled() == 1
    assert (
        compared(profile, expectation(FROZEN, at, device=DeviceKind.CPU), shape=at, device=DeviceKind.CPU).unexpected
        is None
    )


@pytest.mark.slow
def test_a_later_change_of_packed_weights_is_not_seen_and_what_is_compiled_next_is_not_frozen(load):
    with torch.inference_mode():
        function = providers.build(FROZEN, load).function
        before = function(load.x)
        with torch.inference_mode(mode=False), torch.no_grad():
            for parameter in load.module.parameters():
                if parameter.dim() == 2:  # a bias is a constant, too, but the tensor itself
                    parameter.zero_()
        assert torch.equal(function(load.x), before)
    from torch._inductor import config

    assert (config.freezing, config.max_autotune) == (False, False)


@pytest.mark.slow
def test_a_provider_that_froze_nothing_fails_instead_of_being_timed(load, monkeypatch):
    monkeypatch.setattr(compiled_providers, "_FROZEN", {"freezing": False})
    outcome, call = tried(FROZEN, load)
    assert call is None
    assert outcome.state is State.CRASHED
    assert "CompileFailed: inductor froze no weight" in outcome.reason


@pytest.mark.parametrize(
    ("contender", "reason"), [(FROZEN, "a gradient cannot reach them"), (ONNX, "it has no gradient")], ids=str
)
def test_constants_have_no_gradient(shape, contender, reason):
    load = workload(replace(shape, pass_=Pass.FORWARD_BACKWARD), device=CPU)
    assert reason in providers.build(contender, load).reason


def test_without_a_compiler_nothing_is_frozen(load, monkeypatch):
    monkeypatch.setattr(compiled_providers, "missing_compiler", lambda: "needs a C++ compiler")
    assert providers.build(FROZEN, load) == Unavailable("needs a C++ compiler")


@pytest.mark.slow
@pytest.mark.parametrize(("operation", "activation"), [*CASES, (Operation.MLP, "gelu_tanh"), (Operation.MLP, "relu")])
def test_onnxruntime_computes_new_inputs_into_new_memory_as_one_operator(shape, operation, activation):
    pytest.importorskip("onnxruntime")
    at = replace(shape, operation=operation, activation=activation, batch=16, dim=64, hidden=128)
    load = workload(at, device=CPU)
    outcome, call = tried(ONNX, load)
    assert outcome.reason is None
    assert outcome.recompile_time_s > 0
    assert outcome.prepare_time_s > 0
    with torch.inference_mode():
        function = providers.build(ONNX, load).function
        assert isinstance(function, nn.Module)  # whose call costs what it costs all others
        first, second = function(load.x), function(2 * load.x)
        torch.testing.assert_close(first, load.module(load.x))
        torch.testing.assert_close(second, load.module(2 * load.x))
        profile = profile_call(call, device=CPU)
    assert (
        compared(profile, expectation(ONNX, at, device=DeviceKind.CPU), shape=at, device=DeviceKind.CPU).unexpected
        is None
    )


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_onnxruntime_is_not_measured_in_half_which_it_would_convert(shape, dtype):
    load = workload(replace(shape, dtype=dtype), device=CPU)
    assert f"this is torch.{dtype}" in providers.build(ONNX, load).reason


@pytest.mark.parametrize("missing", ["onnxruntime", "onnxscript"])
def test_onnxruntime_that_is_not_installed_is_unavailable_with_the_command_that_installs_it(load, monkeypatch, missing):
    monkeypatch.setitem(sys.modules, missing, None)
    assert "pip install 'fusebench[peers]'" in providers.build(ONNX, load).reason
