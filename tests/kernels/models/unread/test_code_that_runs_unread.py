"""Code that runs where nothing names it, by an operator or a look-up, and what is asked of stand-ins and of torch."""

import collections
import copy
import types

import pytest
import torch

from fused_mlp import fuse
from tests.kernels.models.blocks import Holder, expect_close, expect_twins

pytestmark = pytest.mark.usefixtures("cpu_kernels")

X = torch.randn(6, 12, generator=torch.Generator().manual_seed(3))
HIDDEN = types.SimpleNamespace(scale=1.0)
BEHIND = {"scale": 1.0}
PROXY = types.MappingProxyType(BEHIND)
VIEW = BEHIND.values()


class Configuration:
    """One value, as all that Python's operators may ask for."""

    __hash__ = None

    def __init__(self):
        self.values = {"scale": 1.0}

    def __getitem__(self, name):
        return self.values[name]

    def __len__(self):
        return len(self.values)

    def __iter__(self):
        return iter(self.values)

    def __contains__(self, name):
        return name in self.values

    def __bool__(self):
        return self.values["scale"] == 1.0

    def __float__(self):
        return self.values["scale"]

    def __index__(self):
        return int(self.values["scale"])

    def __eq__(self, other):
        return self.values["scale"] == other

    def __lt__(self, other):
        return self.values["scale"] < other


class OwnItems(dict):
    def __getitem__(self, name):
        return HIDDEN.scale


def writes_three_more(holder):
    holder.config.values.update(scale=3.0, more=1)


def block_of(scale, *, held=None):
    """Return a class of blocks that multiply by what `scale` says of the block and its input."""

    class Scaled(Holder):
        def forward(self, x):
            return self.own(x) * scale(self, x)

    Scaled.held = held
    return Scaled


CHANGED = {
    "an item": (lambda block, _: block.config["scale"], Configuration, writes_three_more),
    "a length": (lambda block, _: len(block.config), Configuration, writes_three_more),
    "a loop": (lambda block, _: sum(1 for _ in block.config), Configuration, writes_three_more),
    "what it contains": (lambda block, _: 2 if "more" in block.config else 1, Configuration, writes_three_more),
    "a branch": (lambda block, _: 2 if block.config else 1, Configuration, writes_three_more),
    "a number": (lambda block, _: float(block.config), Configuration, writes_three_more),
    "an index": (lambda block, _: [5.0, 1.0, 2.0, 3.0][block.config], Configuration, writes_three_more),
    "equality": (lambda block, _: 2 if block.config == 1.0 else 1, Configuration, writes_three_more),
    "order": (lambda block, _: 2 if block.config < 2 else 1, Configuration, writes_three_more),
    "a user's dictionary": (
        lambda block, _: block.config["scale"],
        lambda _: collections.UserDict(scale=1.0),
        lambda block: block.config.update(scale=3.0),
    ),
    "a user's list": (
        lambda block, _: block.config[0],
        lambda _: collections.UserList([1.0]),
        lambda block: block.config.__setitem__(0, 3.0),
    ),
    "a chain": (
        lambda block, _: block.config["scale"],
        lambda _: collections.ChainMap({"scale": 1.0}),
        lambda block: block.config.update(scale=3.0),
    ),
    "bytes": (
        lambda block, _: block.config[0],
        lambda _: bytearray([1]),
        lambda block: block.config.__setitem__(0, 3),
    ),
    "a view": (lambda *_: sum(VIEW), None, lambda _: BEHIND.update(scale=3.0)),
    "a mapping behind another": (lambda *_: PROXY["scale"], None, lambda _: BEHIND.update(scale=3.0)),
    "items of its own": (
        lambda block, _: block.config["scale"],
        lambda _: OwnItems(),
        lambda _: setattr(HIDDEN, "scale", 3.0),
    ),
}


@pytest.mark.parametrize("name", CHANGED)
def test_what_an_operator_reads_counts_when_it_changes(name):
    scale, held, change = CHANGED[name]
    HIDDEN.scale = BEHIND["scale"] = 1.0
    twin = block_of(scale, held=held)()
    model = fuse(copy.deepcopy(twin)).model
    expect_twins(model, twin, X)
    change(model)
    if twin.__dict__.get("config") is not None:
        change(twin)
    expect_twins(model, twin, X)


