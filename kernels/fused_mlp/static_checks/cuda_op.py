"""The kernels of the CUDA C++ op, compiled by nvcc for GPUs that need not be here. Reads them with triton's tools."""

from __future__ import annotations

import re
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from fused_mlp.mlp.cuda_op import DEVICE_FLAGS, KERNEL_SOURCE, WIDEST, shared_memory_bytes
from fused_mlp.native.nvcc import compiles_for, find_nvcc, nvcc_version, why_no_nvcc
from fused_mlp.static_checks.footprints import (
    Footprint,
    disassembled,
    faults_in,
    number_after,
    watched_instructions,
)
from fused_mlp.static_checks.report import CAPABILITIES, Row

if TYPE_CHECKING:
    from collections.abc import Iterator

KERNELS = {
    f"mlp_cuda_{str(dtype).removeprefix('torch.')}_out{out}": (dtype, out)
    for dtype in (torch.float32, torch.bfloat16, torch.float16)
    for out in (64, 128, WIDEST)
}
"""The kernels of cuda.cu: dtype and most output features of each."""


def check_cuda_op(*, only: str = "") -> Iterator[Row]:
    """A row for each kernel on each target, with the shared memory of the widest input; without nvcc a row why not."""
    chosen = [name for name in KERNELS if only in name]
    if not chosen:
        return
    if reason := why_no_nvcc():
        for capability in CAPABILITIES:
            yield Row(target=f"sm_{capability}", kernel="mlp_cuda", unchecked=f"not compiled: {reason}")
        return
    nvcc = find_nvcc() or ""
    for capability in CAPABILITIES:
        target = f"sm_{capability}"
        if not compiles_for(nvcc, capability=capability):
            reason = f"not compiled: nvcc {nvcc_version(nvcc)} knows no {target}"
            yield Row(target=target, kernel="mlp_cuda", unchecked=reason)
            continue
        try:
            usage, code = _disassembled(nvcc, target)
        except subprocess.CalledProcessError as error:
            last = (error.stderr.strip().splitlines() or [""])[-1]
            yield Row(target=target, kernel="mlp_cuda", faults=(f"does not compile: {last}",))
            continue
        yield from (_row(name, usage[name], code[name], capability=capability) for name in chosen)


def cuda_versions() -> dict[str, str]:
    """What decides the numbers of the CUDA C++ op; empty where there is no nvcc."""
    nvcc = find_nvcc()
    return {"nvcc": nvcc_version(nvcc)} if nvcc and why_no_nvcc() is None else {}


def _row(name: str, usage: str, code: str, *, capability: int) -> Row:
    dtype, out = KERNELS[name]
    footprint = Footprint(
        registers=number_after("REG:", usage),
        stack_bytes=number_after("STACK:", usage) + number_after("LOCAL:", usage),
        shared_memory_bytes=shared_memory_bytes(dim=WIDEST, out=out, dtype=dtype),
        tensor_memory_columns=0,
        instructions=watched_instructions(code),
    )
    # float32 is multiplied on the ordinary units, on purpose.
    declared = frozenset({"LDGSTS"} if dtype == torch.float32 else {"LDGSTS", "HMMA"})
    faults = faults_in(footprint, capability=capability, instructions=declared)
    return Row(target=f"sm_{capability}", kernel=name, footprints=(footprint,), faults=tuple(faults))


def _disassembled(nvcc: str, target: str) -> tuple[dict[str, str], dict[str, str]]:
    """Resources and code by kernel."""
    with tempfile.TemporaryDirectory() as folder:
        cubin = Path(folder) / "cuda.cubin"
        command = [nvcc, *DEVICE_FLAGS, "-cubin", f"-arch={target}", str(KERNEL_SOURCE), "-o", str(cubin)]
        subprocess.run(command, capture_output=True, text=True, check=True)
        usage, code = disassembled(cubin.read_bytes())
    by_function = re.split(r"^\s*Function (\w+):", usage, flags=re.MULTILINE)[1:]
    by_section = re.split(r"^\s*\.section\s+\.text\.(\w+)", code, flags=re.MULTILINE)[1:]
    return dict(zip(by_function[::2], by_function[1::2], strict=True)), dict(
        zip(by_section[::2], by_section[1::2], strict=True)
    )
