"""MLP blocks of somebody's module: which are measured, how often one forward calls each, and why others are not."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from benchmarks.ruler.advice.module_blocks import Call, calls_of
from benchmarks.ruler.errors import InvalidSettings


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(block(32, 128) for _ in range(3))
        self.head = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 32))

    def forward(self, x):
        for block in self.blocks:
            x = x + block(x)
        return self.head(x[:, 0])


def block(dim, hidden, out=None):
    return nn.Sequential(nn.Linear(dim, hidden), nn.GELU(), nn.Linear(hidden, out or dim))


class Twice(nn.Module):
    """One block at two paths."""

    def __init__(self):
        super().__init__()
        self.first = self.second = block(32, 64)

    def forward(self, x):
        return self.second(self.first(x))


class Autocast(nn.Module):
    def __init__(self):
        super().__init__()
        self.block = block(32, 64)

    def forward(self, x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return self.block(x)


class Empty(nn.Module):
    def forward(self, x):
        return x[:0]


class Uncalled(nn.Module):
    def __init__(self):
        super().__init__()
        self.block = block(32, 64)

    def forward(self, x):
        return x


def test_a_module_is_asked_for_what_it_calls_and_stays_what_it_was():
    module = Encoder().train()
    module.head.eval()
    before = {name: (type(each), each.training) for name, each in module.named_modules()}
    assert calls_of(module, (torch.randn(4, 10, 32),)).calls == {
        Call("mlp", 32, 128, "gelu", "float32", 40): 3,
        Call("mlp", 32, 64, "relu", "float32", 4): 1,
    }
    assert {name: (type(each), each.training) for name, each in module.named_modules()} == before
    assert not any(each._forward_hooks for each in module.modules())


def test_one_block_at_two_paths_is_counted_once_a_call():
    assert calls_of(Twice(), (torch.randn(6, 32),)).calls == {Call("mlp", 32, 64, "gelu", "float32", 6): 2}


def test_the_dtype_of_a_call_is_the_one_it_computes_in():
    call = Call("mlp", 32, 64, "gelu", "bfloat16", 6)
    assert calls_of(Autocast(), (torch.randn(6, 32),)).calls == {call: 1}
    assert calls_of(block(32, 64).bfloat16(), (torch.randn(6, 32, dtype=torch.bfloat16),)).calls == {call: 1}


def test_what_holds_a_measured_block_is_not_told_as_one_that_is_not_measured():
    mish = nn.Sequential(nn.Linear(32, 64), nn.Mish(), nn.Linear(64, 32))
    model = nn.Sequential(nn.Sequential(block(32, 64), nn.LayerNorm(32)), mish, nn.Linear(32, 10))
    (note,) = calls_of(model, (torch.randn(6, 32),)).notes
    assert "1: " in note
    assert "the module: " not in note


def test_a_block_that_ends_wider_or_narrower_than_it_begins_is_told_and_not_taken_for_another():
    both = nn.Sequential(block(32, 64), block(32, 48, out=10))
    found = calls_of(both, (torch.randn(6, 32),))
    assert found.calls == {Call("mlp", 32, 64, "gelu", "float32", 6): 1}
    (note,) = found.notes
    assert note == (
        "1 of the module's blocks is measured; other layers are not: 1: it makes 10 columns of 32, and those measured "
        "end as wide as they begin"
    )


@pytest.mark.parametrize(
    ("module", "reason"),
    [
        (nn.Linear(32, 32), "no MLP block that is known"),
        (nn.Sequential(nn.Linear(32, 8), nn.ReLU()), "the module: a single layer with its activation"),
        (block(32, 64, out=10), "it makes 10 columns of 32"),
        (Uncalled(), "its forward calls none of its MLP blocks"),
        (nn.Sequential(Empty(), block(32, 64)), "its MLP blocks with no row"),
        (block(16, 64), "a forward of the module with the inputs given fails: RuntimeError: mat1 and mat2"),
    ],
)
def test_a_module_that_calls_no_block_to_measure_says_why(module, reason):
    with pytest.raises(InvalidSettings, match=reason):
        calls_of(module, (torch.randn(6, 32),))
