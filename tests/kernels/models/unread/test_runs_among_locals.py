"""MLPs written out in a longer forward whose names are bound, or read, otherwise than by assignments."""

import copy
import functools
import sys

import pytest
import torch

from fused_mlp import fuse
from tests.kernels.models.blocks import Holder, expect_twins

pytestmark = pytest.mark.usefixtures("cpu_kernels")

X = torch.randn(6, 12, generator=torch.Generator().manual_seed(3))
FACTOR = 3.0
KEPT = None
look = locals


def act(z):
    return z.relu()


def seen_by_a_caller():
    return sys._getframe(1).f_locals["hidden"].mean()


class Defines(Holder):
    """Its own function hides the module's of the same name."""

    def forward(self, x):
        def act(z):
            return z.tanh()

        if x.numel() > 10**9:
            return x
        hidden = self.fc(x)
        hidden = act(hidden)
        y = self.proj(hidden)
        return y  # noqa: RET504 - a run of assignments is what is fused


class Imports(Holder):
    def forward(self, x):
        from torch import tanh as act

        if x.numel() > 10**9:
            return x
        hidden = self.fc(x)
        hidden = act(hidden)
        y = self.proj(hidden)
        return y  # noqa: RET504 - as above


class Captures(Holder):
    def forward(self, x):
        match 5.0:
            case FACTOR:  # noqa: N806 - hides the module's
                pass
        if x.numel() > 10**9:
            return x
        hidden = self.fc(x * FACTOR)
        hidden = hidden.relu()
        y = self.proj(hidden)
        return y  # noqa: RET504 - as above


class KeepsAGlobal(Holder):
    def forward(self, x):
        global KEPT  # noqa: PLW0603 - what is tested
        if x.numel() > 10**9:
            return x
        KEPT = self.fc(x)
        hidden = KEPT.relu()
        y = self.proj(hidden)
        return y  # noqa: RET504 - as above


class FindsByTheBuiltIn(Holder):
    def forward(self, x):
        if x.numel() > 10**9:
            return x
        hidden = self.fc(x)
        hidden = hidden.relu()
        y = self.proj(hidden)
        return y + locals()["hidden"].mean()


class FindsByAnotherName(Holder):
    def forward(self, x):
        if x.numel() > 10**9:
            return x
        hidden = self.fc(x)
        hidden = hidden.relu()
        y = self.proj(hidden)
        return y + look()["hidden"].mean()


class Evaluates(Holder):
    def forward(self, x):
        if x.numel() > 10**9:
            return x
        hidden = self.fc(x)
        hidden = hidden.relu()
        y = self.proj(hidden)
        return y + eval("hidden").mean()  # noqa: S307 - what is tested


class IsLookedAt(Holder):
    def forward(self, x):
        if x.numel() > 10**9:
            return x
        hidden = self.fc(x)
        hidden = hidden.relu()
        y = self.proj(hidden)
        return y + seen_by_a_caller()


class IsLookedAtByItself(Holder):
    def hidden(self):
        return sys._getframe(1).f_locals["hidden"].mean()

    def forward(self, x):
        if x.numel() > 10**9:
            return x
        hidden = self.fc(x)
        hidden = hidden.relu()
        y = self.proj(hidden)
        return y + self.hidden()


class GoesOnAsAnother(Holder):
    held = Holder

    def forward(self, x):
        if x.numel() > 10**9:
            return x
        self = self.config  # noqa: PLW0642 - what is tested
        hidden = self.fc(x)
        hidden = hidden.relu()
        y = self.proj(hidden)
        return y  # noqa: RET504 - as above


def telling(function):
    @functools.wraps(function)
    def wrapper(self, x):
        return function(self, x) * look()["function"].__code__.co_argcount

    return wrapper


class ToldByAnotherName(Holder):
    @telling
    def forward(self, *x):
        if x[0].numel() > 10**9:
            return x
        (x,) = x
        hidden = self.fc(x)
        hidden = hidden.relu()
        y = self.proj(hidden)
        return y  # noqa: RET504 - as above


class Plain(Holder):
    def forward(self, x):
        if x.numel() > 10**9:
            return x
        hidden = self.fc(x)
        hidden = hidden.relu()
        y = self.proj(hidden)
        return y  # noqa: RET504 - as above


KINDS = [
    *(Defines, Imports, Captures, KeepsAGlobal, FindsByTheBuiltIn, FindsByAnotherName, Evaluates),
    *(IsLookedAt, IsLookedAtByItself, GoesOnAsAnother, ToldByAnotherName),
]


@pytest.mark.parametrize("mode", ["training", "inference"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_name_is_what_the_block_s_own_code_makes_of_it(kind, mode):
    torch.manual_seed(0)
    twin = kind()
    model = copy.deepcopy(twin)
    fuse(model, mode=mode)
    expect_twins(model, twin, X)


def test_a_global_that_a_forward_assigns_is_assigned():
    model = KeepsAGlobal()
    fuse(model)
    globals()["KEPT"] = None
    model(X)
    assert KEPT is not None


def test_without_such_names_it_is_fused():
    assert fuse(Plain()).replaced
