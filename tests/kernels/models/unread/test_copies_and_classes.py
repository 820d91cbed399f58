"""Blocks that say how they are copied and pickled, and code that writes into a block's class."""

import copy
import pickle
import threading

import pytest
import torch

import fused_mlp
from fused_mlp.errors import InvalidArgument
from tests.kernels.models.blocks import GptStyle, Stack, expect_close, expect_twins

pytestmark = pytest.mark.usefixtures("cpu_kernels")

X = torch.randn(6, 12, generator=torch.Generator().manual_seed(3))
MADE = []


class Locked(GptStyle):
    def __init__(self):
        super().__init__()
        self.lock = threading.Lock()

    def __getstate__(self):
        return {name: value for name, value in self.__dict__.items() if name != "lock"}

    def __setstate__(self, state):
        super().__setstate__(state)
        self.lock = threading.Lock()


class Forgetful(GptStyle):
    def __init__(self):
        super().__init__()
        self.cache = {"is": "full"}

    def __getstate__(self):
        return {**self.__dict__, "cache": {}}


class Reduced(GptStyle):
    def __reduce__(self):
        return type(self), (0.0,), self.__dict__


class Rebuilt(GptStyle):
    def __reduce__(self):
        return rebuilt, (type(self), self.state_dict())


def rebuilt(kind, state):
    made = kind()
    made.load_state_dict(state)
    return made


class MadeOfArguments(GptStyle):
    def __new__(cls, p=0.0):
        MADE.append(p)
        return super().__new__(cls)

    def __getnewargs__(self):
        return (0.5,)


class MadeOfNames(MadeOfArguments):
    def __getnewargs_ex__(self):
        return (), {"p": 0.25}


KINDS = [GptStyle, Locked, Forgetful, Reduced, Rebuilt, MadeOfArguments, MadeOfNames]
WAYS = {
    "deepcopy": copy.deepcopy,
    "copy": copy.copy,
    **{f"pickle {n}": lambda each, n=n: pickle.loads(pickle.dumps(each, n)) for n in (0, 2, 5)},  # noqa: S301 - own
}


def told(block):
    attributes = {name: value for name, value in vars(block).items() if isinstance(value, bool | dict)}
    return {name: value for name, value in attributes.items() if not name.startswith("_")}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_block_is_copied_as_its_class_says(kind, way):
    torch.manual_seed(0)
    twin, model = Stack(kind()), Stack(kind())
    model.load_state_dict(twin.state_dict())
    assert fused_mlp.fuse(model).replaced
    copies, made = [], []
    for each in (model, twin):
        MADE.clear()
        copies.append(WAYS[way](each))
        made.append([*MADE])
    assert made[0] == made[1]
    blocks = [each.blocks[0] for each in copies]
    assert told(blocks[0]) == told(blocks[1])
    assert isinstance(blocks[0], kind)
    if way.startswith("pickle"):
        assert type(blocks[0]) is kind
    expect_twins(*copies, X)
    with torch.no_grad():
        for each in copies:
            each.blocks[0].fc.weight.mul_(2)
    expect_twins(*copies, X)
    expect_twins(model, twin, X)
    assert all(type(each) is kind for each in fused_mlp.unfuse(copies[0]).modules() if isinstance(each, kind))


class Counted(GptStyle):
    calls = 0

    def forward(self, x):
        type(self).calls += 1
        if x.numel() > 10**9:
            return x
        z = self.fc(x)
        z = z.relu()
        y = self.proj(z)
        return y  # noqa: RET504 - a run of assignments is what is fused


def test_what_is_counted_in_a_class_is_counted_in_its_author_s():
    model = Stack(Counted(), Counted())
    assert len(fused_mlp.fuse(model).replaced) == 2
    Counted.calls = 0
    model(X)
    assert Counted.calls == 2
    assert type(model.blocks[0]).calls == 2
    del type(model.blocks[0]).calls
    assert "calls" not in vars(Counted)
    Counted.calls = 0


def test_another_forward_for_a_fused_class_is_refused():
    model, twin = GptStyle(), GptStyle()
    model.load_state_dict(twin.state_dict())
    fused_mlp.fuse(model)
    for change in (lambda kind: setattr(kind, "forward", lambda _, x: x), lambda kind: delattr(kind, "forward")):
        with pytest.raises(InvalidArgument, match=r"type\(block\)\.forward is another forward .* GptStyle itself"):
            change(type(model))
    expect_close(model(X), twin(X))


class MakesAnother(GptStyle):
    def another(self):
        return type(self)(0.0)


def test_what_a_fused_block_makes_of_its_class_is_of_the_author_s_and_can_be_fused():
    model = torch.nn.Sequential(torch.nn.Linear(12, 20), torch.nn.ReLU(), torch.nn.Linear(20, 12), torch.nn.Tanh())
    fused_mlp.fuse(model)
    part = model[:3]
    assert type(part) is torch.nn.Sequential
    assert fused_mlp.fuse(part).replaced
    expect_close(torch.tanh(part(X)), fused_mlp.unfuse(model)(X))
    block = fused_mlp.fuse(MakesAnother()).model
    assert type(block.another()) is MakesAnother
