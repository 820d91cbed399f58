"""Blocks as libraries of models write them: what they hold and do not read, and how they ask for kinds of values."""

import copy
import inspect
import operator

import pytest
import torch
from torch import nn

from fused_mlp import fuse
from tests.kernels.models.blocks import Holder, expect_twins

pytestmark = pytest.mark.usefixtures("cpu_kernels")

X = torch.randn(6, 12, generator=torch.Generator().manual_seed(3))


class LooksUp:
    """A configuration with names for others, as those of transformers."""

    names = {"factor": "scale"}  # noqa: RUF012 - as there

    def __init__(self):
        self.scale = 1.0

    def __getattribute__(self, name):
        return super().__getattribute__(object.__getattribute__(self, "names").get(name, name))


class HoldsAConfiguration(Holder):
    held = LooksUp

    def forward(self, x):
        return self.own(x)


class NewGelu(nn.Module):
    def forward(self, z):
        return 0.5 * z * (1.0 + torch.tanh(0.7978845608028654 * (z + 0.044715 * torch.pow(z, 3.0))))


class OfTorchsFunctions(Holder):
    held = NewGelu

    def forward(self, x):
        return self.proj(self.config(self.fc(x)))


class WrittenOut(Holder):
    def forward(self, x):
        z = self.fc(x)
        return self.proj(0.5 * z * (1.0 + torch.tanh(0.7978845608028654 * (z + 0.044715 * torch.pow(z, 3.0)))))


class ComparesAWeight(Holder):
    def forward(self, x):
        return self.own(x) * (self.proj.bias.sum() < x)


def counted(function, *values):
    if len(inspect.signature(function).parameters) != len(values):
        return -function(*values)
    return function(*values)


class AsksForASignature(Holder):
    def chunk(self, x):
        return self.own(x)

    def forward(self, x):
        return counted(self.chunk, x)


@pytest.mark.parametrize("make", [HoldsAConfiguration, OfTorchsFunctions, WrittenOut, AsksForASignature])
def test_blocks_as_libraries_write_them_are_fused(make):
    twin = make()
    report = fuse(copy.deepcopy(twin))
    assert len(report.replaced) == 1
    expect_twins(report.model, twin, X)


def test_a_configuration_that_is_read_counts_when_it_changes():
    class Reads(HoldsAConfiguration):
        def forward(self, x):
            return self.own(x) * self.config.factor

    twin = Reads()
    model = fuse(copy.deepcopy(twin)).model
    model.config.scale = twin.config.scale = 3.0
    expect_twins(model, twin, X)


def of_two(self, x, _):
    return self.own(x)


def of_one_or_two(self, x, _=None):
    return self.own(x)


CHUNK = AsksForASignature.chunk


@pytest.mark.parametrize(
    ("holder", "name", "other"),
    [
        (CHUNK, "__signature__", inspect.signature(of_two)),
        (CHUNK, "__wrapped__", of_two),
        (AsksForASignature, "chunk", of_one_or_two),
    ],
)
def test_another_signature_counts(holder, name, other, monkeypatch):
    twin = AsksForASignature()
    model = fuse(copy.deepcopy(twin)).model
    expect_twins(model, twin, X)
    monkeypatch.setattr(holder, name, other, raising=False)
    expect_twins(model, twin, X)


def by_match(x):
    match x:
        case torch.Tensor():
            return 1.0
    return 3.0


KINDS = {
    "isinstance": lambda x: 1.0 if isinstance(x, torch.Tensor) else 3.0,
    "isinstance of two": lambda x: 1.0 if isinstance(x, list | torch.Tensor) else 3.0,
    "a class": lambda x: 1.0 if x.__class__ is torch.Tensor else 3.0,
    "a class by name": lambda x: 1.0 if getattr(x, "__class__", None) is torch.Tensor else 3.0,
    "a class by an object of C": lambda x: 1.0 if operator.attrgetter("__class__")(x) is torch.Tensor else 3.0,
    "a pattern": by_match,
    "many": lambda x: 1.0 if all(map(isinstance, [x], [torch.Tensor])) else 3.0,
}


@pytest.mark.parametrize("name", KINDS)
def test_a_question_for_the_kind_of_value_is_answered_truly(name):
    class Asks(Holder):
        def forward(self, x):
            return self.own(x) * KINDS[name](x)

    twin = Asks()
    expect_twins(fuse(copy.deepcopy(twin)).model, twin, X)


def test_a_weight_beside_a_stand_in_is_no_crash():
    twin = ComparesAWeight()
    expect_twins(fuse(copy.deepcopy(twin)).model, twin, X)
