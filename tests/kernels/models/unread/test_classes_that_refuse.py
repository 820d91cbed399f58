"""Blocks whose classes are not to be derived from or changed, and what is done to a block's class while it is fused."""

import copy
import functools

import pytest
import torch
from torch import nn

from fused_mlp import errors, fuse, fused
from tests.kernels.models.blocks import GptStyle, LlamaStyle, Stack, expect_close

pytestmark = pytest.mark.usefixtures("cpu_kernels")

X = torch.randn(3, 12, generator=torch.Generator().manual_seed(3))
FORWARD = GptStyle.forward


class Doubled:
    """A decorator that is an object of a class."""

    def __init__(self, function):
        functools.update_wrapper(self, function)
        self.function = function

    def __get__(self, block, kind):
        return self if block is None else functools.partial(self, block)

    def __call__(self, *args):
        return self.function(*args) * 2


class Once(type):
    """A metaclass that knows its classes by name."""

    known = {}  # noqa: RUF012 - one for all

    def __new__(cls, name, bases, body):
        if name in cls.known:
            raise KeyError(name)
        cls.known[name] = super().__new__(cls, name, bases, body)
        return cls.known[name]


class Known(LlamaStyle, metaclass=Once):
    pass


class Frozen(GptStyle):
    """Refuses another class."""

    def __setattr__(self, name, value):
        if name == "__class__":
            raise RuntimeError("frozen")
        super().__setattr__(name, value)


def described(model):
    return [(type(module), list(module.__dict__)) for module in model.modules()]


@pytest.mark.parametrize(
    ("forward", "kind"), [(Doubled(FORWARD), "Doubled"), (functools.lru_cache(FORWARD), "_lru_cache_wrapper")]
)
def test_a_forward_that_is_no_function_is_the_reason(forward, kind):
    twin = type("Block", (GptStyle,), {"forward": forward})()
    report = fuse(copy.deepcopy(twin))
    assert [kept.reason for kept in report.kept] == [f"its forward is a {kind}, no function of Python's"]
    expect_close(report.model(X), twin(X))


def test_a_class_that_does_something_with_its_heirs_is_kept():
    before = dict(Once.known)
    report = fuse(Known())
    assert "Once" in report.kept[0].reason
    assert Once.known == before


def test_a_block_that_refuses_another_class_leaves_the_model_as_it_was():
    model = Stack(GptStyle(), Frozen(), LlamaStyle())
    before = described(model)
    with pytest.raises(RuntimeError, match="frozen"):
        fuse(model)
    assert described(model) == before


def test_a_block_taken_out_while_it_is_fused_is_undone_with_the_others():
    model = Stack(GptStyle(), LlamaStyle())
    taken = model.blocks[0]
    with fused(model):
        model.blocks[0] = nn.Identity()
    assert type(taken) is GptStyle


def test_at_the_end_all_is_undone_or_nothing():
    model = Stack(GptStyle(), LlamaStyle())

    def reclassed():
        with fused(model):
            block = model.blocks[1]
            block.__class__ = type("Later", (type(block),), {})
            before.extend(described(model))

    before = []
    with pytest.raises(errors.InvalidArgument, match="undo the later change first"):
        reclassed()
    assert described(model) == before
