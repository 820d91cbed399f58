"""One op: the same under eager, torch.compile, TorchScript and export."""

import subprocess
import sys
import warnings

import pytest
import torch

import fused_mlp
from fused_mlp import FusedGatedMLP, FusedLinear, FusedMLP
from fused_mlp.gated_mlp.onednn import gated_mlp_onednn
from fused_mlp.linear.onednn import linear_onednn, pack_onednn
from fused_mlp.mlp.onednn import mlp_onednn

pytestmark = [pytest.mark.usefixtures("cpu_kernels"), pytest.mark.sample]


class Block(torch.nn.Module):
    """Calls an op the way a scripted module must: by torch.ops, with a plain string."""

    def __init__(self):
        super().__init__()
        self.w1 = torch.nn.Parameter(torch.randn(20, 12))
        self.w2 = torch.nn.Parameter(torch.randn(12, 20))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.ops.fused_mlp.mlp(x, self.w1, None, self.w2, None, "gelu")


@pytest.fixture
def small(operation):
    return operation.case(rows=6, dim=12, hidden=20, dtype=torch.float32, activation="gelu").arguments


# Inductor still imports modules that use TorchScript.
@pytest.mark.filterwarnings("ignore:.torch.jit.* is deprecated:DeprecationWarning")
def test_compile_makes_one_graph_with_the_same_result(operation, small):
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    compiled = torch.compile(lambda *a: operation.function(*a, activation="gelu") * 2, fullgraph=True)
    expected = operation.function(*small, activation="gelu") * 2
    torch.testing.assert_close(compiled(*small), expected)
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] == 1


def test_compile_takes_an_enum_member(operation, small):
    torch._dynamo.reset()
    compiled = torch.compile(
        lambda *a: operation.function(*a, activation=fused_mlp.Activation.SILU), fullgraph=True, backend="aot_eager"
    )
    torch.testing.assert_close(compiled(*small), operation.function(*small, activation="silu"))


@pytest.mark.parametrize("recompute", fused_mlp.Recompute)
def test_compiled_gradients_are_the_eager_ones(operation, small, recompute):
    torch._dynamo.reset()
    compiled = torch.compile(
        lambda *a: operation.function(*a, activation="gelu", recompute=recompute).square().sum(),
        fullgraph=True,
        backend="aot_eager",
    )
    inputs = [a.clone().requires_grad_() for a in small]
    actual = torch.autograd.grad(compiled(*inputs), inputs)
    expected = torch.autograd.grad(operation.function(*inputs, activation="gelu").square().sum(), inputs)
    torch.testing.assert_close(actual, expected)


def test_compile_names_the_wrong_argument(operation, small):
    torch._dynamo.reset()
    compiled = torch.compile(lambda *a: operation.function(*a, activation="gelu"), fullgraph=True, backend="eager")
    with pytest.raises(Exception, match=r"is of shape .*; expected"):
        compiled(small[0][:, :-1], *small[1:])


@pytest.mark.parametrize("fullgraph", [True, False])
def test_compile_names_an_unknown_activation(operation, small, fullgraph):
    torch._dynamo.reset()
    compiled = torch.compile(
        lambda *a: operation.function(*a, activation="swish"), fullgraph=fullgraph, backend="eager"
    )
    with pytest.raises(Exception, match="activation is 'swish'; expected one of relu, gelu") as raised:
        compiled(*small)
    assert fullgraph or raised.type is fused_mlp.InvalidArgument


@pytest.mark.parametrize("recompute", fused_mlp.Recompute)
@pytest.mark.parametrize("suffix", ["", "_keeping"])
def test_the_op_passes_opcheck(operation, small, suffix, recompute):
    op = getattr(torch.ops.fused_mlp, operation.name + suffix).default
    inputs = tuple(a.clone().requires_grad_() for a in small)
    assert set(torch.library.opcheck(op, (*inputs, "gelu", None, recompute.value)).values()) == {"SUCCESS"}


