"""A wrong argument is refused with one error that names it, what it got and what it expected."""

import pytest
import torch

import fused_mlp
from fused_mlp import FusedMlpError, InvalidArgument

X, W1, W2 = torch.randn(4, 6), torch.randn(8, 6), torch.randn(6, 8)
B1, B2 = torch.randn(8), torch.randn(6)

WRONG_CALLS = {
    "w1 transposed": (
        lambda: fused_mlp.mlp(X, W2, B1, W2, B2, activation="gelu"),
        r"w1 is of shape \[6, 8\]; expected \[out, 6\]",
    ),
    "w2 too narrow": (
        lambda: fused_mlp.mlp(X, W1, B1, W2[:, :5], B2, activation="gelu"),
        r"w2 is of shape \[6, 5\]; expected \[out, 8\]",
    ),
    "w1 a vector": (
        lambda: fused_mlp.mlp(X, B1, None, W2, None, activation="gelu"),
        r"w1 is of shape \[8\]; expected \[out, 6\]",
    ),
    "b1 too long": (
        lambda: fused_mlp.mlp(X, W1, torch.randn(9), W2, B2, activation="gelu"),
        r"b1 is of shape \[9\]; expected \[8\], one for each row of w1",
    ),
    "b2 a matrix": (
        lambda: fused_mlp.mlp(X, W1, B1, W2, B2[None], activation="gelu"),
        r"b2 is of shape \[1, 6\]; expected \[6\]",
    ),
    "x a scalar": (lambda: fused_mlp.linear(torch.tensor(1.0), W1), r"x is of shape \[\]; expected \[\.\.\., feat"),
    "x sparse": (lambda: fused_mlp.linear(X.to_sparse(), W1), r"x is of layout sparse_coo; expected a dense tensor"),
    "x of oneDNN": (lambda: fused_mlp.linear(X.to_mkldnn(), W1), r"x is of layout _mkldnn; expected a dense tensor"),
    "w1 sparse": (
        lambda: fused_mlp.mlp(X, W1.to_sparse(), B1, W2, B2, activation="gelu"),
        r"w1 is of layout sparse_coo; expected a dense tensor",
    ),
    "b sparse": (lambda: fused_mlp.linear(X, W1, B1.to_sparse()), r"b is of layout sparse_coo; expected a dense"),
    "x nested": (
        lambda: fused_mlp.linear(torch.nested.nested_tensor([X, X[:2]], layout=torch.jagged), W1),
        r"x is a nested tensor; expected a dense tensor",
    ),
    "activation a list": (lambda: fused_mlp.linear(X, W1, activation=["relu"]), r"activation is \['relu'\]; expected"),
    "recompute a list": (lambda: fused_mlp.linear(X, W1, recompute=[]), r"recompute is \[\]; expected one of all"),
    "prepared for a list": (lambda: fused_mlp.FusedLinear(6, 8).prepare(implementation=[]), r"implementation is \[\]"),
    "prepared for -1 rows": (lambda: fused_mlp.FusedLinear(6, 8).prepare(rows=-1), r"rows is -1; expected a whole"),
    "prepared for no number": (lambda: fused_mlp.FusedLinear(6, 8).prepare(rows="8"), r"rows is '8'; expected a whole"),
    "choice of no number": (
        lambda: fused_mlp.choice_for("linear", rows=1.5, dim=6, hidden=8, device="cpu"),
        r"rows is 1.5; expected a whole number",
    ),
    "choice in float64": (
        lambda: fused_mlp.choice_for("mlp", rows=1, dim=6, hidden=8, device="cpu", dtype=torch.float64),
        r"dtype is torch.float64; expected one of torch.float32",
    ),
    "x a list": (lambda: fused_mlp.linear([[1.0] * 6], W1), r"x is a list; expected a tensor"),
    "w a list": (lambda: fused_mlp.linear(X, W1.tolist()), r"w is a list; expected a tensor"),
    "x of float64": (lambda: fused_mlp.linear(X.double(), W1.double()), r"x is float64; expected float32, bfloat16"),
    "x of integers": (lambda: fused_mlp.linear(X.long(), W1.long()), r"x is int64; expected float32, bfloat16"),
    "w in another dtype": (lambda: fused_mlp.linear(X, W1.bfloat16()), r"w is bfloat16; expected float32, as x"),
    "w on another device": (lambda: fused_mlp.linear(X, W1.to("meta")), r"w is on meta; expected cpu, as x"),
    "b in another dtype": (lambda: fused_mlp.linear(X, W1, B1.half()), r"b is float16; expected float32, as x"),
    "w_up of another height": (
        lambda: fused_mlp.gated_mlp(X, W1, W1[:7], W2, activation="silu"),
        r"w_up is of shape \[7, 6\]; expected \[8, 6\]",
    ),
    "w_down transposed": (
        lambda: fused_mlp.gated_mlp(X, W1, W1, W1, activation="silu"),
        r"w_down is of shape \[8, 6\]; expected \[out, 8\]",
    ),
    "an unknown activation": (
        lambda: fused_mlp.mlp(X, W1, B1, W2, B2, activation="swish"),
        r"activation is 'swish'; expected one of relu, gelu, gelu_tanh, silu, quick_gelu",
    ),
    "no activation in an mlp": (
        lambda: fused_mlp.mlp(X, W1, B1, W2, B2, activation=None),
        r"activation is None; expected one of relu",
    ),
}


