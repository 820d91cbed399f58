"""How a call on CUDA reaches its kernel, and how tuning tries them: the same code on CPU tensors, interpreted."""

from contextlib import nullcontext
from importlib import import_module

import pytest
import torch

import fused_mlp
from benchmarks.ruler.measure.clock import Timed
from benchmarks.ruler.measure.policy import Policy as SamplingPolicy
from benchmarks.ruler.plan.points import DeviceKind
from benchmarks.ruler.tuning import cell_timing as tuning
from benchmarks.ruler.tuning.candidates import Machine, candidates
from benchmarks.ruler.tuning.cell_timing import measure_cell
from benchmarks.ruler.tuning.cells import Cell, Question, TuningConditions
from benchmarks.ruler.tuning.conclusions import winner
from fused_mlp.choice import choices
from fused_mlp.choice.choices import CudaDevice
from fused_mlp.choice.cuda_levels import level_and_tiles
from fused_mlp.choice.rules import nominal_ceilings
from fused_mlp.errors import InvalidArgument, Unavailable
from fused_mlp.gated_mlp import packed_gate_up
from fused_mlp.modules import packing
from fused_mlp.vocabulary import CUDA_LEVELS, Implementation, NumberFormat, Operation, Weights
from tests.kernels.cases import OPERATIONS

pytestmark = pytest.mark.interpreter

CEILINGS = nominal_ceilings(capability=90, multiprocessors=132, clock_hz=1.98e9, bytes_per_s=4.8e12)
DEVICE = CudaDevice(name="the interpreter", capability=90, ceilings=CEILINGS)
TRITON_LEVELS = {
    "linear": [Implementation.POINTWISE, Implementation.EPILOGUE],
    "mlp": [Implementation.POINTWISE, Implementation.EPILOGUE, Implementation.SINGLE],
    "gated_mlp": [Implementation.POINTWISE, Implementation.EPILOGUE, Implementation.SINGLE],
}
CASES = [(operation, level) for operation in OPERATIONS for level in TRITON_LEVELS[operation.name]]


@pytest.fixture(scope="module")
def ops_on_cuda():
    """The ops' CUDA kernels, registered for CPU tensors as well; the C++ library is never loaded in this process."""
    library = torch.library.Library("fused_mlp", "IMPL")
    for operation in OPERATIONS:
        front = import_module(f"fused_mlp.{operation.name}")
        library.impl(operation.name, front._cuda, "CPU")
        keeping = import_module(f"fused_mlp.{operation.name}.saved_for_backward")
        library.impl(f"{operation.name}_keeping", keeping._cuda, "CPU")
    library.impl("gated_mlp_gate_up", packed_gate_up._cuda, "CPU")
    yield
    library._destroy()


@pytest.fixture
def device(monkeypatch, ops_on_cuda):
    """CPU tensors are taken for those of a Hopper device."""
    monkeypatch.setattr(choices, "cuda_device", lambda _: DEVICE)
    monkeypatch.setattr(choices, "why_unavailable", lambda *_, **__: None)
    monkeypatch.setattr(torch.cuda, "device", lambda _: nullcontext())
    level_and_tiles.cache_clear()
    yield
    level_and_tiles.cache_clear()


def call(operation, arguments, **options):
    return getattr(torch.ops.fused_mlp, operation.name)(*arguments, "gelu", **options)


def case_of(operation):
    return operation.case(rows=5, dim=24, hidden=40, dtype=torch.float32, activation="gelu")


@pytest.mark.parametrize(("operation", "level"), CASES, ids=lambda each: getattr(each, "name", str(each)))
def test_an_implementation_named_to_the_op_computes_it_and_its_gradient(device, monkeypatch, operation, level):
    case = case_of(operation)
    launched = []
    front = import_module(f"fused_mlp.{operation.name}.cuda")
    real = front.LEVELS[level]

    def noted(*tensors, **rest):
        launched.append(level)
        return real.launch(*tensors, **rest)

    monkeypatch.setitem(front.LEVELS, level, type(real)(launch=noted, candidates=real.candidates))
    leaves = [a.clone().requires_grad_() for a in case.arguments]
    actual = call(operation, leaves, implementation=str(level))
    assert launched == [level]
    assert ((actual.double() - case.expected).abs() <= case.bound).all()
    exact = [a.detach().double().requires_grad_() for a in leaves]
    expected = torch.autograd.grad(operation.oracle(*exact, activation="gelu").sum(), exact)
    for grad, reference in zip(torch.autograd.grad(actual.sum(), leaves), expected, strict=True):
        torch.testing.assert_close(grad.double(), reference, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda each: each.name)
