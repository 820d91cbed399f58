"""The short way past torch.ops computes what the long way does, and leaves to it whatever it was not made for."""

from contextlib import nullcontext

import pytest
import torch
from torch import nn
from torch.nn.utils import parametrize
from torch.overrides import TorchFunctionMode
from torch.utils.checkpoint import checkpoint

import fused_mlp
from fused_mlp import FusedGatedMLP, FusedLinear, FusedMLP
from fused_mlp.native import build, fast_calls

pytestmark = [pytest.mark.usefixtures("cpu_kernels"), pytest.mark.sample]

MODULES = {
    "linear": lambda: FusedLinear(12, 12, activation="gelu"),
    "mlp": lambda: FusedMLP(12, 20),
    "gated_mlp": lambda: FusedGatedMLP(12, 20),
}
WAYS = ("short", "long")


@pytest.fixture(params=WAYS)
def way(request, monkeypatch):
    """Both ways to the ops: the long one as on a machine without Python's headers."""
    if request.param == "long":
        for name in ("linear", "mlp", "gated_mlp", "call_module", "pack"):
            monkeypatch.setattr(fast_calls, name, fast_calls._not_compiled)
    elif (reason := build.why_long_way()) is not None:
        pytest.skip(reason)
    return request.param


@pytest.fixture
def compiled():
    if (reason := build.why_long_way()) is not None:
        pytest.skip(reason)


@pytest.fixture(params=MODULES)
def module(request):
    torch.manual_seed(0)
    return MODULES[request.param]()


def first_layer(module):
    return module if isinstance(module, FusedLinear) else next(module.children())


