"""The CUDA C++ example: what its blocks compute, run on the CPU, and every way it may be missing, as a reason.

Shown here: every index, boundary, activation, rounding and sum, and, by a data race detector, that the threads meet at
enough barriers. Not shown: how the matrix instructions spread over lanes, and that it is right on a GPU, which is the
campaign's to show.
"""

import ctypes
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from torch.utils import cpp_extension

from fused_mlp import Activation, Unavailable, reference
from fused_mlp.mlp import cuda_example
from fused_mlp.mlp.cuda_example import build_library, launch_mlp_cuda, why_not_cuda, why_not_cuda_shape
from fused_mlp.native import nvcc
from tests.kernels.cases import DTYPES, OPERATIONS, padded_with_nan, rounding_bound

HOST = Path(__file__).with_name("cuda_example_on_host.cpp")
CODES = {"relu": 0, "gelu": 1, "gelu_tanh": 2, "silu": 3, "quick_gelu": 4}
(MLP,) = (operation for operation in OPERATIONS if operation.name == "mlp")
without_gpu = pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU, so nothing is missing")


def compile_for_host(target, *flags):
    compiler = shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        pytest.skip("neither g++ nor clang++ is on PATH")
    include = [flag for folder in cpp_extension.include_paths() for flag in ("-isystem", folder)]
    command = [compiler, "-std=c++20", "-Wall", "-Wextra", "-Werror", "-Wno-unknown-pragmas", "-pthread", *flags]
    command += [f"-I{cuda_example.SOURCE.parent}", *include, str(HOST), "-o", str(target)]
    subprocess.run(command, check=True)
    return target


@pytest.fixture(scope="module")
def host(tmp_path_factory):
    library = compile_for_host(tmp_path_factory.mktemp("host") / "host.so", "-O2", "-fPIC", "-shared")
    loaded = ctypes.CDLL(str(library))
    loaded.run_mlp.restype = ctypes.c_bool
    return loaded


def run(host, x, w1, b1, w2, b2, activation):
    (rows, dim), hidden, out = x.shape, w1.shape[0], w2.shape[0]
    guarded = torch.full((rows * out + 64,), 7.0, dtype=x.dtype)
    pointers = [None if t is None else t.data_ptr() for t in (x, w1, b1, w2, b2, guarded)]
    sizes = (ctypes.c_int64(rows), dim, hidden, out)
    is_within = host.run_mlp(DTYPES.index(x.dtype), CODES[activation], *map(ctypes.c_void_p, pointers), *sizes)
    assert is_within, "a write beyond the shared memory asked for"
    assert (guarded[rows * out :] == 7.0).all()
    return guarded[: rows * out].view(rows, out)


def draw(*shape, dtype, scale=1.0):
    """A tensor with NaN before and behind it."""
    values = (torch.randn(*shape) * scale).to(dtype)
    return padded_with_nan(values.flatten()).view(shape)


@pytest.mark.sample
@pytest.mark.parametrize("shape", [(1, 1, 1, 1), (3, 17, 5, 130), (65, 33, 70, 72), (70, 64, 64, 64), (2, 256, 9, 256)])
@pytest.mark.parametrize("bias", [True, False], ids=["bias", "no-bias"])
def test_blocks_compute_the_mlp_within_its_bound(host, dtype, activation, shape, bias):
    torch.manual_seed(sum(shape))
    rows, dim, hidden, out = shape
    x, w1 = draw(rows, dim, dtype=dtype), draw(hidden, dim, dtype=dtype, scale=dim**-0.5)
    w2 = draw(out, hidden, dtype=dtype, scale=hidden**-0.5)
    b1, b2 = (draw(n, dtype=dtype) if bias else None for n in (hidden, out))
    actual = run(host, x, w1, b1, w2, b2, str(activation))
    wide = [None if tensor is None else tensor.double() for tensor in (x, w1, b1, w2, b2)]
    expected = reference.mlp(*wide, activation=activation)
    bound = MLP.bound(*wide, dtype=dtype, activation=activation) + rounding_bound(expected, dtype)
    assert ((actual.double() - expected).abs() <= bound).all()


def test_a_nan_reaches_its_row_and_no_other(host):
    x, w = torch.randn(3, 16), torch.randn(16, 16)
    x[1, 5] = torch.nan
    y = run(host, x, w, None, w, None, "relu")
    assert y[1].isnan().all()
    assert not y[[0, 2]].isnan().any()


def test_every_activation_has_a_code():
    assert set(CODES) == set(Activation)


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
    return compile_for_host(folder / "races", "-O1", "-g", "-fsanitize=thread")


