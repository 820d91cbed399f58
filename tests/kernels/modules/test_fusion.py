"""fuse() puts fused modules into strangers' models: same numbers, same names, and a report."""

import re

import pytest
import torch
from torch import nn
from torch.nn import functional

import fused_mlp
from fused_mlp import FusedGatedMLP, FusedLinear, FusedMLP, fuse

pytestmark = pytest.mark.usefixtures("cpu_kernels")


class LlamaStyle(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate_proj = nn.Linear(12, 20, bias=False)
        self.up_proj = nn.Linear(12, 20, bias=False)
        self.down_proj = nn.Linear(20, 12, bias=False)
        self.act_fn = nn.SiLU()

    def forward(self, x):
        return self.down_proj(self.act_fn(self.gate_proj(x)) * self.up_proj(x))


class GemmaStyle(LlamaStyle):
    def forward(self, x):
        return self.down_proj(self.up_proj(x) * functional.gelu(self.gate_proj(x), approximate="tanh"))


class MistralStyle(LlamaStyle):
    """The activation as a function, and the gate by a name of its own."""

    def forward(self, hidden_states):
        gate = functional.silu(self.gate_proj(hidden_states))
        return self.down_proj(gate * self.up_proj(hidden_states))


class BertIntermediate(nn.Module):
    def __init__(self):
        super().__init__()
        self.dense = nn.Linear(12, 20)
        self.intermediate_act_fn = nn.GELU()

    def forward(self, hidden_states):
        return self.intermediate_act_fn(self.dense(hidden_states))


class BertOutput(nn.Module):
    def __init__(self):
        super().__init__()
        self.dense = nn.Linear(20, 12)
        self.norm = nn.LayerNorm(12)

    def forward(self, hidden_states, residual):
        return self.norm(self.dense(hidden_states) + residual)


class BertBlock(nn.Module):
    def __init__(self):
        super().__init__()
        self.intermediate = BertIntermediate()
        self.output = BertOutput()

    def forward(self, x):
        return self.output(self.intermediate(x), x)


class GptStyle(nn.Module):
    """fc → tanh-GELU by its formula → proj → dropout."""

    def __init__(self, p=0.0):
        super().__init__()
        self.fc = nn.Linear(12, 20)
        self.proj = nn.Linear(20, 12)
        self.dropout = nn.Dropout(p)

    def forward(self, x):
        return self.dropout(self.proj(functional.gelu(self.fc(x), approximate="tanh")))


class Stack(nn.Module):
    def __init__(self, *blocks):
        super().__init__()
        self.blocks = nn.ModuleList(blocks)

    def forward(self, x):
        for block in self.blocks:
            x = x + block(x)
        return x


def outputs_and_gradients(model, x):
    y = model(x)
    return [y, *torch.autograd.grad(y.square().sum(), list(model.parameters()))]


@pytest.mark.parametrize(
    ("make", "by"),
    [
        (LlamaStyle, FusedGatedMLP),
        (GemmaStyle, FusedGatedMLP),
        (MistralStyle, FusedGatedMLP),
        (GptStyle, FusedMLP),
        (lambda: nn.Sequential(nn.Linear(12, 20), nn.ReLU(), nn.Linear(20, 12)), FusedMLP),
    ],
    ids=["llama", "gemma", "mistral", "gpt", "sequential"],
)
def test_a_block_is_replaced_with_the_same_outputs_gradients_and_names(make, by):
    torch.manual_seed(0)
    model, x = Stack(make(), make()), torch.randn(5, 12)
    before, names = outputs_and_gradients(model, x), list(model.state_dict())
    report = fuse(model)
    assert [item.path for item in report.replaced] == ["blocks.0", "blocks.1"]
    assert all(isinstance(block, by) for block in report.model.blocks)
    assert list(model.state_dict()) == names
    torch.testing.assert_close(outputs_and_gradients(model, x), before)


def test_a_bert_style_block_keeps_names_and_numbers_and_says_what_stayed():
    torch.manual_seed(0)
    model, x = BertBlock(), torch.randn(5, 12)
    before, names = outputs_and_gradients(model, x), list(model.state_dict())
    report = fuse(model)
    assert [item.path for item in report.replaced] == ["intermediate"]
    assert [(item.path, item.reason) for item in report.kept] == [("output", "forward uses 2 inputs, not one")]
    assert list(model.state_dict()) == names
    torch.testing.assert_close(outputs_and_gradients(model, x), before)


def test_a_longer_sequence_fuses_each_layer_with_its_activation():
    torch.manual_seed(0)
    layers = [nn.Linear(12, 20), nn.GELU(), nn.Linear(20, 16), nn.SiLU(), nn.Linear(16, 12)]
    model, x = nn.Sequential(*layers), torch.randn(5, 12)
    before, names = outputs_and_gradients(model, x), list(model.state_dict())
    fuse(model)
    assert [type(layer) for layer in model] == [FusedLinear, nn.Identity, FusedLinear, nn.Identity, nn.Linear]
    assert list(model.state_dict()) == names
    torch.testing.assert_close(outputs_and_gradients(model, x), before)


STYLES = {"llama": LlamaStyle, "gemma": GemmaStyle, "mistral": MistralStyle, "bert": BertBlock, "gpt": GptStyle}


@pytest.mark.parametrize("make", STYLES.values(), ids=STYLES)
def test_state_dicts_load_both_ways(make):
    eager, other, x = make(), make(), torch.randn(3, 12)
    fused = fuse(other).model
    fused.load_state_dict(eager.state_dict())
    torch.testing.assert_close(fused(x), eager(x))
    back = make()
    back.load_state_dict(fused.state_dict())
    torch.testing.assert_close(back(x), eager(x))


@pytest.mark.parametrize("make", STYLES.values(), ids=STYLES)
def test_an_optimiser_step_after_preparing_changes_the_output_as_in_the_eager_twin(make):
    torch.manual_seed(0)
    eager, x = make(), torch.randn(3, 12)
    fused = fuse(make()).model
    fused.load_state_dict(eager.state_dict())
    prepared = [module for module in fused.modules() if hasattr(module, "prepare")]
    for module in prepared:
        module.prepare(implementation="cpp")
    outputs = []
    for model in (fused, eager):
        with torch.no_grad():
            before = model(x)
        optimiser = torch.optim.SGD(model.parameters(), lr=0.2)
        model(x).square().sum().backward()
        optimiser.step()
        with torch.no_grad():
            outputs.append((before, model(x)))
    assert prepared
    (fused_before, fused_after), (before, after) = outputs
    torch.testing.assert_close(fused_before, before)
    torch.testing.assert_close(fused_after, after, rtol=1e-4, atol=1e-4)
    assert not torch.allclose(fused_after, fused_before, rtol=0.01, atol=0.01)


def test_a_model_that_is_a_block_is_returned_replaced():
    assert isinstance(fuse(LlamaStyle()).model, FusedGatedMLP)


class SquaredRelu(LlamaStyle):
    def forward(self, x):
        return self.down_proj(self.gate_proj(x).relu().square())


class Biased(LlamaStyle):
    def __init__(self):
        super().__init__()
        self.gate_proj = nn.Linear(12, 20)


class Branching(GptStyle):
    def forward(self, x):
        return super().forward(x) if x.sum() > 0 else x


class ReusesHidden(GptStyle):
    def forward(self, x):
        hidden = self.fc(x)
        return self.proj(hidden.relu()) + hidden.sum()


class QuickGelu(GptStyle):
    def forward(self, x):
        hidden = self.fc(x)
        return self.proj(hidden * torch.sigmoid(1.702 * hidden))


def hooked():
    model = LlamaStyle()
    model.up_proj.register_forward_hook(lambda *_: None)
    return model


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (SquaredRelu, "relu stands where an nn.Linear is expected"),
        (Biased, "gate_proj has a bias"),
        (Branching, "cannot be traced"),
        (ReusesHidden, "the first layer takes relu, not the block's input"),
        (QuickGelu, "mul stands where an nn.Linear is expected"),
        (lambda: GptStyle(p=0.1), r"dropout drops with p = 0\.1"),
        (hooked, "up_proj has hooks"),
        (lambda: LlamaStyle().double(), "is float64, which the kernels do not take"),
        (lambda: nn.utils.parametrizations.weight_norm(nn.Linear(3, 3)), None),
    ],
)
def test_what_would_change_is_kept_with_its_reason(make, reason):
    model = make()
    before = list(model.children())
    report = fuse(model)
    assert report.model is model
    assert list(model.children()) == before
    assert not report.replaced
    if reason is not None:
        (kept,) = report.kept
        assert re.search(reason, kept.reason), kept.reason


@pytest.mark.parametrize("recompute", fused_mlp.Recompute)
def test_the_blocks_put_in_recompute_as_asked(recompute):
    three = [nn.Linear(12, 20), nn.GELU(), nn.Linear(20, 12), nn.SiLU()]
    model = fuse(Stack(LlamaStyle(), GptStyle(), nn.Sequential(*three)), recompute=recompute).model
    assert {module.recompute for module in model.modules() if hasattr(module, "recompute")} == {str(recompute)}
    assert sum(hasattr(module, "recompute") for module in model.modules()) == 4


def test_the_report_reads_as_sentences():
    report = fuse(Stack(LlamaStyle(), Biased()))
    assert str(report).splitlines() == [
        "blocks.0: now FusedGatedMLP",
        "blocks.1: kept, gate_proj has a bias, which the gated operation has not",
    ]


def test_fusing_twice_changes_nothing_more():
    model = fuse(Stack(LlamaStyle())).model
    assert fused_mlp.fuse(model).replaced == ()
