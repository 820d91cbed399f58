"""What a fused call stands for and does not call: children of children, and how torch calls a module."""

import copy

import pytest
import torch
from torch import nn

import fused_mlp
from tests.kernels.models.blocks import (
    Activated,
    LlamaStyle,
    Merged,
    expect_close,
    expect_twins,
    guards_left_out,
    sequential,
)

pytestmark = pytest.mark.usefixtures("cpu_kernels")

X = torch.randn(6, 12, generator=torch.Generator().manual_seed(3))


class Holds(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.ReLU()

    def forward(self, z):
        return self.inner(z)


class GoesOverChildren(Holds):
    def forward(self, z):
        for child in self.children():
            z = child(z)
        return z


class HoldsHolder(Holds):
    def __init__(self):
        super().__init__()
        self.inner = Holds()


class Sequence(nn.Sequential):
    pass


def replace(name):
    def change(act):
        parent, _, child = name.rpartition(".")
        act.get_submodule(parent)._modules[child] = nn.Tanh()

    return change


def add(act):
    act.add_module("later", nn.Tanh())


CHANGES = [
    *((Holds, replace("inner")), (HoldsHolder, replace("inner.inner"))),
    *((GoesOverChildren, replace("inner")), (GoesOverChildren, add)),
    (lambda: nn.Sequential(nn.ReLU(), nn.Identity()), replace("0")),
    (lambda: nn.Sequential(nn.ReLU(), nn.Identity()), replace("1")),
    (lambda: nn.Sequential(nn.ReLU(), nn.Sequential(nn.Identity())), replace("1.0")),
    (lambda: Sequence(nn.ReLU()), add),
]


@pytest.mark.parametrize("mode", ["training", "inference"])
@pytest.mark.parametrize(("make", "change"), CHANGES)
def test_a_child_of_an_activation_counts_when_it_changes(make, change, mode):
    torch.manual_seed(0)
    twin = Activated(make())
    model = copy.deepcopy(twin)
    assert fused_mlp.fuse(model, mode=mode).replaced
    expect_twins(model, twin, X)
    for each in (model, twin):
        change(each.act)
    expect_twins(model, twin, X)


def initialise_again(layer):
    torch.manual_seed(1)
    layer.__init__(layer.in_features, layer.out_features, bias=layer.bias is not None)


def give_the_state_of_another(layer):
    torch.manual_seed(1)
    layer.__setstate__(nn.Linear(layer.in_features, layer.out_features, bias=layer.bias is not None).__dict__)


@pytest.mark.parametrize("mode", ["training", "inference"])
@pytest.mark.parametrize("change", [initialise_again, give_the_state_of_another])
@pytest.mark.parametrize(
    "make",
    [
        lambda: nn.Sequential(nn.Linear(12, 20), nn.GELU()),
        lambda: LlamaStyle(bias=True),
        lambda: Merged(bias=True),
        sequential,
    ],
)
def test_a_layer_with_other_registers_is_computed_with_those(make, change, mode):
    torch.manual_seed(0)
    twin = make()
    model = copy.deepcopy(twin)
    assert fused_mlp.fuse(model, mode=mode).replaced
    expect_twins(model, twin, X)
    for each in (model, twin):
        for layer in [module for module in each.modules() if type(module) is nn.Linear]:
            change(layer)
    expect_twins(model, twin, X)


def doubled(call):
    return lambda *args: 2 * call(*args)


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("name", ["_call_impl", "_compiled_call_impl"])
@pytest.mark.parametrize("path", ["0", "1"])
def test_how_a_module_is_called_counts(path, name, when):
    twin = sequential()
    model = copy.deepcopy(twin)
    if when == "after":
        assert fused_mlp.fuse(model).replaced
    for each in (model, twin):
        module = each.get_submodule(path)
        setattr(module, name, doubled(module.forward))
    report = fused_mlp.fuse(model)
    expect_close(model(X), twin(X))
    if when == "before":
        assert [kept.reason for kept in report.kept] == [f"{path} is called in a way of its own"]


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("kind", [nn.Linear, nn.ReLU])
def test_how_a_class_is_called_counts(kind, when, monkeypatch):
    twin = sequential()
    model = copy.deepcopy(twin)
    if when == "after":
        assert fused_mlp.fuse(model).replaced
    monkeypatch.setattr(kind, "_call_impl", doubled(kind.forward), raising=False)
    fused_mlp.fuse(model)
    expect_close(model(X), twin(X))


class Squashes(nn.Module):
    def act(self, z):
        return torch.relu(z)

    def __init__(self):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(12, 20), nn.Linear(20, 12)

    def forward(self, x):
        return self.fc2(self.act(self.fc1(x)))


@pytest.mark.parametrize(
    ("make", "path", "name"),
    [
        pytest.param(sequential, "0", "forward", marks=guards_left_out),
        pytest.param(sequential, "1", "forward", marks=guards_left_out),
        (Squashes, "", "act"),
    ],
)
def test_what_a_compiled_model_is_given_of_its_own_counts(make, path, name):
    twin = make()
    model = copy.deepcopy(twin)
    assert fused_mlp.fuse(model).replaced
    compiled = torch.compile(model, backend="eager", fullgraph=True)
    expect_close(compiled(X), twin(X))
    for each in (model, twin):
        changed = each.get_submodule(path)
        setattr(changed, name, doubled(getattr(changed, name)))
    expect_close(compiled(X), twin(X))
