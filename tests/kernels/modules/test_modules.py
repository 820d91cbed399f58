"""The modules: names and numbers of their eager twins, packed weights where and only where they may be used."""

import copy
import pickle
import warnings
from itertools import product

import pytest
import torch
from torch import nn

import fused_mlp
from fused_mlp import FusedGatedMLP, FusedLinear, FusedMLP, InvalidArgument, reference
from tests.kernels.cases import FUSED, OPERATIONS, onednn_roundings, padded_with_nan

pytestmark = pytest.mark.usefixtures("cpu_kernels")

PACKED = ("cpp", "onednn")
MODULES = {
    "linear": lambda dim, hidden, activation: FusedLinear(dim, hidden, activation=activation),
    "mlp": lambda dim, hidden, activation: FusedMLP(dim, hidden, activation=activation),
    "gated_mlp": lambda dim, hidden, activation: FusedGatedMLP(dim, hidden, activation=activation),
}


def module_with(case, operation, activation, dtype):
    """The operation's module holding the case's own arguments."""
    x, *parameters = case.arguments
    module = MODULES[operation.name](x.shape[-1], parameters[0].shape[0], activation).to(dtype)
    given = [p for p in parameters if p is not None]
    with torch.no_grad():
        for parameter, values in zip(module.parameters(), given, strict=True):
            parameter.copy_(values)
    return module


@pytest.mark.sample
@pytest.mark.parametrize("implementation", PACKED)
@pytest.mark.parametrize(
    ("rows", "dim", "hidden"),
    [(1, 1, 1), (3, 17, 130), (130, 127, 3), (17, 130, 127), (200, 33, 70), (5, 1100, 40), (20, 1024, 1024)],
)
def test_packed_weights_give_the_result_within_its_bound(
    operation, dtype, activation, rows, dim, hidden, implementation
):
    if implementation == "onednn" and _onednn_cannot_pack(dtype):
        pytest.skip(f"oneDNN cannot pack {dtype} on this CPU")
    case = packed_case(operation, implementation, activation, rows=rows, dim=dim, hidden=hidden, dtype=dtype)
    module = module_with(case, operation, activation, dtype)
    module.prepare(implementation=implementation)
    with torch.inference_mode():
        actual = module(padded_with_nan(case.arguments[0]))
        assert module.is_prepared
    assert not torch.isnan(actual).any()
    assert ((actual.double() - case.expected).abs() <= case.bound).all()


@pytest.mark.slow
@pytest.mark.sample
@pytest.mark.parametrize("implementation", PACKED)
def test_packed_weights_of_every_odd_shape_give_the_result_within_its_bound(
    operation, dtype, activation, implementation
):
    if implementation == "onednn" and _onednn_cannot_pack(dtype):
        pytest.skip(f"oneDNN cannot pack {dtype} on this CPU")
    for rows, dim, hidden in product((1, 17, 130), (3, 127), (1, 17, 130)):
        case = packed_case(operation, implementation, activation, rows=rows, dim=dim, hidden=hidden, dtype=dtype)
        module = module_with(case, operation, activation, dtype)
        module.prepare(implementation=implementation)
        with torch.inference_mode():
            actual = module(padded_with_nan(case.arguments[0]))
        excess = (actual.double() - case.expected).abs() - case.bound
        assert not torch.isnan(actual).any(), (rows, dim, hidden)
        assert excess.max() <= 0, (rows, dim, hidden)


@pytest.mark.parametrize("implementation", PACKED)
@pytest.mark.parametrize("leading", [(), (0,), (3, 0), (2, 3), (2, 1, 3, 1)], ids=str)
@pytest.mark.parametrize("name", MODULES)
def test_a_prepared_module_takes_any_leading_shape(name, leading, implementation):
    module, x = MODULES[name](12, 20, "gelu"), torch.randn(*leading, 12)
    expected = module(x).detach()
    module.prepare(implementation=implementation)
    with torch.inference_mode():
        actual = module(x)
    assert actual.shape == expected.shape
    torch.testing.assert_close(actual, expected)


def packed_case(operation, implementation, activation, **given):
    roundings = onednn_roundings(activation) if implementation == "onednn" else FUSED
    return operation.case(activation=activation, roundings=roundings, **given)


def _onednn_cannot_pack(dtype):
    try:
        FusedLinear(4, 4, dtype=dtype).prepare(implementation="onednn")
    except fused_mlp.Unavailable:
        return True
    return False