def ops_called(call):
    """Names of the ops of this package that `call` reaches, outermost first."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profiled:
        call()
    names = [event.name for event in profiled.events()]
    return [name.removeprefix("fused_mlp::") for name in names if name.startswith("fused_mlp::")]


@pytest.mark.usefixtures("compiled")
def test_both_ways_give_the_same_numbers_and_gradients(operation, activation):
    case = operation.case(rows=5, dim=12, hidden=20, dtype=torch.float32, activation=activation)
    leaves = [a.clone().requires_grad_() for a in case.arguments]
    short = getattr(fast_calls, operation.name)(*leaves, str(activation), "activation")
    long = getattr(torch.ops.fused_mlp, operation.name)(*leaves, str(activation))
    assert torch.equal(short, long)
    for a, b in zip(torch.autograd.grad(short.sum(), leaves), torch.autograd.grad(long.sum(), leaves), strict=True):
        assert torch.equal(a, b)


class Mode(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


class Wrapped(torch.Tensor):
    pass


@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize(
    ("context", "x"),
    [
        (nullcontext(), torch.randn(4, 12).as_subclass(Wrapped)),
        (nullcontext(), [[1.0] * 12]),
        (nullcontext(), torch.randn(4, 11)),
        (nullcontext(), torch.randn(4, 12).double()),
        (Mode(), torch.randn(4, 12)),
        (torch._subclasses.FakeTensorMode(), torch.randn(4, 12)),
    ],
    ids=["subclass", "list", "wrong shape", "wrong dtype", "function mode", "dispatch mode"],
)
def test_what_it_was_not_made_for_is_left_to_the_long_way(module, context, x):
    with context:
        assert fast_calls.call_module(module._operation, module, x) is NotImplemented


@pytest.mark.usefixtures("compiled")
def test_wrong_arguments_of_any_kind_are_left_to_the_long_way():
    x, w = torch.randn(2, 3), torch.randn(4, 3)
    for arguments in [
        (),
        (x,),
        (x, w, None),
        (x, w, 3, "gelu", "all"),
        (x, w, None, b"gelu", "all"),
        (x, w, None, "gelu"),
    ]:
        assert fast_calls.linear(*arguments) is NotImplemented
    for arguments in [(), ("linear", x, x), ("mlp", FusedLinear(3, 4), x), ("sum", FusedLinear(3, 4), x)]:
        assert fast_calls.call_module(*arguments) is NotImplemented
    for arguments in [(), ((x,), (x, x), False), ((x,), (3,), False), ([x], [x], False)]:
        assert fast_calls.pack(*arguments) is NotImplemented


@pytest.mark.parametrize("implementation", ["cpp", "onednn"])
def test_a_prepared_module_uses_its_pack_where_and_only_where_it_may(way, module, implementation):
    x, plain = torch.randn(4, 12), module._operation.value
    module.prepare(implementation=implementation)
    packed = f"{plain}_packed" if implementation == "cpp" else f"{plain}_onednn"
    with torch.inference_mode():
        # The long way calls oneDNN's own ops, one for each product.
        expected = [] if (way, implementation) == ("long", "onednn") else [packed]
        assert ops_called(lambda: module(x)) == expected
    with torch.no_grad():
        with torch.autocast("cpu", dtype=torch.bfloat16):
            assert plain in ops_called(lambda: module(x))
        assert ops_called(lambda: module(x)) == expected
    # Frozen weights cannot be about to change; others may, unseen, once a gradient of theirs is recorded.
    module.requires_grad_(requires_grad=False)
    assert plain in ops_called(lambda: module(x))
    assert module.is_prepared
    module.requires_grad_()
    module(x)
    assert not module.is_prepared


def in_place(module):
    first_layer(module).weight.mul_(2)


def replaced_parameter(module):
    layer = first_layer(module)
    layer.weight = nn.Parameter(2 * layer.weight)


def replaced_data(module):
    weight = first_layer(module).weight
    weight.data = 2 * weight.data


def strides_swapped(module):
    weight = first_layer(module).weight
    if weight.shape[0] == weight.shape[1]:
        weight.data = weight.data.t()
    else:
        weight.mul_(2)


def replaced_layer(module):
    if isinstance(module, FusedLinear):
        module._parameters["weight"] = nn.Parameter(2 * module.weight)
        return
    name, layer = next(module.named_children())
    other = nn.Linear(12, 20, bias=layer.bias is not None)
    setattr(module, name, other)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("implementation", ["cpp", "onednn"])
@pytest.mark.parametrize("change", [in_place, replaced_parameter, replaced_data, strides_swapped, replaced_layer])
def test_a_change_of_the_weights_is_followed_at_once(module, change, implementation):
    x = torch.randn(4, 12)
    module.prepare(implementation=implementation)
    with torch.no_grad():
        before = module(x)
        change(module)
        after = module(x)
        assert not module.is_prepared
        assert not torch.allclose(after, before)
        torch.testing.assert_close(after, module._compute(x, module._parameters_in_order()))


@pytest.mark.usefixtures("way")
def test_a_weight_replaced_by_an_inference_tensor_is_used(module):
    x = torch.randn(4, 12)
    module.prepare()
    with torch.inference_mode():
        layer = first_layer(module)
        layer.weight = nn.Parameter(2 * layer.weight)
        actual = module(x)
        torch.testing.assert_close(actual, module._compute(x, module._parameters_in_order()))


@pytest.mark.usefixtures("way")
def test_a_parametrized_weight_is_computed_at_each_call(module):
    class Doubled(nn.Module):
        def forward(self, weight):
            return 2 * weight

    x, layer = torch.randn(4, 12), first_layer(module)
    parametrize.register_parametrization(layer, "weight", Doubled())
    with torch.no_grad():
        expected = module(x)
        layer.parametrizations.weight.original.mul_(2)
        assert not torch.allclose(module(x), expected)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("use_reentrant", [False, True])
def test_a_checkpointed_module_trains(module, use_reentrant):
    x = torch.randn(4, 12, requires_grad=True)
    leaves = [x, *module.parameters()]
    checkpoint(module, x, use_reentrant=use_reentrant).square().sum().backward()
    expected = torch.autograd.grad(module(x).square().sum(), leaves)
    torch.testing.assert_close([leaf.grad for leaf in leaves], list(expected))


@pytest.mark.usefixtures("way")
def test_what_a_hook_raises_in_a_call_reaches_the_caller(module):
    def refuse(_):
        raise KeyError("not this one")

    with torch.autograd.graph.saved_tensors_hooks(refuse, lambda t: t), pytest.raises(KeyError, match="not this one"):
        module(torch.randn(4, 12))


@pytest.mark.usefixtures("way")
def test_a_wrong_input_is_named_under_autocast_too(module):
    with torch.autocast("cpu"), pytest.raises(fused_mlp.InvalidArgument, match=r"is of shape .*; expected \[out, 11\]"):
        module(torch.randn(2, 11))


def test_the_node_on_the_cpu_is_not_python_s(module):
    y = module(torch.randn(4, 12))
    assert not isinstance(y.grad_fn, torch.autograd.function.BackwardCFunction)


def test_many_gradients_at_once_are_those_one_by_one(module):
    y, parameters = module(torch.randn(2, 12)), list(module.parameters())
    units = torch.eye(y.numel()).reshape(y.numel(), *y.shape)
    together = torch.autograd.grad(y, parameters, units, is_grads_batched=True, retain_graph=True)
    for index, unit in enumerate(units):
        alone = torch.autograd.grad(y, parameters, unit, retain_graph=True)
        torch.testing.assert_close([g[index] for g in together], list(alone))
