"""Compiled blocks: each kind as its own code, and what torch.compile takes for constant where a guard asks for it."""

import copy
import functools

import pytest
import torch
from torch._dynamo.testing import CompileCounter

from fused_mlp import fuse
from tests.kernels.models.blocks import (
    BertLayer,
    GptStyle,
    Holder,
    LlamaStyle,
    Merged,
    OptStyle,
    Stack,
    expect_close,
    guards_left_out,
)

pytestmark = pytest.mark.usefixtures("cpu_kernels")

X = torch.randn(6, 12, generator=torch.Generator().manual_seed(3))
SCALES = [2.0]


class Settings:
    @property
    def scale(self):
        return 2.0


class ByAProperty(Holder):
    @property
    def scale(self):
        return 2.0

    def forward(self, x):
        return self.own(x) * self.scale


class ByAPropertyHeld(Holder):
    held = Settings

    def forward(self, x):
        return self.own(x) * self.config.scale


class ByDefault(Holder):
    def forward(self, x, scales=SCALES):
        return self.own(x) * scales[0]


class ByName(Holder):
    def forward(self, x, *, scales=SCALES):
        return self.own(x) * scales[0]


def scaled(y, scales=SCALES):
    return y * scales[0]


class ByAFunction(Holder):
    def forward(self, x):
        return scaled(self.own(x))


def threefold(holder):
    return lambda monkeypatch: monkeypatch.setattr(holder, "scale", property(lambda _: 3.0))


def written(_):
    SCALES[0] = 3.0


kept_by_torch = pytest.mark.skipif(
    torch.__version__.startswith("2.11."), reason="torch 2.11 compiles what a called function's defaults held then"
)
CHANGES = [
    (ByAProperty, threefold(ByAProperty)),
    pytest.param(ByAPropertyHeld, threefold(Settings), marks=guards_left_out),
    pytest.param(ByDefault, written, marks=kept_by_torch),
    pytest.param(ByName, written, marks=guards_left_out),
    pytest.param(ByAFunction, written, marks=kept_by_torch),
]


@pytest.mark.parametrize(("make", "change"), CHANGES)
def test_what_changes_after_compiling_is_computed(make, change, monkeypatch):
    SCALES[0] = 2.0
    twin = make()
    report = fuse(copy.deepcopy(twin))
    assert len(report.replaced) == 1, str(report)
    compiled = torch.compile(report.model, backend="eager", fullgraph=True)
    expect_close(compiled(X), twin(X))
    change(monkeypatch)
    expect_close(compiled(X), twin(X))
    expect_close(report.model(X), twin(X))


def counted(forward):
    @functools.wraps(forward)
    def wrapper(self, *args, **kwargs):
        return forward(self, *args, **kwargs)

    return wrapper


class Decorated(OptStyle):
    """Layers in a longer forward, within a decorator, as those of transformers that may be checkpointed are."""

    @counted
    def forward(self, hidden_states, scale=None):
        z = self.fc1(hidden_states)
        z = self.activation_fn(z)
        z = self.fc2(z)
        return z if scale is None else z * scale


def naming(forward):
    @functools.wraps(forward)
    def wrapper(self, *args, **kwargs):
        return forward(self, *args, **kwargs) * len(wrapper.__name__)

    return wrapper


class Naming(OptStyle):
    """Within a decorator that asks itself for its name."""

    forward = naming(Decorated.forward.__wrapped__)


def another_decorated(monkeypatch, wrapper):
    (cell,) = wrapper.__closure__
    forward = cell.cell_contents
    monkeypatch.setattr(cell, "cell_contents", lambda self, x: forward(self, x) * 2)


def another_default(monkeypatch, wrapper):
    monkeypatch.setattr(wrapper.__wrapped__, "__defaults__", (2.0,))


@guards_left_out
@pytest.mark.parametrize("change", [another_decorated, another_default])
def test_a_decorated_block_is_compiled_and_what_it_decorates_may_change_later(change, monkeypatch):
    twin = Stack(Decorated(), Decorated())
    model = copy.deepcopy(twin)
    assert len(fuse(model).replaced) == 2
    torch._dynamo.reset()
    graphs = []
    compiled = torch.compile(model, backend=lambda graph, _: graphs.append(graph) or graph, fullgraph=True)
    expect_close(compiled(X), twin(X))
    assert graphs[0].code.count("torch.ops.fused_mlp.mlp") == 2
    change(monkeypatch, Decorated.forward)
    expect_close(compiled(X), twin(X))
    expect_close(model(X), twin(X))


@pytest.mark.parametrize("mode", ["training", "inference"])
def test_blocks_compiled_by_themselves_take_as_many_graphs_as_their_kinds(mode):
    """With more of a kind, and more kinds, than torch compiles of one code."""
    kinds = [LlamaStyle, GptStyle, Merged, BertLayer, OptStyle, Decorated, Naming]
    model = Stack(*(kind() for kind in kinds for _ in range(2))).eval()
    twin = copy.deepcopy(model)
    assert len(fuse(model, mode=mode).replaced) == len(model.blocks)
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    for block in model.blocks:
        block.compile(backend="eager", fullgraph=True)
    with torch._dynamo.config.patch(recompile_limit=1), torch.no_grad():
        expect_close(model(X), twin(X))
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] == len(kinds)


def test_going_to_training_and_back_compiles_nothing_again():
    model = fuse(GptStyle().eval()).model
    counted = CompileCounter()
    compiled, x = torch.compile(model, backend=counted), torch.randn(4, 12)
    compiled(x)
    model.train()
    model.eval()
    compiled(x)
    assert counted.frame_count == 1
