"""Gradients: by formula in float64, through the ops against the reference, and twice."""

import pytest
import torch

import fused_mlp
from fused_mlp import reference
from fused_mlp.gated_mlp.gradients import gated_mlp_gradients
from fused_mlp.linear.gradients import linear_gradients
from fused_mlp.mlp.gradients import mlp_gradients

# Two products' rounding to the dtype forward, one backward, and the activation's: eight half units, normwise.
NORM_TOLERANCE = {dtype: 8 * torch.finfo(dtype).eps for dtype in (torch.float32, torch.bfloat16, torch.float16)}


def leaves(case, dtype):
    return [None if a is None else a.to(dtype).requires_grad_() for a in case.arguments]


def relative_error(actual, expected):
    return ((actual.double() - expected).norm() / expected.norm().clamp_min(1e-30)).item()


@pytest.mark.parametrize("activation", ["none", *fused_mlp.Activation])
def test_the_formula_of_linear_is_the_gradient(activation):
    x, w, b, grad = (torch.randn(*s, dtype=torch.float64) for s in ((2, 3, 5), (4, 5), (4,), (2, 3, 4)))
    inputs = [t.requires_grad_() for t in (x, w, b)]
    y = reference.linear(*inputs, activation=None if activation == "none" else activation)
    expected = torch.autograd.grad(y, inputs, grad)
    actual = linear_gradients(grad, *inputs, activation=activation, needed=(True,) * 3)
    for a, e in zip(actual, expected, strict=True):
        torch.testing.assert_close(a, e)


def test_the_formula_of_mlp_is_the_gradient(activation):
    shapes = ((2, 3, 5), (7, 5), (7,), (4, 7), (4,))
    inputs = [torch.randn(*s, dtype=torch.float64, requires_grad=True) for s in shapes]
    grad = torch.randn(2, 3, 4, dtype=torch.float64)
    expected = torch.autograd.grad(reference.mlp(*inputs, activation=activation), inputs, grad)
    actual = mlp_gradients(grad, *inputs[:4], activation=activation, needed=(True,) * 5)
    for a, e in zip(actual, expected, strict=True):
        torch.testing.assert_close(a, e)


def test_the_formula_of_gated_mlp_is_the_gradient(activation):
    shapes = ((2, 3, 5), (7, 5), (7, 5), (4, 7))
    inputs = [torch.randn(*s, dtype=torch.float64, requires_grad=True) for s in shapes]
    grad = torch.randn(2, 3, 4, dtype=torch.float64)
    expected = torch.autograd.grad(reference.gated_mlp(*inputs, activation=activation), inputs, grad)
    actual = gated_mlp_gradients(grad, *inputs, activation=activation, needed=(True,) * 4)
    for a, e in zip(actual, expected, strict=True):
        torch.testing.assert_close(a, e)


def test_the_reference_passes_gradcheck(operation, activation):
    case = operation.case(rows=3, dim=5, hidden=4, dtype=torch.float32, activation=activation)
    inputs = leaves(case, torch.float64)
    assert torch.autograd.gradcheck(lambda *a: operation.oracle(*a, activation=activation), inputs)


@pytest.mark.usefixtures("cpu_kernels")
def test_gradients_through_the_op_are_the_reference_s(operation, activation, dtype):
    case = operation.case(rows=17, dim=33, hidden=20, dtype=dtype, activation=activation)
    narrow, wide = leaves(case, dtype), leaves(case, torch.float64)
    y = operation.function(*narrow, activation=activation)
    expected_y = operation.oracle(*wide, activation=activation)
    grad = torch.randn(y.shape).to(dtype)
    actual = torch.autograd.grad(y, narrow, grad)
    expected = torch.autograd.grad(expected_y, wide, grad.double())
    for a, e in zip(actual, expected, strict=True):
        assert a.dtype == dtype
        assert relative_error(a, e) <= NORM_TOLERANCE[dtype]


@pytest.mark.usefixtures("cpu_kernels")
def test_second_derivatives_are_the_reference_s(operation, activation):
    case = operation.case(rows=4, dim=6, hidden=5, dtype=torch.float32, activation=activation)

    def second(function, inputs):
        first = torch.autograd.grad(function(*inputs, activation=activation).square().sum(), inputs, create_graph=True)
        return torch.autograd.grad(sum(g.square().sum() for g in first), inputs)

    actual = second(operation.function, leaves(case, torch.float32))
    expected = second(operation.oracle, leaves(case, torch.float64))
    for a, e in zip(actual, expected, strict=True):
        assert relative_error(a, e) <= 1e-5


@pytest.mark.usefixtures("cpu_kernels")
def test_only_the_gradients_asked_for_are_computed(operation):
    case = operation.case(rows=4, dim=6, hidden=5, dtype=torch.float32, activation="gelu")
    for index, wanted in enumerate(case.arguments):
        inputs = [None if a is None else a.detach() for a in case.arguments]
        inputs[index] = wanted.clone().requires_grad_()
        operation.function(*inputs, activation="gelu").sum().backward()
        assert inputs[index].grad is not None
        assert all(a is None or a.grad is None for i, a in enumerate(inputs) if i != index)


@pytest.mark.usefixtures("cpu_kernels")
def test_no_graph_is_kept_where_no_gradient_is_wanted(operation):
    case = operation.case(rows=4, dim=6, hidden=5, dtype=torch.float32, activation="gelu")
    inputs = leaves(case, torch.float32)
    with torch.no_grad():
        assert not operation.function(*inputs, activation="gelu").requires_grad
    with torch.inference_mode():
        assert operation.function(*inputs, activation="gelu").is_inference()
