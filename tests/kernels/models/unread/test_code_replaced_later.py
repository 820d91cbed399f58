"""Functions, defaults and methods put in place of others after fusing, wherever the block's code finds them."""

import copy
import sys
import types

import pytest
import torch
from torch import nn
from torch.nn import functional

from fused_mlp import fuse
from tests.kernels.models.blocks import Holder, expect_twins

pytestmark = pytest.mark.usefixtures("cpu_kernels")

X = torch.randn(6, 12, generator=torch.Generator().manual_seed(3))


class Named(types.SimpleNamespace):
    pass


GLOBAL = Named(act=functional.gelu)
DEFAULT = Named(scale=1.0)
SCALES = [1.0]
CALLS = []
ACT = functional.gelu
DTYPE = torch.float32


class OfAGlobal(Holder):
    def forward(self, x):
        return self.proj(GLOBAL.act(self.fc(x)))


class OfAnObject(Holder):
    def held(self):
        return Named(act=functional.gelu)

    def forward(self, x):
        return self.proj(self.config.act(self.fc(x)))


class OfAMethodHeld(OfAnObject):
    def held(self):
        return Named(act=Activations(1.0).gelu)


class Activations:
    def __init__(self, scale):
        self.scale = scale

    def gelu(self, z):
        return functional.gelu(z) * self.scale


class OfItsClass(Holder):
    act = staticmethod(functional.gelu)

    def forward(self, x):
        return self.proj(self.act(self.fc(x)))


class ByAMethod(Holder):
    def act(self, z):
        return functional.gelu(z)

    def forward(self, x):
        return self.proj(self.act(self.fc(x)))


class OfAProperty(Holder):
    @property
    def scale(self):
        return 1.0

    def forward(self, x):
        return self.own(x) * self.scale


class Inner(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(12, 20)

    def act(self, z):
        return functional.gelu(z)

    def forward(self, x):
        return self.act(self.fc(x))


class OfAChild(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.proj = Inner(), nn.Linear(20, 12)

    def forward(self, x):
        return self.proj(self.inner(x))


class Activation(nn.Module):
    def act(self, z):
        return functional.gelu(z)

    def forward(self, z):
        return self.act(z)


class OfAnActivation(Holder):
    held = Activation

    def forward(self, x):
        return self.proj(self.config(self.fc(x)))


class WithADefault(Holder):
    def forward(self, x, settings=DEFAULT):
        return self.own(x) * settings.scale


class WithAListByDefault(Holder):
    def forward(self, x, scales=SCALES):
        return self.own(x) * scales[0]


def scaled(z, scale=1.0, *, more=1.0):
    return z * scale * more


def by_three(z, scale=1.0, *, more=1.0):
    return z * 3 * scale * more


class CallsAFunction(Holder):
    def forward(self, x):
        return scaled(self.own(x))


class Reloaded(Holder):
    def forward(self, x):
        return self.own(x)


class ReloadedRun(Holder):
    def forward(self, x):
        if x.numel() > 10**9:
            return x
        z = self.fc(x)
        z = functional.relu(z)
        y = self.proj(z)
        return y  # noqa: RET504 - a run of assignments is what is fused


class OfAFunctionOfTorch(Holder):
    def forward(self, x):
        return self.proj(ACT(self.fc(x)))


class OfADtype(Holder):
    def forward(self, x):
        return self.own(x).to(DTYPE)


class Attends(Holder):
    def forward(self, x):
        return self.own(functional.scaled_dot_product_attention(x, x, x))


class Softens(Holder):
    def forward(self, x):
        return self.own(nn.functional.softplus(x))


def times_three(x, *_, **__):
    return x * 3


def negative(self, x):
    return -self.own(x)


def negative_method(_, z):
    return -z


def set_in(holder, name, value):
    return lambda monkeypatch, _: monkeypatch.setattr(holder, name, value)


REPLACED = [
    (OfAGlobal, set_in(GLOBAL, "act", torch.relu)),
    (OfAnObject, lambda _, block: setattr(block.config, "act", torch.relu)),
    (OfAMethodHeld, lambda _, block: setattr(block.config, "act", Activations(3.0).gelu)),
    (OfItsClass, set_in(OfItsClass, "act", staticmethod(torch.relu))),
    (ByAMethod, set_in(ByAMethod, "act", negative_method)),
    (ByAMethod, lambda _, block: setattr(block, "act", torch.relu)),
    (OfAProperty, set_in(OfAProperty, "scale", property(lambda _: 3.0))),
    (OfAChild, set_in(Inner, "act", negative_method)),
    (OfAChild, lambda _, block: setattr(block.inner, "act", torch.relu)),
    (OfAnActivation, set_in(Activation, "act", negative_method)),
    (OfAnActivation, lambda _, block: setattr(block.config, "act", torch.relu)),
    (WithADefault, set_in(DEFAULT, "scale", 3.0)),
    (WithADefault, set_in(WithADefault.forward, "__defaults__", (Named(scale=3.0),))),
    (WithAListByDefault, lambda *_: SCALES.__setitem__(0, 3.0)),
    (CallsAFunction, set_in(scaled, "__defaults__", (3.0,))),
    (CallsAFunction, lambda monkeypatch, _: monkeypatch.setitem(scaled.__kwdefaults__, "more", 3.0)),
    (CallsAFunction, set_in(scaled, "__code__", by_three.__code__)),
    (OfAFunctionOfTorch, set_in(sys.modules[__name__], "ACT", torch.relu)),
    (OfADtype, set_in(sys.modules[__name__], "DTYPE", torch.float64)),
    (Attends, set_in(functional, "scaled_dot_product_attention", times_three)),
    (Softens, set_in(functional, "softplus", times_three)),
    (Reloaded, set_in(Reloaded.forward, "__code__", negative.__code__)),
    (ReloadedRun, set_in(ReloadedRun.forward, "__code__", negative.__code__)),
]


@pytest.mark.parametrize(("make", "change"), REPLACED)
def test_what_is_put_in_place_of_something_is_what_counts(make, change, monkeypatch):
    SCALES[0] = 1.0
    twin = make()
    report = fuse(copy.deepcopy(twin))
    model = report.model
    assert len(report.replaced) == 1
    expect_twins(model, twin, X)
    expect_twins(copy.deepcopy(model), twin, X)
    copied = copy.deepcopy(model)
    for each in (model, copied, twin):
        change(monkeypatch, each)
    expect_twins(model, twin, X)
    expect_twins(copied, twin, X)


def counted(z):
    CALLS.append(1)
    return functional.gelu(z)


class CallsItsDefault(Holder):
    def forward(self, x, act=counted):
        return self.proj(act(self.fc(x)))


def test_a_function_given_by_default_is_called_at_each_call_and_not_by_fusing():
    CALLS.clear()
    model = fuse(CallsItsDefault()).model
    assert not CALLS
    model(X)
    assert CALLS == [1]
