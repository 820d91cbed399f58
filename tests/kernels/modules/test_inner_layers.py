"""Inner layers whose call does more than multiply are refused; the fused call would read past what they do."""

import pytest
import torch
from torch import nn
from torch.nn.utils import parametrize, prune

from fused_mlp import FusedGatedMLP, FusedMLP, InvalidArgument
from fused_mlp.native import fast_calls

pytestmark = pytest.mark.usefixtures("cpu_kernels")

MODULES = {"mlp": lambda: FusedMLP(6, 10), "gated_mlp": lambda: FusedGatedMLP(6, 10)}


@pytest.fixture(params=MODULES)
def module(request):
    return MODULES[request.param]()


@pytest.fixture(params=["short", "long"])
def way(request, monkeypatch):
    if request.param == "long":
        monkeypatch.setattr(fast_calls, "call_module", fast_calls._not_compiled)


class Adapted(nn.Module):
    """As an adapter library wraps a layer: its parameters as its own, and more in its forward."""

    def __init__(self, base):
        super().__init__()
        self.base = base
        self.adapter = nn.Linear(base.in_features, base.out_features, bias=False)

    weight = property(lambda self: self.base.weight)
    bias = property(lambda self: self.base.bias)

    def forward(self, x):
        return self.base(x) + self.adapter(x)


class Doubled(nn.Linear):
    def forward(self, x):
        return 2 * super().forward(x)


def subclassed(module, name):
    old = module._modules[name]
    module._modules[name] = Doubled(old.in_features, old.out_features, bias=old.bias is not None)


def adapted(module, name):
    module._modules[name] = Adapted(module._modules[name])


def own_forward(module, name):
    module._modules[name].forward = torch.sin


CHANGES = {
    "forward hook": lambda module, name: module._modules[name].register_forward_hook(lambda *_: None),
    "pre-hook": lambda module, name: module._modules[name].register_forward_pre_hook(lambda *_: None),
    "backward hook": lambda module, name: module._modules[name].register_full_backward_hook(lambda *_: None),
    "backward pre-hook": lambda module, name: module._modules[name].register_full_backward_pre_hook(lambda *_: None),
    "pruned": lambda module, name: prune.random_unstructured(module._modules[name], "weight", 0.5),
    "subclass": subclassed,
    "adapter": adapted,
    "forward of the instance": own_forward,
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("place", [0, -1])
@pytest.mark.parametrize("is_prepared", [False, True])
@pytest.mark.usefixtures("way")
def test_a_layer_that_does_more_than_multiply_is_refused(module, change, place, is_prepared):
    if is_prepared:
        module.prepare(implementation="cpp")
    name = module.names[place]
    CHANGES[change](module, name)
    for may_use_packs in (False, True):
        with torch.set_grad_enabled(not may_use_packs), pytest.raises(InvalidArgument, match=f"layer '{name}' is a"):
            module(torch.randn(3, 6))


@pytest.mark.usefixtures("way")
def test_a_hook_that_was_removed_and_a_parametrized_layer_are_no_obstacle(module):
    module._modules[module.names[0]].register_forward_hook(lambda *_: None).remove()
    x = torch.randn(3, 6)
    before = module(x)
    parametrize.register_parametrization(module._modules[module.names[0]], "weight", nn.Identity())
    torch.testing.assert_close(module(x), before)


@pytest.mark.usefixtures("way")
def test_a_gated_layer_with_a_bias_is_refused_where_it_would_be_dropped():
    layers = [nn.Linear(6, 10, bias=False), nn.Linear(6, 10), nn.Linear(10, 6, bias=False)]
    with pytest.raises(InvalidArgument, match=r"layer 'up_proj' is an nn\.Linear with a bias"):
        FusedGatedMLP.from_linears(*layers, activation="silu")
    module = FusedGatedMLP(6, 10)
    module.down_proj = nn.Linear(10, 6)
    with pytest.raises(InvalidArgument, match=r"layer 'down_proj' is an nn\.Linear with a bias"):
        module(torch.randn(3, 6))


def test_names_of_layers_are_as_many_as_layers_and_differ():
    for names in (("a", "a"), ("a",), ("a", "b", "c"), "ab"):
        with pytest.raises(InvalidArgument, match="names is"):
            FusedMLP(6, 10, names=names)
    with pytest.raises(InvalidArgument, match="names is"):
        FusedGatedMLP(6, 10, names=("a", "b", "b"))


@pytest.mark.filterwarnings("ignore:.torch.jit.* is deprecated:DeprecationWarning")
def test_a_scripted_module_is_in_training_or_not_as_the_module_is(module):
    assert torch.jit.script(module).training
    x = torch.randn(3, 6)
    torch.testing.assert_close(torch.jit.freeze(torch.jit.script(module.eval()))(x), module(x))