def test_an_mlp_is_named_and_ordered_as_its_sequential_twin():
    twin = nn.Sequential(nn.Linear(6, 10), nn.GELU(), nn.Linear(10, 6))
    module = FusedMLP(6, 10)
    assert list(module.state_dict()) == list(twin.state_dict()) == ["0.weight", "0.bias", "2.weight", "2.bias"]
    module.load_state_dict(twin.state_dict())
    x = torch.randn(4, 6)
    torch.testing.assert_close(module(x), twin(x))
    twin.load_state_dict(FusedMLP(6, 10).state_dict())


def test_a_linear_is_named_as_nn_linear():
    module, twin = FusedLinear(6, 10, activation="relu"), nn.Linear(6, 10)
    module.load_state_dict(twin.state_dict())
    x = torch.randn(4, 6)
    torch.testing.assert_close(module(x), twin(x).relu())


def test_a_gated_mlp_has_gate_up_and_down_in_this_order():
    assert list(FusedGatedMLP(6, 10).state_dict()) == ["gate_proj.weight", "up_proj.weight", "down_proj.weight"]


def test_a_seed_initialises_as_the_eager_twin():
    torch.manual_seed(3)
    twin = nn.Sequential(nn.Linear(6, 10), nn.GELU(), nn.Linear(10, 6))
    torch.manual_seed(3)
    module = FusedMLP(6, 10)
    for a, b in zip(module.parameters(), twin.parameters(), strict=True):
        assert torch.equal(a, b)


def test_preparing_reports_time_and_memory():
    report = FusedMLP(64, 128, dtype=torch.float32).prepare()
    assert report.n_bytes == 2 * 64 * 128 * 4
    assert report.seconds > 0
    assert report.implementation is fused_mlp.Implementation.CPP


@pytest.mark.parametrize("implementation", PACKED)
def test_an_optimiser_step_after_preparing_changes_the_output_as_it_should(implementation):
    torch.manual_seed(0)
    module, x = FusedMLP(12, 20), torch.randn(4, 12)
    optimiser = torch.optim.SGD(module.parameters(), lr=0.5)
    module.prepare(implementation=implementation)
    module(x).square().sum().backward()
    optimiser.step()
    assert not module.is_prepared
    with torch.inference_mode():
        actual = module(x)
    first, second = module._modules["0"], module._modules["2"]
    expected = reference.mlp(x, first.weight, first.bias, second.weight, second.bias, activation="gelu")
    torch.testing.assert_close(actual, expected.detach())
    module.prepare(implementation=implementation)
    with torch.inference_mode():
        torch.testing.assert_close(module(x), expected.detach())


def test_loading_a_state_dict_drops_the_pack():
    module = FusedGatedMLP(12, 20)
    module.prepare()
    module.load_state_dict(FusedGatedMLP(12, 20).state_dict())
    assert not module.is_prepared


def test_another_parameter_drops_the_pack():
    module = FusedLinear(12, 20)
    module.prepare()
    module.weight = nn.Parameter(torch.randn(20, 12))
    assert not module.is_prepared


def test_another_dtype_drops_the_pack():
    module = FusedLinear(12, 20)
    module.prepare()
    assert not module.bfloat16().is_prepared


def test_packed_weights_are_never_used_where_a_gradient_is_recorded():
    module, x = FusedMLP(12, 20), torch.randn(4, 12, requires_grad=True)
    module.prepare()
    y = module(x)
    assert y.requires_grad
    y.sum().backward()
    assert all(p.grad is not None for p in (x, *module.parameters()))


def test_the_packed_op_itself_refuses_to_lose_a_gradient():
    module = FusedLinear(12, 20)
    module.prepare()
    with pytest.raises(ValueError, match="x requires a gradient; expected none"):
        torch.ops.fused_mlp.linear_packed(
            torch.randn(2, 12, requires_grad=True), *module._packed.tensors, None, "none", 20
        )


def test_weights_made_under_inference_mode_are_refused():
    with torch.inference_mode():
        module = FusedLinear(12, 20)
    with pytest.raises(InvalidArgument, match="weight is an inference tensor; expected one created outside"):
        module.prepare()


def test_packing_for_an_unknown_implementation_is_refused():
    with pytest.raises(InvalidArgument, match="implementation is 'epilogue'; expected one of cpp, onednn, pointwise"):
        FusedLinear(3, 4).prepare(implementation="epilogue")


@pytest.mark.parametrize("implementation", PACKED)
@pytest.mark.parametrize("make", [FusedMLP, FusedGatedMLP], ids=["mlp", "gated_mlp"])
def test_a_wrong_input_to_a_prepared_module_is_named(make, implementation):
    module = make(12, 20)
    module.prepare(implementation=implementation)
    with torch.inference_mode(), pytest.raises(InvalidArgument, match=r"is of shape \[20, 12\]; expected \[out, 11\]"):
        module(torch.randn(2, 11))


