"""The CUDA C++ op in `make kernels-report`: every kernel of it, and what is said where nvcc cannot compile it."""

import re
import shutil

import pytest

pytest.importorskip("triton", reason="triton is not installed, whose disassembler reads the machine code")

from fused_mlp.mlp.cuda_op import KERNEL_SOURCE
from fused_mlp.native import nvcc
from fused_mlp.static_checks import cuda_op as report_of_cuda_op
from fused_mlp.static_checks.cuda_op import KERNELS, check_cuda_op, cuda_versions

pytestmark = pytest.mark.compile_kernels


@pytest.fixture
def fake_nvcc(tmp_path, monkeypatch):
    def install(*, knows, says):
        path = tmp_path / "nvcc"
        cases = f'--version) echo V13.0.88;; --list-gpu-arch) echo {knows};; *) echo "{says}" >&2; exit 1;;'
        path.write_text(f'#!/bin/sh\ncase "$1" in {cases} esac\n')
        path.chmod(0o755)
        monkeypatch.setenv("NVCC", str(path))

    return install


def test_every_kernel_in_the_source_is_in_the_report():
    in_source = re.findall(r"^FUSED_MLP_KERNEL\((\w+),", KERNEL_SOURCE.read_text(), flags=re.MULTILINE)
    assert sorted(in_source) == sorted(KERNELS)


def test_without_nvcc_each_target_is_a_row_with_the_reason_and_no_fault(monkeypatch):
    monkeypatch.setenv("NVCC", "no-such-nvcc")
    rows = list(check_cuda_op())
    assert [row.target for row in rows] == ["sm_80", "sm_90", "sm_100"]
    assert all("not compiled: the CUDA C++ op needs nvcc and NVCC is 'no-such-nvcc'" in row.unchecked for row in rows)
    assert not any(row.faults for row in rows)
    assert cuda_versions() == {}


def test_a_target_that_nvcc_does_not_know_is_a_row_with_the_reason(fake_nvcc):
    fake_nvcc(knows="compute_75", says="")
    assert [row.unchecked for row in check_cuda_op()] == [
        f"not compiled: nvcc 13.0.88 knows no {target}" for target in ("sm_80", "sm_90", "sm_100")
    ]


def test_an_op_that_does_not_compile_is_a_fault(fake_nvcc):
    fake_nvcc(knows="compute_80 compute_90 compute_100", says="error: expected a semicolon")
    rows = list(check_cuda_op())
    assert [row.faults for row in rows] == [("does not compile: error: expected a semicolon",)] * 3


@pytest.mark.slow
def test_a_kernel_that_spills_is_found(monkeypatch, tmp_path):
    if reason := nvcc.why_no_nvcc():
        pytest.skip(reason)
    sources = tmp_path / "mlp"
    shutil.copytree(KERNEL_SOURCE.parent, sources)
    crowded = sources / KERNEL_SOURCE.name
    crowded.write_text(crowded.read_text().replace("sizeof(T) == 2 ? 2 : 1", "4"))
    monkeypatch.setattr(report_of_cuda_op, "KERNEL_SOURCE", crowded)
    monkeypatch.setattr(report_of_cuda_op, "CAPABILITIES", (90,))
    (row,) = check_cuda_op(only="mlp_cuda_float32_out256")
    assert any(fault.startswith("spills ") for fault in row.faults)
