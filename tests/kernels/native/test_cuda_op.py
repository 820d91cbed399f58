"""The CUDA C++ op where it cannot run: every way it may be missing is a reason in words; and that it compiles.

That it is right on a GPU is the campaign's to show; what it computes is in test_cuda_tile.py.
"""

import subprocess
from types import SimpleNamespace

import pytest
import torch

from fused_mlp import Unavailable
from fused_mlp.mlp import cuda_op
from fused_mlp.mlp.cuda_op import build_library, host_flags, launch_mlp_cuda, why_not_cuda, why_not_cuda_shape
from fused_mlp.native import nvcc

without_gpu = pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU, so nothing is missing")


def fake_nvcc(folder, body):
    path = folder / "nvcc"
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return str(path)


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


def test_an_nvcc_of_another_major_version_than_torchs_is_refused(monkeypatch, tmp_path):
    monkeypatch.setenv("NVCC", fake_nvcc(tmp_path, "echo V12.4.131"))
    monkeypatch.setattr(cuda_op.torch, "version", SimpleNamespace(cuda="13.0"))
    monkeypatch.setattr(cuda_op.torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(cuda_op.torch.cuda, "get_device_capability", lambda _: (9, 0))
    assert "needs the nvcc of torch's CUDA 13.0, " in why_not_cuda()


def test_an_nvcc_that_does_not_know_the_device_is_refused(monkeypatch, tmp_path):
    body = 'if [ "$1" = --version ]; then echo V13.0.88; else echo compute_80 compute_90; fi'
    monkeypatch.setenv("NVCC", fake_nvcc(tmp_path, body))
    monkeypatch.setattr(cuda_op.torch, "version", SimpleNamespace(cuda="13.0"))
    monkeypatch.setattr(cuda_op.torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(cuda_op.torch.cuda, "device_count", lambda: 1)
    monkeypatch.setattr(cuda_op.torch.cuda, "get_device_capability", lambda _: (10, 3))
    assert why_not_cuda().endswith("13.0.88 has none")
    assert "sm_103" in why_not_cuda()


def test_a_device_before_sm_80_is_refused(monkeypatch):
    monkeypatch.setattr(cuda_op.torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(cuda_op.torch.cuda, "get_device_capability", lambda _: (7, 5))
    assert why_not_cuda() == "the CUDA C++ op needs sm_80 or later, this device is sm_75"


@pytest.mark.parametrize(
    ("sizes", "fault"),
    [
        ({"dim": 257, "hidden": 8, "out": 8}, "at most 256 input and output features, these are 257 and 8"),
        ({"dim": 8, "hidden": 8, "out": 300}, "at most 256 input and output features, these are 8 and 300"),
        ({"dim": 8, "hidden": 0, "out": 8}, "8 inputs and 0 hidden features"),
    ],
)
def test_a_shape_beyond_the_op_is_a_reason(sizes, fault):
    assert fault in why_not_cuda_shape(**sizes, dtype=torch.float32, capability=90)


def test_the_widest_shape_is_within_the_op_but_in_float32_not_on_devices_with_little_shared_memory():
    sizes = {"dim": 256, "hidden": 100_000, "out": 256}
    assert why_not_cuda_shape(**sizes, dtype=torch.float32, capability=80) is None
    assert why_not_cuda_shape(**sizes, dtype=torch.bfloat16, capability=89) is None
    reason = why_not_cuda_shape(**sizes, dtype=torch.float32, capability=89)
    assert reason == "the CUDA C++ op needs 155136 bytes of shared memory for this shape, sm_89 has 101376"


@pytest.mark.slow
def test_the_op_compiles_against_this_torch(tmp_path):
    if reason := nvcc.why_no_nvcc():
        pytest.skip(reason)
    binding = cuda_op.KERNEL_SOURCE.with_name("cuda_op.cpp")
    flags = [*cuda_op.DEVICE_FLAGS, "-gencode=arch=compute_90,code=sm_90", *host_flags()]
    command = [nvcc.find_nvcc(), *flags, "-c", str(binding), "-o", str(tmp_path / "op.o")]
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stderr
