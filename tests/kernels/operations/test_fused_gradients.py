"""Whole backward passes with the fused kernels, interpreted, against float64; and how compilers see them."""

from itertools import product

import pytest
import torch

pytest.importorskip("triton", reason="triton is not installed")

from fused_mlp.gated_mlp.fused_gradients import fused_gated_mlp_gradients
from fused_mlp.linear.fused_gradients import fused_linear_gradients
from fused_mlp.mlp.fused_gradients import fused_mlp_gradients
from tests.kernels.cases import padded_for_torch

# Of a GELU far below zero: 1 / (1 + inf) is the 0 that is meant.
pytestmark = [
    pytest.mark.sample,
    pytest.mark.filterwarnings("ignore:overflow encountered in exp2:RuntimeWarning"),
]

# ‖error‖ ÷ ‖gradient‖: a few roundings of z, the hidden activations and dz each, in the interpreter cut, not rounded.
TOLERANCE = {torch.float32: 2e-6, torch.bfloat16: 2e-2, torch.float16: 2.5e-3}
# Rows, dim, hidden.
SHAPES = [(1, 3, 1), (17, 30, 3), (70, 17, 130)]


def linear_kernel(dy, z, activation, with_bias):
    from fused_mlp.linear.triton_backward import launch_activation_gradient

    result = launch_activation_gradient(dy, z, activation=activation, with_hidden=False, with_bias=with_bias)
    return result.dz, result.db


def mlp_kernel(dy, w2, z, activation, with_hidden, with_bias):
    from fused_mlp.mlp.triton_backward import launch_hidden_gradients

    return launch_hidden_gradients(dy, w2, z, activation=activation, with_hidden=with_hidden, with_bias=with_bias)


def gated_kernel(dy, w_down, gate, up, activation, with_hidden):
    from fused_mlp.gated_mlp.triton_backward import launch_gated_gradients

    return launch_gated_gradients(dy, w_down, gate, up, activation=activation, with_hidden=with_hidden)


FUSED = {
    "linear": (fused_linear_gradients, linear_kernel, 3),
    "mlp": (fused_mlp_gradients, mlp_kernel, 4),
    "gated_mlp": (fused_gated_mlp_gradients, gated_kernel, 4),
}


def gradients_both_ways(operation, *, rows, dim, hidden, dtype, activation, bias=True):
    case = operation.case(rows=rows, dim=dim, hidden=hidden, dtype=dtype, activation=activation, bias=bias)
    wide = [None if a is None else a.double().requires_grad_() for a in case.arguments]
    out = operation.oracle(*wide, activation=activation)
    torch.manual_seed(rows)
    grad = padded_for_torch(torch.randn(out.shape).to(dtype))
    exact = torch.autograd.grad(out, [w for w in wide if w is not None], grad.double())
    fused, kernel, n_arguments = FUSED[operation.name]
    arguments = [None if a is None else padded_for_torch(a) for a in case.arguments[:n_arguments]]
    needed = tuple(a is not None for a in case.arguments)
    with torch.no_grad():
        actual = fused(grad, *arguments, activation=str(activation), needed=needed, kernel=kernel)
    return [a for a in actual if a is not None], exact


@pytest.mark.interpreter
@pytest.mark.parametrize(("rows", "dim", "hidden"), SHAPES)
def test_fused_gradients_agree_with_float64(operation, dtype, activation, rows, dim, hidden):
    sizes = {"rows": rows, "dim": dim, "hidden": hidden}
    actual, exact = gradients_both_ways(operation, dtype=dtype, activation=activation, **sizes)
    for mine, theirs in zip(actual, exact, strict=True):
        assert mine.shape == theirs.shape
        assert (mine.double() - theirs).norm() <= TOLERANCE[dtype] * theirs.norm()


# Of each argument, which others its gradient reads; z is given.
READS = {
    "linear": [{1}, {0}, set()],
    "mlp": [{1, 3}, {0, 3}, {3}, set(), set()],
    "gated_mlp": [{1, 2, 3}, {0, 3}, {0, 3}, set()],
}


@pytest.mark.interpreter
@pytest.mark.parametrize("leading", [(6,), (2, 3)], ids=["rows", "batches"])
def test_fused_gradients_read_nothing_of_what_is_frozen(operation, leading):
    case = operation.case(rows=6, dim=5, hidden=9, dtype=torch.float32, activation="silu")
    fused, kernel, n_arguments = FUSED[operation.name]
    x, *weights = case.arguments
    arguments = (x.reshape(*leading, 5), *weights)
    first = [t.reshape(*leading, 9) for t in hidden_values(operation, x, *weights)]
    grad = torch.randn_like(arguments[0] if operation.name != "linear" else first[0])
    for trained in product([True, False], repeat=len(arguments)):
        if not any(trained[:3]):
            continue
        exact = [a.double().requires_grad_(t) for a, t in zip(arguments, trained, strict=True)]
        expected = torch.autograd.grad(
            operation.oracle(*exact, activation="silu"), [e for e in exact if e.requires_grad], grad.double()
        )
        read = set().union(*(reads for reads, t in zip(READS[operation.name], trained, strict=True) if t))
        given = [a if place in read else None for place, a in enumerate(arguments[:n_arguments])]
        with torch.no_grad():
            actual = fused(grad, *given, *first, activation="silu", needed=trained, kernel=kernel)
        assert [a is not None for a in actual] == list(trained)
        for mine, theirs in zip([a for a in actual if a is not None], expected, strict=True):
            torch.testing.assert_close(mine.double(), theirs, rtol=1e-4, atol=1e-5)


def hidden_values(operation, x, w, *rest):
    """z of an operation, of a gated one gate and up."""
    if operation.name == "gated_mlp":
        return [x @ w.t(), x @ rest[0].t()]
    return [torch.nn.functional.linear(x, w, rest[0])]


@pytest.mark.interpreter
def test_a_missing_bias_has_no_gradient():
    from tests.kernels.cases import OPERATIONS

    mlp = next(operation for operation in OPERATIONS if operation.name == "mlp")
    sizes = {"rows": 5, "dim": 7, "hidden": 9}
    actual, exact = gradients_both_ways(mlp, dtype=torch.float32, activation="gelu", bias=False, **sizes)
    assert len(actual) == len(exact) == 3


@pytest.mark.parametrize("wanted", [True, False], ids=["wanted", "not-wanted"])
def test_a_compiler_sees_the_shapes_of_one_opaque_call(wanted):
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        dy, w2, z = torch.empty(5, 7), torch.empty(7, 9), torch.empty(5, 9)
        dz, hidden, db = torch.ops.fused_mlp.mlp_dz(dy, w2, z, "gelu", wanted, wanted)
        assert dz.shape == (5, 9)
        assert hidden.shape == ((5, 9) if wanted else (0,))
        assert db.shape == ((9,) if wanted else (0,))
        dz, db = torch.ops.fused_mlp.linear_dz(z, z, "gelu", wanted)
        assert (dz.shape, db.shape) == ((5, 9), (9,) if wanted else (0,))
        d_gate, d_up, hidden = torch.ops.fused_mlp.gated_mlp_d_hidden(dy, w2, z, z, "gelu", wanted)
        assert d_gate.shape == d_up.shape == (5, 9)
        assert hidden.shape == ((5, 9) if wanted else (0,))
