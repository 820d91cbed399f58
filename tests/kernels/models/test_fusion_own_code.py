"""A fused model runs what its blocks, their subclasses and their hooks do besides."""

import copy

import pytest
import torch
from torch import nn
from torch.nn import functional

import fused_mlp
from fused_mlp import fuse
from tests.kernels.models.blocks import (
    GptStyle,
    LlamaStyle,
    OptStyle,
    Stack,
    expect_close,
    expect_twins,
    outputs_and_gradients,
    sequential,
)

pytestmark = pytest.mark.usefixtures("cpu_kernels")

X = torch.randn(6, 12, generator=torch.Generator().manual_seed(3)) * 30


def test_a_forward_of_an_instance_s_own_is_called():
    twin = Stack(LlamaStyle(), sequential())
    for block in twin.blocks:
        block.forward = lambda x: x * 2
    model = fuse(copy.deepcopy(twin)).model
    expect_close(model(X), twin(X))


def test_a_forward_set_on_an_instance_after_fusing_is_called():
    model = fuse(Stack(LlamaStyle(), sequential())).model
    for block in model.blocks:
        block.forward = lambda x: x * 2
    expect_close(model(X), X * 9)


class Scaled(nn.Sequential):
    def forward(self, x):
        return 3 * super().forward(x)


class Reversed(nn.Sequential):
    def forward(self, x):
        for layer in reversed(self):
            x = layer(x)
        return x


@pytest.mark.parametrize("kind", [Scaled, Reversed])
@pytest.mark.parametrize("n", [3, 5])
def test_the_forward_of_a_sequential_s_subclass_is_what_counts(kind, n):
    layers = [nn.Linear(12, 12), nn.ReLU(), nn.Linear(12, 12), nn.GELU(), nn.Linear(12, 12)]
    twin = Stack(kind(*layers[:n]))
    expect_twins(fuse(copy.deepcopy(twin)).model, twin, X)


class OnlyInTraining(GptStyle):
    def forward(self, x):
        x = self.proj(functional.gelu(self.fc(x)))
        return x * 2 if self.training else x


class AnotherActivationInTraining(GptStyle):
    def forward(self, x):
        z = self.fc(x)
        return self.proj(functional.relu(z) if self.training else functional.silu(z))


class AnotherWithGradients(GptStyle):
    def forward(self, x):
        z = self.fc(x)
        return self.proj(functional.relu(z) if torch.is_grad_enabled() else functional.silu(z))


class Counting(GptStyle):
    calls = 0

    def forward(self, x):
        self.calls += 1
        return super().forward(x) * self.calls


class Listing(GptStyle):
    def __init__(self):
        super().__init__()
        self.seen = []

    def forward(self, x):
        self.seen.append(1)
        return super().forward(x) * len(self.seen)


class Noisy(GptStyle):
    """A number drawn at each call."""

    def forward(self, x):
        return super().forward(x) + torch.rand(())


class Optional(GptStyle):
    """A branch on an argument that is mostly left out."""

    def forward(self, x, residual=None):
        y = super().forward(x)
        return y if residual is None else y + residual


@pytest.mark.parametrize(
    "make",
    [
        OnlyInTraining,
        AnotherActivationInTraining,
        AnotherWithGradients,
        Counting,
        Listing,
        Noisy,
        Optional,
    ],
    ids=lambda make: make.__name__,
)
def test_what_a_forward_does_besides_is_done(make):
    twin = Stack(make())
    model = fuse(copy.deepcopy(twin)).model
    for mode in (True, False, True):
        for grad in (True, False):
            results = []
            for each in (model, twin):
                each.train(mode)
                torch.manual_seed(0)
                with torch.set_grad_enabled(grad):
                    results.append(each(X))
            expect_close(*results)


def test_an_argument_that_is_mostly_left_out_is_taken():
    twin = Optional()
    model = fuse(copy.deepcopy(twin)).model
    for given in ({}, {"residual": None}, {"residual": X}):
        expect_close(model(X, **given), twin(X, **given))
        expect_close(model(x=X, **given), twin(x=X, **given))
    expect_close(model(X, X), twin(X, X))


HOOKS = {
    "forward_pre": lambda module: module.register_forward_pre_hook(lambda _, args: (args[0] * 2,)),
    "forward": lambda module: module.register_forward_hook(lambda *given: given[-1] * 2),
    "full_backward": lambda module: module.register_full_backward_hook(
        lambda _module, grads, _out: tuple(None if grad is None else grad * 2 for grad in grads)
    ),
    "full_backward_pre": lambda module: module.register_full_backward_pre_hook(
        lambda _, grads: tuple(grad * 2 for grad in grads)
    ),
}


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("where", ["block", "layer", "activation", "last"])
@pytest.mark.parametrize("hook", HOOKS)
@pytest.mark.parametrize("make", [LlamaStyle, sequential, OptStyle], ids=lambda make: make.__name__)
def test_hooks_run_wherever_and_whenever_they_are_put(make, hook, where, when):
    def register(model):
        block = model.blocks[0]
        children = list(block.children())
        linears = [child for child in children if isinstance(child, nn.Linear)]
        activation = next(child for child in children if not any(True for _ in child.parameters()))
        HOOKS[hook]({"block": block, "layer": linears[0], "activation": activation, "last": linears[-1]}[where])

    torch.manual_seed(0)
    twin, model = Stack(make()), Stack(make())
    model.load_state_dict(twin.state_dict())
    register(twin)
    if when == "before":
        register(model)
    model = fuse(model).model
    if when == "after":
        register(model)
    x = X.clone().requires_grad_()
    expect_close(outputs_and_gradients(model, x), outputs_and_gradients(twin, x))


