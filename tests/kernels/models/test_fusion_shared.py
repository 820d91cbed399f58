"""What several blocks share, and registers that are put in place of others."""

from collections import OrderedDict

import pytest
import torch
from torch import nn

import fused_mlp
from tests.kernels.models.blocks import (
    BertIntermediate,
    BertOutput,
    ClipStyle,
    LlamaStyle,
    OptStyle,
    Stack,
    expect_close,
    expect_twins,
    sequential,
)

pytestmark = pytest.mark.usefixtures("cpu_kernels")


class Around(nn.Module):
    def __init__(self, mlp):
        super().__init__()
        self.norm = nn.LayerNorm(12)
        self.mlp = mlp

    def forward(self, x):
        return x + self.mlp(self.norm(x))


class WrittenOut(nn.Module):
    def __init__(self, first, second):
        super().__init__()
        self.fc1 = first
        self.fc2 = second

    def forward(self, x):
        return x + self.fc2(torch.relu(self.fc1(x)))


class OverTwo(nn.Module):
    def __init__(self, intermediate, output):
        super().__init__()
        self.intermediate = intermediate
        self.output = output

    def forward(self, x):
        return self.output(self.intermediate(x), x)


SHARING = {
    "module": lambda: (mlp := LlamaStyle(), [Around(mlp), Around(mlp)])[1],
    "sequence": lambda: (mlp := sequential(), [Around(mlp), Around(mlp)])[1],
    "inlined": lambda: (mlp := OptStyle(), [Around(mlp), Around(mlp)])[1],
    "layers": lambda: (pair := (nn.Linear(12, 20), nn.Linear(20, 12)), [WrittenOut(*pair), WrittenOut(*pair)])[1],
    "two modules": lambda: (pair := (BertIntermediate(), BertOutput()), [OverTwo(*pair), OverTwo(*pair)])[1],
}


def n_operations_in(model, x):
    """How often the operation runs in a call without gradients."""
    with torch.no_grad(), torch.profiler.profile() as profile:
        model(x)
    return sum(event.count for event in profile.key_averages() if event.key.startswith("fused_mlp::"))


@pytest.mark.parametrize("mode", ["training", "inference"])
@pytest.mark.parametrize("name", SHARING)
def test_what_two_blocks_share_is_fused_in_both(name, mode):
    torch.manual_seed(0)
    model = Stack(*SHARING[name]())
    torch.manual_seed(0)
    twin = Stack(*SHARING[name]())
    x = torch.randn(3, 12)
    report = fused_mlp.fuse(model, mode=mode)
    assert not report.kept
    assert n_operations_in(model.eval(), x) == 2
    expect_twins(model, twin, x)
    fused_mlp.unfuse(model)
    assert n_operations_in(model.eval(), x) == 0


@pytest.mark.parametrize("register", ["_forward_hooks", "_forward_pre_hooks"])
def test_hooks_in_a_register_put_in_place_of_the_old_one_run(register):
    """Hooks are often removed so, for want of their handles; later ones go into the new register."""
    model, x = ClipStyle().eval(), torch.randn(3, 12)
    fused_mlp.fuse(model)
    expected = model(x)
    setattr(model.fc1, register, OrderedDict())
    expect_close(model(x), expected)
    if register == "_forward_hooks":
        model.fc1.register_forward_hook(lambda _module, _inputs, output: output * 2)
    else:
        model.fc1.register_forward_pre_hook(lambda _module, inputs: (inputs[0] * 2,))
    changed = model(x)
    fused_mlp.unfuse(model)
    assert not torch.allclose(changed, expected)
    expect_close(changed, model(x))