def test_without_a_name_the_chosen_one_computes(device, operation):
    case = case_of(operation)
    actual = call(operation, case.arguments)
    assert ((actual.double() - case.expected).abs() <= case.bound).all()


@pytest.mark.parametrize("recompute", fused_mlp.Recompute)
@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda each: each.name)
def test_float32_without_tf32_is_left_to_pytorch(device, monkeypatch, operation, recompute):
    case = case_of(operation)
    started = []
    monkeypatch.setattr("fused_mlp.gpu.products.launch", lambda kernel, *_, **__: started.append(kernel))
    monkeypatch.setattr("fused_mlp.gpu.single.launch", lambda kernel, *_, **__: started.append(kernel))
    torch.set_float32_matmul_precision("highest")
    leaves = [a.clone().requires_grad_() for a in case.arguments]
    actual = call(operation, leaves, recompute=str(recompute))
    torch.autograd.grad(actual.sum(), leaves)
    assert ((actual.double() - case.expected).abs() <= case.bound).all()
    assert started == []


@pytest.mark.parametrize(("operation", "level"), CASES, ids=lambda each: getattr(each, "name", str(each)))
def test_a_triton_product_named_for_float32_without_tf32_is_refused_with_the_way_out(device, operation, level):
    torch.set_float32_matmul_precision("highest")
    if level is Implementation.POINTWISE:
        assert call(operation, case_of(operation).arguments, implementation=str(level)) is not None
        return
    with pytest.raises(Unavailable, match=r"torch\.set_float32_matmul_precision\('high'\)"):
        call(operation, case_of(operation).arguments, implementation=str(level))


@pytest.mark.parametrize("recompute", fused_mlp.Recompute)
@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda each: each.name)
def test_every_policy_has_the_same_result_and_gradients(device, operation, recompute):
    case = case_of(operation)
    leaves = [a.clone().requires_grad_() for a in case.arguments]
    actual = call(operation, leaves, recompute=str(recompute))
    assert ((actual.double() - case.expected).abs() <= case.bound).all()
    exact = [a.detach().double().requires_grad_() for a in leaves]
    expected = torch.autograd.grad(operation.oracle(*exact, activation="gelu").sum(), exact)
    for grad, reference in zip(torch.autograd.grad(actual.sum(), leaves), expected, strict=True):
        torch.testing.assert_close(grad.double(), reference, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda each: each.name)
def test_a_level_by_name_is_refused_a_policy_that_keeps_what_it_never_writes(device, operation):
    leaves = [a.clone().requires_grad_() for a in case_of(operation).arguments]
    with pytest.raises(InvalidArgument, match="recompute is 'activation'; expected 'all' with"):
        call(operation, leaves, implementation="epilogue", recompute="activation")


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda each: each.name)
def test_no_rows_give_no_rows(device, operation):
    x, *rest = case_of(operation).arguments
    assert call(operation, (x[:0], *rest)).shape[0] == 0


def test_an_inner_dimension_of_nothing_gives_the_activated_bias(device):
    x, w, b = torch.empty(3, 0), torch.empty(4, 0), torch.randn(4)
    out = torch.ops.fused_mlp.linear(x, w, b, "relu", implementation="epilogue")
    torch.testing.assert_close(out, b.relu().expand(3, 4))


def test_a_level_without_a_kernel_for_the_shape_is_refused_with_the_reason(device):
    x, w1, w2 = torch.randn(65, 300), torch.randn(8, 300), torch.randn(300, 8)
    with pytest.raises(Unavailable, match="at most 64 rows"):
        torch.ops.fused_mlp.mlp(x, w1, None, w2, None, "gelu", implementation="single")


