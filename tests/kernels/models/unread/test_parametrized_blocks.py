"""torch's parametrizations put on a fused block or on its layers: kept, computed, and no obstacle to unfusing."""

import copy

import pytest
import torch
from torch import nn
from torch.nn.utils import parametrize

import fused_mlp
from fused_mlp.models.fused_blocks import FusedBlock
from tests.kernels.models.blocks import expect_close

pytestmark = pytest.mark.usefixtures("cpu_kernels")


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(6, 10), nn.Linear(10, 6)
        self.scale, self.shift = nn.Parameter(torch.full((6,), 2.0)), nn.Parameter(torch.randn(6))

    def forward(self, x):
        return self.down(torch.relu(self.up(x))) * self.scale + self.shift


class Twice(nn.Module):
    def forward(self, values):
        return 2 * values

    def right_inverse(self, values):
        return values / 2


PLACES = ["scale", "scale shift", "up.weight", "down.bias", "down.weight scale"]


def parametrized(model, places):
    for place in places.split():
        holder, _, name = place.rpartition(".")
        parametrize.register_parametrization(model[0].get_submodule(holder), name, Twice())
    return model


def without_parametrizations(model, places):
    for place in places.split():
        holder, _, name = place.rpartition(".")
        parametrize.remove_parametrizations(model[0].get_submodule(holder), name)
    return model


def models():
    torch.manual_seed(0)
    model = nn.Sequential(Scaled())
    twin = copy.deepcopy(model)
    assert fused_mlp.fuse(model).replaced
    return model, twin


def results(model):
    x = torch.randn(5, 6, generator=torch.Generator().manual_seed(3)).requires_grad_()
    y = model(x)
    return [y, *torch.autograd.grad(y.square().sum(), [x, *model.parameters()])]


@pytest.mark.parametrize("places", PLACES)
def test_a_parametrization_put_on_later_is_computed_and_stays_after_unfusing(places):
    model, twin = models()
    parametrized(twin, places)
    held = parametrized(model, places).state_dict(keep_vars=True)
    expect_close(results(model), results(twin))
    assert fused_mlp.unfuse(model) is model
    after = model.state_dict(keep_vars=True)
    assert list(after) == list(held) == list(twin.state_dict())
    assert all(after[name] is value for name, value in held.items())
    assert type(model[0]).__mro__[1:] == type(twin[0]).__mro__[1:]
    assert type(model[0]).__name__ == type(twin[0]).__name__
    for one, other in zip(results(model), results(twin), strict=True):
        assert torch.equal(one, other)


@pytest.mark.parametrize("places", PLACES)
def test_an_unfused_parametrized_block_can_be_copied_and_lose_its_parametrizations(places):
    model, twin = models()
    parametrized(twin, places)
    fused_mlp.unfuse(parametrized(model, places))
    copied = copy.deepcopy(model)
    assert torch.equal(results(copied)[0], results(twin)[0])
    without_parametrizations(twin, places)
    without_parametrizations(model, places)
    assert type(model[0]) is type(twin[0]) is Scaled
    assert list(model.state_dict()) == list(twin.state_dict())
    assert torch.equal(results(model)[0], results(twin)[0])


def test_a_copy_of_a_parametrized_fused_block_is_unfused_alone():
    model, _ = models()
    parametrized(model, "scale")
    expected = results(model)
    copied = copy.deepcopy(model)
    fused_mlp.unfuse(copied)
    assert isinstance(model[0], FusedBlock)
    expect_close(results(copied), expected)
    expect_close(results(model), expected)
    fused_mlp.unfuse(model)
    expect_close(results(model), expected)


def test_a_block_stays_fused_where_its_parametrization_is_removed_first():
    model, twin = models()
    parametrized(twin, "scale")
    without_parametrizations(parametrized(model, "scale"), "scale")
    without_parametrizations(twin, "scale")
    expect_close(results(model), results(twin))
    fused_mlp.unfuse(model)
    assert type(model[0]) is Scaled


def test_another_class_put_over_a_parametrized_one_is_still_refused_with_nothing_undone():
    model, _ = models()
    model.append(Scaled())
    fused_mlp.fuse(model)
    parametrized(model, "scale")
    kind = type(model[0])
    model[0].__class__ = type("Sharded", (kind,), {})
    before = [type(block) for block in model]
    with pytest.raises(fused_mlp.InvalidArgument, match="given the class Sharded by something else"):
        fused_mlp.unfuse(model)
    assert [type(block) for block in model] == before
