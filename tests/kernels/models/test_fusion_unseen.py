"""What no graph shows: what a block's code asks of its arguments, of torch's modes, of values around it."""

import copy
import random
import types

import pytest
import torch
from torch import nn
from torch.nn import functional

from fused_mlp import fuse
from tests.kernels.models.blocks import GptStyle, LlamaStyle, expect_close

pytestmark = pytest.mark.usefixtures("cpu_kernels")

X = torch.randn(6, 12, generator=torch.Generator().manual_seed(3))
SETTINGS = {"scale": 2.0}
CALLS = []


class Plain(GptStyle):
    def forward(self, x):
        return self.proj(functional.relu(self.fc(x)))


class AsksWhetherTensor(Plain):
    def forward(self, x):
        return super().forward(x) if isinstance(x, torch.Tensor) else functional.silu(self.fc(x))


class AsksForType(Plain):
    def forward(self, x):
        return super().forward(x) * (2 if type(x) is torch.Tensor else 3)


class AsksForAttribute(Plain):
    def forward(self, x):
        return super().forward(x) * (3 if hasattr(x, "tag") else 2)


class AsksForDtype(Plain):
    def forward(self, x):
        if x.dtype != self.fc.weight.dtype:
            x = x.to(self.fc.weight.dtype) * 3
        return super().forward(x)


class AsksForRank(Plain):
    def forward(self, x):
        try:
            _, _ = x.shape
        except ValueError:
            return x
        return super().forward(x)


class TakesNone(Plain):
    def forward(self, x, mask):
        y = super().forward(x)
        return y if mask is None else y * mask


class TakesAChoice(Plain):
    def forward(self, x, choice):
        y = super().forward(x)
        return y * 2 if choice is functional else y


class WithoutGradients(Plain):
    def forward(self, x):
        with torch.no_grad():
            z = functional.relu(self.fc(x))
        return self.proj(z)


class WithoutAutocast(Plain):
    def forward(self, x):
        with torch.autocast("cpu", enabled=False):
            return super().forward(x.float())


class AsksForAutocast(Plain):
    def forward(self, x):
        return super().forward(x) * (2 if torch.is_autocast_enabled("cpu") else 1)


class AsksForInference(Plain):
    def forward(self, x):
        return super().forward(x) * (2 if torch.is_inference_mode_enabled() else 1)


class StraightThrough(torch.autograd.Function):
    @staticmethod
    def forward(_, z):
        return z.relu()

    @staticmethod
    def backward(_, grad):
        return grad


class OwnGradient(Plain):
    def forward(self, x):
        return self.proj(StraightThrough.apply(self.fc(x)))


class WritesIntoItsInput(Plain):
    def forward(self, x):
        x = x * 1
        z = self.fc(x)
        x.add_(1)
        return self.proj(functional.relu(z)) + x


class WritesBetweenGateAndUp(LlamaStyle):
    def forward(self, x):
        x = x * 1
        gate = functional.silu(self.gate_proj(x))
        x += 1
        return self.down_proj(gate * self.up_proj(x))


class WritesIntoTheCallers(Plain):
    def forward(self, x):
        residual = x
        x += 1
        return residual + super().forward(x)


class ClipsItsWeights(Plain):
    def forward(self, x):
        self.fc.weight.data.clamp_(-0.1, 0.1)
        return super().forward(x)


class Buffered(Plain):
    def __init__(self):
        super().__init__()
        self.register_buffer("scale", torch.tensor([2.0]))

    def forward(self, x):
        return super().forward(x) * self.scale.item()


class Listed(Buffered):
    def forward(self, x):
        return Plain.forward(self, x) * self.scale.tolist()[0]


class Branched(Buffered):
    def forward(self, x):
        return Plain.forward(self, x) if self.scale > 3 else x


class Configured(Plain):
    def __init__(self):
        super().__init__()
        self.config, self.scales = types.SimpleNamespace(scale=2.0), [2.0]

    def forward(self, x):
        return super().forward(x) * self.config.scale * self.scales[0]


class OfItsModule(Plain):
    def forward(self, x):
        return super().forward(x) * SETTINGS["scale"]


class OfItsClass(Plain):
    scale = 2.0

    def forward(self, x):
        return super().forward(x) * self.scale


class ChildsMode(Plain):
    def forward(self, x):
        return super().forward(x) * (3 if self.dropout.training else 1)


class Tied(Plain):
    def __init__(self):
        super().__init__()
        self.first = self.second = nn.Parameter(torch.full((12,), 2.0))

    def forward(self, x):
        return super().forward(x) * self.second


def counted(module):
    module.n_calls = getattr(module, "n_calls", 0) + 1
    return module.n_calls


class CountsElsewhere(Plain):
    def forward(self, x):
        return super().forward(x) * counted(self)


class CallsInAList(Plain):
    def forward(self, x):
        CALLS.append(1)
        return super().forward(x)


class LeavesLayersOut(Plain):
    def forward(self, x):
        return x if random.random() < 1e-9 else super().forward(x)


def called(block):
    return block(X.clone())


def under_autocast(block):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return block(X.clone())


def under_inference_mode(block):
    with torch.inference_mode():
        return block(X.clone())


def tagged(block):
    x = X.clone()
    x.tag = 1
    return block(x)


def the_callers(block):
    x = X.clone()
    block(x)
    return x


def with_dropout_in_the_other_mode(block):
    block.dropout.train(not block.training)
    return block(X)


CASES = [
    (AsksWhetherTensor, called),
    (AsksForType, called),
    (AsksForAttribute, tagged),
    (AsksForDtype, lambda block: block(X.double())),
    (AsksForRank, lambda block: block(X[None])),
    (TakesNone, lambda block: block(X, None)),
    (TakesAChoice, lambda block: block(X, functional)),
    (WithoutGradients, called),
    (WithoutAutocast, under_autocast),
    (AsksForAutocast, under_autocast),
    (AsksForInference, under_inference_mode),
    (OwnGradient, called),
    (WritesIntoItsInput, called),
    (WritesBetweenGateAndUp, called),
    (WritesIntoTheCallers, called),
    (WritesIntoTheCallers, the_callers),
    (ClipsItsWeights, called),
    (ChildsMode, with_dropout_in_the_other_mode),
    (CountsElsewhere, called),
]


def outcome(block, call):
    try:
        y = call(block)
        trained = [parameter for parameter in block.parameters() if parameter.requires_grad]
        return [
            y,
            *(torch.autograd.grad(y.float().square().sum(), trained, allow_unused=True) if y.requires_grad else ()),
        ]
    except RuntimeError as error:
        return str(error)


def expect_same_outcome(block, twin, call):
    for training in (False, True):
        block.train(training)
        twin.train(training)
        for grad in (True, False):
            with torch.set_grad_enabled(grad):
                actual, expected = outcome(block, call), outcome(twin, call)
            assert isinstance(actual, str) == isinstance(expected, str), (actual, expected)
            if not isinstance(actual, str):
                expect_close(actual, expected)


@pytest.mark.parametrize("mode", ["training", "inference"])
@pytest.mark.parametrize(("make", "call"), CASES, ids=lambda value: value.__name__)
def test_a_fused_block_does_what_its_code_says(make, call, mode):
    twin = make()
    model = copy.deepcopy(twin)
    fuse(model, mode=mode)
    expect_same_outcome(model, twin, call)
