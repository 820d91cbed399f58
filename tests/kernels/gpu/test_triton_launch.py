"""Kernels start through the compiled handle that Triton itself would choose, with the arguments it would pass."""

from types import SimpleNamespace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("triton", reason="triton is not installed")

from triton.backends.compiler import GPUTarget
from triton.backends.nvidia.compiler import CUDABackend
from triton.runtime import driver
from triton.runtime.jit import create_function_from_signature

from fused_mlp.gpu import launch as triton_launch
from fused_mlp.gpu.launch import LaunchPath, launch, launching_through, path_for
from fused_mlp.gpu.tiles import Tiles
from fused_mlp.linear.triton_epilogue import launch_linear, linear_epilogue_kernel
from fused_mlp.linear.triton_persistent import linear_persistent_kernel

TILES = (64, 64, 32, 8, False)


@pytest.fixture(autouse=True)
def handles(monkeypatch):
    monkeypatch.setattr(triton_launch, "_handles", {})
    monkeypatch.setattr(triton_launch, "_current_stream", lambda _: 7)
    with launching_through(LaunchPath.HANDLE):
        yield


class SpecialisingKernel:
    """Stands for a JIT function: what it 'compiles' is the specialisation Triton's own binder finds."""

    def __init__(self):
        backend = CUDABackend(GPUTarget("cuda", 90, 32))
        self.binder = create_function_from_signature(
            linear_epilogue_kernel.signature, linear_epilogue_kernel.params, backend
        )
        self.compiled = 0

    def specialisation_of(self, *arguments):
        return str(self.binder(*arguments)[1])

    def __getitem__(self, grid):
        def through_jit(*arguments, num_warps, num_stages):
            self.compiled += 1
            found = self.specialisation_of(*arguments)
            return SimpleNamespace(run=lambda *_: self.ran.append(found), function=1, packed_metadata=())

        self.ran = []
        return through_jit


def started(kernel, tensors, sizes):
    """The specialisation that a second call with these arguments runs."""
    constants = ("relu", tensors[2] is not None, False, *TILES)
    for _ in range(2):
        launch(kernel, (1,), tensors, sizes, constants, n_warps=4, n_stages=3)
    return kernel.ran[-1], kernel.specialisation_of(*tensors, *sizes, *constants)


def views(offset, dtype):
    buffer = torch.zeros(64, dtype=dtype)
    return buffer[offset : offset + 4], buffer[8:12], buffer[16 - offset : 20]


@pytest.mark.compile_kernels
@given(
    sizes=st.tuples(*[st.sampled_from([1, 2, 15, 16, 17, 32, 2**31 - 16, 2**31])] * 6),
    calls=st.lists(
        st.tuples(
            st.integers(0, 4), st.sampled_from([torch.float32, torch.bfloat16]), st.booleans(), st.integers(0, 6)
        ),
        min_size=2,
        max_size=5,
    ),
)
def test_every_call_runs_what_triton_would_choose_for_it(sizes, calls):
    triton_launch.forget_handles()
    kernel = SpecialisingKernel()
    for offset, dtype, bias, changed in calls:
        x, w, b = views(offset, dtype)
        # Mostly the same sizes again, so that handles are found, and sometimes one of them another.
        own = tuple(size + (index == changed) for index, size in enumerate(sizes))
        ran, chosen = started(kernel, (x, w, b if bias else None, w, None), own)
        assert ran == chosen


@pytest.mark.compile_kernels
def test_the_same_call_asks_the_jit_once():
    kernel = SpecialisingKernel()
    x, w, b = views(0, torch.float32)
    for _ in range(3):
        started(kernel, (x, w, b, w, None), (1, 16, 16, 16, 16, 16))
    assert kernel.compiled == 1


@pytest.mark.compile_kernels
def test_an_address_of_another_divisibility_has_another_handle():
    kernel = SpecialisingKernel()
    aligned, w, b = views(0, torch.float32)
    odd, _, _ = views(1, torch.float32)
    sizes = (16, 16, 16, 16, 16, 16)
    assert started(kernel, (aligned, w, b, w, None), sizes)[0] != started(kernel, (odd, w, b, w, None), sizes)[0]


@pytest.mark.parametrize(
    ("version", "interpreting", "expected"),
    [
        ("3.6.0", False, LaunchPath.HANDLE),
        ("3.7.1", False, LaunchPath.HANDLE),
        ("3.8.0+git1234", False, LaunchPath.JIT),
        ("3.5.1", False, LaunchPath.JIT),
        ("3.7.1", True, LaunchPath.INTERPRETER),
    ],
)
def test_handles_are_used_only_under_versions_that_were_read(version, interpreting, expected):
    assert path_for(triton_version=version, interpreting=interpreting) is expected


class CountingKernel:
    def __init__(self, compiled):
        self.compiled = compiled
        self.calls = 0

    def __getitem__(self, grid):
        def through_jit(*arguments, num_warps, num_stages):
            self.calls += 1
            return self.compiled

        return through_jit


