"""What a forward gives to its children and returns beside tensors: the very objects, not others like them."""

import collections
import copy
import dataclasses

import numpy as np
import pytest
import torch
from torch import nn

from fused_mlp import fuse
from tests.kernels.models.blocks import Holder, expect_close, expect_twins

pytestmark = pytest.mark.usefixtures("cpu_kernels")

X = torch.randn(6, 12, generator=torch.Generator().manual_seed(3))
CACHE = {}


@dataclasses.dataclass
class Counter:
    calls: int = 0


class Named(dict):
    pass


class Half(float):
    """A number that is written as another."""

    def __repr__(self):
        return "7.0"


class Counts(nn.Module):
    """A child that writes into what it is given, as attention writes into a cache."""

    def forward(self, x, cache):
        if isinstance(cache, list):
            cache.append(1)
            return x * len(cache)
        if isinstance(cache, dict):
            cache["calls"] = cache.get("calls", 0) + 1
            return x * cache["calls"]
        cache.calls += 1
        return x * cache.calls


class GivesACache(Holder):
    def __init__(self, cache):
        super().__init__()
        self.counts, self.cache = Counts(), cache

    def forward(self, x):
        return self.own(self.counts(x, self.cache))


class GivesACacheInATuple(GivesACache):
    def forward(self, x):
        return self.own(self.counts(x, cache=(self.cache, x)[0]))


class GivesAGlobal(Holder):
    def __init__(self):
        super().__init__()
        self.counts = Counts()

    def forward(self, x):
        return self.own(self.counts(x, CACHE))


@pytest.mark.parametrize("make", [GivesACache, GivesACacheInATuple])
@pytest.mark.parametrize("cache", [list, dict, Counter, Named, collections.OrderedDict])
def test_a_child_writes_into_the_cache_of_its_block(make, cache):
    twin = make(cache())
    model = fuse(copy.deepcopy(twin)).model
    for _ in range(3):
        expect_close(model(X), twin(X))
    assert model.cache == twin.cache


def test_a_child_writes_into_a_global():
    model = fuse(GivesAGlobal()).model
    CACHE.clear()
    model(X)
    model(X)
    assert CACHE == {"calls": 2}


class Returns(Holder):
    def __init__(self, kind):
        super().__init__()
        self.kind = kind

    def forward(self, x):
        return self.kind(y=self.own(x))


@pytest.mark.parametrize("kind", [dict, Named, collections.OrderedDict])
def test_what_is_returned_is_of_its_kind(kind):
    twin = Returns(kind)
    model = fuse(copy.deepcopy(twin)).model
    assert type(model(X)) is kind
    expect_close(model(X)["y"], twin(X)["y"])


class ReturnsWhatItHolds(Holder):
    def __init__(self):
        super().__init__()
        self.notes = {"heads": 2}

    def forward(self, x):
        return self.own(x), self.notes


def test_what_a_block_holds_and_returns_is_what_it_holds():
    model = fuse(ReturnsWhatItHolds()).model
    assert model(X)[1] is model.notes


class Multiplies(Holder):
    def __init__(self, factor):
        super().__init__()
        self.factor = factor

    def forward(self, x):
        return self.own(x) * self.factor


@pytest.mark.parametrize("factor", [np.sqrt(12.0), np.float32(0.5), np.int64(3), Half(0.5)])
def test_a_number_of_any_kind_is_what_it_is(factor):
    twin = Multiplies(factor)
    expect_twins(fuse(copy.deepcopy(twin)).model, twin, X)


def test_a_root_by_numpy_is_no_reason_to_keep_a_block():
    assert len(fuse(Multiplies(np.sqrt(12.0))).replaced) == 1
