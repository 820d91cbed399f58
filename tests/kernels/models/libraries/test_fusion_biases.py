"""Biases of a subclass of tensors beside plain weights: only the layers' own operations know what to make of them."""

import copy

import pytest
import torch
from torch import nn
from torch.nn import functional
from torch.utils._pytree import tree_map_only

import fused_mlp
from tests.kernels.models.blocks import ClipStyle, LlamaStyle, Merged, expect_close

pytestmark = pytest.mark.usefixtures("cpu_kernels")

X = torch.randn(6, 12, generator=torch.Generator().manual_seed(3))
BLOCKS = {"llama_bias": lambda: LlamaStyle(bias=True), "merged_bias": lambda: Merged(bias=True), "clip": ClipStyle}


class Doubling(torch.Tensor):
    """A layer that has one gives twice its result."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        result = super().__torch_function__(func, types, args, kwargs or {})
        return 2 * result.as_subclass(torch.Tensor) if func is functional.linear else result


class Halved(torch.Tensor):
    """Kept at half its size; of operations it knows those of torch."""

    @staticmethod
    def __new__(cls, values):
        return torch.Tensor._make_wrapper_subclass(cls, values.shape, dtype=values.dtype)

    def __init__(self, values):
        self.half = values / 2

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        if func.namespace != "aten":
            raise NotImplementedError(f"{func} of halved values")
        return func(*tree_map_only(Halved, lambda value: value.half * 2, args), **(kwargs or {}))


KINDS = {"function": lambda values: values.as_subclass(Doubling), "dispatch": Halved}


def with_biases(model, kind):
    for layer in model.modules():
        if isinstance(layer, nn.Linear):
            layer._parameters["bias"] = KINDS[kind](layer.bias.detach().clone())
    return model


@pytest.mark.parametrize("mode", ["training", "inference"])
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", BLOCKS)
@torch.no_grad()
def test_biases_of_a_kind_of_their_own_are_left_to_the_layers(name, kind, when, mode):
    torch.manual_seed(0)
    twin = BLOCKS[name]().eval()
    model = copy.deepcopy(twin)
    if when == "before":
        with_biases(model, kind)
    report = fused_mlp.fuse(model, mode=mode)
    if when == "after":
        assert report.replaced
        with_biases(model, kind)
    expect_close(model(X), with_biases(twin, kind)(X))
