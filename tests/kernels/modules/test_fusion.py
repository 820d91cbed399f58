"""fuse() puts fused modules into strangers' models: same numbers, same names, and a report."""

import copy
import io
import re

import pytest
import torch
from torch import nn
from torch.nn import functional

import fused_mlp
from fused_mlp import InvalidArgument, fuse, unfuse
from tests.kernels.modules.blocks import (
    BertLayer,
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
    assert [(item.operation, item.layers) for item in report.replaced] == [("mlp", ("2", "4")), ("linear", ("0",))]
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


class SquaredRelu(LlamaStyle):
    def forward(self, x):
        return self.down_proj(self.gate_proj(x).relu().square())


class ReusesHidden(GptStyle):
    def forward(self, x):
        hidden = self.fc(x)
        return self.proj(hidden.relu()) + hidden.sum()


class Branching(GptStyle):
    def forward(self, x):
        return super().forward(x) if x.sum() > 0 else x


class QuickGelu(GptStyle):
    def forward(self, x):
        hidden = self.fc(x)
        return self.proj(hidden * torch.sigmoid(1.702 * hidden))


class Normed(GptStyle):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(20)

    def forward(self, x):
        return self.proj(self.norm(functional.gelu(self.fc(x))))


class Crossed(LlamaStyle):
    def forward(self, x):
        return self.down_proj(functional.silu(self.gate_proj(x)) * self.up_proj(x.flip(0)))


class Changed(nn.Linear):
    def forward(self, x):
        return super().forward(x) + 1


class OfSubclasses(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc, self.proj = Changed(12, 20), Changed(20, 12)

    def forward(self, x):
        return self.proj(self.fc(x).relu())


class Experts(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate_up_proj = nn.Parameter(torch.randn(4, 40, 12))
        self.down_proj = nn.Parameter(torch.randn(4, 12, 20))

    def forward(self, x):
        return x


def hooked():
    model = LlamaStyle()
    model.up_proj.register_forward_hook(lambda *_: None)
    return model


def with_own_forward():
    model = LlamaStyle()
    model.forward = lambda x: x
    return model


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (SquaredRelu, "relu → square stands between gate_proj and down_proj"),
        (Branching, "cannot be traced"),
        (ReusesHidden, r"the output of fc \(Linear\) is used more than once"),
        (QuickGelu, "mul → sigmoid → mul stands between fc and proj: no activation of ours"),
        (Normed, r"norm \(LayerNorm\) stands between, which has weights of its own"),
        (Crossed, "gate_proj and up_proj take different inputs"),
        (lambda: T5Style(p=0.1), r"dropout \(Dropout\) drops with p = 0\.1 in training"),
        (hooked, "up_proj has hooks"),
        (with_own_forward, "a forward of its own, set on the instance"),
        (lambda: LlamaStyle().double(), "is float64, which the kernels do not take"),
        (OfSubclasses, r"fc is a Changed, a subclass of nn\.Linear"),
        (Experts, r"gate_up_proj is a parameter of 3 dimensions"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_what_would_change_is_kept_with_its_reason(make, reason):
    model, x = make(), torch.randn(3, 12)
    report = fuse(model)
    assert {item.operation for item in report.replaced} <= {"linear"}
    (kept,) = report.kept
    assert re.search(reason, kept.reason), kept.reason
    if not report.replaced:
        assert type(model) is type(make())
    x = x.to(next(model.parameters()).dtype)
    torch.manual_seed(0)
    fused = model(x)
    torch.manual_seed(0)
    expect_close(fused, unfuse(model)(x))


def test_inference_leaves_training_to_the_block_s_own_code():
    model, x = Stack(T5Style(p=0.5)), torch.randn(400, 12)
    assert {item.operation for item in fuse(model).replaced} == {"linear"}
    unfuse(model)
    assert {item.operation for item in fuse(model, mode="inference").replaced} == {"mlp"}
    torch.manual_seed(0)
    dropped = model(x)
    unfuse(model)
    torch.manual_seed(0)
    assert torch.equal(dropped, model(x))


def test_dropouts_left_in_training_drop_in_a_model_for_inference():
    """Monte-Carlo dropout: the model in evaluation, its dropouts in training."""
    model, x = Stack(T5Style(p=0.5)), torch.randn(400, 12)
    fuse(model, mode="inference")
    model.eval()
    model.blocks[0].dropout.train()
    assert not torch.equal(model(x), model(x))


@pytest.mark.parametrize("recompute", fused_mlp.Recompute)
def test_blocks_recompute_as_asked(recompute):
    model, x = Stack(GptStyle(), OptStyle(), LlamaStyle()), torch.randn(4, 12)
    fuse(model, recompute=recompute)
    kept = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: (kept.append(t.shape), t)[1], lambda t: t):
        model(x)
    per_mlp, gated = {"all": (0, 0), "activation": (1, 2), "nothing": (2, 3)}[recompute]
    assert kept.count((4, 20)) == 2 * per_mlp + gated


def test_the_report_is_a_value_and_a_table():
    model = Stack(LlamaStyle(), Branching(), OptStyle())
    report = fuse(model, mode="inference")
    heads, *lines, packed = str(report).splitlines()
    assert heads.split() == ["path", "block", "computed", "as", "layers;", "activation,", "or", "reason"]
    assert [line.split()[0] for line in lines] == ["blocks.0", "blocks.2", "blocks.1"]
    assert "gate_proj, up_proj, down_proj; silu" in lines[0]
    assert "kept" in lines[2]
    assert "cannot be traced" in lines[2]
    assert packed.startswith("2 packed: ")
    assert [item.path for item in report.packed] == ["blocks.0", "blocks.2"]
    assert str(fuse(nn.Tanh())) == "no block with linear layers"


def test_fusing_twice_changes_nothing_more():
    model = Stack(LlamaStyle(), OptStyle())
    fuse(model)
    assert fuse(model).replaced == ()
    x = torch.randn(3, 12)
    fused = model(x)
    expect_close(fused, unfuse(model)(x))


@pytest.mark.parametrize(
    ("chosen", "paths"),
    [
        ({"include": ["blocks.0"]}, ["blocks.0"]),
        ({"include": ["blocks.*"], "exclude": ["*.1"]}, ["blocks.0", "blocks.2"]),
        ({"include": [GptStyle]}, ["blocks.2"]),
        ({"exclude": [LlamaStyle]}, ["blocks.2"]),
        ({"include": "blocks.1"}, ["blocks.1"]),
    ],
    ids=str,
)
def test_only_blocks_that_are_chosen_are_fused(chosen, paths):
    report = fuse(Stack(LlamaStyle(), LlamaStyle(), GptStyle()), **chosen)
    assert [item.path for item in report.replaced] == paths
    assert report.kept == ()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"include": ["layers.*"]}, r"include is 'layers\.\*', which matches no module"),
        ({"exclude": [nn.Conv2d]}, "exclude is .*Conv2d.*, which matches no module"),
        ({"mode": "serving"}, "mode is 'serving'; expected one of training, inference"),
    ],
    ids=str,
)
def test_a_wrong_argument_is_named_and_nothing_is_fused(given, message):
    model = Stack(LlamaStyle())
    with pytest.raises(InvalidArgument, match=message):
        fuse(model, **given)
    assert type(model.blocks[0]) is LlamaStyle