def test_a_hook_on_every_module_is_run():
    model = fuse(Stack(sequential())).model
    seen = []
    handle = nn.modules.module.register_module_forward_hook(lambda module, *_: seen.append(type(module)))
    try:
        model(X)
    finally:
        handle.remove()
    assert seen.count(nn.Linear) == 2


def test_positions_of_a_sequence_keep_their_meaning():
    twin = nn.Sequential(nn.Linear(12, 20), nn.GELU(), nn.Linear(20, 16), nn.SiLU(), nn.Linear(16, 12))
    model = fuse(copy.deepcopy(twin)).model
    for n in range(1, 6):
        expect_close(model[:n](X), twin[:n](X))
    expect_close(model[0](X), twin[0](X))
    expect_twins(model, twin, X)


def test_a_layer_appended_to_a_fused_sequence_is_called():
    twin, model = sequential(), fuse(sequential()).model
    model.load_state_dict(twin.state_dict())
    for each in (twin, model):
        each.append(nn.Tanh())
    expect_close(model(X), twin(X))


def test_a_dropout_switched_on_after_fusing_drops():
    model = fuse(Stack(*(nn.Sequential(nn.Linear(12, 20), nn.ReLU(), nn.Dropout(0.0), nn.Linear(20, 12)),))).model
    model.train()
    model.blocks[0][2].p = 1.0
    expect_close(model(X), X + model.blocks[0][3].bias)


def test_a_block_at_two_paths_is_one_block_still():
    twin = nn.Module()
    twin.first = twin.second = LlamaStyle()
    model = copy.deepcopy(twin)
    fuse(model)
    assert model.first is model.second
    expect_close(model.second(X), twin.second(X))


def test_a_functional_call_uses_its_parameters_and_leaves_packs_alone():
    module = fused_mlp.FusedMLP(12, 20).eval()
    module.prepare()
    with torch.no_grad():
        expected = module(X)
        zeros = {name: torch.zeros_like(value) for name, value in module.named_parameters()}
        assert torch.func.functional_call(module, zeros, (X,)).abs().max() == 0
        expect_close(module(X), expected)
    assert module.is_prepared


@pytest.mark.filterwarnings("ignore:Sparse CSR")
def test_a_layer_made_sparse_after_fusing_is_computed():
    twin = Stack(sequential()).eval().requires_grad_(requires_grad=False)
    model = fuse(copy.deepcopy(twin)).model
    for each in (twin, model):
        each.blocks[0][0].weight = nn.Parameter(each.blocks[0][0].weight.to_sparse_csr(), requires_grad=False)
    expect_close(model(X), twin(X))


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16], ids=str)
def test_another_dtype_is_followed(dtype):
    twin = Stack(LlamaStyle(), OptStyle()).eval()
    model = fuse(copy.deepcopy(twin)).model
    actual, expected = model.to(dtype)(X.to(dtype)), twin.to(dtype)(X.to(dtype))
    atol = 0.02 * expected.abs().max().item() if dtype == torch.bfloat16 else 1e-9
    torch.testing.assert_close(actual, expected, rtol=0, atol=atol)


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
def test_transforms_of_torch_func_reach_through():
    twin = Stack(LlamaStyle(), sequential())
    model = fuse(copy.deepcopy(twin)).model

    def loss(parameters, each):
        return torch.func.functional_call(each, parameters, (X,)).square().mean()

    expected = torch.func.grad(loss)(dict(twin.named_parameters()), twin)
    actual = torch.func.grad(loss)(dict(model.named_parameters()), model)
    expect_close(list(actual.values()), list(expected.values()))
    expect_close(torch.func.jvp(model, (X,), (torch.ones_like(X),)), torch.func.jvp(twin, (X,), (torch.ones_like(X),)))


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
def test_a_nested_tensor_is_computed_by_the_block_s_own_layers():
    model, twin = sequential().eval(), sequential().eval()
    twin.load_state_dict(model.state_dict())
    x = torch.nested.nested_tensor([torch.randn(3, 12), torch.randn(2, 12)])
    fused_mlp.fuse(model)
    with torch.no_grad():
        for one, other in zip(model(x).unbind(), twin(x).unbind(), strict=True):
            expect_close(one, other)