MODULES = {
    "linear": lambda: FusedLinear(12, 20, activation="gelu"),
    "mlp": lambda: FusedMLP(12, 20),
    "gated_mlp": lambda: FusedGatedMLP(12, 20),
}


@pytest.mark.parametrize("name", MODULES)
def test_export_keeps_the_op_and_takes_any_number_of_rows(name):
    module, x = MODULES[name](), torch.randn(6, 12)
    exported = torch.export.export(module, (x,), dynamic_shapes=({0: torch.export.Dim("rows", min=2)},))
    op = getattr(torch.ops.fused_mlp, name).default
    assert [node.target for node in exported.graph.nodes if node.op == "call_function"] == [op]
    more = torch.randn(9, 12)
    torch.testing.assert_close(exported.module()(more), module(more))


# Inductor still imports modules that use TorchScript.
@pytest.mark.filterwarnings("ignore:.torch.jit.* is deprecated:DeprecationWarning")
@pytest.mark.parametrize("name", MODULES)
def test_a_module_trains_compiled_as_one_graph(name):
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    module, x = MODULES[name](), torch.randn(6, 12)
    compiled = torch.compile(module, fullgraph=True, backend="aot_eager")
    expected = torch.autograd.grad(module(x).square().sum(), list(module.parameters()))
    actual = torch.autograd.grad(compiled(x).square().sum(), list(module.parameters()))
    torch.testing.assert_close(actual, expected)
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] == 1


# The packed copies are for one process and never traced: those ops have no fake kernel.
PACKED_CHECKS = ("test_schema", "test_autograd_registration")


def packed_by(pack, small):
    """The operation's arguments with its weights packed, up to the activation."""
    x, *rest = small
    return x, *(pack(a) if a is not None and a.dim() == 2 else a for a in rest)


def test_packing_passes_opcheck():
    checks = torch.library.opcheck(torch.ops.fused_mlp.pack.default, (torch.randn(20, 12),), test_utils=PACKED_CHECKS)
    assert set(checks.values()) == {"SUCCESS"}


def test_the_op_on_packed_weights_passes_opcheck_and_has_no_gradient(operation, small):
    op = getattr(torch.ops.fused_mlp, f"{operation.name}_packed").default
    x, *rest = packed_by(torch.ops.fused_mlp.pack, small)
    sizes = (20,) if operation.name == "linear" else (20, 12)
    checks = torch.library.opcheck(op, (x, *rest, "gelu", *sizes), test_utils=PACKED_CHECKS)
    assert set(checks.values()) == {"SUCCESS"}
    with pytest.raises(ValueError, match="x requires a gradient"):
        op(x.clone().requires_grad_(), *rest, "gelu", *sizes)


# opcheck cannot copy oneDNN's tensors, which have no storage.
@pytest.mark.parametrize("activation", fused_mlp.Activation)
def test_the_op_on_weights_packed_by_onednn_is_the_calls_of_onednn_and_has_no_gradient(operation, small, activation):
    in_python = {"linear": linear_onednn, "mlp": mlp_onednn, "gated_mlp": gated_mlp_onednn}[operation.name]
    op = getattr(torch.ops.fused_mlp, f"{operation.name}_onednn").default
    x, *rest = packed_by(pack_onednn, small)
    assert torch.equal(op(x, *rest, activation.value), in_python(x, *rest, activation=activation.value))
    with pytest.raises(ValueError, match="x requires a gradient"):
        op(x.clone().requires_grad_(), *rest, "gelu")


def script(block):
    with warnings.catch_warnings():
        # TorchScript is deprecated in torch 2.13 and still works; that it does is what is tested.
        warnings.filterwarnings("ignore", message=".*torch.jit.*", category=DeprecationWarning)
        return torch.jit.script(block)


def test_a_scripted_block_computes_the_same():
    block, x = Block(), torch.randn(6, 12)
    torch.testing.assert_close(script(block)(x), block(x))


