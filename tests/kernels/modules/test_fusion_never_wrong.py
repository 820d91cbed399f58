"""What a fused model must never do: compute something else than the model it was made from."""

import copy

import pytest
import torch
from torch import nn
from torch.nn import functional

import fused_mlp
from fused_mlp import fuse
from tests.kernels.modules.blocks import (
    GptStyle,
    LlamaStyle,
    Merged,
    OptStyle,
    Stack,
    expect_close,
    outputs_and_gradients,
    sequential,
)

pytestmark = pytest.mark.usefixtures("cpu_kernels")

X = torch.randn(6, 12, generator=torch.Generator().manual_seed(3)) * 30


class Activated(nn.Module):
    def __init__(self, activation):
        super().__init__()
        self.fc1 = nn.Linear(12, 20)
        self.act = activation
        self.fc2 = nn.Linear(20, 12)

    def forward(self, x):
        return self.fc2(self.act(self.fc1(x)))


class Calls(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, z):
        return self.function(z)


class StraightThrough(torch.autograd.Function):
    """Relu forward, the identity backward."""

    @staticmethod
    def forward(_, z):
        return z.relu()

    @staticmethod
    def backward(_, grad):
        return grad


class Zeroed(nn.PReLU):
    def __init__(self):
        super().__init__(init=0.0)


STRANGE = {
    "relu6": nn.ReLU6(),
    "hardtanh": nn.Hardtanh(0, 8),
    "clamp": Calls(lambda z: z.clamp(0, 10)),
    "gelu_10": Calls(lambda z: functional.gelu(z).clip(-10, 10)),
    "clamp_far": Calls(lambda z: z.clamp(0, 1e5)),
    "straight_through": Calls(StraightThrough.apply),
    "without_gradient": Calls(lambda z: z.relu() + 0 * z.detach() if z.requires_grad else z.relu() * 2),
    "detached": Calls(lambda z: z.detach().relu()),
    "trainable": Zeroed(),
    "mixing": Calls(lambda z: z.relu() * (z.sum() > -1e9)),
    "by_row": Calls(lambda z: z.relu() * (z[..., :1].abs() < 40)),
    "quick_gelu": Calls(lambda z: z * torch.sigmoid(1.702 * z)),
}


def expect_twins(model, twin, x=X):
    """Outputs and gradients are those of the twin, in both modes."""
    for mode in (True, False):
        model.train(mode)
        twin.train(mode)
        expect_close(outputs_and_gradients(model, x), outputs_and_gradients(twin, x))
        with torch.no_grad():
            expect_close(model(x), twin(x))


@pytest.mark.parametrize("name", STRANGE)
def test_an_activation_that_is_only_nearly_ours_is_computed_as_it_is(name):
    twin = Activated(STRANGE[name])
    with torch.no_grad():
        twin.fc1.weight.mul_(30)
    expect_twins(fuse(copy.deepcopy(twin)).model, twin)


def test_training_ends_packed_weights():
    module = fused_mlp.FusedMLP(12, 20).eval()
    module.prepare()
    assert module.eval()._packed is not None
    assert module.train()._packed is None
    module.eval().prepare()
    module(X)
    assert module._packed is None


def test_frozen_weights_stay_packed_through_a_call_with_gradients():
    module = fused_mlp.FusedMLP(12, 20).eval().requires_grad_(requires_grad=False)
    module.prepare()
    module(X)
    assert module.is_prepared


@pytest.mark.parametrize("write", ["numpy", "data", "out"])
def test_a_write_behind_torch_s_back_is_followed(write):
    module = fused_mlp.FusedLinear(12, 20, activation="relu")
    module.prepare()
    with torch.no_grad():
        module(X)
        match write:
            case "numpy":
                module.weight.detach().numpy()[:] = 1.5
            case "data":
                module.weight.data.fill_(1.5)
            case "out":
                torch.add(module.weight.data, 1, out=module.weight.data)
        expect_close(module(X), functional.linear(X, module.weight, module.bias).relu())


class Lora(nn.Module):
    def __init__(self, base):
        super().__init__()
        self.base_layer = base
        self.down = nn.Linear(base.in_features, 2, bias=False)
        self.up = nn.Linear(2, base.out_features, bias=False)

    @property
    def weight(self):
        return self.base_layer.weight

    @property
    def bias(self):
        return self.base_layer.bias

    def forward(self, x):
        return self.base_layer(x) + self.up(self.down(x))


@pytest.mark.parametrize("make", [LlamaStyle, GptStyle, sequential, OptStyle, Merged], ids=lambda make: make.__name__)
@pytest.mark.parametrize("is_prepared", [False, True], ids=["plain", "prepared"])
def test_lora_put_on_after_fusing_has_its_effect_and_trains(make, is_prepared):
    torch.manual_seed(1)
    twin = Stack(make())
    model = fuse(copy.deepcopy(twin)).model
    if is_prepared:
        for module in model.modules():
            if hasattr(module, "prepare"):
                module.prepare()
        if hasattr(fused_mlp, "prepare"):
            fused_mlp.prepare(model)
    torch.manual_seed(2)
    loras = [(name, Lora(layer)) for name, layer in twin.blocks[0].named_children() if isinstance(layer, nn.Linear)]
    for name, lora in loras:
        other = copy.deepcopy(lora)
        setattr(twin.blocks[0], name, lora)
        other.base_layer = getattr(model.blocks[0], name)
        setattr(model.blocks[0], name, other)
    expect_twins(model, twin)


def test_a_quantised_layer_put_in_later_is_called():
    twin = Stack(sequential()).eval()
    model = fuse(copy.deepcopy(twin)).model
    for each in (twin, model):
        layer = each.blocks[0][0]

        class Rounded(nn.Linear):
            def forward(self, x):
                return functional.linear(x, self.weight.round(decimals=1), self.bias)

        layer.__class__ = Rounded
    expect_twins(model, twin)


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
    expect_twins(fuse(copy.deepcopy(twin)).model, twin)


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
    expect_twins(model, twin)


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
