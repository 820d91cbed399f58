"""fuse() puts fused modules into strangers' models: same numbers, same names, and a report."""

import copy
import io

import pytest
import torch
from torch import nn

from fused_mlp import fuse, unfuse
from tests.kernels.models.blocks import (
    BertLayer,
    ClipStyle,
    GemmaStyle,
    GptStyle,
    LlamaStyle,
    Merged,
    MistralStyle,
    OptStyle,
    Stack,
    T5Style,
    expect_close,
    outputs_and_gradients,
    sequential,
)

pytestmark = pytest.mark.usefixtures("cpu_kernels")

STYLES = {
    "llama": (LlamaStyle, "gated_mlp", ("gate_proj", "up_proj", "down_proj"), "silu"),
    "llama_bias": (lambda: LlamaStyle(bias=True), "gated_mlp", ("gate_proj", "up_proj", "down_proj"), "silu"),
    "gemma": (GemmaStyle, "gated_mlp", ("gate_proj", "up_proj", "down_proj"), "gelu_tanh"),
    "mistral": (MistralStyle, "gated_mlp", ("gate_proj", "up_proj", "down_proj"), "silu"),
    "phi3": (Merged, "gated_mlp", ("gate_up_proj", "down_proj"), "silu"),
    "phi3_bias": (lambda: Merged(bias=True), "gated_mlp", ("gate_up_proj", "down_proj"), "silu"),
    "up_first": (lambda: Merged(gate_first=False), "gated_mlp", ("gate_up_proj", "down_proj"), "silu"),
    "gpt": (GptStyle, "mlp", ("fc", "proj"), "gelu_tanh"),
    "clip": (ClipStyle, "mlp", ("fc1", "fc2"), "quick_gelu"),
    "sequential": (sequential, "mlp", ("0", "2"), "relu"),
    "bert": (BertLayer, "mlp", ("intermediate.dense", "output.dense"), "gelu"),
    "opt": (OptStyle, "mlp", ("fc1", "fc2"), "relu"),
    "t5": (lambda: T5Style(p=0.0), "mlp", ("wi", "wo"), "relu"),
}
MAKERS = {name: make for name, (make, *_) in STYLES.items()}


@pytest.mark.parametrize("name", STYLES)
def test_a_block_is_fused_with_the_same_outputs_gradients_names_and_objects(name):
    torch.manual_seed(0)
    make, operation, layers, activation = STYLES[name]
    model, x = Stack(make(), make()), torch.randn(5, 12)
    before, names, modules = outputs_and_gradients(model, x), list(model.state_dict()), list(model.modules())
    kinds = [type(module) for module in modules]
    report = fuse(model)
    assert [(item.path, item.operation, item.layers, item.activation) for item in report.replaced] == [
        (f"blocks.{i}", operation, layers, activation) for i in range(2)
    ]
    assert report.model is model
    assert list(model.modules()) == modules
    assert all(isinstance(module, kind) for module, kind in zip(modules, kinds, strict=True))
    assert list(model.state_dict()) == names
    expect_close(outputs_and_gradients(model, x), before)


@pytest.mark.parametrize("name", STYLES)
@pytest.mark.parametrize("mode", ["training", "inference"])
def test_the_operation_is_what_runs(name, mode):
    model = Stack(MAKERS[name]()).eval()
    fuse(model, mode=mode)
    with torch.profiler.profile() as profile, torch.no_grad():
        model(torch.randn(5, 12))
    assert any(event.key.startswith("fused_mlp::") for event in profile.key_averages())
    assert not any(event.key == "aten::linear" for event in profile.key_averages())


@pytest.mark.parametrize("name", STYLES)
def test_unfusing_gives_back_the_very_model(name):
    torch.manual_seed(0)
    model, x = Stack(MAKERS[name]()), torch.randn(5, 12)
    model.blocks[0].register_forward_hook(lambda *_: None)
    before = outputs_and_gradients(model, x)
    state = {name: value.clone() for name, value in model.state_dict().items()}
    modules = [(module, type(module), dict(vars(module))) for module in model.modules()]
    assert unfuse(fuse(model, mode="inference").model) is model
    for module, (same, kind, attributes) in zip(model.modules(), modules, strict=True):
        assert module is same
        assert type(module) is kind
        assert vars(module) == attributes
    assert all(torch.equal(one, other) for one, other in zip(outputs_and_gradients(model, x), before, strict=True))
    assert all(torch.equal(value, state[name]) for name, value in model.state_dict().items())