@pytest.mark.usefixtures("cpu_kernels")
@pytest.mark.parametrize("name", WRONG_CALLS)
def test_a_wrong_argument_is_named_with_what_was_expected(name):
    call, message = WRONG_CALLS[name]
    with pytest.raises(InvalidArgument, match=message):
        call()


def test_a_right_call_needs_no_enum_member():
    assert fused_mlp.Activation.GELU == "gelu"


def test_an_invalid_argument_is_a_value_error_and_one_of_ours():
    assert issubclass(InvalidArgument, ValueError)
    assert issubclass(InvalidArgument, FusedMlpError)


@pytest.mark.usefixtures("cpu_kernels")
def test_a_direct_call_of_the_op_refuses_what_it_cannot_read():
    with pytest.raises(ValueError, match=r"w1 has shape \[6, 8\]; expected \[out, 6\]"):
        torch.ops.fused_mlp.mlp(X, W2, None, W2, None, "gelu")
    with pytest.raises(ValueError, match="activation is 'swish'"):
        torch.ops.fused_mlp.mlp(X, W1, None, W2, None, "swish")


def test_a_device_without_kernels_is_unavailable_by_name():
    assert "no kernel for xpu" in fused_mlp.why_unavailable("mlp", device="xpu")


def test_an_unknown_operation_is_refused():
    with pytest.raises(InvalidArgument, match="operation is 'conv'; expected one of linear, mlp, gated_mlp"):
        fused_mlp.why_unavailable("conv", device="cpu")


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU")
def test_a_machine_without_a_gpu_says_so():
    assert fused_mlp.why_unavailable("mlp", device="cuda") == "the CUDA kernels need an NVIDIA GPU and torch sees none"


@pytest.mark.parametrize("device", ["meta", "mps", "xpu"])
def test_no_choice_is_made_for_a_device_without_kernels(device):
    with pytest.raises(fused_mlp.Unavailable, match=f"no kernel for {device}"):
        fused_mlp.choice_for("mlp", rows=4, dim=8, hidden=16, device=device)


def test_a_choice_for_more_work_than_64_bits_count_is_made():
    assert fused_mlp.choice_for("mlp", rows=2**40, dim=2**40, hidden=16, device="cpu").shared_by is not None


def test_the_op_itself_refuses_a_sparse_tensor_by_its_layout():
    fused_mlp.build.ensure_built()
    with pytest.raises(fused_mlp.Unavailable, match=r"no kernel for tensors of layout torch\.sparse_coo"):
        torch.ops.fused_mlp.linear(X.to_sparse(), W1, None, "none")


@pytest.mark.parametrize("implementation", ["cpp", "onednn"])
def test_a_dtype_that_cannot_be_packed_is_unavailable(implementation):
    module = fused_mlp.FusedLinear(6, 8, dtype=torch.float64)
    with pytest.raises(fused_mlp.Unavailable, match=r"torch\.float64 weights cannot be packed"):
        module.prepare(implementation=implementation)


def test_a_transform_of_a_call_with_an_implementation_is_refused_as_one_without():
    def loss(x):
        return fused_mlp.linear(x, W1, activation="gelu", implementation="cpp").sum()

    with pytest.raises(fused_mlp.Unavailable, match="transforms other than vmap over x"):
        torch.func.grad(loss)(X)
