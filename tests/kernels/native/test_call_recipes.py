"""Calls by recipes: the launch that the long way made, on the addresses of this call; and the long way for all others.

The driver is one of ours that notes what it is asked to launch; tensors are the CPU's, which have addresses.
"""

import ctypes
import re
from importlib import import_module
from types import SimpleNamespace

import pytest
import torch

pytest.importorskip("triton", reason="triton is not installed")

from triton import knobs

import fused_mlp
from fused_mlp.choice.call_recipes import remember
from fused_mlp.gpu.launch import LaunchPath, launching_through, noting_launches
from fused_mlp.host_cost import absent_gpu, record_call
from fused_mlp.native import fast_calls
from fused_mlp.vocabulary import Implementation, Operation
from tests.kernels.cases import OPERATIONS

pytestmark = [pytest.mark.compile_kernels, pytest.mark.usefixtures("cpu_kernels")]

BY_NAME = {operation.name: operation for operation in OPERATIONS}
WITH_KERNEL = [
    (operation, level)
    for operation in ("linear", "mlp", "gated_mlp")
    for level in ("pointwise", "epilogue", "single")
    if (operation, level) != ("linear", "single")
]
LAUNCH = ctypes.CFUNCTYPE(
    ctypes.c_int,
    ctypes.c_void_p,
    *[ctypes.c_uint] * 7,
    ctypes.c_void_p,
    ctypes.POINTER(ctypes.c_void_p),
    ctypes.c_void_p,
)
ASK = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ctypes.c_int))
CONTEXT = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_void_p))


class NotingDriver:
    """CUDA's driver as the recipes see it; what is launched is noted, and `fill` may write what the kernel would."""

    def __init__(self):
        self.launches, self.capturing, self.current, self.code = [], 0, 5, 0
        self.fill = lambda _: None

    def launch(self, function, *rest):
        *sizes, stream, pointers, _ = rest
        self.launches.append(SimpleNamespace(function=function, grid=tuple(sizes[:3]), sizes=sizes, stream=stream))
        self.fill(pointers)
        return self.code

    def is_capturing(self, _, status):
        status[0] = self.capturing
        return 0

    def context(self, current):
        current[0] = self.current
        return 0


@pytest.fixture
def driver(calls_built):
    noting = NotingDriver()
    functions = LAUNCH(noting.launch), ASK(noting.is_capturing), CONTEXT(noting.context)
    with absent_gpu():
        addresses = [ctypes.cast(function, ctypes.c_void_p).value for function in functions]
        fast_calls.drive(*addresses, "cpu", lambda _: noting.stream)
        noting.stream = 11
        yield noting
    del functions


def case_of(operation, *, rows=8, dtype=torch.float32, activation="relu", bias=True):
    return BY_NAME[operation].case(rows=rows, dim=32, hidden=64, dtype=dtype, activation=activation, bias=bias)


def aligned(case):
    return tuple(None if a is None else a.clone() for a in case.arguments)


def called(operation, arguments, activation="relu"):
    with torch.no_grad():
        return getattr(fast_calls, operation)(*arguments, activation, "activation")


def recipe_of(operation, level, arguments, activation="relu"):
    with torch.no_grad():
        record_call(Operation(operation), Implementation(level), arguments, activation=activation)


def noted(operation, level, arguments, activation="relu"):
    """What the long way launches for these arguments: its kernel, with the addresses it passes."""
    levels = import_module(f"fused_mlp.{operation}.cuda").LEVELS
    with noting_launches() as started:
        levels[Implementation(level)].launch(*arguments, activation=activation, tiles=None)
    (one,) = started
    return one


