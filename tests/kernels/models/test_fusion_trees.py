"""Random models, fused: whatever they are made of, outputs and gradients are those of the untouched twin.

`FUSEBENCH_TREES=2000 python -m pytest tests/kernels/models/test_fusion_trees.py` tries as many.
"""

import copy
import os

import pytest
import torch
from hypothesis import HealthCheck, Phase, assume, given, reject, settings
from hypothesis import strategies as st
from torch import nn
from torch.nn import functional

from fused_mlp import fuse, prepare, unfuse
from tests.kernels.models.blocks import (
    BertLayer,
    Calls,
    ClipStyle,
    GemmaStyle,
    GptStyle,
    LlamaStyle,
    Lora,
    Merged,
    MistralStyle,
    OptStyle,
    T5Style,
    expect_close,
)

pytestmark = pytest.mark.usefixtures("cpu_kernels")

TREES = int(os.environ.get("FUSEBENCH_TREES", "40"))
DIM = 12


def random_models(n):
    """Try `n`, however long each takes: a model is dear, so a failing one is not made smaller."""
    phases = [Phase.explicit, Phase.reuse, Phase.generate]
    return settings(max_examples=n, deadline=None, suppress_health_check=list(HealthCheck), phases=phases)


class Doubling(nn.Linear):
    def forward(self, x):
        return 2 * super().forward(x)


class Residual(nn.Sequential):
    def forward(self, x):
        return x + super().forward(x)


class Twice(nn.Sequential):
    """Goes through its layers again where it is trained."""

    def forward(self, x):
        x = super().forward(x)
        return super().forward(x) if self.training else x


ACTIVATIONS = [
    nn.ReLU,
    nn.GELU,
    lambda: nn.GELU("tanh"),
    nn.SiLU,
    nn.ReLU6,
    nn.Tanh,
    nn.Identity,
    nn.PReLU,
    lambda: nn.Hardtanh(0, 8),
    lambda: nn.ReLU(inplace=True),
    lambda: Calls(functional.silu),
    lambda: Calls(lambda z: 0.5 * z * (1 + torch.erf(z / 2**0.5))),
    lambda: Calls(lambda z: z * torch.sigmoid(1.702 * z)),
    lambda: Calls(lambda z: functional.dropout(z.relu(), 0.3)),
    lambda: nn.Sequential(nn.ReLU(), nn.Identity()),
]
BETWEEN = [
    lambda _: nn.Dropout(0.0),
    lambda _: nn.Dropout(0.4),
    lambda _: nn.Identity(),
    nn.LayerNorm,
    lambda _: nn.AlphaDropout(0.2),
]
LINEARS = [nn.Linear, nn.Linear, nn.Linear, lambda n, m: nn.Linear(n, m, bias=False), Doubling]
BLOCKS = [
    LlamaStyle,
    lambda: LlamaStyle(bias=True),
    GemmaStyle,
    MistralStyle,
    Merged,
    lambda: Merged(bias=True, gate_first=False),
    GptStyle,
    lambda: GptStyle(p=0.3),
    OptStyle,
    lambda: OptStyle(p=0.3),
    T5Style,
    BertLayer,
    ClipStyle,
]


@st.composite
def sequences(draw, depth=0):
    """A sequence of layers, activations, dropouts and blocks, DIM wide at both ends; shared blocks appear twice."""
    kind = draw(st.sampled_from([nn.Sequential, nn.Sequential, Residual, Twice]))
    steps, width = [], DIM
    for step in draw(st.lists(st.sampled_from("laabn" if depth > 1 else "laabnts"), min_size=1, max_size=7)):
        match step:
            case "l":
                out = draw(st.sampled_from([DIM, 20]))
                steps.append(draw(st.sampled_from(LINEARS))(width, out))
                width = out
            case "a":
                steps.append(draw(st.sampled_from(ACTIVATIONS))())
            case "n":
                steps.append(draw(st.sampled_from(BETWEEN))(width))
            case "b" if width == DIM:
                steps.append(draw(st.sampled_from(BLOCKS))())
            case "t" if width == DIM:
                steps.append(draw(sequences(depth=depth + 1)))
            case "s" if steps and width == DIM and not isinstance(steps[-1], nn.Linear):
                steps.append(steps[-1])
            case _:
                continue
    if width != DIM:
        steps.append(nn.Linear(width, DIM))
    return kind(*steps)