@pytest.mark.parametrize("name", MODULES)
def test_scripting_leaves_the_model_as_it_was(name):
    module, x = MODULES[name]().eval(), torch.randn(6, 12)
    model = torch.nn.Sequential(module)
    with torch.no_grad():
        module.prepare()
    names = list(model.state_dict())
    scripted = script(model)
    assert model[0] is module
    assert names == list(model.state_dict()) == list(scripted.state_dict())
    torch.testing.assert_close(scripted(x), model(x))


def test_layers_in_another_order_are_not_scripted():
    module = fused_mlp.FusedMLP(12, 12)
    first = module._modules.pop("0")
    module.add_module("0", first)
    with pytest.raises(ValueError, match="a module to script is the children 2, 0; expected 0, 2, in this order"):
        script(module)


def test_a_traced_block_computes_the_same():
    block, x = Block(), torch.randn(6, 12)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*torch.jit.*", category=DeprecationWarning)
        traced = torch.jit.trace(block, (x,))
    torch.testing.assert_close(traced(x), block(x))


def test_scripted_modules_saved_here_run_and_train_in_another_process(tmp_path):
    x = torch.randn(6, 12)
    for name, make in MODULES.items():
        module = make()
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*torch.jit.*", category=DeprecationWarning)
            script(module).save(tmp_path / f"{name}.pt")
        y = module(x)
        gradients = torch.autograd.grad(y.square().sum(), list(module.parameters()))
        torch.save((x, y.detach(), gradients), tmp_path / f"{name}.expected")
    program = (
        "import sys, torch, fused_mlp\n"
        "for name in sys.argv[2:]:\n"
        "    module = torch.jit.load(f'{sys.argv[1]}/{name}.pt')\n"
        "    x, y, gradients = torch.load(f'{sys.argv[1]}/{name}.expected')\n"
        "    torch.testing.assert_close(module(x), y)\n"
        "    actual = torch.autograd.grad(module(x).square().sum(), list(module.parameters()))\n"
        "    torch.testing.assert_close(actual, gradients)\n"
    )
    subprocess.run([sys.executable, "-c", program, str(tmp_path), *MODULES], check=True, timeout=120)


def test_importing_the_package_imports_no_triton_and_builds_nothing(tmp_path):
    program = (
        "import sys, fused_mlp\n"
        "assert 'fused_mlp.gpu.tiles' not in sys.modules\n"
        "assert fused_mlp.native.build.loaded_library() is None\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120, env={"FUSED_MLP_CACHE": str(tmp_path)})
    assert not list(tmp_path.iterdir())


def test_vmap_over_x_is_one_call_with_more_rows(operation, small):
    x, *weights = small
    batch = torch.stack([x, 2 * x, 3 * x], dim=1)
    mapped = torch.vmap(lambda one: operation.function(one, *weights, activation="gelu"), in_dims=1)(batch)
    torch.testing.assert_close(mapped[2], operation.function(3 * x, *weights, activation="gelu"))


def test_vmap_over_weights_is_refused_by_name(operation, small):
    x, w, *rest = small
    with pytest.raises(fused_mlp.InvalidArgument, match="a weight or bias is batched by vmap; expected the same"):
        torch.vmap(lambda one: operation.function(x, one, *rest, activation="gelu"))(torch.stack([w, w]))


def test_func_grad_says_what_to_use_instead(operation, small):
    x, *weights = small
    with pytest.raises(fused_mlp.Unavailable, match=r"torch\.autograd does, and so does fused_mlp\.reference"):
        torch.func.grad(lambda one: operation.function(one, *weights, activation="gelu").sum())(x)


# Torch's own decompositions for forward mode are still TorchScript.
@pytest.mark.filterwarnings("ignore:.torch.jit.* is deprecated:DeprecationWarning")
def test_forward_mode_is_refused_instead_of_giving_zeros(operation, small):
    x, *weights = small
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(x, torch.ones_like(x))
        with pytest.raises(NotImplementedError, match="no forward-mode derivative"):
            operation.function(dual, *weights, activation="gelu")
