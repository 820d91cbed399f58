"""Weights made under torch.inference_mode, as by a loader that runs in it: what torch makes of them is what counts."""

import copy

import pytest
import torch
from torch import nn

import fused_mlp
from tests.kernels.models.blocks import GptStyle, LlamaStyle, Merged

pytestmark = pytest.mark.usefixtures("cpu_kernels")

X = torch.randn(6, 12, generator=torch.Generator().manual_seed(3))
BLOCKS = {
    "llama": LlamaStyle,
    "llama_bias": lambda: LlamaStyle(bias=True),
    "merged": Merged,
    "merged_bias": lambda: Merged(bias=True),
    "gpt": GptStyle,
}


def with_inference_weights(model):
    with torch.inference_mode():
        for layer in model.modules():
            if isinstance(layer, nn.Linear):
                layer.weight = nn.Parameter(layer.weight.clone())
    return model


def outcome(model, x):
    """Return what the model gives and whether it records a gradient, or what it raises."""
    try:
        y = model(x)
    except RuntimeError as error:
        return str(error)
    return y.detach(), y.requires_grad


@pytest.mark.parametrize("mode", ["training", "inference"])
@pytest.mark.parametrize("needs_gradient", [False, True], ids=["x", "x with a gradient"])
@pytest.mark.parametrize("name", BLOCKS)
def test_weights_made_under_inference_mode_give_what_the_block_s_own_code_gives(name, needs_gradient, mode):
    torch.manual_seed(0)
    twin = BLOCKS[name]().train(mode == "training")
    model = copy.deepcopy(twin)
    assert fused_mlp.fuse(model, mode=mode).replaced
    x = X.clone().requires_grad_(needs_gradient)
    actual, expected = (outcome(with_inference_weights(each), x) for each in (model, twin))
    if isinstance(expected, str):
        assert actual == expected
    else:
        assert actual[1] == expected[1]
        torch.testing.assert_close(actual[0], expected[0])
    with torch.no_grad():
        torch.testing.assert_close(model(x), twin(x))