def test_a_copy_and_a_pickle_carry_no_pack():
    module = FusedMLP(12, 20)
    module.prepare()
    assert not copy.deepcopy(module).is_prepared
    assert not pickle.loads(pickle.dumps(module)).is_prepared  # noqa: S301 - our own bytes


@pytest.mark.parametrize("name", MODULES)
def test_script_trace_and_compile_of_a_prepared_module_follow_its_weights(name):
    torch._dynamo.reset()
    module, x = MODULES[name](12, 20, "gelu"), torch.randn(4, 12)
    module.prepare()
    with warnings.catch_warnings(), torch.no_grad():
        # TorchScript is deprecated in torch 2.13 and still works; that it does is what is tested.
        warnings.filterwarnings("ignore", message=".*torch.jit.*", category=DeprecationWarning)
        made = [torch.jit.script(module), torch.jit.trace(module, (x,))]
        made.append(torch.compile(module, fullgraph=True, backend="aot_eager"))
        for graph in made:
            torch.testing.assert_close(graph(x), module(x))
        next(module.parameters()).mul_(3)
        for graph in made:
            torch.testing.assert_close(graph(x), module(x))


@pytest.mark.parametrize("name", MODULES)
def test_a_scripted_module_is_saved_and_loaded(name, tmp_path):
    module, x = MODULES[name](12, 20, "silu"), torch.randn(4, 12)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*torch.jit.*", category=DeprecationWarning)
        torch.jit.script(module).save(tmp_path / "module.pt")
        loaded = torch.jit.load(tmp_path / "module.pt")
    torch.testing.assert_close(loaded(x), module(x))


@pytest.mark.parametrize("recompute", fused_mlp.Recompute)
@pytest.mark.parametrize("name", MODULES)
def test_a_module_trains_by_its_policy_scripted_or_not(name, recompute):
    torch.manual_seed(0)
    kind = {"linear": FusedLinear, "mlp": FusedMLP, "gated_mlp": FusedGatedMLP}[name]
    module, x = kind(12, 20, activation="silu", recompute=recompute), torch.randn(4, 12, requires_grad=True)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*torch.jit.*", category=DeprecationWarning)
        scripted = torch.jit.script(module)
    hidden = {"linear": (0, 1, 1), "mlp": (0, 1, 2), "gated_mlp": (0, 2, 3)}[name]
    gradients = []
    for callee in (module, scripted):
        kept = []
        with torch.autograd.graph.saved_tensors_hooks(lambda t, kept=kept: (kept.append(t.shape), t)[1], lambda t: t):
            y = callee(x)
        assert kept.count((4, 20)) == hidden[list(fused_mlp.Recompute).index(recompute)]
        gradients.append(torch.autograd.grad(y.square().sum(), [x, *callee.parameters()]))
    torch.testing.assert_close(gradients[1], gradients[0])


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
def test_the_pure_implementation_is_within_its_bound_and_trains(operation, activation):
    case = operation.case(rows=7, dim=17, hidden=9, dtype=torch.float32, activation=activation)
    leaves = [a.clone().requires_grad_() for a in case.arguments]
    trained = operation.function(*leaves, activation=activation, implementation="pure")
    assert ((trained.double() - case.expected).abs() <= case.bound).all()
    trained.sum().backward()
    with torch.inference_mode():
        inferred = operation.function(*case.arguments, activation=activation, implementation="pure")
    assert torch.equal(inferred, trained)


def test_an_implementation_for_another_device_is_refused_not_replaced(operation):
    case = operation.case(rows=2, dim=3, hidden=4, dtype=torch.float32, activation="gelu")
    with pytest.raises(InvalidArgument, match=r"implementation is 'epilogue'.*; expected one for cpu"):
        operation.function(*case.arguments, activation="gelu", implementation="epilogue")


def test_the_choice_names_weights_and_how_work_is_shared():
    tiny = fused_mlp.choice_for("mlp", rows=1, dim=8, hidden=8, device="cpu")
    assert (tiny.implementation, tiny.weights, tiny.shared_by) == ("cpp", "plain", "serial")
    many = fused_mlp.choice_for("mlp", rows=4096, dim=256, hidden=1024, device="cpu")
    assert many.weights == "repacked"
    packed = fused_mlp.choice_for("mlp", rows=4096, dim=256, hidden=1024, device="cpu", packed=True)
    assert packed.weights == "packed"
