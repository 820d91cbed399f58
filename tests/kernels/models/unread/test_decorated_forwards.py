"""Forwards within decorators, which run as they did, around a forward of which parts are fused."""

import copy
import functools
import sys

import pytest
import torch
from torch.nn import functional

from fused_mlp import fuse
from tests.kernels.models.blocks import Holder, expect_close, expect_twins

pytestmark = pytest.mark.usefixtures("cpu_kernels")

X = torch.randn(6, 12, generator=torch.Generator().manual_seed(3))
SEEN = {}
FACTOR = {"is": 3.0}


def forward(self, x):
    if x.numel() > 10**9:
        return x
    z = self.fc(x)
    z = functional.relu(z)
    y = self.proj(z)
    return y  # noqa: RET504 - a run of assignments is what is fused


def negative(self, x):
    return -self.proj(functional.relu(self.fc(x)))


def scaled(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return function(*args, **kwargs) * FACTOR["is"]

    return wrapper


def named(function):
    @functools.wraps(function)
    def wrapper(self, *args, **kwargs):
        return function(self, *args, **kwargs) * len(function.__name__)

    return wrapper


def with_default(function):
    @functools.wraps(function)
    def wrapper(self, x, factor=2.0, *, more=1.0):
        return function(self, x) * factor * more

    return wrapper


def outermost(function):
    @functools.wraps(function)
    def wrapper(self, x):
        return function(self, x) * (2.0 if type(self).forward is wrapper else 1.0)

    return wrapper


def looked_up(function):
    SEEN[function] = 2.0

    @functools.wraps(function)
    def wrapper(self, x):
        return function(self, x) * SEEN[function]

    return wrapper


def handed_on(function):
    @functools.wraps(function)
    def wrapper(self, x):
        return twice(function, self, x)

    return wrapper


def twice(function, self, x):
    return function(self, x) * SEEN.get(function, 2.0)


def scaled_by_an_attribute(function):
    @functools.wraps(function)
    def wrapper(self, x):
        return function(self, x) * wrapper.scale

    wrapper.scale = 2.0
    return wrapper


def counted(function):
    @functools.wraps(function)
    def wrapper(self, x):
        wrapper.calls += 1
        return function(self, x)

    wrapper.calls = 0
    return wrapper


def registered(function):
    @functools.wraps(function)
    def wrapper(self, x):
        return function(self, x) * SEEN.get(wrapper, 1.0)

    SEEN[wrapper] = 3.0
    return wrapper


def of_its_code(function):
    @functools.wraps(function)
    def wrapper(self, x):
        return function(self, x) * len(wrapper.__closure__[0].cell_contents.__code__.co_name)

    return wrapper


def of_its_locals(function):
    @functools.wraps(function)
    def wrapper(self, x):
        return function(self, x) * len(locals()["function"].__code__.co_name)

    return wrapper


def of_its_caller(function):
    @functools.wraps(function)
    def wrapper(self, x):
        return function(self, x) * len(sys._getframe(1).f_code.co_name)

    return wrapper


def asked_within(function):
    @functools.wraps(function)
    def wrapper(self, x):
        def factor():
            return SEEN.get(wrapper, 1.0)

        return function(self, x) * factor()

    SEEN[wrapper] = 3.0
    return wrapper


def of_another(function):
    @functools.wraps(function)
    def wrapper(self, x):
        return function(self, x) + function(OTHERS[0], x)

    return wrapper


def without_gradients(function):
    return torch.no_grad()(function)


def block_of(*decorators):
    made = forward
    for decorator in decorators:
        made = decorator(made)
    return type("Decorated", (Holder,), {"forward": made})


OTHERS = [block_of()()]
FUSED = {
    "scaled": (scaled,),
    "named": (named,),
    "with a default": (with_default,),
    "the outermost": (outermost,),
    "two": (scaled, named),
    "another block": (of_another,),
    "by an attribute of one inside": (scaled_by_an_attribute, scaled),
}
KEPT = {
    "looked up": (looked_up,),
    "handed on": (handed_on,),
    "the same around another": (looked_up, scaled),
    "by an attribute of itself": (scaled_by_an_attribute,),
    "in a table": (registered,),
    "in a table, asked by a function inside": (asked_within,),
    "by its code": (of_its_code,),
    "by its locals": (of_its_locals,),
    "by its caller": (of_its_caller,),
}


@pytest.mark.parametrize("name", [*FUSED, *KEPT])
def test_what_a_decorator_does_is_done(name):
    twin = block_of(*(FUSED | KEPT)[name])()
    report = fuse(copy.deepcopy(twin))
    assert len(report.replaced) == (name in FUSED)
    expect_twins(report.model, twin, X)
    expect_twins(copy.deepcopy(report.model), twin, X)


def test_a_decorator_of_torch_is_a_reason_to_keep_a_block():
    twin = block_of(without_gradients)()
    report = fuse(copy.deepcopy(twin))
    assert "its forward is decorated" in report.kept[0].reason
    expect_close(report.model(X), twin(X))


@pytest.mark.parametrize(
    "change",
    [
        lambda monkeypatch, kind: monkeypatch.setattr(kind.forward, "__code__", kind.forward.__code__.replace()),
        lambda monkeypatch, kind: monkeypatch.setattr(kind.forward.__wrapped__, "__code__", negative.__code__),
        lambda monkeypatch, kind: monkeypatch.setattr(kind.forward.__closure__[0], "cell_contents", negative),
        lambda monkeypatch, kind: monkeypatch.setattr(kind.forward, "__defaults__", (5.0,)),
        lambda monkeypatch, kind: monkeypatch.setattr(kind.forward, "__kwdefaults__", {"more": 5.0}),
        lambda monkeypatch, kind: monkeypatch.setitem(kind.forward.__kwdefaults__, "more", 5.0),
        lambda monkeypatch, kind: monkeypatch.setattr(kind, "forward", negative),
    ],
)
def test_what_is_put_in_place_of_a_decorator_counts(change, monkeypatch):
    twin = block_of(with_default)()
    model = fuse(copy.deepcopy(twin)).model
    expect_twins(model, twin, X)
    change(monkeypatch, type(twin))
    expect_twins(model, twin, X)


def test_what_a_decorator_counts_and_is_told_later_is_its_classes(monkeypatch):
    kind = block_of(counted)
    model = fuse(kind()).model
    model(X)
    assert kind.forward.calls == 1
    twin = block_of(scaled_by_an_attribute)()
    model = fuse(copy.deepcopy(twin)).model
    monkeypatch.setattr(type(twin).forward, "scale", 5.0)
    expect_twins(model, twin, X)


def test_a_value_that_a_decorator_reads_counts_when_it_changes(monkeypatch):
    twin = block_of(scaled)()
    model = fuse(copy.deepcopy(twin)).model
    monkeypatch.setitem(FACTOR, "is", 5.0)
    expect_twins(model, twin, X)
