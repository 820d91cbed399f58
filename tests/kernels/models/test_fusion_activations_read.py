"""What an activation of somebody's own reads and writes, and values that are asked for before they are there."""

import collections
import copy
import functools
import os
import queue
import random
import time
import types
import weakref

import pytest
import torch
from torch import nn
from torch.nn import functional

from fused_mlp import fuse
from fused_mlp.models.reading import recognition
from tests.kernels.models.blocks import Activated, GptStyle, expect_twins

pytestmark = pytest.mark.usefixtures("cpu_kernels")

X = torch.randn(6, 12, generator=torch.Generator().manual_seed(3))
GLOBAL = types.SimpleNamespace(scale=1.0)
CALLS = []
GENERATOR = random.Random(0)


class OfAnObject(nn.Module):
    def __init__(self):
        super().__init__()
        self.config = types.SimpleNamespace(scale=1.0)

    def forward(self, z):
        return functional.gelu(z) * self.config.scale


class OfAGlobal(OfAnObject):
    def forward(self, z):
        return functional.gelu(z) * GLOBAL.scale


class Callable:
    scale = 1.0

    def __init__(self):
        self.scale = 1.0

    def __call__(self, z):
        return functional.gelu(z) * self.scale


class CallsAnObject(nn.Module):
    def __init__(self):
        super().__init__()
        self.function = Callable()

    def forward(self, z):
        return self.function(z)


class CallsAPartial(CallsAnObject):
    def __init__(self):
        super().__init__()
        self.function = functools.partial(functional.gelu, approximate="tanh")


READ_BY_ACTIVATIONS = [
    (OfAnObject, lambda activation: vars(activation.config).update(scale=3.0)),
    (OfAGlobal, lambda _: vars(GLOBAL).update(scale=3.0)),
    (CallsAnObject, lambda activation: vars(activation.function).update(scale=3.0)),
    (CallsAPartial, lambda activation: activation.function.keywords.update(approximate="none")),
]


@pytest.mark.parametrize(("make", "change"), READ_BY_ACTIVATIONS, ids=lambda value: value.__name__)
def test_a_value_that_an_activation_reads_counts_when_it_changes(make, change, monkeypatch):
    monkeypatch.setattr(GLOBAL, "scale", 1.0)
    twin = Activated(make())
    model = copy.deepcopy(twin)
    assert fuse(model).replaced
    expect_twins(model, twin, X)
    for each in (model, twin):
        change(each.act)
    expect_twins(model, twin, X)


class Counts(nn.Module):
    def __init__(self):
        super().__init__()
        self.n = 0

    def forward(self, z):
        self.n += 1
        return functional.gelu(z)


class Appends(nn.Module):
    @property
    def n(self):
        return len(CALLS)

    def forward(self, z):
        CALLS.append(1)
        return functional.gelu(z)


@pytest.mark.parametrize("make", [Counts, Appends])
def test_an_activation_that_keeps_something_is_called_once_a_call_and_not_by_fusing(make):
    model = Activated(make())
    before = model.act.n
    fuse(model)
    assert model.act.n == before
    model(X)
    assert model.act.n == before + 1


class Draws(nn.Module):
    def forward(self, z):
        return functional.gelu(z) * (2 if random.random() < 1e-9 else 1)


class DrawsForItself(nn.Module):
    def forward(self, z):
        return functional.gelu(z) * (2 if GENERATOR.random() < 1e-9 else 1)


@pytest.mark.parametrize("make", [Draws, DrawsForItself])
def test_an_activation_that_draws_numbers_does_so_at_each_call_and_not_by_fusing(make):
    model, state, own = Activated(make()), random.getstate(), GENERATOR.getstate()
    fuse(model)
    assert (random.getstate(), GENERATOR.getstate()) == (state, own)
    model(X)
    assert (random.getstate(), GENERATOR.getstate()) != (state, own)


class Holding(GptStyle):
    def __init__(self, held):
        super().__init__()
        self.config = held

    def own(self, x):
        return self.proj(functional.relu(self.fc(x)))


class HasAttribute(Holding):
    def forward(self, x):
        return self.own(x) * (self.scale if hasattr(self, "scale") else 1.0)


class WithADefault(Holding):
    def forward(self, x):
        return self.own(x) * getattr(self.config, "scale", 1.0)


