"""Values that a block's code reads of objects, modules and classes, and what the functions it calls do besides."""

import contextvars
import copy
import threading
import types

import pytest
import torch
from torch import nn
from torch.nn import functional

from fused_mlp import fuse
from tests.kernels.models.blocks import Holder, expect_twins

pytestmark = pytest.mark.usefixtures("cpu_kernels")

X = torch.randn(6, 12, generator=torch.Generator().manual_seed(3))
GLOBAL = types.SimpleNamespace(scale=2.0)
MODULE = types.ModuleType("settings_of_somebody")
MODULE.scale = 2.0
PER_THREAD = threading.local()
PER_THREAD.scale = 2.0
PER_CONTEXT = contextvars.ContextVar("scale", default=2.0)


class OfAClass:
    scale = 2.0


class Computed:
    def __init__(self):
        self.private = 2.0

    @property
    def scale(self):
        return self.private


class Slotted:
    __slots__ = ("scale",)

    def __init__(self):
        self.scale = 2.0


class Named:
    """As configurations of transformers: an attribute has another name inside."""

    def __init__(self):
        self.private = 2.0

    def __getattr__(self, name):
        if name == "scale":
            return self.private
        raise AttributeError(name)


class OfAGlobalObject(Holder):
    def forward(self, x):
        return self.own(x) * GLOBAL.scale


class OfAModule(Holder):
    def forward(self, x):
        return self.own(x) * MODULE.scale


class OfAnotherClass(Holder):
    def forward(self, x):
        return self.own(x) * OfAClass.scale


class Imports(Holder):
    def forward(self, x):
        from tests.kernels.models.test_fusion_read_values import GLOBAL as IMPORTED

        return self.own(x) * IMPORTED.scale


class OfAThread(Holder):
    def forward(self, x):
        return self.own(x) * PER_THREAD.scale


class OfAContext(Holder):
    def forward(self, x):
        return self.own(x) * PER_CONTEXT.get()


class OfAnObject(Holder):
    held = Slotted

    def forward(self, x):
        return self.own(x) * self.config.scale


class OfAProperty(OfAnObject):
    held = Computed


class OfADynamicAttribute(OfAnObject):
    held = Named


class ByItsName(OfAnObject):
    def forward(self, x):
        return self.own(x) * getattr(self.config, "scale", 1.0)


class OfAnInnerObject(Holder):
    def held(self):
        return types.SimpleNamespace(inner=types.SimpleNamespace(scale=2.0))

    def forward(self, x):
        return self.own(x) * self.config.inner.scale


class OfAnInnerDictionary(Holder):
    def held(self):
        return {"inner": {"scale": 2.0}}

    def forward(self, x):
        return self.own(x) * self.config["inner"]["scale"]


class OfAChild(Holder):
    class Held(nn.Module):
        scale = 2.0

    held = Held

    def forward(self, x):
        return self.own(x) * self.config.scale


class OfAPropertyInARun(Holder):
    held = Computed

    @property
    def scale(self):
        return self.config.private

    def forward(self, x):
        if x.numel() > 10**9:
            return x
        z = self.fc(x)
        z = functional.relu(z) * 1
        y = self.proj(z) * self.scale
        return y  # noqa: RET504 - a run of assignments is what is fused


def set_scale(holder, name="scale"):
    return lambda monkeypatch, _: monkeypatch.setattr(holder, name, 3.0)


def set_scale_below(path, name="scale"):
    def change(_, block):
        holder = block
        for each in path:
            holder = holder[each] if isinstance(holder, dict) else getattr(holder, each)
        if isinstance(holder, dict):
            holder[name] = 3.0
        else:
            setattr(holder, name, 3.0)

    return change


READ = [
    (OfAGlobalObject, set_scale(GLOBAL)),
    (OfAModule, set_scale(MODULE)),
    (OfAnotherClass, set_scale(OfAClass)),
    (Imports, set_scale(GLOBAL)),
    (OfAThread, set_scale(PER_THREAD)),
    (OfAContext, lambda *_: PER_CONTEXT.set(3.0)),
    (OfAnObject, set_scale_below(["config"])),
    (OfAProperty, set_scale_below(["config"], "private")),
    (OfADynamicAttribute, set_scale_below(["config"], "private")),
    (ByItsName, set_scale_below(["config"])),
    (OfAnInnerObject, set_scale_below(["config", "inner"])),
    (OfAnInnerDictionary, set_scale_below(["config", "inner"])),
    (OfAChild, set_scale_below(["config"])),
    (OfAPropertyInARun, set_scale_below(["config"], "private")),
]


@pytest.mark.parametrize(("make", "change"), READ, ids=lambda value: getattr(value, "__name__", ""))
def test_a_value_read_of_something_counts_when_it_changes(make, change, monkeypatch):
    twin = make()
    model = fuse(copy.deepcopy(twin)).model
    expect_twins(model, twin, X)

    def both_changed():
        change(monkeypatch, model)
        change(monkeypatch, twin)
        expect_twins(model, twin, X)

    contextvars.copy_context().run(both_changed)


def computes_no_linear_layer(model):
    with torch.profiler.profile() as profile:
        model(X)
    return not any(event.key == "aten::linear" for event in profile.key_averages())


@pytest.mark.parametrize("make", [OfAGlobalObject, OfAModule, OfAThread, OfAnInnerObject, OfAProperty, OfAChild])
def test_a_block_that_reads_values_is_fused_and_so_is_its_copy(make):
    report = fuse(make())
    assert len(report.replaced) == 1
    assert computes_no_linear_layer(report.model)
    assert computes_no_linear_layer(copy.deepcopy(report.model))


@pytest.mark.parametrize("name", ["gelu", "linear"])
def test_a_function_put_into_torch_is_what_counts(name, monkeypatch):
    twin = nn.Sequential(nn.Linear(12, 20), nn.GELU(), nn.Linear(20, 12))
    before, after = fuse(copy.deepcopy(twin)).model, copy.deepcopy(twin)
    function = getattr(functional, name)
    monkeypatch.setattr(functional, name, lambda *args, **kwargs: function(*args, **kwargs) * 2)
    fuse(after)
    for model in (before, after):
        expect_twins(model, twin, X)


def test_a_call_put_into_linear_s_class_is_what_counts(monkeypatch):
    twin = nn.Sequential(nn.Linear(12, 20), nn.GELU(), nn.Linear(20, 12))
    model = fuse(copy.deepcopy(twin)).model
    monkeypatch.setattr(nn.Linear, "__call__", lambda self, x: nn.Module.__call__(self, x) * 2)
    expect_twins(model, twin, X)
