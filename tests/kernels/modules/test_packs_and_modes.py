"""Packed weights where something else than numbers is computed: the plain op is called, and knows what to do."""

import warnings

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.autograd import forward_ad
from torch.fx.experimental.proxy_tensor import make_fx

from fused_mlp import FusedGatedMLP, FusedLinear, FusedMLP
from fused_mlp.modules import packable
from fused_mlp.native import fast_calls

pytestmark = pytest.mark.usefixtures("cpu_kernels")

MODULES = {
    "linear": lambda: FusedLinear(8, 8, activation="gelu"),
    "mlp": lambda: FusedMLP(8, 16),
    "gated_mlp": lambda: FusedGatedMLP(8, 16),
}


@pytest.fixture(params=["short", "long"], autouse=True)
def way(request, monkeypatch):
    if request.param == "long":
        monkeypatch.setattr(fast_calls, "call_module", fast_calls._not_compiled)


@pytest.fixture(params=MODULES)
def module(request):
    return MODULES[request.param]()


@pytest.fixture(params=["cpp", "onednn"], autouse=True)
def prepared(request, module):
    module.prepare(implementation=request.param)


@pytest.mark.filterwarnings("ignore:.torch.jit.* is deprecated:DeprecationWarning")  # torch's own
def test_no_tangent_of_x_is_dropped(module):
    x = torch.randn(3, 8)
    with torch.no_grad(), forward_ad.dual_level(), pytest.raises(Exception, match="no forward-mode derivative"):
        module(forward_ad.make_dual(x, torch.ones_like(x)))


@pytest.mark.filterwarnings("ignore:.torch.jit.* is deprecated:DeprecationWarning")  # torch's own
def test_no_tangent_of_a_parameter_is_dropped(module):
    for name, parameter in module.named_parameters():
        with torch.no_grad(), forward_ad.dual_level():
            dual = forward_ad.make_dual(parameter.detach(), torch.ones_like(parameter))
            with pytest.raises(Exception, match="no forward-mode derivative"):
                torch.func.functional_call(module, {name: dual}, torch.randn(3, 8))


def test_vmap_is_one_call_with_more_rows(module):
    x = torch.randn(4, 3, 8)
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("error")
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profiled:
            actual = torch.vmap(module)(x)
        torch.testing.assert_close(actual, module(x))
    names = [event.name for event in profiled.events()]
    assert not any("packed" in name or "pointwise" in name for name in names)
    assert module.is_prepared


@torch.no_grad()
def test_graphs_and_fake_tensors_hold_the_plain_op(module):
    graph = make_fx(module)(torch.randn(3, 8)).graph
    called = [str(node.target) for node in graph.nodes if node.op == "call_function"]
    assert called == [f"fused_mlp.{module._operation}.default"]
    with FakeTensorMode(allow_non_fake_inputs=True):
        assert module(torch.randn(3, 8)).shape == (3, 8)


@torch.no_grad()
def test_a_weight_cut_where_it_lies_is_computed_as_it_is_now(module):
    """With all values alike, as where training begins at zero, no sample of them tells."""
    last = [layer for layer in module.modules() if hasattr(layer, "weight")][-1]
    last.weight.fill_(0.5)
    module.prepare(implementation="onednn" if module.uses_onednn else "cpp")
    last.weight.data = last.weight.data[:5]
    if last.bias is not None:
        last.bias.data = last.bias.data[:5]
    assert not module.is_prepared
    assert module(torch.randn(3, 8)).shape == (3, 5)


@torch.no_grad()
def test_a_thread_may_end_the_packs_while_another_computes(module, monkeypatch):
    x = torch.randn(3, 8)
    expected = module(x)

    def ended_meanwhile():
        module.drop_packs()
        return True

    monkeypatch.setattr(packable, "may_use_packs", ended_meanwhile)
    torch.testing.assert_close(module(x), expected)
