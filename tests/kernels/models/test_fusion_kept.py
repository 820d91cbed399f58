"""What fuse() leaves alone, with its reason, and what it leaves to the block's own code."""

import re

import pytest
import torch
from torch import nn
from torch.nn import functional

import fused_mlp
from fused_mlp import fuse, unfuse
from tests.kernels.models.blocks import (
    Branching,
    GptStyle,
    LlamaStyle,
    OptStyle,
    Stack,
    T5Style,
    expect_close,
)

pytestmark = pytest.mark.usefixtures("cpu_kernels")


class SquaredRelu(LlamaStyle):
    def forward(self, x):
        return self.down_proj(self.gate_proj(x).relu().square())


class ReusesHidden(GptStyle):
    def forward(self, x):
        hidden = self.fc(x)
        return self.proj(hidden.relu()) + hidden.sum()


class NearlyQuickGelu(GptStyle):
    def forward(self, x):
        hidden = self.fc(x)
        return self.proj(hidden * torch.sigmoid(1.7 * hidden))


class Prepared(GptStyle):
    def forward(self, x):
        return self.proj(functional.relu6(self.fc(2 * x + 1)))


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


class ChannelMix(nn.Module):
    """RWKV's, whose scales have three dimensions."""

    def __init__(self):
        super().__init__()
        self.time_mix_k = nn.Parameter(torch.rand(1, 1, 12))
        self.key, self.value = nn.Linear(12, 20, bias=False), nn.Linear(20, 12, bias=False)

    def forward(self, x):
        return self.value(torch.square(torch.relu(self.key(x * self.time_mix_k))))


class Scaled(nn.Module):
    """LoRA as it is written by hand."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(12, 12)
        self.lora_a = nn.Parameter(torch.rand(2, 12))

    def forward(self, x):
        return self.linear(x) + x @ self.lora_a.t() @ self.lora_a


def normed_spectrally():
    model = nn.Sequential(nn.Linear(12, 20), nn.GELU(), nn.Linear(20, 12))
    nn.utils.parametrizations.spectral_norm(model[2])
    return model.eval()


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
        (NearlyQuickGelu, "mul → sigmoid → mul stands between fc and proj: no activation of ours"),
        (Prepared, "^relu6 stands between fc and proj"),
        (Normed, r"norm \(LayerNorm\) stands between, which has weights of its own"),
        (Crossed, "gate_proj and up_proj take different inputs"),
        (lambda: T5Style(p=0.1), r"dropout \(Dropout\) drops with p = 0\.1 in training"),
        (hooked, "up_proj has hooks"),
        (with_own_forward, "a forward of its own, set on the instance"),
        (lambda: LlamaStyle().double(), "is float64, which the kernels do not take"),
        (OfSubclasses, r"fc is a Changed, a subclass of nn\.Linear"),
        (Experts, r"gate_up_proj is a parameter of 3 dimensions"),
        (ChannelMix, "^relu → square stands between key and value"),
        (lambda: Stack(Scaled()), "^its forward computes t of tensors that are not made from its argument"),
        (normed_spectrally, "^2 is parametrized: "),
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


def test_a_convolution_is_not_taken_for_stacked_experts():
    model = nn.Sequential(nn.Conv1d(12, 12, 3), nn.ConvTranspose1d(12, 12, 3), nn.Conv1d(12, 4, 3))
    nn.utils.parametrizations.weight_norm(model[0])
    assert fuse(model).kept == ()


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


def stored(z):
    kept = [0]
    kept[0] = z
    return kept[0]


class StoresElsewhere(GptStyle):
    def forward(self, x):
        return super().forward(stored(x))


class StoresInAMethod(GptStyle):
    def noted(self, x):
        self.seen = 1
        return x

    def forward(self, x):
        return super().forward(self.noted(x))


class AsksAParameter(GptStyle):
    def forward(self, x):
        return super().forward(x * 2 if self.fc.weight.requires_grad else x)


class InputByName(GptStyle):
    def forward(self, x):
        return self.proj(input=functional.gelu(self.fc(input=x)))


class Detached(GptStyle):
    def forward(self, x):
        return self.proj(functional.gelu(self.fc(x).detach()))


class WeightIsABuffer(GptStyle):
    def __init__(self):
        super().__init__()
        weight = self.fc.weight.detach()
        del self.fc.weight
        self.fc.register_buffer("weight", weight)


class RunsALambda(GptStyle):
    class Config:
        __getitem__ = lambda _, name: len(name)  # noqa: E731 - whose place is told

    config = Config()

    def forward(self, x):
        return super().forward(x * self.config["scale"])


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (StoresElsewhere, r"^its forward may run stored, which stores"),
        (StoresInAMethod, r"^its forward may run StoresInAMethod\.noted, which stores seen$"),
        (AsksAParameter, "^its forward asks for requires_grad of tensors that are not made from its argument"),
        (InputByName, "^fc is called with its input by name, not by its place"),
        (Detached, "^detach stands between, and is none of the steps known to treat each element alike"),
        (WeightIsABuffer, r"^fc\.weight is no parameter of the layer"),
        (RunsALambda, r"^its forward runs a lambda of test_fusion_kept\.py, line \d+, of which no graph tells"),
    ],
)
def test_a_reason_names_what_was_found_and_where(make, reason):
    (kept,) = fuse(make()).kept
    assert re.search(reason, kept.reason), kept.reason