class Delegates(Holder):
    """As wrappers do: what it has not is looked for in what it holds."""

    def held(self):
        return types.SimpleNamespace(scale=1.0)

    def __getattr__(self, name):
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(self.__dict__["config"], name)

    def forward(self, x):
        return self.own(x) * self.scale


def test_an_attribute_that_is_looked_for_elsewhere_counts_when_it_changes():
    twin = Delegates()
    model = fuse(copy.deepcopy(twin)).model
    model.config.scale = twin.config.scale = 3.0
    expect_twins(model, twin, X)


ASKED = {
    "rank in a table": lambda _, x: {2: 3.0}.get(x.dim(), 1.0),
    "size in a table": lambda _, x: {12: 3.0}.get(x.shape[-1], 1.0),
    "size in a set": lambda _, x: 3.0 if x.shape[-1] in {12, 13} else 1.0,
    "shape in a table": lambda _, x: 3.0 if x.shape in {(6, 12): 1} else 1.0,
    "shape as a tuple": lambda _, x: 3.0 if isinstance(x.shape, tuple) else 1.0,
    "size as a number": lambda _, x: 3.0 if isinstance(x.shape[0], int) else 1.0,
    "text": lambda _, x: {"2": 3.0}.get(str(x.dim()), 1.0),
    "text with a value": lambda _, x: {"2": 3.0}.get(f"{x.dim()}", 1.0),
    "length of a text": lambda _, x: len(f"{x.shape!r}"),
    "gradient": lambda _, x: 3.0 if x.grad is None else 1.0,
    "history": lambda _, x: 3.0 if x.grad_fn is None else 1.0,
    "layout": lambda _, x: 3.0 if x.layout is torch.strided else 1.0,
    "index of a device": lambda _, x: 3.0 if x.device.index is None else 1.0,
    "dtype of a sum": lambda _, x: 3.0 if (x + 1).dtype is torch.float32 else 1.0,
    "attributes": lambda _, x: 1.0 + len(x.__dict__),
    "names": lambda _, x: 1.0 + ("tracer" in dir(x)),
}


@pytest.mark.parametrize("name", ASKED)
def test_what_is_asked_of_a_tensor_is_answered_by_a_tensor(name):
    twin = block_of(ASKED[name])()
    expect_twins(fuse(copy.deepcopy(twin)).model, twin, X)


SWITCHED = {
    "default dtype": (
        lambda *_: 1.0 if torch.get_default_dtype() is torch.float32 else 3.0,
        lambda: torch.set_default_dtype(torch.float64),
        lambda: torch.set_default_dtype(torch.float32),
    ),
    "determinism": (
        lambda *_: 3.0 if torch.are_deterministic_algorithms_enabled() else 1.0,
        lambda: torch.use_deterministic_algorithms(mode=True),
        lambda: torch.use_deterministic_algorithms(mode=False),
    ),
    "precision": (
        lambda *_: 3.0 if torch.get_float32_matmul_precision() == "high" else 1.0,
        lambda: torch.set_float32_matmul_precision("high"),
        lambda: torch.set_float32_matmul_precision("highest"),
    ),
}


@pytest.mark.parametrize("name", SWITCHED)
def test_what_is_asked_of_torch_is_asked_at_each_call(name):
    scale, switch, undo = SWITCHED[name]
    twin = block_of(scale)()
    model = fuse(copy.deepcopy(twin)).model
    switch()
    try:
        actual, expected = model(X), twin(X)
    finally:
        undo()
    expect_close(actual, expected)


def test_code_that_knows_a_compiler_is_compiled_as_it_says():
    twin = block_of(lambda *_: 3.0 if torch.compiler.is_compiling() else 1.0)()
    model = fuse(copy.deepcopy(twin)).model
    expect_close(torch.compile(model, backend="eager")(X), torch.compile(twin, backend="eager")(X))


def test_a_seed_is_set_at_each_call_and_not_by_fusing():
    class Seeds(Holder):
        def forward(self, x):
            torch.manual_seed(11)
            return self.own(x)

    torch.manual_seed(5)
    model = fuse(Seeds()).model
    assert torch.initial_seed() == 5
    model(X)
    assert torch.initial_seed() == 11
