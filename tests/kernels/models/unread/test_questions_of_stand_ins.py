"""Whether two values are one, what kind they are, and how many: a stand-in must not answer for a tensor."""

import copy
import functools
import operator
import warnings

import pytest
import torch
from torch import nn

from fused_mlp import fuse
from tests.kernels.models.blocks import Holder, expect_close, expect_twins

pytestmark = pytest.mark.usefixtures("cpu_kernels")

TWO = 2
SAME, PICK = operator.is_, functools.partial(operator.is_, 2)
IDENTITY, KIND = id, type


class Asks(Holder):
    """Its answer decides a factor."""

    two = 2

    def __init__(self):
        super().__init__()
        self.idle = nn.Identity()

    def forward(self, x):
        return self.own(x) * (3.0 if self.answer(x) else 1.0)


def asked(name, answer):
    return type(name, (Asks,), {"answer": answer})


def of_a_local(self, x):
    n, m = x.dim(), self.two
    return n is m


def of_a_name_in_passing(_, x):
    return (n := x.dim()) is TWO and n


def by_a_case(_, x):
    match x.dim():
        case None:
            return True
        case _:
            return False


with warnings.catch_warnings(action="ignore", category=SyntaxWarning):
    of_a_literal = eval("lambda _, x: x.dim() is 2")  # noqa: S307 - what Python warns of

IS = [
    asked("a literal", of_a_literal),
    asked("dim", lambda _, x: x.dim() is TWO),
    asked("not dim", lambda _, x: x.dim() is not TWO),
    asked("ndim", lambda _, x: x.ndim is TWO),
    asked("held", lambda self, x: x.dim() is self.two),
    asked("a local", of_a_local),
    asked("in passing", of_a_name_in_passing),
    asked("inner", lambda _, x: any(each is TWO for each in (x.dim(),))),
    asked("itself", lambda self, x: self.idle(x) is x),
    asked("contiguous", lambda _, x: x.contiguous() is x),
    asked("cast", lambda _, x: x.to(torch.float32) is x),
    asked("turned dtype", lambda _, x: x.mT.dtype is torch.float32),
    asked("operator", lambda _, x: operator.is_(x.dim(), 2)),
    asked("operator not", lambda _, x: operator.is_not(x.dim(), 2)),
    asked("mapped", lambda _, x: any(map(operator.is_, (x.dim(),), (2,)))),
    asked("another name, mapped", lambda _, x: any(map(SAME, (x.dim(),), (2,)))),
    asked("bound", lambda _, x: PICK(x.dim())),
    asked("identities, mapped", lambda self, x: len(set(map(IDENTITY, (x, self.idle(x))))) == 1),
    asked("kinds, mapped", lambda _, x: set(map(KIND, (x,))) == {torch.Tensor}),
]
HAS = [
    asked("size", lambda _, x: hasattr(x.shape[0], "dim")),
    asked("size by name", lambda _, x: getattr(x.shape[0], "dim", None) is None),
    asked("shape", lambda _, x: hasattr(x.shape, "anything")),
    asked("dim", lambda _, x: hasattr(x.dim(), "relu")),
    asked("ndim", lambda _, x: hasattr(x.ndim, "relu")),
    asked("device", lambda _, x: getattr(x.device, "anything", None) is None),
    asked("method", lambda _, x: hasattr(x.view, "dim")),
    asked("mapped", lambda _, x: any(map(hasattr, (x.shape[0],), ("dim",)))),
    asked("got", lambda _, x: operator.attrgetter("ndim")(x) == 2),
]
ANSWERED = [
    asked("no argument", lambda _, x: x is None),
    asked("none by case", by_a_case),
    asked("dtype", lambda _, x: x.dtype == torch.float32),
    asked("held", lambda self, _: self.two is Asks.two),
    asked("has", lambda _, x: hasattr(x, "relu")),
]
SHAPES = [(6, 12), (2, 6, 12)]


def name_of(kind):
    return kind.__name__


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("kind", [*IS, *HAS, *ANSWERED], ids=name_of)
def test_a_question_is_answered_for_the_tensor_that_is_given(kind, shape):
    twin = kind()
    model = fuse(copy.deepcopy(twin)).model
    expect_twins(model, twin, torch.randn(shape, generator=torch.Generator().manual_seed(3)))


@pytest.mark.parametrize("kind", ANSWERED, ids=name_of)
def test_a_question_with_one_answer_is_no_obstacle(kind):
    assert fuse(kind()).replaced


def test_a_block_that_asks_whether_two_are_one_is_named():
    (kept,) = fuse(nn.Sequential(IS[0]())).kept
    assert "asks whether two values are one" in kept.reason
    (kept,) = fuse(nn.Sequential(HAS[0]())).kept
    assert "asks whether" in kept.reason


class Unpacks(Holder):
    def forward(self, x):
        rows, columns = x.shape
        return self.own(x) * (rows / columns)


class UnpacksATensor(Holder):
    def forward(self, x):
        first, second = x
        return self.own(first) + self.own(second)


class UnpacksParts(Holder):
    def forward(self, x):
        first, second = x.split(6, -1)
        return self.own(x) * (first + second).sum(-1, keepdim=True)


def outcome(model, x):
    """What a model gives, or as what it fails, as numbers."""
    try:
        return model(x)
    except (ValueError, RuntimeError) as error:
        return torch.tensor([ord(letter) for letter in f"{type(error).__name__}: {error}"])


@pytest.mark.parametrize("shape", [(2, 12), (3, 12), (2, 6, 12), (2, 2, 12), (12,), (2, 18)], ids=str)
@pytest.mark.parametrize("kind", [Unpacks, UnpacksATensor, UnpacksParts], ids=name_of)
def test_unpacking_takes_as_many_as_there_are_or_raises(kind, shape):
    twin, x = kind(), torch.randn(shape)
    report = fuse(copy.deepcopy(twin))
    assert report.replaced
    expect_close(outcome(report.model, x), outcome(twin, x))