def parameters_of(kernel):
    """The bytes of each parameter in the machine code's order, as its PTX declares them."""
    ptx = kernel.compiled.asm["ptx"]
    header = ptx[ptx.index(".entry") : ptx.index(")", ptx.index(".entry"))]
    return [int(bits) // 8 for bits in re.findall(r"\.param \.[a-z](\d+)", header)]


def read(pointers, sizes):
    return [int.from_bytes(ctypes.string_at(pointers[i], size), "little") for i, size in enumerate(sizes)]


@pytest.mark.parametrize(("operation", "level"), WITH_KERNEL)
@pytest.mark.parametrize(("rows", "bias"), [(8, True), (200, False)])
def test_the_kernel_gets_what_the_long_way_gives_it_at_this_call_s_addresses(driver, operation, level, rows, bias):
    case = case_of(operation, rows=rows, dtype=torch.bfloat16, bias=bias)
    recipe_of(operation, level, aligned(case))
    arguments = aligned(case)
    long = noted(operation, level, arguments)
    sizes, got = parameters_of(long), []
    driver.fill = lambda pointers: got.extend(read(pointers, sizes))
    result = called(operation, arguments)
    (launch,) = driver.launches
    assert launch.grid == (*long.grid, 1, 1)[:3]
    assert launch.stream == 11
    metadata = long.compiled.metadata
    assert launch.sizes[3:] == [32 * metadata.num_warps, 1, 1, metadata.shared]
    names = [name for name in long.kernel.arg_names if long.compiled.src.signature[name] != "constexpr"]
    assert len(names) + 2 == len(sizes) == len(got)
    assert got[-2:] == [0, 0]
    given = dict(zip(long.kernel.arg_names, (*long.tensors, *long.sizes), strict=False))
    inputs = {a.data_ptr() for a in arguments if a is not None}
    for name, value in zip(names, got, strict=False):
        expected = given[name]
        if not isinstance(expected, torch.Tensor):
            assert value == expected, name
        elif expected.data_ptr() in inputs:
            assert value == expected.data_ptr(), name
        elif name == "y_ptr" and (level == "single" or operation == "linear"):
            assert value == result.data_ptr()
        elif name == "counters_ptr":
            assert value == expected.data_ptr()
        else:
            assert value not in {0, *inputs}, name


FILLED = {"pointwise": {"linear": "z_ptr", "mlp": "z_ptr", "gated_mlp": "gate_ptr"}}


@pytest.mark.parametrize(("operation", "level"), WITH_KERNEL)
@pytest.mark.parametrize("leading", [(8,), (2, 4)], ids=["rows", "leading"])
def test_the_result_is_made_of_what_the_kernel_wrote(driver, operation, level, leading):
    case = case_of(operation)
    x, *weights = aligned(case)
    x = x.view(*leading, x.shape[-1])
    recipe_of(operation, level, (x, *weights))
    long = noted(operation, level, (x, *weights))
    name = FILLED.get(level, {}).get(operation, "y_ptr")
    names = [each for each in long.kernel.arg_names if long.compiled.src.signature[each] != "constexpr"]
    written = case.expected.float() if level == "single" or operation == "linear" else hidden_of(operation, x, weights)

    def fill(pointers):
        (address,) = read(pointers[names.index(name) : names.index(name) + 1], [8])
        ctypes.memmove(address, written.contiguous().data_ptr(), written.numel() * 4)

    driver.fill = fill
    result = called(operation, (x, *weights))
    assert result.shape == (*leading, *case.expected.shape[1:])
    torch.testing.assert_close(result.view(case.expected.shape).double(), case.expected, rtol=1e-4, atol=1e-4)
    assert len(driver.launches) == 1


def hidden_of(operation, x, weights):
    if operation == "mlp":
        return torch.relu(torch.nn.functional.linear(x, *weights[:2]))
    gate, up, _ = weights
    return torch.relu(x @ gate.t()) * (x @ up.t())


@pytest.mark.filterwarnings("ignore:.*Profiler clears events:UserWarning")
@pytest.mark.parametrize("operation", BY_NAME)
@pytest.mark.parametrize("level", ["pure", "cublaslt"])
def test_levels_without_a_kernel_of_ours_compute_it_too(driver, operation, level, activation):
    if level == "cublaslt" and (operation == "gated_mlp" or activation != "relu"):
        pytest.skip("has no epilogue of that on a CPU")
    case = case_of(operation, activation=activation)
    arguments = aligned(case)
    recipe_of(operation, level, arguments, str(activation))
    result = called(operation, arguments, str(activation))
    torch.testing.assert_close(result.double(), case.expected, rtol=1e-4, atol=1e-4)
    names = ops_called(lambda: called(operation, arguments, str(activation)))
    assert names == [f"fused_mlp::{operation}"]


def ops_called(call):
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profiled:
        call()
    return [event.name for event in profiled.events() if event.name.startswith("fused_mlp::")]


def test_a_module_s_call_goes_by_the_recipe_of_its_operation(driver):
    module = fused_mlp.FusedMLP(32, 64, activation="relu")
    x = torch.randn(8, 32)
    recipe_of("mlp", "epilogue", (x, *module._parameters_in_order()))
    with torch.inference_mode():
        module(x)
    assert len(driver.launches) == 1


OTHERS = {
    "other rows": lambda _, x, w: (torch.cat([x, x]), *w),
    "another dtype": lambda _, x, w: (x.half(), *(t.half() for t in w)),
    "rows apart": lambda _, x, w: (torch.cat([x, x], dim=1)[:, :32], *w),
    "an odd address": lambda _, x, w: (torch.cat([x.flatten()[:1], x.flatten()])[1:].view(8, 32), *w),
    "a negative view": lambda _, x, w: (torch._neg_view(-x), *w),
    "a gradient": lambda _, x, w: (x.requires_grad_(), *w),
    "another stream": lambda d, x, w: setattr(d, "stream", 12) or (x, *w),
    "a capture": lambda d, x, w: setattr(d, "capturing", 1) or (x, *w),
    "no context": lambda d, x, w: setattr(d, "current", None) or (x, *w),
    "recipes forgotten": lambda _, x, w: fast_calls.forget() or (x, *w),
}


@pytest.mark.parametrize("other", OTHERS)
def test_other_calls_go_the_long_way_and_are_right(driver, other):
    x, *weights = aligned(case_of("mlp"))
    recipe_of("mlp", "epilogue", (x, *weights))
    changed = OTHERS[other](driver, x, weights)
    result = fast_calls.mlp(*changed, "relu", "activation")
    assert driver.launches == []
    exact = [a.detach().resolve_neg().double() for a in changed]
    expected = fused_mlp.reference.mlp(*exact, activation="relu")
    torch.testing.assert_close(result.double(), expected, rtol=2e-2, atol=2e-2)


def test_while_somebody_listens_to_launches_nothing_goes_by_recipe(driver):
    arguments = aligned(case_of("mlp"))
    recipe_of("mlp", "epilogue", arguments)
    hook = knobs.runtime.launch_enter_hook
    hook.add(print)
    try:
        called("mlp", arguments)
        assert driver.launches == []
    finally:
        hook.remove(print)
    called("mlp", arguments)
    assert len(driver.launches) == 1


def test_a_launch_that_fails_is_made_again_the_long_way(driver):
    case = case_of("mlp")
    arguments = aligned(case)
    recipe_of("mlp", "epilogue", arguments)
    driver.code = 700
    assert called("mlp", arguments) is NotImplemented
    assert len(driver.launches) == 1


@pytest.mark.parametrize("forgotten_by", ["path", "capture"])
def test_recipes_end_where_the_long_way_has_something_to_do(driver, forgotten_by):
    from fused_mlp.gpu.workspace import CudaStreams, Workspaces

    arguments = aligned(case_of("mlp"))
    recipe_of("mlp", "epilogue", arguments)
    if forgotten_by == "path":
        with launching_through(LaunchPath.JIT):
            pass
    else:
        workspaces = Workspaces(CudaStreams())
        workspaces.take(torch.device("cpu"), n_counters=1, n_sums=1)
        workspaces._lend(None, 3, (torch.device("cpu"), 0), workspaces._reserve[torch.device("cpu")][0])
    called("mlp", arguments)
    assert driver.launches == []


def test_what_has_descriptors_or_wants_more_of_a_launch_has_no_recipe(driver):
    arguments = aligned(case_of("mlp", dtype=torch.bfloat16, rows=4096))
    one = noted("mlp", "epilogue", arguments)
    assert one.n_descriptors == 3
    assert not remember(Operation.MLP, Implementation.EPILOGUE, arguments, [one], activation="relu")
    arguments = aligned(case_of("mlp"))
    one = noted("mlp", "epilogue", arguments)
    assert remember(Operation.MLP, Implementation.EPILOGUE, arguments, [one], activation="relu")
    for wants in ({"launch_pdl": True}, {"num_ctas": 2}, {"global_scratch_size": 8}):
        metadata = SimpleNamespace(**{**one.compiled.metadata._asdict(), **wants})
        compiled = SimpleNamespace(metadata=metadata, src=one.compiled.src, function=1)
        other = one._replace(compiled=compiled)
        assert not remember(Operation.MLP, Implementation.EPILOGUE, arguments, [other], activation="relu")
