"""Activations that compute something else for other shapes, values, dtypes or modes than those they are tried on."""

import pytest
import torch
from torch import nn
from torch.nn import functional

from fused_mlp import fuse
from tests.kernels.models.blocks import Activated, expect_close

pytestmark = [
    pytest.mark.usefixtures("cpu_kernels"),
    pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated"),
]


class ReluUnless(nn.Module):
    """relu, and tanh where `is_other` says so of the value."""

    def __init__(self, is_other):
        super().__init__()
        self.is_other = is_other

    def forward(self, z):
        return z.tanh() if self.is_other(z) else z.relu()


def rows(*shape):
    return torch.randn(*shape, 12, generator=torch.Generator().manual_seed(3))


def kept_whole(z):
    return z.relu() if z.shape[0] < 100 else z.tanh()


torch.fx.wrap("kept_whole")


def scripted(z: torch.Tensor):
    return z.relu() if z.shape[0] < 100 else z.tanh()


class CallsAFunction(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, z):
        return self.function(z)


class CallsKeptWhole(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(12, 20), nn.Linear(20, 12)

    def forward(self, x):
        return self.fc2(kept_whole(self.fc1(x)))


class Between(nn.Module):
    """Something beside an activation between two layers, or behind one."""

    def __init__(self, step, *, has_second=True):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(12, 20), nn.Linear(20, 12) if has_second else nn.Identity()
        self.step = step

    def forward(self, x):
        return self.fc2(self.step(self.fc1(x)))


class Shortens(nn.Module):
    def forward(self, z):
        return z.relu()[:, :100]


CASES = {
    "many rows": (lambda: Activated(ReluUnless(lambda z: z.shape[0] > 100)), rows(200)),
    "many values": (lambda: Activated(ReluUnless(lambda z: z.numel() > 10**5)), rows(20_000)),
    "four dimensions": (lambda: Activated(ReluUnless(lambda z: z.dim() == 4)), rows(2, 2, 2)),
    "one dimension": (lambda: Activated(ReluUnless(lambda z: z.dim() == 1)), rows()),
    "a size in a set": (lambda: Activated(ReluUnless(lambda z: z.shape[0] in {200, 201})), rows(200)),
    "values": (lambda: Activated(ReluUnless(lambda z: bool(z.abs().max() < 5e-2))), rows(6) * 0),
    "a dtype": (lambda: Activated(ReluUnless(lambda z: z.dtype == torch.float32)), rows(6)),
    "a dtype itself": (lambda: Activated(ReluUnless(lambda z: z.dtype is torch.float32)), rows(6)),
    "a function of TorchScript": (lambda: Activated(CallsAFunction(torch.jit.script(scripted))), rows(200)),
    "a module of TorchScript": (lambda: Activated(torch.jit.script(nn.ReLU6())), rows(6) * 20),
    "a function that torch.fx leaves whole": (CallsKeptWhole, rows(200)),
    "the first rows": (lambda: Between(lambda z: z.relu()[:100]), rows(200)),
    "the first of each": (lambda: Between(lambda z: z.relu()[:, :100]), rows(2, 200)),
    "the first of each in a module": (lambda: Activated(Shortens()), rows(2, 200)),
    "the last rows": (lambda: Between(lambda z: z.relu()[-100:]), rows(200)),
    "a narrower one": (lambda: Between(lambda z: torch.split(z.relu(), 100)[0]), rows(200)),
    "a dimension of one": (lambda: Between(lambda z: z.relu().squeeze(1)), rows(7, 1)),
    "another dtype": (lambda: Between(lambda z: z.double().relu(), has_second=False), rows(6)),
    "another dtype by name": (lambda: Between(lambda z: z.to(torch.float64).relu(), has_second=False), rows(6)),
}


@pytest.mark.parametrize("name", CASES)
def test_an_activation_that_branches_is_computed_as_it_is(name):
    make, x = CASES[name]
    model = make()
    with torch.no_grad():
        model.fc1.bias.zero_()
    expected = model(x)
    fuse(model)
    expect_close(model(x), expected)


@pytest.mark.parametrize("around", [torch.inference_mode, lambda: torch.autocast("cpu", dtype=torch.bfloat16)])
def test_an_activation_that_asks_for_a_mode_is_asked_in_that_mode(around):
    def is_other(_):
        return torch.is_inference_mode_enabled() or torch.is_autocast_enabled("cpu")

    model, x = Activated(ReluUnless(is_other)), rows(6)
    with around():
        expected = model(x)
    fuse(model)
    with around():
        expect_close(model(x), expected)


class Formula(nn.Module):
    def forward(self, z):
        return 0.5 * z * (1.0 + functional.tanh(0.7978845608028654 * (z + 0.044715 * z.pow(3))))


def test_an_activation_without_branches_is_fused():
    assert [each.activation for each in fuse(Activated(Formula())).replaced] == ["gelu_tanh"]