class FakeClock:
    """A call takes no time but what the test says of it; it is not even made."""

    def now(self):
        return 0.0

    def wall(self, call, *, calls):
        assert callable(call)
        return 1e-3 * calls

    def timed(self, call, *, calls):
        return Timed(self.wall(call, calls=calls), None)


class CalmWatch:
    def start(self):
        pass

    def disturbance(self, _):
        return None


@pytest.mark.parametrize("operation", Operation)
def test_tuning_tries_every_level_and_tile_and_finds_them_right(device, monkeypatch, operation):
    monkeypatch.setattr(tuning, "BRIEF", SamplingPolicy(budget_s=1e-4, min_rounds=1))
    seconds = iter(range(1, 1000))
    machine = Machine(
        kind=DeviceKind.CUDA,
        device=torch.device("cpu"),
        circumstances=TuningConditions(device="the interpreter", n_threads=None, torch="2", triton="3", source="s"),
        clock=FakeClock(),
        watch=CalmWatch(),
        sampling=SamplingPolicy(budget_s=1e-4, min_rounds=1),
        cuda=DEVICE,
        device_s=lambda _: float(next(seconds)),
        why_not=lambda _, each: "needs a GPU" if each in (Implementation.CUDA, Implementation.CUBLASLT) else None,
    )
    cell = Cell(
        question=Question.WAY,
        operation=operation,
        number_format=NumberFormat.TF32,
        weights=Weights.PLAIN,
        shapes=((3, 16, 32),),
    )
    contenders = candidates(cell, machine)
    answer = measure_cell(cell, contenders, machine, crashed={})
    assert {one.implementation for one in contenders} == set(TRITON_LEVELS[operation])
    assert len({one.name for one in contenders}) == len(contenders) > len(TRITON_LEVELS[operation])
    assert [one.name for one in answer.measured if one.error_rel is None] == []
    assert winner(answer.measured) is not None


@pytest.fixture
def packing_as_on_cuda(device, monkeypatch):
    monkeypatch.setitem(packing._PACKED_ON, Implementation.POINTWISE, "cpu")


@pytest.mark.usefixtures("packing_as_on_cuda")
def test_a_prepared_gated_mlp_multiplies_gate_and_up_at_once_until_a_weight_changes(monkeypatch):
    module = fused_mlp.FusedGatedMLP(24, 40).eval()
    x, products = torch.randn(5, 24), []
    real = torch.mm
    monkeypatch.setattr(torch, "mm", lambda a, b: products.append(b.shape) or real(a, b))
    report = module.prepare(implementation="pointwise")
    assert (report.implementation, report.n_bytes) == (Implementation.POINTWISE, 2 * 40 * 24 * 4)
    with torch.no_grad():
        expected = fused_mlp.reference.gated_mlp(x, *module.weights(), activation="silu")
        torch.testing.assert_close(module(x), expected, rtol=1e-4, atol=1e-4)
        assert products == [(24, 80)]
        module.gate_proj.weight.mul_(2)
        changed = fused_mlp.reference.gated_mlp(x, *module.weights(), activation="silu")
        torch.testing.assert_close(module(x), changed, rtol=1e-4, atol=1e-4)
    assert (80, 24) not in products[1:]
    assert not module.is_prepared


@pytest.mark.usefixtures("packing_as_on_cuda")
def test_other_operations_have_nothing_to_pack_on_cuda_and_say_so():
    with pytest.raises(Unavailable, match="on CUDA gate and up of gated_mlp are packed"):
        fused_mlp.FusedMLP(24, 40).prepare(implementation="pointwise")


def test_every_level_of_every_operation_is_listed_once():
    for operation, levels in TRITON_LEVELS.items():
        listed = import_module(f"fused_mlp.{operation}.cuda").LEVELS
        assert set(listed) - {Implementation.CUDA, Implementation.CUBLASLT, Implementation.PURE} == set(levels)
        assert set(listed) <= {Implementation.PURE, *CUDA_LEVELS}
