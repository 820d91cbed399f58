"""Level 2 by cuBLASLt: PyTorch's own operator with our arguments; on a CPU it computes the same but for GELU's form."""

import pytest
import torch

from fused_mlp.linear.cublaslt import launch_linear_cublaslt
from fused_mlp.mlp.cublaslt import launch_mlp_cublaslt
from tests.kernels.cases import EVERY_OPERATOR, OPERATIONS

LINEAR, MLP, _ = OPERATIONS


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize(
    ("operation", "launch"), [(LINEAR, launch_linear_cublaslt), (MLP, launch_mlp_cublaslt)], ids=["linear", "mlp"]
)
def test_it_is_within_its_bound(operation, launch, dtype, bias):
    case = operation.case(
        rows=17, dim=33, hidden=70, dtype=dtype, activation="relu", bias=bias, roundings=EVERY_OPERATOR
    )
    y = launch(*case.arguments, activation="relu")
    assert y.dtype == dtype
    assert ((y.double() - case.expected).abs() <= case.bound).all()


@pytest.mark.parametrize(("activation", "use_gelu"), [("relu", False), ("gelu_tanh", True)])
def test_one_operator_with_the_activation_is_called(monkeypatch, activation, use_gelu):
    asked = []
    real = torch._addmm_activation
    monkeypatch.setattr(torch, "_addmm_activation", lambda *a, **k: asked.append(k) or real(*a, **k))
    launch_linear_cublaslt(torch.randn(2, 3, 8), torch.randn(5, 8), torch.randn(5), activation=activation)
    assert asked == [{"use_gelu": use_gelu}]


def test_leading_dimensions_are_kept():
    assert launch_linear_cublaslt(torch.randn(2, 3, 8), torch.randn(5, 8), None, activation="relu").shape == (2, 3, 5)


def test_no_rows_give_no_rows_and_an_inner_dimension_of_nothing_the_activated_bias():
    b = torch.randn(5)
    assert launch_linear_cublaslt(torch.randn(0, 8), torch.randn(5, 8), b, activation="relu").shape == (0, 5)
    y = launch_linear_cublaslt(torch.randn(3, 0), torch.randn(5, 0), b, activation="relu")
    torch.testing.assert_close(y, b.relu().expand(3, 5))