def test_an_exception_leaves_the_model_as_it_was(monkeypatch):
    model = Stack(LlamaStyle(), GptStyle())

    def fail(*_, **__):
        raise MemoryError

    monkeypatch.setattr("fused_mlp.modules.fusion._pack_blocks", fail)
    with pytest.raises(MemoryError):
        fuse(model, mode="inference")
    assert [type(block) for block in model.blocks] == [LlamaStyle, GptStyle]


def test_a_model_is_fused_for_the_length_of_a_block_of_code():
    model, x = Stack(LlamaStyle(), GptStyle()), torch.randn(3, 12)
    before = model(x)
    fuse(model.blocks[1])
    with pytest.raises(KeyError), fused_mlp.fused(model, mode="inference") as report:  # noqa: PT012 - the block of code
        assert [item.path for item in report.replaced] == ["blocks.0"]
        expect_close(model(x), before)
        raise KeyError
    assert type(model.blocks[0]) is LlamaStyle
    assert type(model.blocks[1]) is not GptStyle


def test_a_class_changed_by_another_library_is_not_undone_behind_its_back():
    model = Stack(LlamaStyle(), GptStyle())
    fuse(model)
    model.blocks[1].__class__ = type("Sharded", (type(model.blocks[1]),), {})
    with pytest.raises(InvalidArgument, match="given the class Sharded by something else"):
        unfuse(model)
    assert type(model.blocks[0]) is not LlamaStyle


def test_preparing_a_model_packs_every_fused_block_and_module():
    model = Stack(LlamaStyle(), fused_mlp.FusedMLP(12, 20)).eval()
    fuse(model)
    report = fused_mlp.prepare(model, implementation="cpp")
    assert [(item.path, item.report.implementation) for item in report.packed] == [
        ("blocks.0", "cpp"),
        ("blocks.1", "cpp"),
    ]
    assert str(report).splitlines()[1].split()[:2] == ["blocks.0", "cpp"]
    with pytest.raises(InvalidArgument, match="implementation is 'single'"):
        fused_mlp.prepare(model, implementation="single")
