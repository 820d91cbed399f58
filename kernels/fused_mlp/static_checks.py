"""`python -m fused_mlp.static_checks`: what every Triton kernel becomes on a GPU that is not here.

Each kernel is compiled in each configuration the launchers choose, for a named target, without a device: registers,
shared memory, spills, tensor-core instructions, asynchronous copies. Needs triton, in a process without
TRITON_INTERPRET. As a command it prints the table, and exits with 1 if a kernel does not fit.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from triton import compile as compile_kernel
from triton import knobs
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from fused_mlp.gated_mlp.triton_dual_product import dual_product_kernel, tiles_for_dual_product
from fused_mlp.linear.triton_epilogue import linear_epilogue_kernel, tiles_for_linear

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fused_mlp.triton_tiles import Tiles

SHARED_MEMORY_LIMIT_BYTES = {80: 166_912, 90: 232_448}
"""Shared memory one block may use, by compute capability. Source: CUDA C++ Programming Guide, table of technical
specifications per compute capability (163 KB and 227 KB)."""

TENSOR_CORE_INSTRUCTIONS = ("HGMMA", "HMMA")
ASYNCHRONOUS_COPIES = ("LDGSTS", "UTMALDG")

_ROW_COUNTS = (16, 64, 1024, 8192)
_POINTER_TYPES = {torch.float32: "*fp32", torch.bfloat16: "*bf16", torch.float16: "*fp16"}


@dataclass(frozen=True, kw_only=True)
class Configuration:
    """One kernel in one committed configuration."""

    kernel: Any
    dtype: torch.dtype
    tiles: Tiles
    activation: str

    def __str__(self) -> str:
        t = self.tiles
        blocks = f"{t.block_rows}x{t.block_out}x{t.block_in}"
        dtype = str(self.dtype).removeprefix("torch.")
        return f"{self.kernel.__name__}-{dtype}-{blocks}-{t.n_warps}w{t.n_stages}s-{self.activation}"


@dataclass(frozen=True, kw_only=True)
class Footprint:
    """What a compiled kernel takes and uses.

    registers and stack_bytes (spills) are per thread, shared_memory_bytes per block; instructions: how often each
    watched one stands in the code.
    """

    registers: int
    stack_bytes: int
    shared_memory_bytes: int
    instructions: Counter[str]


def committed_configurations(*, capability: int, activations: tuple[str, ...] = ("gelu",)) -> Iterator[Configuration]:
    """Every kernel in every configuration its launcher chooses on a device of `capability`, each once."""
    for kernel, tiles_for in (
        (linear_epilogue_kernel, tiles_for_linear),
        (dual_product_kernel, tiles_for_dual_product),
    ):
        for dtype in _POINTER_TYPES:
            for tiles in dict.fromkeys(tiles_for(n_rows, dtype, capability=capability) for n_rows in _ROW_COUNTS):
                for activation in activations:
                    yield Configuration(kernel=kernel, dtype=dtype, tiles=tiles, activation=activation)


def compile_for(configuration: Configuration, *, capability: int) -> Footprint:
    """The footprint of `configuration` on a device of `capability` (80, 90: sm_80, sm_90).

    Sizes and strides are taken as divisible by 16, as the launchers' arguments mostly are; float32 as tf32.
    """
    tiles = configuration.tiles
    constants = {
        "ACTIVATION": configuration.activation,
        "HAS_BIAS": True,
        "BLOCK_ROWS": tiles.block_rows,
        "BLOCK_OUT": tiles.block_out,
        "BLOCK_IN": tiles.block_in,
        "GROUP_ROWS": tiles.group_rows,
        "UPCAST": False,
        "PRECISION": "tf32",
    }
    names = configuration.kernel.arg_names
    pointer = _POINTER_TYPES[configuration.dtype]
    signature = {
        name: "constexpr" if name in constants else pointer if name.endswith("_ptr") else "i32" for name in names
    }
    values = {(index,): constants[name] for index, name in enumerate(names) if name in constants}
    attributes = {(index,): [["tt.divisibility", 16]] for index, name in enumerate(names) if name not in constants}
    compiled = compile_kernel(
        ASTSource(configuration.kernel, signature, values, attributes),
        target=GPUTarget("cuda", capability, 32),
        options={"num_warps": tiles.n_warps, "num_stages": tiles.n_stages},
    )
    return _footprint_from_cubin(compiled.asm["cubin"], shared_memory_bytes=compiled.metadata.shared)


def faults_in(footprint: Footprint, *, capability: int) -> list[str]:
    """What is wrong with a footprint on a device of `capability`, in words; empty if it fits."""
    limit = SHARED_MEMORY_LIMIT_BYTES[capability]
    faults = []
    if footprint.stack_bytes:
        faults.append(f"spills {footprint.stack_bytes} bytes a thread")
    if footprint.shared_memory_bytes > limit:
        faults.append(f"needs {footprint.shared_memory_bytes} bytes of shared memory, the device has {limit}")
    if not any(footprint.instructions[name] for name in TENSOR_CORE_INSTRUCTIONS):
        faults.append("uses no tensor core")
    if not any(footprint.instructions[name] for name in ASYNCHRONOUS_COPIES):
        faults.append("copies nothing asynchronously")
    return faults


def main() -> int:
    """Print a Markdown table of every kernel, configuration and target; 1 if one does not fit, else 0."""
    print("| target | kernel, dtype, tile, activation | registers | shared memory, bytes | instructions | fits |")  # noqa: T201 - as below
    print("|---|---|---|---|---|---|")  # noqa: T201 - this is a command
    failed = False
    for capability in SHARED_MEMORY_LIMIT_BYTES:
        for configuration in committed_configurations(capability=capability):
            footprint = compile_for(configuration, capability=capability)
            faults = faults_in(footprint, capability=capability)
            failed = failed or bool(faults)
            instructions = ", ".join(sorted(footprint.instructions))
            cells = (
                f"sm_{capability}",
                configuration,
                footprint.registers,
                footprint.shared_memory_bytes,
                instructions,
                "; ".join(faults) or "yes",
            )
            print("|", " | ".join(map(str, cells)), "|")  # noqa: T201 - as above
    return int(failed)


def _footprint_from_cubin(cubin: bytes, *, shared_memory_bytes: int) -> Footprint:
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        usage = _output_of(knobs.nvidia.cuobjdump.path, "--dump-resource-usage", file.name)
        code = _output_of(knobs.nvidia.nvdisasm.path, "-c", file.name)
    watched = "|".join((*TENSOR_CORE_INSTRUCTIONS, *ASYNCHRONOUS_COPIES))
    return Footprint(
        registers=_number_after("REG:", usage),
        stack_bytes=_number_after("STACK:", usage) + _number_after("LOCAL:", usage),
        shared_memory_bytes=shared_memory_bytes,
        instructions=Counter(re.findall(rf"\b({watched})\b", code)),
    )


def _output_of(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def _number_after(label: str, text: str) -> int:
    found = re.search(rf"{label}(\d+)", text)
    if found is None:
        raise ValueError(f"cuobjdump printed no {label} in {text!r}")
    return int(found.group(1))


if __name__ == "__main__":
    sys.exit(main())
