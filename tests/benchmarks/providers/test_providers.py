"""Which implementations there are, what they run, and why one is not available."""

import sys
from dataclasses import replace
from enum import StrEnum
from types import ModuleType, SimpleNamespace

import pytest
import torch
from torch import nn
from torch.nn import functional

from benchmarks.ruler.measure.attempt import attempt
from benchmarks.ruler.plan.points import Contender, Operation, Pass, Weights
from benchmarks.ruler.providers import captured
from benchmarks.ruler.providers import compiled as compiled_providers
from benchmarks.ruler.providers import registry as providers
from benchmarks.ruler.providers.built import Built, Unavailable
from benchmarks.ruler.providers.workload import error_rel, tolerance, workload
from benchmarks.ruler.record.outcome import State

CPU = torch.device("cpu")


def built(shape, provider, **changes):
    load = workload(replace(shape, **changes), device=CPU)
    return load, providers.build(Contender(provider=provider), load)


def tried(shape, provider, *, weights=Weights.PLAIN, **changes):
    load = workload(replace(shape, **changes), device=CPU)
    with torch.inference_mode():
        return attempt(Contender(provider=provider, weights=weights), load, load.reference())


# What torch.compile returns for a module is one; onnxruntime is in a file of its own.
PACKED = [name for name in providers.PACKED_PROVIDERS if not name.startswith(("compiled", "onnxruntime"))]
CONTENDERS = [
    *(Contender(provider=name) for name in providers.PROVIDERS if not name.startswith("compiled")),
    *(Contender(provider=name, weights=Weights.PACKED) for name in PACKED),
]
HOISTED = Contender(provider="fused-hoisted")


@pytest.mark.parametrize("operation", list(Operation))
@pytest.mark.parametrize("contender", CONTENDERS, ids=str)
def test_every_provider_is_a_modules_call_but_the_one_that_is_named_for_being_none(shape, contender, operation):
    load = workload(replace(shape, operation=operation, activation="gelu"), device=CPU)
    answer = providers.build(contender, load)
    if isinstance(answer, Unavailable):
        pytest.skip(answer.reason)
    assert isinstance(answer.function, nn.Module) is (contender != HOISTED)


@pytest.mark.parametrize("operation", list(Operation))
@pytest.mark.parametrize("name", ["fused", "fused-pure", "fused-hoisted"])
def test_a_module_fetches_its_parameters_at_each_call_and_the_hoisted_function_has_them_already(shape, name, operation):
    load = workload(replace(shape, operation=operation, activation="relu"), device=CPU)
    function = providers.build(Contender(provider=name), load).function
    owner = function if isinstance(function, nn.Module) else load.module
    with torch.inference_mode():
        before = function(load.x)
        for layer in owner.modules():
            if "weight" in dict(layer.named_parameters(recurse=False)):
                layer.weight = nn.Parameter(torch.zeros_like(layer.weight), requires_grad=False)
        changed = not torch.equal(function(load.x), before)
    assert changed is (name != "fused-hoisted")


def test_a_bare_linear_is_one_module_as_fused_is_and_a_user_has_it(shape):
    load = workload(replace(shape, operation=Operation.LINEAR, activation=None), device=CPU)
    assert list(load.module.modules()) == [load.module]
    assert list(providers.build(Contender(provider="fused"), load).function.children()) == []


@pytest.mark.parametrize(
    ("is_module", "detail"), [(True, None), (False, "a function, not a module's call as the others")]
)
def test_a_function_from_outside_says_that_it_is_spared_a_modules_call(shape, monkeypatch, is_module, detail):
    monkeypatch.setitem(providers.PROVIDERS, "theirs", lambda load: load.module if is_module else load.module.forward)
    _, answer = built(shape, "theirs")
    assert answer.detail == detail


@pytest.fixture
def fake_fused(monkeypatch):
    """Puts a fused_mlp of another commit in place of ours, made of the functions given."""

    def put(**names):
        module = ModuleType("fused_mlp")
        vars(module).update(names)
        monkeypatch.setitem(sys.modules, "fused_mlp", module)
        return module

    return put