@pytest.mark.parametrize("name", STYLES)
def test_a_fused_block_is_compiled_as_one_graph(name):
    torch._dynamo.reset()
    model, x = Stack(MAKERS[name]()), torch.randn(5, 12)
    expected = outputs_and_gradients(model, x)
    fuse(model)
    compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
    expect_close(outputs_and_gradients(compiled, x), expected)
    model.eval()
    with torch.no_grad():
        expect_close(compiled(x), expected[0].detach())


def test_a_fused_block_is_compiled_for_any_number_of_rows():
    """A number that the block keeps, as its dropout's probability, is then no constant to the compiler."""
    torch._dynamo.reset()
    model = Stack(OptStyle())
    twin = copy.deepcopy(model)
    fuse(model)
    compiled = torch.compile(model, fullgraph=True, dynamic=True, backend="aot_eager")
    for n_rows in (5, 3):
        x = torch.randn(n_rows, 12)
        expect_close(outputs_and_gradients(compiled, x), outputs_and_gradients(twin, x))


@pytest.mark.parametrize("name", STYLES)
def test_copies_are_fused_and_pickles_are_not(name):
    model, x = Stack(MAKERS[name]()), torch.randn(5, 12)
    expected = outputs_and_gradients(model, x)
    fuse(model)
    twin = copy.deepcopy(model)
    expect_close(outputs_and_gradients(twin, x), expected)
    with torch.no_grad():
        for parameter in twin.parameters():
            parameter.zero_()
        assert not torch.equal(twin(x), model(x))
    if "opt" not in name:
        file = io.BytesIO()
        torch.save(model, file)
        file.seek(0)
        loaded = torch.load(file, weights_only=False)
        assert all(type(module).__mro__[1].__name__ != "FusedBlock" for module in loaded.modules())
        expect_close(outputs_and_gradients(loaded, x), expected)


@pytest.mark.parametrize("name", STYLES)
def test_prepared_weights_are_used_and_followed(name):
    torch.manual_seed(0)
    model, x = Stack(MAKERS[name]()).eval(), torch.randn(5, 12)
    with torch.no_grad():
        expected = model(x)
        report = fuse(model, mode="inference")
        assert report.packed
        expect_close(model(x), expected)
        with torch.profiler.profile() as profile:
            model(x)
        assert any("_packed" in event.key or "onednn" in event.key for event in profile.key_averages())
        for parameter in model.parameters():
            parameter.mul_(1.1)
        changed = model(x)
        unfuse(model)
        expect_close(changed, model(x))
        assert not torch.allclose(changed, expected)


def test_a_block_of_a_longer_sequence_is_fused_with_what_stands_before():
    torch.manual_seed(0)
    layers = [nn.Linear(12, 20), nn.GELU(), nn.Linear(20, 16), nn.SiLU(), nn.Linear(16, 12)]
    model, x = nn.Sequential(*layers), torch.randn(5, 12)
    before, names = outputs_and_gradients(model, x), list(model.state_dict())
    report = fuse(model)
    assert [(item.operation, item.layers) for item in report.replaced] == [("linear", ("0",)), ("mlp", ("2", "4"))]
    assert list(model) == layers
    assert list(model.state_dict()) == names
    expect_close(outputs_and_gradients(model, x), before)


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_state_dicts_load_both_ways(make):
    eager, other, x = make(), make(), torch.randn(3, 12)
    fused = fuse(other).model
    fused.load_state_dict(eager.state_dict())
    expect_close(fused(x), eager(x))
    back = make()
    back.load_state_dict(fused.state_dict())
    expect_close(back(x), eager(x))


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_an_optimiser_step_after_preparing_changes_the_output_as_in_the_eager_twin(make):
    torch.manual_seed(0)
    eager, x = make(), torch.randn(3, 12)
    fused = copy.deepcopy(eager)
    fuse(fused, mode="inference")
    outputs = []
    for model in (fused.eval(), eager.eval()):
        with torch.no_grad():
            before = model(x)
        optimiser = torch.optim.SGD(model.parameters(), lr=0.2)
        model(x).square().sum().backward()
        optimiser.step()
        with torch.no_grad():
            outputs.append((before, model(x)))
    (fused_before, fused_after), (before, after) = outputs
    expect_close(fused_before, before)
    torch.testing.assert_close(fused_after, after, rtol=1e-4, atol=1e-4)
    assert not torch.allclose(fused_after, fused_before, rtol=0.01, atol=0.01)