def start(kernel, size=1):
    launch(kernel, (1,), (torch.zeros(4),), (size,), (), n_warps=1, n_stages=1)


COMPILED = SimpleNamespace(run=lambda *_: None, function=1, packed_metadata=())


def test_on_the_jit_path_every_call_goes_through_the_jit():
    kernel = CountingKernel(COMPILED)
    with launching_through(LaunchPath.JIT):
        start(kernel)
        start(kernel)
    assert kernel.calls == 2


def test_a_call_that_triton_was_kept_from_compiling_is_not_remembered():
    kernel = CountingKernel(None)
    start(kernel)
    start(kernel)
    assert kernel.calls == 2


def test_a_profilers_hook_sees_every_launch(monkeypatch):
    kernel = CountingKernel(COMPILED)
    start(kernel)
    hook = SimpleNamespace(calls=[print])
    monkeypatch.setattr(triton_launch.knobs.runtime, "launch_enter_hook", hook)
    start(kernel)
    assert kernel.calls == 2


def test_handles_do_not_grow_without_bound(monkeypatch):
    monkeypatch.setattr(triton_launch, "MOST_HANDLES", 3)
    kernel = CountingKernel(COMPILED)
    for size in range(10):
        start(kernel, size)
        assert len(triton_launch._handles) <= 3


class RecordingDriver:
    """A driver without a device: kernels are compiled for sm_90 as they are, and their launches written down."""

    def __init__(self):
        self.launches = []
        self.utils = SimpleNamespace(
            load_binary=lambda name, *_: (object(), f"function of {name}", 32, 0, 1024),
            get_device_properties=lambda _: {"max_shared_mem": 232_448},
        )

    def get_current_device(self):
        return 0

    def get_current_stream(self, _):
        return 7

    def get_current_target(self):
        return GPUTarget("cuda", 90, 32)

    def launcher_cls(self, *_):
        def run(n_x, n_y, n_z, stream, function, packed, launch_metadata, on_enter, on_exit, *arguments):
            as_numbers = [a.data_ptr() if isinstance(a, torch.Tensor) else a for a in arguments]
            described = [
                (a.base.data_ptr(), *a.shape, *a.strides, *a.block_shape) if hasattr(a, "block_shape") else a
                for a in as_numbers
            ]
            self.launches.append((n_x, n_y, n_z, stream, function, packed, described))

        return run


@pytest.fixture
def recorded(monkeypatch):
    recording = RecordingDriver()
    monkeypatch.setattr(driver, "_active", recording)
    yield recording.launches
    for kernel in (linear_epilogue_kernel, linear_persistent_kernel):
        kernel.device_caches.clear()


@pytest.mark.compile_kernels
@pytest.mark.parametrize(
    "tiles",
    [
        Tiles(block_rows=16, block_out=32, block_in=32, group_rows=1, n_warps=4, n_stages=2),
        Tiles(block_rows=64, block_out=64, block_in=32, group_rows=8, n_warps=4, n_stages=2, persistent=True),
    ],
    ids=["ordinary", "persistent"],
)
def test_a_handle_is_given_what_the_jit_gives_the_kernel(recorded, monkeypatch, tiles):
    x, w, b = torch.zeros(32, 64).half(), torch.zeros(64, 64).half(), torch.zeros(64).half()
    y = torch.zeros(32, 64).half()
    monkeypatch.setattr(type(x), "new_empty", lambda *_, **__: y, raising=False)
    for _ in range(2):
        launch_linear(x, w, b, activation="gelu", tiles=tiles)
    through_jit, through_handle = recorded
    assert through_handle == through_jit


@pytest.mark.compile_kernels
def test_a_handle_is_found_without_the_jit(recorded, monkeypatch):
    x, w = torch.zeros(16, 64).half(), torch.zeros(64, 64).half()
    launch_linear(x, w, None, activation="gelu")
    monkeypatch.setattr(type(linear_epilogue_kernel), "run", lambda *_, **__: pytest.fail("the JIT was asked"))
    launch_linear(x, w, None, activation="gelu")
    assert len(recorded) == 2


def test_host_cost_is_the_median_of_alternating_rounds_after_a_first_one():
    from fused_mlp.host_cost import medians_of_rounds

    clock = iter([0, 100, 0, 100, 0, 1, 0, 5, 0, 3, 0, 7, 0, 2, 0, 6])
    order = []
    ways = (lambda: order.append("a"), lambda: order.append("b"))
    assert medians_of_rounds(ways, rounds=3, before_each=lambda: None, now=lambda: next(clock)) == [2, 6]
    assert order == ["a", "b"] * 4


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_host_cost_without_a_device_says_so():
    from fused_mlp.errors import Unavailable
    from fused_mlp.host_cost import host_cost_per_launch

    with pytest.raises(Unavailable, match="CUDA device"):
        host_cost_per_launch()
