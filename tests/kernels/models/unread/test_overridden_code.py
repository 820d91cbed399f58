"""What a class overrides and calls by `super()`: another put into the base later is what counts."""

import copy

import pytest
import torch
from torch import nn
from torch.nn import functional

from fused_mlp import fuse
from tests.kernels.models.blocks import BertIntermediate, BertLayer, GptStyle, expect_twins, sequential

pytestmark = pytest.mark.usefixtures("cpu_kernels")

X = torch.randn(6, 12, generator=torch.Generator().manual_seed(3))


class Plain(GptStyle):
    scale = 1.0

    def act(self, z):
        return functional.relu(z)

    def forward(self, x):
        return self.proj(self.act(self.fc(x)))


class OverridesForward(Plain):
    def forward(self, x):
        return super().forward(x) * 2


class OverridesAMethod(Plain):
    def act(self, z):
        return super().act(z)


class OverridesAValue(Plain):
    scale = 3.0

    def forward(self, x):
        return super().forward(x) * super().scale


class Intermediate(BertIntermediate):
    def forward(self, hidden_states):
        return super().forward(hidden_states)


class OverridesInAChild(BertLayer):
    def __init__(self):
        super().__init__()
        self.intermediate = Intermediate()
        self.output.norm = nn.Identity()  # or gradients are next to nothing, and noise


class Gelu(nn.GELU):
    def forward(self, z):
        return super().forward(z)


class OverridesAnActivation(GptStyle):
    def __init__(self):
        super().__init__()
        self.act = Gelu()

    def forward(self, x):
        return self.proj(self.act(self.fc(x)))


class OverridesSequential(nn.Sequential):
    def forward(self, x):
        return super().forward(x) + x


def negative(self, x):
    return -self.proj(functional.silu(self.fc(x)))


PUT = [
    (OverridesForward, Plain, "forward", negative),
    (OverridesAMethod, Plain, "act", lambda _, z: functional.silu(z)),
    (OverridesAValue, Plain, "scale", 5.0),
    (OverridesInAChild, BertIntermediate, "forward", lambda self, x: functional.relu(self.dense(x))),
    (OverridesAnActivation, nn.GELU, "forward", lambda _, z: functional.silu(z)),
    (lambda: OverridesSequential(*sequential()), nn.Sequential, "forward", lambda self, x: -self[2](self[0](x))),
]


@pytest.mark.parametrize("mode", ["training", "inference"])
@pytest.mark.parametrize(("make", "base", "name", "other"), PUT)
def test_another_put_into_the_base_is_computed(make, base, name, other, mode, monkeypatch):
    twin = make()
    report = fuse(copy.deepcopy(twin), mode=mode)
    assert len(report.replaced) == 1, str(report)
    copied = copy.deepcopy(report.model)
    expect_twins(report.model, twin, X)
    monkeypatch.setattr(base, name, other)
    expect_twins(report.model, twin, X)
    expect_twins(copied, twin, X)