class GoesOverObjects(Holding):
    def forward(self, x):
        y = self.own(x)
        for each in self.config:
            y = y * each.scale
        return y


class AsksForWhatEveryModuleHas(Holding):
    def forward(self, x):
        return self.own(x) * (2 if getattr(self, "training", True) else 1) * getattr(self.fc, "out_features", 1)


def test_a_block_that_asks_for_what_is_there_is_computed_as_one_operation():
    model = fuse(AsksForWhatEveryModuleHas(None)).model.eval()
    with torch.profiler.profile() as profile:
        model(X)
    assert not any(event.key == "aten::linear" for event in profile.key_averages())


class ReadsAnItem(Holding):
    def forward(self, x):
        return self.own(x) * self.config[0]


class AsksAWeakReference(Holding):
    def forward(self, x):
        return self.own(x) * self.config().scale


ASKED = [
    (lambda: HasAttribute(None), lambda block: setattr(block, "scale", 3.0)),
    (lambda: WithADefault(types.SimpleNamespace()), lambda block: setattr(block.config, "scale", 3.0)),
    (lambda: WithADefault(nn.Identity()), lambda block: setattr(block.config, "scale", 3.0)),
    (lambda: GoesOverObjects([]), lambda block: block.config.append(types.SimpleNamespace(scale=3.0))),
    (lambda: AsksAWeakReference(weakref.ref(Callable)), lambda _: setattr(Callable, "scale", 3.0)),
    (lambda: ReadsAnItem([1.0] * 200), lambda block: block.config.__setitem__(0, 3.0)),
    (
        lambda: GoesOverObjects([types.SimpleNamespace(scale=1.0)]),
        lambda block: block.config.append(types.SimpleNamespace(scale=3.0)),
    ),
]


@pytest.mark.parametrize(("make", "change"), ASKED)
def test_a_value_that_comes_later_counts(make, change):
    twin = make()
    model = copy.deepcopy(twin)
    fuse(model)
    expect_twins(model, twin, X)
    for each in (model, twin):
        change(each)
    expect_twins(model, twin, X)


class PutsIntoAQueue(Holding):
    def forward(self, x):
        self.config.put(1)
        return self.own(x)


class AppendsToADeque(Holding):
    def forward(self, x):
        self.config.append(1)
        return self.own(x)


class CountsInADictionary(Holding):
    def forward(self, x):
        self.config.update(n=self.config["n"] + 1)
        return self.own(x)


WRITTEN = [
    (PutsIntoAQueue, queue.Queue, lambda held: held.qsize()),
    (AppendsToADeque, collections.deque, len),
    (CountsInADictionary, lambda: {"n": 0}, lambda held: held["n"]),
]


@pytest.mark.parametrize(("make", "hold", "count"), WRITTEN)
def test_what_a_held_container_is_given_comes_at_each_call_and_not_by_fusing(make, hold, count):
    model = make(hold())
    fuse(model)
    assert count(model.config) == 0
    model(X)
    assert count(model.config) == 1


class AsksTheEnvironment(Holding):
    def forward(self, x):
        return self.own(x) * (2 if os.environ.get("FUSEBENCH_OF_A_TEST") else 1)


class AsksTheClock(Holding):
    def forward(self, x):
        return self.own(x) * (2 if time.time() < 0 else 1)


def test_what_is_asked_of_the_environment_or_the_clock_is_asked_at_each_call(monkeypatch):
    for make in (AsksTheEnvironment, AsksTheClock):
        twin = make(None)
        model = fuse(copy.deepcopy(twin)).model
        monkeypatch.setenv("FUSEBENCH_OF_A_TEST", "1")
        with monkeypatch.context() as patched:
            patched.setattr(time, "time", lambda: -1.0)
            expect_twins(model, twin, X)
        monkeypatch.delenv("FUSEBENCH_OF_A_TEST")


def test_values_to_ask_at_are_made_once_for_all_activations(monkeypatch):
    made, points = [], recognition._points
    monkeypatch.setattr(recognition, "_points", lambda *given: (made.append(given), points(*given))[1])
    assert recognition.gate_of(lambda a, b: a * functional.silu(b), width=20) == ("silu", False)
    assert len(made) == len(set(made)) == 4
