"""Frozen parameters: what is saved for backward then, and what may be changed in place after the call; as in eager."""

from functools import partial
from itertools import product

import pytest
import torch
from torch.utils.checkpoint import checkpoint

import fused_mlp
from fused_mlp import FusedGatedMLP, FusedLinear, FusedMLP, reference
from tests.kernels.cases import OPERATIONS
from tests.kernels.operations.formulas import SHAPES, in_float64

pytestmark = pytest.mark.usefixtures("cpu_kernels")

# Those of the arguments from which z is computed, and those whose gradients need no z.
MAKE_Z = {0, 1, 2}
NEED_NO_Z = {"linear": set(), "mlp": {4}, "gated_mlp": set()}
# The CPU's nodes, and the rule that CUDA has, in float64.
WAYS = ["cpp", "python"]
KEEPING = ["activation", "nothing"]


def function_of(way, operation, activation, recompute):
    if way == "python":
        return in_float64(operation.name, activation, recompute)
    options = {"activation": None if activation == "none" else activation, "recompute": recompute}
    return partial(operation.function, **options)


def eager_of(operation, activation):
    return partial(operation.oracle, activation=None if activation == "none" else activation)


def drawn(way, operation):
    torch.manual_seed(0)
    dtype = torch.float64 if way == "python" else torch.float32
    return [torch.randn(*shape, dtype=dtype) for shape in SHAPES[operation.name]]


def trained_subsets(operation):
    """Which arguments need gradients, for every set of frozen ones but that of all."""
    return [mask for mask in product([True, False], repeat=len(SHAPES[operation.name])) if any(mask)]


def activations_of(operation):
    return ["gelu", "none"] if operation.name == "linear" else ["gelu"]


def gradients_after_change(function, values, trained, changed):
    """The gradients after argument `changed` was written to behind the call; "refused" if backward refuses."""
    leaves = [None if v is None else v.clone().requires_grad_(t) for v, t in zip(values, trained, strict=True)]
    inputs = [None if leaf is None else leaf * 1 for leaf in leaves]
    y = function(*inputs)
    inputs[changed] += 3
    try:
        return torch.autograd.grad(y, [leaf for leaf, t in zip(leaves, trained, strict=True) if t], torch.ones_like(y))
    except RuntimeError as error:
        if "modified by an inplace operation" not in str(error):
            raise
        return "refused"


def saved_arguments(function, values, trained):
    """The places of the arguments that autograd saves, and the shapes of what else it saves."""
    inputs = [v.clone().requires_grad_(t) for v, t in zip(values, trained, strict=True)]
    places = {v.untyped_storage().data_ptr(): place for place, v in enumerate(inputs)}
    saved, others = set(), []

    def note(tensor):
        place = places.get(tensor.untyped_storage().data_ptr())
        if place is None:
            others.append(tuple(tensor.shape))
        else:
            saved.add(place)
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        y = function(*inputs)
    assert y.requires_grad
    return saved, others


@pytest.mark.parametrize("recompute", KEEPING)
@pytest.mark.parametrize("way", WAYS)
def test_an_argument_changed_after_the_call_matters_exactly_where_it_does_in_eager(operation, way, recompute):
    values = drawn(way, operation)
    for activation in activations_of(operation):
        function, eager = function_of(way, operation, activation, recompute), eager_of(operation, activation)
        for trained in trained_subsets(operation):
            for changed in range(len(values)):
                actual = gradients_after_change(function, values, trained, changed)
                expected = gradients_after_change(eager, values, trained, changed)
                where = f"{activation}, trained: {trained}, changed: {changed}"
                assert (actual == "refused") == (expected == "refused"), where
                if expected != "refused":
                    torch.testing.assert_close(actual, expected, msg=lambda text, where=where: f"{where}: {text}")


@pytest.mark.parametrize("recompute", KEEPING)
@pytest.mark.parametrize("operation", OPERATIONS[:2], ids=lambda operation: operation.name)
def test_a_missing_bias_shifts_no_question_to_another_argument(operation, recompute):
    values = [v if v.dim() > 1 else None for v in drawn("cpp", operation)]
    function, eager = function_of("cpp", operation, "gelu", recompute), eager_of(operation, "gelu")
    for trained in trained_subsets(operation):
        if any(t and v is None for v, t in zip(values, trained, strict=True)):
            continue
        for changed in (place for place, v in enumerate(values) if v is not None):
            actual = gradients_after_change(function, values, trained, changed)
            expected = gradients_after_change(eager, values, trained, changed)
            assert (actual == "refused") == (expected == "refused"), f"trained: {trained}, changed: {changed}"
            if expected != "refused":
                torch.testing.assert_close(actual, expected)


