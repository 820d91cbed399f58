"""Values that are odd to look at: `fuse` neither raises nor waits for ever, and none changes unseen."""

import copy
import functools
import types

import pytest
import torch
from torch import nn

from fused_mlp import fuse
from tests.kernels.models.blocks import Holder

pytestmark = pytest.mark.usefixtures("cpu_kernels")

X = torch.randn(6, 12, generator=torch.Generator().manual_seed(3))


def scaled(*_):
    return 2.0


class WithSettings(Holder):
    def __init__(self, settings):
        super().__init__()
        self.settings = settings

    def forward(self, x):
        return self.own(x) * (2.0 if self.settings else 1.0)


class WithProperty(Holder):
    is_broken = False

    @property
    def scale(self):
        if self.is_broken:
            raise ValueError("not configured")
        return 2.0

    def forward(self, x):
        return self.own(x) * self.scale


class AsksForProperty(Holder):
    def __init__(self, settings):
        super().__init__()
        self.settings = settings

    def forward(self, x):
        return self.own(x) * getattr(self.settings, "scale", 2.0)


class CallsWrapped(Holder):
    def forward(self, x):
        return self.own(x) * scaled(x)


class Raising:
    @property
    def scale(self):
        raise ValueError("not configured")


class Unequal:
    def __eq__(self, other):
        raise TypeError("cannot be compared")

    __hash__ = object.__hash__


class Homeless:
    __module__ = None
    scale = 2.0


def holding_itself():
    values = [1.0]
    values.append(values)
    return values


def holding_itself_often():
    values = {"a": 1.0}
    values |= {str(i): values for i in range(50)}
    return values


def expect_as_untouched(model):
    twin = copy.deepcopy(model)
    fuse(model, mode="inference")
    with torch.no_grad():
        expect_same(model, twin)
    return twin


def expect_same(model, twin):
    with torch.no_grad():
        assert torch.allclose(model(X), twin(X), rtol=1e-5, atol=1e-6)


@pytest.mark.timeout(60)
@pytest.mark.parametrize("settings", [holding_itself(), holding_itself_often(), [Unequal()], Homeless(), (1.0, [2.0])])
def test_a_block_that_reads_it_computes_what_it_did(settings):
    expect_as_untouched(WithSettings(settings).eval())


def test_an_object_whose_property_raises_raises_in_the_model_alone():
    model = AsksForProperty(Raising()).eval()
    fuse(model, mode="inference")
    with pytest.raises(ValueError, match="not configured"):
        model(X)


def test_a_property_that_begins_to_raise_raises_as_it_would():
    model = WithProperty().eval()
    twin = expect_as_untouched(model)
    for each in (model, twin):
        each.is_broken = True
        with pytest.raises(ValueError, match="not configured"):
            each(X)


@pytest.mark.timeout(60)
def test_a_function_that_wraps_itself_is_left_to_the_model(monkeypatch):
    @functools.wraps(scaled)
    def wrapping(*_):
        return 2.0

    wrapping.__wrapped__ = wrapping
    monkeypatch.setitem(globals(), "scaled", wrapping)
    expect_as_untouched(CallsWrapped().eval())


class Chooses(Holder):
    def __init__(self, settings):
        super().__init__()
        self.settings = settings

    def forward(self, x):
        return self.own(x) * self.chosen()

    def chosen(self):
        return float(str(next_of(self.settings)) in {"True", "-0.0", "b"}) + 1.0


def next_of(settings):
    return list(settings)[0] if isinstance(settings, list | dict) else settings  # noqa: RUF015 - as the block has it


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ([1], [True]),
        ([0.0], [-0.0]),
        (0.0, -0.0),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
    ],
)
def test_equal_values_of_another_type_sign_or_order_are_other_values(before, after):
    model = Chooses(before).eval()
    twin = expect_as_untouched(model)
    model.settings = twin.settings = after
    expect_same(model, twin)


SLOPE = torch.ones(())


class OfAGlobalTensor(nn.Module):
    def forward(self, x):
        return x * torch.sigmoid(SLOPE * x)


class OfAnObjectsTensor(nn.Module):
    def __init__(self):
        super().__init__()
        self.settings = types.SimpleNamespace(slope=torch.ones(()))

    def forward(self, x):
        return x * torch.sigmoid(self.settings.slope * x)


class OfAListedTensor(nn.Module):
    def __init__(self):
        super().__init__()
        self.slopes = [torch.ones(())]

    def forward(self, x):
        return x * torch.sigmoid(self.slopes[0] * x)


@pytest.mark.parametrize("kind", [OfAGlobalTensor, OfAnObjectsTensor, OfAListedTensor])
def test_a_tensor_that_an_activation_reads_may_be_written_to(kind):
    model = nn.Sequential(nn.Linear(12, 24), kind(), nn.Linear(24, 12)).eval()
    fuse(model, mode="inference")
    kept = SLOPE.clone()
    slope = {OfAGlobalTensor: lambda: SLOPE, OfAnObjectsTensor: lambda: model[1].settings.slope}.get(
        kind, lambda: model[1].slopes[0]
    )()
    with torch.no_grad():
        slope.fill_(3.0)
        try:
            expect_same(model, lambda x: model[2](model[1](model[0](x))))
        finally:
            SLOPE.copy_(kept)


class Writes(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down, self.seen = nn.Linear(12, 24), nn.Linear(24, 12), [0, 0]

    def forward(self, x):
        self.seen[0:1] = [len(x)]
        return self.down(nn.functional.gelu(self.up(x)))


def test_what_is_stored_into_a_slice_is_stored_at_every_call():
    model = Writes().eval()
    fuse(model, mode="inference")
    with torch.no_grad():
        model(X)
        model(X[:2])
    assert model.seen == [2, 0]
