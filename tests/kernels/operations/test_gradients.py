"""Gradients: by formula in float64, through the ops against the reference, and twice."""

from contextlib import contextmanager
from functools import partial

import pytest
import torch

import fused_mlp
from fused_mlp import InvalidArgument, Recompute
from tests.kernels.operations.formulas import SHAPES, in_float64

# Two products' rounding to the dtype forward, one backward, and the activation's: eight half units, normwise.
NORM_TOLERANCE = {dtype: 8 * torch.finfo(dtype).eps for dtype in (torch.float32, torch.bfloat16, torch.float16)}


def leaves(case, dtype):
    return [None if a is None else a.to(dtype).requires_grad_() for a in case.arguments]


def relative_error(actual, expected):
    return ((actual.double() - expected).norm() / expected.norm().clamp_min(1e-30)).item()


# What each operation keeps beside its inputs, in multiples of rows × hidden elements.
KEPT = {
    "linear": {"all": 0, "activation": 1, "nothing": 1},
    "mlp": {"all": 0, "activation": 1, "nothing": 2},
    "gated_mlp": {"all": 0, "activation": 2, "nothing": 3},
}
POLICIES = list(Recompute)


# ReLU has no second derivative to compare at its kink, and a zero one elsewhere.
@pytest.mark.sample
@pytest.mark.parametrize("recompute", POLICIES)
def test_the_formulas_pass_gradcheck_and_gradgradcheck_under_every_policy(operation, activation, recompute):
    torch.manual_seed(0)
    inputs = [torch.randn(*s, dtype=torch.float64, requires_grad=True) for s in SHAPES[operation.name]]
    function = in_float64(operation.name, str(activation), str(recompute))
    assert torch.autograd.gradcheck(function, inputs)
    assert torch.autograd.gradgradcheck(function, inputs)


@pytest.mark.parametrize("recompute", POLICIES)
def test_linear_without_activation_passes_gradcheck_and_keeps_nothing(recompute):
    inputs = [torch.randn(*s, dtype=torch.float64, requires_grad=True) for s in SHAPES["linear"]]
    assert torch.autograd.gradcheck(in_float64("linear", "none", str(recompute)), inputs)
    x, w, b = (t.float().detach().requires_grad_() for t in inputs)
    with saved_shapes() as shapes:
        fused_mlp.linear(x, w, b, recompute=recompute)
    assert sorted(shapes) == sorted([tuple(x.shape), tuple(w.shape)])


@contextmanager
def saved_shapes():
    """The shapes of all tensors that autograd saves meanwhile, in order."""
    shapes = []

    def note(tensor):
        shapes.append(tuple(tensor.shape))
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        yield shapes


@pytest.mark.usefixtures("cpu_kernels")
@pytest.mark.parametrize("recompute", POLICIES)
def test_a_policy_keeps_what_it_says_and_no_more(operation, activation, recompute):
    case = operation.case(rows=6, dim=5, hidden=11, dtype=torch.bfloat16, activation=activation)
    inputs = leaves(case, torch.bfloat16)
    with saved_shapes() as shapes:
        operation.function(*inputs, activation=activation, recompute=recompute)
    assert shapes.count((6, 11)) == KEPT[operation.name][recompute]
    others = [shape for shape in shapes if shape != (6, 11)]
    assert len(others) <= len(inputs)
    assert all(shape in [tuple(t.shape) for t in inputs] for shape in others)


@pytest.mark.usefixtures("cpu_kernels")
def test_unless_said_otherwise_half_of_what_eager_keeps_is_kept(operation):
    # The eager layers keep z and act(z), the gated ones also both factors of the product.
    eager = {"linear": 1, "mlp": 2, "gated_mlp": 4}[operation.name]
    case = operation.case(rows=6, dim=5, hidden=11, dtype=torch.float32, activation="gelu")
    with saved_shapes() as ours:
        operation.function(*leaves(case, torch.float32), activation="gelu")
    with saved_shapes() as theirs:
        operation.oracle(*leaves(case, torch.float32), activation="gelu")
    assert theirs.count((6, 11)) == eager
    assert ours.count((6, 11)) == max(1, eager // 2)


@pytest.mark.usefixtures("cpu_kernels")
def test_an_unknown_policy_is_refused_by_name(operation):
    case = operation.case(rows=2, dim=3, hidden=4, dtype=torch.float32, activation="gelu")
    with pytest.raises(InvalidArgument, match="recompute is 'some'; expected one of all, activation, nothing"):
        operation.function(*case.arguments, activation="gelu", recompute="some")


@pytest.mark.parametrize(("implementation", "message"), [("epilogue", "'all' with"), ("pure", "None with")])
def test_a_policy_that_an_implementation_cannot_follow_is_refused(operation, implementation, message):
    case = operation.case(rows=2, dim=3, hidden=4, dtype=torch.float32, activation="gelu")
    with pytest.raises(InvalidArgument, match=f"recompute is 'nothing'; expected {message}"):
        operation.function(*case.arguments, activation="gelu", recompute="nothing", implementation=implementation)


def test_the_reference_passes_gradcheck(operation, activation):
    case = operation.case(rows=3, dim=5, hidden=4, dtype=torch.float32, activation=activation)
    inputs = leaves(case, torch.float64)
    assert torch.autograd.gradcheck(lambda *a: operation.oracle(*a, activation=activation), inputs)


@pytest.mark.sample
@pytest.mark.usefixtures("cpu_kernels")
@pytest.mark.parametrize("recompute", POLICIES)
@pytest.mark.parametrize(("rows", "dim", "hidden"), [(17, 33, 20), (200, 13, 70)], ids=["plain", "repacked"])
def test_gradients_through_the_op_are_the_reference_s(operation, activation, dtype, recompute, rows, dim, hidden):
    case = operation.case(rows=rows, dim=dim, hidden=hidden, dtype=dtype, activation=activation)
    narrow, wide = leaves(case, dtype), leaves(case, torch.float64)
    y = operation.function(*narrow, activation=activation, recompute=recompute)
    expected_y = operation.oracle(*wide, activation=activation)
    grad = torch.randn(y.shape).to(dtype)
    actual = torch.autograd.grad(y, narrow, grad)
    expected = torch.autograd.grad(expected_y, wide, grad.double())
    for a, e in zip(actual, expected, strict=True):
        assert a.dtype == dtype
        assert relative_error(a, e) <= NORM_TOLERANCE[dtype]


@pytest.mark.usefixtures("cpu_kernels")
@pytest.mark.parametrize("recompute", POLICIES)
def test_second_derivatives_are_the_reference_s(operation, activation, recompute):
    case = operation.case(rows=4, dim=6, hidden=5, dtype=torch.float32, activation=activation)

    def second(function, inputs):
        first = torch.autograd.grad(function(*inputs, activation=activation).square().sum(), inputs, create_graph=True)
        return torch.autograd.grad(sum(g.square().sum() for g in first), inputs)

    actual = second(partial(operation.function, recompute=recompute), leaves(case, torch.float32))
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


@pytest.mark.usefixtures("cpu_kernels")
@pytest.mark.parametrize("recompute", POLICIES)
def test_no_output_features_leave_zero_gradients(recompute):
    inputs = [torch.randn(*s, requires_grad=True) for s in ((3, 4), (5, 4), (5,), (0, 5))]
    y = fused_mlp.mlp(*inputs, None, activation="gelu", recompute=recompute)
    assert y.shape == (3, 0)
    for grad in torch.autograd.grad(y.sum(), inputs):
        assert (grad == 0).all()
