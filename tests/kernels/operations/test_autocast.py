"""Under autocast the fused operations do what their eager twins do."""

import pytest
import torch
from torch import nn

import fused_mlp
from fused_mlp import FusedGatedMLP, FusedLinear, FusedMLP, fuse

pytestmark = pytest.mark.usefixtures("cpu_kernels")

LOW = (torch.bfloat16, torch.float16)
TOLERANCE = {dtype: 8 * torch.finfo(dtype).eps for dtype in LOW}


def autocast(dtype=torch.bfloat16):
    return torch.autocast("cpu", dtype=dtype)


def relative_error(actual, expected):
    return ((actual.double() - expected.double()).norm() / expected.double().norm()).item()


def sequential():
    return nn.Sequential(nn.Linear(24, 40), nn.GELU(), nn.Linear(40, 24))


@pytest.mark.parametrize("dtype", LOW, ids=str)
@pytest.mark.parametrize("x_dtype", [torch.float32, torch.bfloat16], ids=str)
def test_result_and_gradients_have_the_dtypes_and_numbers_of_the_eager_twin(dtype, x_dtype):
    torch.manual_seed(0)
    twin = sequential()
    fused = fuse(sequential()).model
    fused.load_state_dict(twin.state_dict())
    x = torch.randn(7, 24, dtype=x_dtype)
    results = []
    for model in (fused, twin):
        with autocast(dtype):
            y = model(x)
        results.append([y, *torch.autograd.grad(y.float().square().sum(), list(model.parameters()))])
    for actual, expected in zip(*results, strict=True):
        assert actual.dtype == expected.dtype
        assert relative_error(actual, expected) <= TOLERANCE[dtype]


def test_every_operation_computes_in_the_dtype_of_autocast(operation, activation):
    case = operation.case(rows=5, dim=17, hidden=9, dtype=torch.bfloat16, activation=activation)
    wide = [None if a is None else a.float() for a in case.arguments]
    with autocast():
        actual = operation.function(*wide, activation=activation)
    assert torch.equal(actual, operation.function(*case.arguments, activation=activation))


def test_switched_off_inside_it_is_not_followed():
    module, x = FusedLinear(6, 10, activation="relu"), torch.randn(4, 6)
    with autocast(), torch.autocast("cpu", enabled=False):
        assert module(x).dtype == torch.float32


@pytest.mark.parametrize("make", [FusedMLP, FusedGatedMLP], ids=["mlp", "gated_mlp"])
def test_prepared_weights_are_not_used_and_not_lost(make):
    module, x = make(12, 20), torch.randn(4, 12)
    with torch.no_grad(), autocast():
        expected = module(x)
    module.prepare()
    with torch.no_grad(), autocast():
        assert torch.equal(module(x), expected)
    assert module.is_prepared


def test_it_is_followed_under_compile():
    torch._dynamo.reset()
    module, x = FusedMLP(12, 20), torch.randn(4, 12)

    def run(x):
        with autocast():
            return module(x)

    compiled = torch.compile(run, fullgraph=True, backend="aot_eager")
    actual = compiled(x)
    assert actual.dtype == torch.bfloat16
    assert torch.equal(actual, run(x))
    actual.float().sum().backward()
    assert all(p.grad is not None and p.grad.dtype == torch.float32 for p in module.parameters())


def test_what_is_wrong_is_still_named():
    x, w1, w2 = torch.randn(4, 6).bfloat16(), torch.randn(8, 6), torch.randn(6, 7)
    with autocast(), pytest.raises(fused_mlp.InvalidArgument, match=r"w2 is of shape \[6, 7\]; expected \[out, 8\]"):
        fused_mlp.mlp(x, w1, None, w2, None, activation="gelu")


def test_float64_is_refused_as_without():
    x, w = torch.randn(4, 6).double(), torch.randn(8, 6).double()
    with autocast(), pytest.raises(fused_mlp.InvalidArgument, match="x is float64"):
        fused_mlp.linear(x, w)
