"""Torch's own functions and methods, with others put in their place before or after fusing: these are called."""

import copy

import pytest
import torch
from torch import nn
from torch.nn import functional

from fused_mlp import fuse
from tests.kernels.models.blocks import LlamaStyle, expect_close

pytestmark = pytest.mark.usefixtures("cpu_kernels")

X = torch.randn(6, 12, generator=torch.Generator().manual_seed(3))
NN = torch._C._nn


class QuickByMethod(nn.Module):
    def forward(self, z):
        return z * (1.702 * z).sigmoid()


class ByMethod(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(12, 20), nn.Linear(20, 12)

    def forward(self, x):
        return self.down(self.up(x).relu())


class Halved(ByMethod):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(12, 40)

    def forward(self, x):
        gate, up = self.up(x).chunk(2, -1)
        return self.down(functional.silu(gate) * up)


def activated_by(activation):
    return lambda: nn.Sequential(nn.Linear(12, 20), activation(), nn.Dropout(0.0), nn.Linear(20, 12))


REPLACED = {
    "method": (torch.Tensor, "relu", ByMethod),
    "method of an activation": (torch.Tensor, "sigmoid", activated_by(QuickByMethod)),
    "method that cuts": (torch.Tensor, "chunk", Halved),
    "operator": (torch.Tensor, "__mul__", LlamaStyle),
    "operator of an activation": (torch.Tensor, "__rmul__", activated_by(QuickByMethod)),
    "behind relu": (torch, "relu", activated_by(nn.ReLU)),
    "behind silu": (NN, "silu", activated_by(nn.SiLU)),
    "gelu": (functional, "gelu", activated_by(nn.GELU)),
    "linear": (functional, "linear", ByMethod),
    "dropout": (functional, "dropout", activated_by(nn.ReLU)),
    "an activation's forward": (nn.ReLU, "forward", activated_by(nn.ReLU)),
    "a layer's forward": (nn.Linear, "forward", ByMethod),
    "call": (nn.Module, "__call__", ByMethod),
    "what a call runs": (nn.Module, "_call_impl", LlamaStyle),
}
CALLS = []


def counting(function, factor):
    def counted(*args, **kwargs):
        CALLS.append(1)
        found = function(*args, **kwargs)
        return found if factor == 1 else torch.add(found, found) if isinstance(found, torch.Tensor) else found

    return counted


def outputs(model):
    CALLS.clear()
    found = [model.train(mode)(X) for mode in (True, False)]
    return [*found, torch.tensor(float(len(CALLS)))]


@pytest.mark.parametrize("factor", [1, 2], ids=["counts", "doubles"])
@pytest.mark.parametrize("is_before", [True, False], ids=["before", "after"])
@pytest.mark.parametrize("name", REPLACED)
def test_what_is_in_the_place_of_torch_s_is_called_as_often(name, is_before, factor, monkeypatch):
    holder, attribute, make = REPLACED[name]
    twin, model = make(), make()
    model.load_state_dict(twin.state_dict())
    plain = outputs(twin)
    if not is_before:
        assert fuse(model).replaced
        expect_close(outputs(model), plain)
    replacement = counting(getattr(holder, attribute), factor)
    with monkeypatch.context() as replaced:
        replaced.setattr(holder, attribute, replacement)
        if is_before:
            fuse(model)
        expected = outputs(twin)
        assert expected[-1] > 0
        expect_close(outputs(model), expected)
        expect_close(outputs(copy.deepcopy(model)), expected)
    expect_close(outputs(model), plain)


@pytest.mark.parametrize(("name", "reason"), [("method", "torch.Tensor.relu is not"), ("call", "put into nn.Module")])
def test_what_is_not_torch_s_own_is_named(name, reason, monkeypatch):
    holder, attribute, make = REPLACED[name]
    monkeypatch.setattr(holder, attribute, counting(getattr(holder, attribute), 1))
    report = fuse(make())
    assert not report.replaced
    assert any(reason in kept.reason for kept in report.kept)