def put_lora_on(model, layer):
    for parent in list(model.modules()):
        for name, child in list(parent.named_children()):
            if child is layer and type(child) is nn.Linear:
                torch.manual_seed(7)
                setattr(parent, name, Lora(child))


def own_forward(_, module):
    forward = module.forward
    module.forward = lambda *args: forward(*args) * 1.5


def switch_mode(_, module):
    module.training = not module.training


def drop_more(_, module):
    if isinstance(module, nn.Dropout):
        module.p = 0.25


def replace_weight(_, module):
    if isinstance(module, nn.Linear):
        module.weight = nn.Parameter(module.weight.detach() * 1.5)


def write_data(_, module):
    if isinstance(module, nn.Linear):
        module.weight.data.mul_(1.5)


def parametrize(_, module):
    if type(module) is nn.Linear:
        nn.utils.parametrizations.weight_norm(module)


CHANGES = [
    lambda _, module: module.register_forward_hook(lambda *given: given[-1] * 1.5),
    lambda _, module: module.register_forward_pre_hook(lambda _, args: (args[0] * 1.5, *args[1:])),
    lambda _, module: module.register_full_backward_pre_hook(lambda _, grads: tuple(g * 1.5 for g in grads)),
    put_lora_on,
    own_forward,
    switch_mode,
    drop_more,
    replace_weight,
    write_data,
    parametrize,
]


def change(model, what, where):
    """Do something to the module at a place that people do to models."""
    modules = list(model.modules())
    CHANGES[what](model, modules[where % len(modules)])


changes = st.lists(st.tuples(st.integers(0, len(CHANGES) - 1), st.integers(0, 200)), max_size=2)


def results(model, x):
    """Output and all gradients in one, with the same dropouts every time.

    In one, because a gradient that is zero but for rounding (of what stands before a norm) has no scale of its own.
    """
    direction = torch.randn(x.shape, generator=torch.Generator().manual_seed(5))
    torch.manual_seed(1)
    x = x.clone().requires_grad_()
    y = model(x * 1)
    found = torch.autograd.grad((y * direction).sum(), [x, *model.parameters()], allow_unused=True)
    gradients = [torch.cat([gradient.flatten() for gradient in found if gradient is not None])]
    torch.manual_seed(1)
    with torch.no_grad():
        return [y, *gradients, model(x * 1)]


def expected_results(twin, x):
    """Results of the untouched twin; what torch itself refuses (in place behind a backward hook) is no case."""
    try:
        return results(twin, x)
    except RuntimeError:
        reject()


def x_is_finite_through(twin, x):
    return all(each.isfinite().all() and each.abs().max() < 1e6 for each in expected_results(twin, x))


# As many as are asked for take as long as they take.
@pytest.mark.timeout(0 if "FUSEBENCH_TREES" in os.environ else 600)
@random_models(TREES)
@given(
    tree=sequences(),
    before=changes,
    after=changes,
    mode=st.sampled_from(["training", "inference"]),
    packs=st.booleans(),
    seed=st.integers(0, 1000),
)
@pytest.mark.filterwarnings("ignore")
def test_a_fused_tree_is_its_twin(tree, before, after, mode, packs, seed):
    torch.manual_seed(seed)
    twin, x = tree, torch.randn(3, 4, DIM)
    model = copy.deepcopy(twin)
    for each in (model, twin):
        for what, where in before:
            change(each, what, where)
    assume(x_is_finite_through(twin, x))
    fuse(model, mode=mode)
    if packs:
        prepare(model)
    for each in (model, twin):
        for what, where in after:
            change(each, what, where)
    expected = expected_results(twin, x)
    expect_close(results(model, x), expected)
    for training in (False, True, False):
        model.train(training)
        twin.train(training)
        expected = expected_results(twin, x)
        expect_close(results(model, x), expected)
    with torch.no_grad():
        for one, other in zip(model.parameters(), twin.parameters(), strict=True):
            one.mul_(0.9)
            other.mul_(0.9)
    expected = expected_results(twin, x)
    expect_close(results(model, x), expected)
    unfuse(model)
    assert all(torch.equal(a, b) for a, b in zip(results(model, x), results(twin, x), strict=True) if a is not None)