@pytest.mark.parametrize(
    ("provider", "operation", "reason"),
    [
        ("compiled-cudagraphs", "mlp", "a CUDA graph needs a GPU; this runs on cpu"),
        ("compiled-max-autotune-tma", "mlp", "TMA is a GPU's way to load tiles; this runs on cpu"),
        ("fused-captured", "mlp", "a CUDA graph needs a GPU; this runs on cpu"),
        ("fused-pointwise", "mlp", "cuda"),
        ("fused-epilogue", "gated_mlp", "cuda"),
        ("fused-single", "mlp", "cuda"),
        ("fused-single", "linear", "linear is one launch"),
        ("fused-cuda", "gated_mlp", "computes mlp, not gated_mlp"),
        ("liger", "gated_mlp", "need a GPU; this runs on cpu"),
        ("liger", "mlp", "liger-kernel computes gated_mlp silu and gated_mlp gelu_tanh only"),
        ("liger-mlp", "mlp", "liger-kernel computes gated_mlp silu only"),
    ],
)
def test_what_needs_a_gpu_says_so_on_a_cpu_and_what_it_never_computes_first(shape, provider, operation, reason):
    _, answer = built(shape, provider, operation=Operation(operation), activation="silu")
    assert isinstance(answer, Unavailable)
    assert reason in answer.reason


def test_a_gradient_of_a_captured_forward_is_refused_before_anything_is_captured(shape):
    _, answer = built(shape, "fused-captured", pass_=Pass.FORWARD_BACKWARD)
    assert answer == Unavailable("captured, only a forward is measured")


def test_a_level_that_an_old_commit_does_not_have_is_unavailable_by_name(shape, fake_fused):
    class Implementation(StrEnum):
        PURE = "pure"

    fake_fused(mlp=None, Implementation=Implementation)
    _, answer = built(shape, "fused-single")
    assert answer == Unavailable("the fused_mlp of this commit has no implementation called single")


def test_a_kernel_that_refuses_a_shape_at_its_call_is_unavailable_with_its_words(shape, fake_fused):
    refused = type("Unavailable", (Exception,), {"__module__": "fused_mlp.errors"})

    def mlp(*_, **__):
        raise refused("single holds dims up to 256, this is 16")

    fake_fused(mlp=mlp)
    outcome, call = tried(shape, "fused")
    assert call is None
    assert outcome.state is State.UNAVAILABLE
    assert outcome.reason == "single holds dims up to 256, this is 16"


def test_an_error_that_only_looks_like_a_refusal_is_a_crash(shape, fake_fused):
    def mlp(*_, **__):
        raise type("Unavailable", (Exception,), {})("from elsewhere")

    fake_fused(mlp=mlp)
    outcome, _ = tried(shape, "fused")
    assert outcome.state is State.CRASHED


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # inductor scripts a method of its own
@pytest.mark.parametrize("provider", ["compiled-max-autotune", "compiled-max-autotune-no-cudagraphs"])
def test_on_a_cpu_both_names_of_max_autotune_run_without_a_cuda_graph(shape, provider):
    outcome, call = tried(shape, provider)
    assert (outcome.state, outcome.reason) == (State.OK, None)
    assert call is not None


@pytest.fixture
def compiled_anew():
    """Neither graphs nor counters of an earlier test."""
    torch._dynamo.reset()
    compiled_providers.clear_counters()
    yield
    torch._dynamo.reset()
    compiled_providers.clear_counters()


def test_a_cuda_graph_that_inductor_left_out_is_an_error(compiled_anew):
    from torch._dynamo.utils import counters

    compiled_providers.require_captured()
    counters["inductor"]["cudagraph_skips"] += 1
    with pytest.raises(compiled_providers.CompileFailed, match="left out 1 CUDA graph"):
        compiled_providers.require_captured()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # inductor scripts a method of its own
def test_what_inductor_compiles_without_the_graph_it_was_asked_for_has_no_time(shape, monkeypatch):
    # On a CPU it leaves the graph out, and says nothing.
    monkeypatch.setattr(compiled_providers, "why_no_cuda_graphs", lambda _: None)
    outcome, call = tried(shape, "compiled-cudagraphs")
    assert call is None
    assert outcome.state is State.CRASHED
    assert "CompileFailed: inductor left out 1 CUDA graph(s)" in outcome.reason