@pytest.mark.parametrize("way", WAYS)
def test_what_z_is_computed_from_again_may_not_change_meanwhile(operation, way):
    values = drawn(way, operation)
    function, eager = function_of(way, operation, "gelu", "all"), eager_of(operation, "gelu")
    for trained in trained_subsets(operation):
        needs_z = any(t for place, t in enumerate(trained) if place not in NEED_NO_Z[operation.name])
        for changed in range(len(values)):
            actual = gradients_after_change(function, values, trained, changed)
            expected = gradients_after_change(eager, values, trained, changed)
            if needs_z and changed in MAKE_Z:
                expected = "refused"
            assert (actual == "refused") == (expected == "refused"), f"trained: {trained}, changed: {changed}"
            if expected != "refused":
                torch.testing.assert_close(actual, expected)


@pytest.mark.parametrize("recompute", KEEPING)
@pytest.mark.parametrize("way", WAYS)
def test_the_arguments_saved_are_those_that_eager_saves(operation, way, recompute):
    values = drawn(way, operation)
    for activation in activations_of(operation):
        function, eager = function_of(way, operation, activation, recompute), eager_of(operation, activation)
        for trained in trained_subsets(operation):
            saved, _ = saved_arguments(function, values, trained)
            assert saved == saved_arguments(eager, values, trained)[0], f"{activation}, trained: {trained}"


@pytest.mark.parametrize("way", WAYS)
def test_where_z_is_computed_again_all_that_makes_it_is_saved_as_well(operation, way):
    values = drawn(way, operation)
    function, eager = function_of(way, operation, "gelu", "all"), eager_of(operation, "gelu")
    for trained in trained_subsets(operation):
        needs_z = any(t for place, t in enumerate(trained) if place not in NEED_NO_Z[operation.name])
        saved, others = saved_arguments(function, values, trained)
        from_z = MAKE_Z if needs_z else set()
        assert saved == saved_arguments(eager, values, trained)[0] | from_z, f"trained: {trained}"
        assert others == []


@pytest.mark.parametrize("way", WAYS)
def test_hidden_values_are_kept_only_for_the_gradients_that_read_them(operation, way):
    values = drawn(way, operation)
    function = function_of(way, operation, "gelu", "nothing")
    hidden = (*values[0].shape[:-1], values[1].shape[0])
    for trained in trained_subsets(operation):
        _, others = saved_arguments(function, values, trained)
        # z, or gate and up, where something before it needs a gradient; h for the last weight's.
        expected = any(trained[:3]) * (2 if operation.name == "gated_mlp" else 1) + any(trained[3:4])
        assert others == [hidden] * expected, f"trained: {trained}"


@pytest.mark.parametrize("recompute", ["all", *KEEPING])
def test_second_derivatives_need_nothing_of_what_is_frozen(operation, recompute):
    values = drawn("python", operation)
    for activation in activations_of(operation):
        by_formula = in_float64(operation.name, activation, recompute)
        by_node = function_of("cpp", operation, activation, recompute)
        for trained in trained_subsets(operation):
            inputs = [v.clone().requires_grad_(t) for v, t in zip(values, trained, strict=True)]
            expected = second_derivatives(eager_of(operation, activation), inputs)
            torch.testing.assert_close(second_derivatives(by_formula, inputs), expected)
            narrow = [v.detach().float().requires_grad_(v.requires_grad) for v in inputs]
            actual = [g.double() for g in second_derivatives(by_node, narrow)]
            torch.testing.assert_close(actual, list(expected), rtol=1e-4, atol=1e-3)


def second_derivatives(function, inputs):
    wanted = [t for t in inputs if t.requires_grad]
    first = torch.autograd.grad(function(*inputs).pow(3).sum(), wanted, create_graph=True)
    return torch.autograd.grad(sum(g.square().sum() for g in first), wanted)


MODULES = {
    "linear": (lambda: FusedLinear(6, 6, activation="gelu"), partial(reference.linear, activation="gelu")),
    "mlp": (lambda: FusedMLP(6, 8), partial(reference.mlp, activation="gelu")),
    "gated_mlp": (lambda: FusedGatedMLP(6, 8), partial(reference.gated_mlp, activation="silu")),
}


@pytest.mark.parametrize("name", MODULES)
def test_the_residual_may_be_added_in_place_to_the_input_of_a_frozen_module(name):
    build, eager = MODULES[name]
    module = build().requires_grad_(requires_grad=False)
    x0 = torch.randn(3, 6, requires_grad=True)

    def gradient(function):
        x = x0 * 1
        x += function(x)
        return torch.autograd.grad(x.square().sum(), x0)

    parameters = module._parameters_in_order()
    torch.testing.assert_close(gradient(module), gradient(lambda x: eager(x, *parameters)))


