"""Blocks as people write them, for the tests of fuse."""

import sys

import pytest
import torch
from torch import nn
from torch.nn import functional

guards_left_out = pytest.mark.xfail(
    torch.__version__.startswith("2.11.") and sys.version_info[:3] == (3, 13, 0),
    reason="with Python 3.13.0 torch 2.11 leaves out guards below a module (docs/fuse.md)",
    strict=True,
)


class LlamaStyle(nn.Module):
    def __init__(self, *, bias=False):
        super().__init__()
        self.gate_proj = nn.Linear(12, 20, bias=bias)
        self.up_proj = nn.Linear(12, 20, bias=bias)
        self.down_proj = nn.Linear(20, 12, bias=bias)
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


class Merged(nn.Module):
    """Gate and up in one layer, as in Phi-3; in the other order, as in ModernBERT."""

    def __init__(self, *, bias=False, gate_first=True):
        super().__init__()
        self.gate_up_proj = nn.Linear(12, 40, bias=bias)
        self.down_proj = nn.Linear(20, 12, bias=bias)
        self.gate_first = gate_first

    def forward(self, x):
        gate, up = self.gate_up_proj(x).chunk(2, dim=-1)
        if not self.gate_first:
            gate, up = up, gate
        return self.down_proj(up * functional.silu(gate))


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
        self.dropout = nn.Dropout(0.0)

    def forward(self, hidden_states, residual):
        return self.norm(self.dropout(self.dense(hidden_states)) + residual)


class BertLayer(nn.Module):
    """An MLP over two modules, in a method beside forward."""

    def __init__(self):
        super().__init__()
        self.intermediate = BertIntermediate()
        self.output = BertOutput()

    def feed_forward_chunk(self, attention_output):
        return self.output(self.intermediate(attention_output), attention_output)

    def forward(self, x, mask=None):
        if x.shape[0] > 0:
            x = self.feed_forward_chunk(x)
        return x if mask is None else x * mask


class GptStyle(nn.Module):
    """fc → tanh-GELU → proj → dropout."""

    def __init__(self, p=0.0):
        super().__init__()
        self.fc = nn.Linear(12, 20)
        self.proj = nn.Linear(20, 12)
        self.dropout = nn.Dropout(p)

    def forward(self, x):
        return self.dropout(self.proj(functional.gelu(self.fc(x), approximate="tanh")))


class ClipStyle(nn.Module):
    """The quick GELU, which torch has no name for."""

    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(12, 20)
        self.fc2 = nn.Linear(20, 12)

    def forward(self, hidden_states):
        z = self.fc1(hidden_states)
        return self.fc2(z * torch.sigmoid(1.702 * z))


class OptStyle(nn.Module):
    """The layers inlined in a forward with branches, and functional dropouts."""

    def __init__(self, p=0.0):
        super().__init__()
        self.norm = nn.LayerNorm(12)
        self.fc1 = nn.Linear(12, 20)
        self.fc2 = nn.Linear(20, 12)
        self.activation_fn = nn.ReLU()
        self.p = p
        self.norm_first = True

    def forward(self, hidden_states, scale=None):
        residual = hidden_states
        if self.norm_first:
            hidden_states = self.norm(hidden_states)
        if hidden_states.shape[-1] != 12:
            raise ValueError
        hidden_states = self.fc1(hidden_states)
        hidden_states = self.activation_fn(hidden_states)
        hidden_states = functional.dropout(hidden_states, p=self.p, training=self.training)
        hidden_states = self.fc2(hidden_states)
        hidden_states = residual + hidden_states
        if scale is not None:
            hidden_states = hidden_states * scale
        return hidden_states


class T5Style(nn.Module):
    """A dropout between, and a look at dtypes."""

    def __init__(self, p=0.1):
        super().__init__()
        self.wi = nn.Linear(12, 20, bias=False)
        self.wo = nn.Linear(20, 12, bias=False)
        self.dropout = nn.Dropout(p)

    def forward(self, x):
        x = self.dropout(self.wi(x).relu())
        if isinstance(self.wo.weight, torch.Tensor) and x.dtype != self.wo.weight.dtype:
            x = x.to(self.wo.weight.dtype)
        return self.wo(x)


class Calls(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, z):
        return self.function(z)


class Activated(nn.Module):
    def __init__(self, activation):
        super().__init__()
        self.fc1, self.act, self.fc2 = nn.Linear(12, 20), activation, nn.Linear(20, 12)

    def forward(self, x):
        return self.fc2(self.act(self.fc1(x)))


class Lora(nn.Module):
    """What is put in a layer's place later; its weight and bias are the base's."""

    def __init__(self, base):
        super().__init__()
        self.base_layer = base
        self.down = nn.Linear(base.in_features, 2, bias=False)
        self.up = nn.Linear(2, base.out_features, bias=False)

    @property
    def weight(self):
        return self.base_layer.weight

    @property
    def bias(self):
        return self.base_layer.bias

    def forward(self, x):
        return self.base_layer(x) + self.up(self.down(x))


class Stack(nn.Module):
    def __init__(self, *blocks):
        super().__init__()
        self.blocks = nn.ModuleList(blocks)

    def forward(self, x):
        for block in self.blocks:
            x = x + block(x)
        return x


def sequential():
    return nn.Sequential(nn.Linear(12, 20), nn.ReLU(), nn.Linear(20, 12))


def outputs_and_gradients(model, x):
    y = model(x)
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    if not y.requires_grad:  # as where merged adapters left nothing to train
        return [y]
    return [y, *torch.autograd.grad(y.square().mean(), trained, allow_unused=True)]


def expect_close(actual, expected):
    """Within float32's rounding of the largest value, item by item."""
    items = zip(actual, expected, strict=True) if isinstance(expected, list | tuple) else [(actual, expected)]
    for one, other in items:
        assert (one is None) == (other is None)
        if other is not None:
            assert one.shape == other.shape
            assert one.dtype == other.dtype
            scale = other.detach().abs().max().item() if other.numel() else 0.0
            torch.testing.assert_close(one, other, rtol=0, atol=max(2e-5 * scale, 1e-9), equal_nan=True)


class Holder(GptStyle):
    """Heir for blocks that compute `own` and read something of what they hold."""

    held = None

    def __init__(self):
        super().__init__()
        if self.held is not None:
            self.config = self.held()

    def own(self, x):
        return self.proj(functional.relu(self.fc(x)))


class Branching(GptStyle):
    def forward(self, x):
        return super().forward(x) if x.sum() > 0 else x


def expect_twins(model, twin, x):
    """Outputs and gradients are those of the twin, in both modes."""
    for mode in (True, False):
        model.train(mode)
        twin.train(mode)
        expect_close(outputs_and_gradients(model, x), outputs_and_gradients(twin, x))
        with torch.no_grad():
            expect_close(model(x), twin(x))