def races(detector, *, left_out):
    environment = {"TSAN_OPTIONS": "halt_on_error=1:exitcode=66"}
    finished = subprocess.run(
        [detector, str(left_out)], env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert finished.returncode in (0, 66), finished.stderr
    return finished.returncode == 66


@pytest.mark.slow
def test_threads_do_not_race(race_detector):
    assert not races(race_detector, left_out=-1)


# Two blocks of hidden activations with four barriers each, the first of which nothing precedes, and two at the end.
@pytest.mark.exhaustive
@pytest.mark.parametrize("barrier", range(1, 10))
def test_without_any_one_barrier_threads_race(race_detector, barrier):
    assert races(race_detector, left_out=barrier)


@pytest.mark.exhaustive
def test_it_compiles_against_this_torch_without_spills(tmp_path):
    if reason := nvcc.why_no_nvcc():
        pytest.skip(reason)
    command = [nvcc.find_nvcc(), *cuda_example.flags((80, 90)), "-Xptxas", "-v", "-c"]
    finished = subprocess.run(
        [*command, str(cuda_example.SOURCE), "-o", str(tmp_path / "op.o")], capture_output=True, text=True, check=False
    )
    assert finished.returncode == 0, finished.stderr
    assert finished.stderr.count("0 bytes stack frame, 0 bytes spill stores") == 2 * len(DTYPES) * 3


def fake_nvcc(folder, body):
    path = folder / "nvcc"
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return str(path)


@pytest.fixture
def device(monkeypatch):
    """A device of this process with the capability given."""

    def have(major, minor):
        monkeypatch.setattr(cuda_example.torch, "version", SimpleNamespace(cuda="13.0"))
        monkeypatch.setattr(cuda_example.torch.cuda, "is_available", lambda: True)
        monkeypatch.setattr(cuda_example.torch.cuda, "device_count", lambda: 1)
        monkeypatch.setattr(cuda_example.torch.cuda, "get_device_capability", lambda _=None: (major, minor))

    return have


@without_gpu
def test_without_a_gpu_the_reason_is_the_same_before_and_at_a_call():
    reason = why_not_cuda()
    assert "needs an NVIDIA GPU" in reason
    x = torch.randn(2, 4)
    with pytest.raises(Unavailable) as raised:
        launch_mlp_cuda(x, torch.randn(4, 4), None, torch.randn(4, 4), None, activation="relu")
    assert str(raised.value) == reason


def test_an_nvcc_that_is_named_but_not_there_is_named_in_the_reason(monkeypatch):
    monkeypatch.setenv("NVCC", "no-such-nvcc")
    assert "NVCC is 'no-such-nvcc', which is not there" in nvcc.why_no_nvcc()
    with pytest.raises(Unavailable, match="no-such-nvcc"):
        build_library(capabilities=(90,))


def test_an_nvcc_that_does_not_start_is_a_reason(monkeypatch, tmp_path):
    broken = fake_nvcc(tmp_path, "exit 1")
    monkeypatch.setenv("NVCC", broken)
    assert nvcc.why_no_nvcc() == f"the CUDA C++ op needs nvcc and {broken} --version fails"


def test_an_nvcc_that_fails_is_quoted(monkeypatch, tmp_path):
    monkeypatch.setenv("FUSED_MLP_CACHE", str(tmp_path / "cache"))
    body = 'if [ "$1" = --version ]; then echo V13.0.88; else echo "no such architecture" >&2; exit 1; fi'
    monkeypatch.setenv("NVCC", fake_nvcc(tmp_path, body))
    with pytest.raises(Unavailable, match=r"(?s)the CUDA C\+\+ compiler failed \(.*sm_90.*no such architecture"):
        build_library(capabilities=(90,))


def test_an_nvcc_of_another_major_version_than_torchs_is_refused(monkeypatch, tmp_path, device):
    monkeypatch.setenv("NVCC", fake_nvcc(tmp_path, "echo V12.4.131"))
    device(9, 0)
    assert "needs the nvcc of torch's CUDA 13.0, " in why_not_cuda()


def test_an_nvcc_that_does_not_know_the_device_is_refused(monkeypatch, tmp_path, device):
    body = 'if [ "$1" = --version ]; then echo V13.0.88; else echo compute_80 compute_90; fi'
    monkeypatch.setenv("NVCC", fake_nvcc(tmp_path, body))
    device(10, 3)
    assert why_not_cuda().endswith("13.0.88 has none")
    assert "sm_103" in why_not_cuda()


def test_a_device_before_sm_80_is_refused(device):
    device(7, 5)
    assert why_not_cuda() == "the CUDA C++ op needs sm_80 or later, this device is sm_75"


@pytest.mark.parametrize(("dim", "out"), [(257, 8), (8, 300)])
def test_a_shape_beyond_the_op_is_a_reason(dim, out):
    assert f"at most 256 input and output features, these are {dim} and {out}" in why_not_cuda_shape(dim=dim, out=out)
    assert why_not_cuda_shape(dim=256, out=256) is None