@pytest.mark.parametrize("name", MODULES)
def test_a_frozen_module_maps_over_a_batch(name):
    module = MODULES[name][0]().requires_grad_(requires_grad=False)
    x = torch.randn(2, 3, 6, requires_grad=True)
    actual = torch.autograd.grad(torch.vmap(module)(x).square().sum(), x)
    torch.testing.assert_close(actual, torch.autograd.grad(module(x).square().sum(), x))


@pytest.mark.parametrize("name", MODULES)
@pytest.mark.parametrize("use_reentrant", [True, False])
@pytest.mark.filterwarnings("ignore:.*requires_grad=True.*:UserWarning")
def test_a_checkpointed_call_saves_the_same_when_it_is_repeated(name, use_reentrant):
    module = MODULES[name][0]()
    list(module.parameters())[-1].requires_grad_(requires_grad=False)
    x = torch.randn(3, 6, requires_grad=True)
    expected = torch.autograd.grad(module(x).square().sum(), x)
    y = checkpoint(module, x, use_reentrant=use_reentrant)
    if use_reentrant:
        y.square().sum().backward()
        actual = (x.grad,)
    else:
        # Gradients of x alone, so that the parameters' are not executed while the call is repeated.
        actual = torch.autograd.grad(y.square().sum(), x)
    torch.testing.assert_close(actual, expected)


@pytest.mark.parametrize("name", MODULES)
@pytest.mark.parametrize("trained", ["input", "parameters", "first", "last"])
def test_a_partly_frozen_module_trains_compiled(name, trained):
    torch._dynamo.reset()
    module = MODULES[name][0]()
    parameters = list(module.parameters())
    wanted = {"input": [], "parameters": parameters, "first": parameters[:1], "last": parameters[-1:]}[trained]
    for parameter in parameters:
        parameter.requires_grad_(any(parameter is each for each in wanted))
    x = torch.randn(3, 6, requires_grad=trained == "input")
    leaves = [*wanted, *([x] if trained == "input" else [])]
    expected = torch.autograd.grad(module(x).square().sum(), leaves)
    compiled = torch.compile(module, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(torch.autograd.grad(compiled(x).square().sum(), leaves), expected)


@pytest.mark.parametrize("recompute", fused_mlp.Recompute)
@pytest.mark.filterwarnings("ignore:.*requires_grad=True.*:UserWarning")
def test_the_ops_pass_opcheck_for_every_frozen_argument(operation, recompute):
    values = drawn("cpp", operation)
    op = getattr(torch.ops.fused_mlp, f"{operation.name}_keeping").default
    for frozen in range(len(values)):
        inputs = [v.clone().requires_grad_(place != frozen) for place, v in enumerate(values)]
        checks = torch.library.opcheck(op, (*inputs, "gelu", None, recompute.value))
        assert set(checks.values()) == {"SUCCESS"}


class Unused(torch.autograd.Function):
    """A step behind which no gradient comes back, as None instead of zeros."""

    @staticmethod
    def forward(_ctx, y):
        return y.sum()

    @staticmethod
    def backward(_ctx, _grad):
        return None


@pytest.mark.parametrize("recompute", fused_mlp.Recompute)
def test_a_gradient_that_does_not_come_back_is_none_whatever_is_frozen(operation, recompute):
    values = drawn("cpp", operation)
    for trained in trained_subsets(operation):
        inputs = [v.clone().requires_grad_(t) for v, t in zip(values, trained, strict=True)]
        Unused.apply(operation.function(*inputs, activation="gelu", recompute=recompute)).backward()
        assert all(t.grad is None for t in inputs)


@pytest.mark.parametrize("operation", OPERATIONS[1:], ids=lambda operation: operation.name)
def test_a_gradient_of_the_hidden_values_themselves_does_not_hang_on_what_is_saved(operation):
    values = drawn("cpp", operation)
    op = getattr(torch.ops.fused_mlp, f"{operation.name}_keeping").default
    inputs = [v.clone().requires_grad_(place != 3) for place, v in enumerate(values)]
    hidden = op(*inputs, "gelu", None, "nothing")[-1]
    x, w = inputs[:2]
    eager = reference.linear(x, w, inputs[2] if operation.name == "mlp" else None, activation="gelu")
    if operation.name == "gated_mlp":
        eager = eager * reference.linear(x, inputs[2])
    torch.testing.assert_close(
        torch.autograd.grad(hidden.square().sum(), inputs[:3]), torch.autograd.grad(eager.square().sum(), inputs[:3])
    )
