"""The arithmetic of the CUDA C++ op, its tiles played on the CPU: see cuda_tile_on_host.cpp.

What that proves: every index, boundary, copy, activation, rounding and sum, that asynchronous copies are waited for,
and, by a data race detector, that warps meet at enough barriers. What it cannot: how the matrix instructions spread
over lanes, that nvcc makes of it what g++ does, and anything about time.
"""

import ctypes
import shutil
import subprocess
from pathlib import Path

import pytest
import torch
from torch.utils import cpp_extension

from fused_mlp import reference
from fused_mlp.activations import Activation
from fused_mlp.mlp.cuda_op import shared_memory_bytes
from fused_mlp.native.libraries import PACKAGE
from tests.kernels.cases import DTYPES, OPERATIONS, padded_with_nan, rounding_bound

SOURCE = Path(__file__).with_name("cuda_tile_on_host.cpp")
ACTIVATION_CODES = {None: 0, "relu": 1, "gelu": 2, "gelu_tanh": 3, "silu": 4}
(MLP,) = (operation for operation in OPERATIONS if operation.name == "mlp")


def compile_player(target, *flags):
    compiler = shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        pytest.skip("neither g++ nor clang++ is on PATH")
    include = [flag for folder in cpp_extension.include_paths() for flag in ("-isystem", folder)]
    command = [compiler, "-std=c++20", "-Wall", "-Wextra", "-Werror", "-Wno-unknown-pragmas", "-pthread", *flags]
    command += [f"-I{PACKAGE / 'mlp'}", *include, str(SOURCE), "-o", str(target)]
    subprocess.run(command, check=True)
    return target


@pytest.fixture(scope="module")
def player(tmp_path_factory):
    library = compile_player(tmp_path_factory.mktemp("player") / "player.so", "-O2", "-fPIC", "-shared")
    loaded = ctypes.CDLL(str(library))
    loaded.shared_bytes.restype = ctypes.c_int64
    return loaded


def draw(*shape, dtype, scale=1.0, aligned=False):
    values = (torch.randn(*shape) * scale).to(dtype)
    if not aligned:
        return padded_with_nan(values)
    buffer = torch.full((shape[0] + 1, shape[1] + 16) if len(shape) == 2 else (shape[0] + 16,), torch.nan, dtype=dtype)
    view = buffer[: shape[0], : shape[1]] if len(shape) == 2 else buffer[: shape[0]]
    return view.copy_(values)


def play(player, x, w1, b1, w2, b2, activation):
    rows, dim = x.shape
    hidden, out = w1.shape[0], w2.shape[0]
    guarded = torch.full((rows * out + 64,), 7.0, dtype=x.dtype)
    pointers = [ctypes.c_void_p(None if tensor is None else tensor.data_ptr()) for tensor in (x, w1, b1, w2, b2)]
    strides = [ctypes.c_int64(tensor.stride(0)) for tensor in (x, w1, w2)]
    fault = player.play_mlp(
        DTYPES.index(x.dtype),
        ACTIVATION_CODES[activation],
        *pointers,
        ctypes.c_void_p(guarded.data_ptr()),
        ctypes.c_int64(rows),
        dim,
        hidden,
        out,
        *strides,
    )
    assert fault == 0, {1: "a vector that is not on 16 bytes", 2: "a write beyond shared memory"}[fault]
    assert (guarded[rows * out :] == 7.0).all()
    return guarded[: rows * out].view(rows, out)


SHAPES = [
    pytest.param(1, 1, 1, 1, False, id="all-ones"),
    pytest.param(3, 17, 5, 130, False, id="ragged-small"),
    pytest.param(65, 33, 70, 72, False, id="ragged-two-blocks"),
    pytest.param(70, 40, 72, 100, True, id="vectors"),
    pytest.param(64, 64, 64, 64, True, id="whole-tiles"),
    pytest.param(130, 256, 40, 256, True, id="widest"),
]


@pytest.mark.sample
@pytest.mark.parametrize(("rows", "dim", "hidden", "out", "aligned"), SHAPES)
@pytest.mark.parametrize("bias", [True, False], ids=["bias", "no-bias"])
def test_blocks_compute_the_mlp_within_its_bound(player, dtype, activation, rows, dim, hidden, out, aligned, bias):
    torch.manual_seed(rows + dim + hidden + out)
    x = draw(rows, dim, dtype=dtype, aligned=aligned)
    w1 = draw(hidden, dim, dtype=dtype, scale=dim**-0.5, aligned=aligned)
    w2 = draw(out, hidden, dtype=dtype, scale=hidden**-0.5, aligned=aligned)
    b1, b2 = (draw(n, dtype=dtype) if bias else None for n in (hidden, out))
    actual = play(player, x, w1, b1, w2, b2, str(activation))
    wide = [None if tensor is None else tensor.double() for tensor in (x, w1, b1, w2, b2)]
    expected = reference.mlp(*wide, activation=activation)
    bound = MLP.bound(*wide, dtype=dtype, activation=activation) + rounding_bound(expected, dtype)
    assert ((actual.double() - expected).abs() <= bound).all()


def test_a_nan_reaches_its_row_and_no_other(player):
    x, w = torch.randn(3, 16), torch.randn(16, 16)
    x[1, 5] = torch.nan
    y = play(player, x, w, None, w, None, "relu")
    assert y[1].isnan().all()
    assert not y[[0, 2]].isnan().any()


def test_every_activation_has_a_code():
    assert {str(activation) for activation in Activation} == ACTIVATION_CODES.keys() - {None}


@pytest.mark.parametrize("dim", [1, 33, 64, 256])
@pytest.mark.parametrize("out", [1, 64, 65, 200, 256])
def test_the_shared_memory_asked_about_is_the_shared_memory_taken(player, dtype, dim, out):
    asked = shared_memory_bytes(dim=dim, out=out, dtype=dtype)
    assert asked == player.shared_bytes(dtype.itemsize, dim, out)


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_widest_shape_fits_the_smallest_target(dtype):
    assert shared_memory_bytes(dim=256, out=256, dtype=dtype) <= 166_912


@pytest.fixture(scope="module")
def race_detector(tmp_path_factory):
    folder = tmp_path_factory.mktemp("races")
    empty = folder / "empty.cpp"
    empty.write_text("int main() {}")
    compiler = shutil.which("g++") or shutil.which("clang++")
    command = [compiler, "-fsanitize=thread", str(empty), "-o", str(folder / "empty")]
    if compiler is None or subprocess.run(command, capture_output=True, check=False).returncode != 0:
        pytest.skip("the compiler here has no thread sanitizer")
    if subprocess.run([folder / "empty"], capture_output=True, check=False).returncode != 0:
        pytest.skip("the thread sanitizer does not start on this kernel")
    return compile_player(folder / "races", "-O1", "-g", "-fsanitize=thread")


def races(detector, *, left_out):
    environment = {"TSAN_OPTIONS": "halt_on_error=1:exitcode=66"}
    finished = subprocess.run(
        [detector, str(left_out)], env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert finished.returncode in (0, 66), finished.stderr
    return finished.returncode == 66


N_BARRIERS = 3 * 3 + 2
"""In the shapes the detector plays: three chunks of hidden activations with three each, and two at the end."""


@pytest.mark.slow
def test_warps_do_not_race(race_detector):
    assert not races(race_detector, left_out=-1)


@pytest.mark.slow
@pytest.mark.parametrize("barrier", range(N_BARRIERS))
def test_without_any_one_barrier_warps_race(race_detector, barrier):
    assert races(race_detector, left_out=barrier)
