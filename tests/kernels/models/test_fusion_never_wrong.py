"""What a fused model must never do: compute something else than the model it was made from."""

import copy

import pytest
import torch
from torch import nn
from torch.nn import functional

import fused_mlp
from fused_mlp import fuse
from tests.kernels.models.blocks import (
    Activated,
    Calls,
    GptStyle,
    LlamaStyle,
    Lora,
    Merged,
    OptStyle,
    Stack,
    expect_close,
    expect_twins,
    sequential,
)

pytestmark = pytest.mark.usefixtures("cpu_kernels")

X = torch.randn(6, 12, generator=torch.Generator().manual_seed(3)) * 30


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
    "nearly_quick_gelu": Calls(lambda z: z * torch.sigmoid(1.7 * z)),
}


@pytest.mark.parametrize("name", STRANGE)
def test_an_activation_that_is_only_nearly_ours_is_computed_as_it_is(name):
    twin = Activated(STRANGE[name])
    with torch.no_grad():
        twin.fc1.weight.mul_(30)
    expect_twins(fuse(copy.deepcopy(twin)).model, twin, X)


AT_ZERO_AND_NAN = {
    "clamp": lambda z: z.clamp(min=0),
    "maximum": lambda z: torch.maximum(z, torch.zeros_like(z)),
    "one_at_zero": lambda z: torch.where(z == 0, 1, z.relu()),
    "nan_becomes_zero": lambda z: torch.where(z > 0, z, torch.zeros_like(z)),
    "nan_to_num": lambda z: torch.nan_to_num(z.relu(), posinf=torch.inf, neginf=-torch.inf),
}


@pytest.mark.parametrize("name", AT_ZERO_AND_NAN)
def test_an_activation_that_differs_at_zero_or_nan_alone_is_computed_as_it_is(name):
    # A padded row is zero behind a layer without a bias.
    twin = Activated(Calls(AT_ZERO_AND_NAN[name]))
    nn.init.zeros_(twin.fc1.bias)
    model, x = fuse(copy.deepcopy(twin)).model, X.clone()
    x[1], x[2, 3] = 0, torch.nan
    x.requires_grad_()
    actual, expected = model(x), twin(x)
    torch.testing.assert_close(actual, expected, equal_nan=True)
    gradients = [torch.autograd.grad(y[:2].sum(), x)[0][:2] for y in (actual, expected)]
    torch.testing.assert_close(*gradients)


CLOSE_TO_ZERO = {
    "threshold": nn.Threshold(0.05, 0.0),
    "fatrelu": Calls(lambda z: functional.threshold(z, 0.01, 0.0)),
    "masked": Calls(lambda z: z * (z > 1e-4)),
    "shrunk": nn.Sequential(nn.ReLU(), nn.Hardshrink(0.09)),
}


@pytest.mark.parametrize("name", CLOSE_TO_ZERO)
def test_an_activation_that_differs_close_to_zero_alone_is_computed_as_it_is(name):
    twin = Activated(CLOSE_TO_ZERO[name])
    nn.init.zeros_(twin.fc1.bias)
    model = fuse(copy.deepcopy(twin)).model
    for scale in (1e-1, 1e-3, 1e-5):
        expect_twins(model, twin, X * scale)


def test_a_gate_clipped_far_out_is_clipped():
    twin = LlamaStyle()
    twin.act_fn = Calls(lambda z: functional.silu(z).clamp(max=65504))
    expect_twins(fuse(copy.deepcopy(twin)).model, twin, X * 1e6)


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
    expect_twins(model, twin, X)


def test_a_quantised_layer_put_in_later_is_called():
    twin = Stack(sequential()).eval()
    model = fuse(copy.deepcopy(twin)).model
    for each in (twin, model):
        layer = each.blocks[0][0]

        class Rounded(nn.Linear):
            def forward(self, x):
                return functional.linear(x, self.weight.round(decimals=1), self.bias)

        layer.__class__ = Rounded
    expect_twins(model, twin, X)


@pytest.mark.parametrize("shape", [(1,), (1, 20), (7,)], ids=str)
@pytest.mark.parametrize("mode", ["training", "inference"])
def test_a_bias_of_another_shape_is_the_layer_s_own_affair(mode, shape):
    for module, name in ((LlamaStyle(bias=True).eval(), "gate_proj"), (GptStyle().eval(), "fc")):
        twin = copy.deepcopy(module)
        fuse(module, mode=mode)
        for each in (module, twin):
            getattr(each, name).bias = nn.Parameter(torch.full(shape, 0.5))
        for grad in (True, False):
            with torch.set_grad_enabled(grad):
                if shape == (7,):
                    with pytest.raises(RuntimeError, match="expanded size"):
                        module(torch.randn(3, 12))
                else:
                    x = torch.randn(3, 12)
                    expect_close(module(x), twin(x))


@pytest.mark.parametrize("mode", ["training", "inference"])
@pytest.mark.parametrize(
    ("make", "layer", "part"),
    [
        *((GptStyle, "fc", "weight"), (GptStyle, "proj", "bias"), (lambda: LlamaStyle(bias=True), "up_proj", "weight")),
        *((lambda: Merged(bias=True), "down_proj", "bias"), (Merged, "down_proj", "weight")),
    ],
)
def test_a_layer_of_another_dtype_is_its_own_affair_under_autocast(make, layer, part, mode):
    module = make().eval()
    twin = copy.deepcopy(module)
    fuse(module, mode=mode)
    told = []
    for each in (module, twin):
        changed = each.get_submodule(layer)
        setattr(changed, part, nn.Parameter(getattr(changed, part).detach().double()))
        with torch.autocast("cpu", torch.bfloat16), pytest.raises(Exception, match="dtype") as raised:
            each(torch.randn(3, 12))
        told.append((type(raised.value), str(raised.value)))
    assert told[0] == told[1]