def test_an_answer_is_checked_after_the_calls_that_settle_and_kept_apart_from_the_next(shape, monkeypatch):
    calls = []

    def reuses_its_memory(load):
        memory = torch.empty(shape.batch, shape.dim)

        def function(x):
            calls.append(len(calls))
            # Right from the fourth call on only.
            return memory.copy_(load.module(x)) if len(calls) > 3 else memory.fill_(0)

        return Built(function=function, settling_calls=2)

    monkeypatch.setitem(providers.PROVIDERS, "reuses", reuses_its_memory)
    outcome, call = tried(shape, "reuses")
    assert outcome.state is State.OK
    assert call is not None
    assert len(calls) == 4


class FakeGraph:
    """Records what is called while it is open, as CUDA does, and runs it again on the same memory."""

    def __init__(self):
        self.open = False

    def replay(self):
        self.work()


def test_a_captured_function_copies_its_input_and_replays_into_the_same_memory(monkeypatch):
    graph, log = FakeGraph(), []
    memory = torch.zeros(2)

    def function(x):
        log.append("captured" if graph.open else "warmed up")
        graph.work = lambda: torch.mul(x, 2, out=memory)
        return torch.mul(x, 2, out=memory)

    class Scope:
        def __init__(self, *_):
            pass

        def __enter__(self):
            graph.open = isinstance(self, Capturing)

        def __exit__(self, *_):
            graph.open = False

    class Capturing(Scope):
        pass

    stream = SimpleNamespace(wait_stream=lambda _: None)
    fakes = {"CUDAGraph": lambda: graph, "graph": Capturing, "stream": Scope, "Stream": lambda: stream}
    for name, fake in {**fakes, "current_stream": lambda: stream}.items():
        monkeypatch.setattr(torch.cuda, name, fake)
    replay = captured.Captured(function, torch.ones(2))
    assert log == ["warmed up"] * 3 + ["captured"]
    first = replay(torch.tensor([1.0, 5.0]))
    assert first.tolist() == [2.0, 10.0]
    second = replay(torch.tensor([3.0, 4.0]))
    assert second.tolist() == [6.0, 8.0]
    assert first.data_ptr() == second.data_ptr()
    assert len(log) == 4


@pytest.mark.parametrize(
    ("provider", "activation", "name"),
    [
        ("liger", "silu", "LigerSiLUMulFunction"),
        ("liger", "gelu_tanh", "LigerGELUMulFunction"),
        ("liger-mlp", "silu", "LigerMLPFunction"),
    ],
)
def test_liger_is_given_the_modules_own_weights_and_its_function_for_the_activation(
    shape, monkeypatch, provider, activation, name
):
    act = functional.silu if activation == "silu" else lambda x: functional.gelu(x, approximate="tanh")

    def multiply(gate, up):
        return act(gate) * up

    def whole(x, w_gate, w_up, w_down):
        assert x.dim() == 3
        return functional.linear(multiply(functional.linear(x, w_gate), functional.linear(x, w_up)), w_down)

    ops = ModuleType("liger_kernel.ops")
    setattr(ops, name, SimpleNamespace(apply=whole if provider == "liger-mlp" else multiply))
    monkeypatch.setitem(sys.modules, "liger_kernel", ModuleType("liger_kernel"))
    monkeypatch.setitem(sys.modules, "liger_kernel.ops", ops)
    gated = replace(shape, operation=Operation.GATED_MLP, activation=activation)
    load = workload(gated, device=CPU)
    on_gpu = replace(load, x=SimpleNamespace(device=SimpleNamespace(type="cuda")))
    answer = providers.build(Contender(provider=provider), on_gpu)
    with torch.inference_mode():
        assert error_rel((answer.function(load.x),), load.reference()) <= tolerance(gated)


def test_liger_that_is_not_installed_is_unavailable_with_the_command_that_installs_it(shape, monkeypatch):
    monkeypatch.setitem(sys.modules, "liger_kernel", None)
    load = workload(replace(shape, operation=Operation.GATED_MLP, activation="silu"), device=CPU)
    on_gpu = replace(load, x=SimpleNamespace(device=SimpleNamespace(type="cuda")))
    answer = providers.build(Contender(provider="liger"), on_gpu)
    assert "pip install 'fusebench[peers]'" in answer.reason
