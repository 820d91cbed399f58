"""Gate and up taken from one layer in other ways than by halves: fused only where they are the halves."""

import copy

import pytest
import torch
from torch import nn
from torch.nn import functional

from fused_mlp import fuse
from tests.kernels.models.blocks import expect_twins

pytestmark = pytest.mark.usefixtures("cpu_kernels")


class Apart(nn.Module):
    def __init__(self):
        super().__init__()
        self.both, self.down = nn.Linear(12, 40), nn.Linear(20, 12)

    def forward(self, x):
        gate, up = self.apart(self.both(x))
        return self.down(functional.silu(gate) * up)


def in_way(name, apart):
    return type(name, (Apart,), {"apart": lambda _, z: apart(z)})


HALVES = [
    in_way("chunks", lambda z: z.chunk(2, -1)),
    in_way("parts", lambda z: z.split(20, dim=-1)),
    in_way("slices", lambda z: (z[..., :20], z[..., 20:])),
    in_way("up before gate", lambda z: z.chunk(2, -1)[::-1]),
]
UNFLATTENED = [
    in_way("halves unbound", lambda z: z.unflatten(-1, (2, 20)).unbind(-2)),
    in_way("interleaved unbound", lambda z: z.unflatten(-1, (20, 2)).unbind(-1)),
    in_way("halves by index", lambda z: (z.unflatten(-1, (2, 20))[..., 0, :], z.unflatten(-1, (2, 20))[..., 1, :])),
    in_way("halves moved", lambda z: z.unflatten(-1, (2, 20)).movedim(-2, 0)),
]
OTHERS = [
    in_way("interleaved", lambda z: (z[..., ::2], z[..., 1::2])),
    in_way("overlapping", lambda z: (z[..., :20], z[..., 10:30])),
    in_way("rows", lambda z: z.view(-1, 2, 20).unbind(1)),
]


@pytest.mark.parametrize("mode", ["training", "inference"])
@pytest.mark.parametrize("shape", [(6, 12), (2, 6, 12)], ids=str)
@pytest.mark.parametrize("kind", [*HALVES, *UNFLATTENED, *OTHERS], ids=lambda kind: kind.__name__)
def test_gate_and_up_are_those_of_the_block(kind, shape, mode):
    twin = kind()
    model = fuse(copy.deepcopy(twin), mode=mode).model
    expect_twins(model, twin, torch.randn(shape, generator=torch.Generator().manual_seed(3)))


@pytest.mark.parametrize("kind", HALVES[:3], ids=lambda kind: kind.__name__)
def test_halves_are_fused(kind):
    (row,) = fuse(kind()).replaced
    assert (row.operation, row.layers) == ("gated_mlp", ("both", "down"))


@pytest.mark.parametrize("kind", UNFLATTENED, ids=lambda kind: kind.__name__)
def test_what_is_unflattened_is_named(kind):
    report = fuse(nn.Sequential(kind()))
    assert not report.replaced
    assert "unflatten stands between" in report.kept[0].reason


class OneForAll(nn.Module):
    """A gate or an up of one value, for all of the other's."""

    def __init__(self, n_gate, n_up):
        super().__init__()
        self.gate, self.up = nn.Linear(12, n_gate, bias=False), nn.Linear(12, n_up, bias=False)
        self.down = nn.Linear(20, 12, bias=False)

    def forward(self, x):
        return self.down(functional.silu(self.gate(x)) * self.up(x))


@pytest.mark.parametrize("sizes", [(1, 20), (20, 1)], ids=str)
def test_a_gate_for_all_values_is_kept_and_named(sizes):
    twin = OneForAll(*sizes)
    report = fuse(copy.deepcopy(twin))
    (kept,) = report.kept
    assert "give different numbers of values" in kept.reason
    x = torch.randn(6, 12)
    expect_twins(report.model, twin, x)
    torch.testing.assert_close(torch.compile(report.model, backend="eager", fullgraph=True)(x), twin(x))
