"""Resources of a kernel compiled for a GPU that need not be here, and whether it fits. Needs triton."""

from __future__ import annotations

import io
import re
import subprocess
import tempfile
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from triton import compile as compile_kernel
from triton import knobs
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from fused_mlp.gpu.configurations import POINTER_TYPES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fused_mlp.gpu.configurations import Configuration

SHARED_MEMORY_LIMIT_BYTES = {80: 166_912, 90: 232_448}
"""Shared memory one block may use, by compute capability. Source: CUDA C++ Programming Guide, table of technical
specifications per compute capability (163 KB and 227 KB)."""

TENSOR_CORE_INSTRUCTIONS = ("HMMA", "HGMMA")
"""As nvdisasm prints them: mma.sync (sm_80 on), wgmma (sm_90)."""

ASYNCHRONOUS_COPIES = ("LDGSTS", "UBLKCP", "UTMALDG", "UTMASTG")
"""cp.async; the bulk copies of the TMA without and with a tensor descriptor, in and out."""

_INSTRUCTION = re.compile(r"^\s*/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?([A-Z][A-Z0-9_]*)", re.MULTILINE)
_LABEL = re.compile(r"^(\.L\w+):")
_BRANCH = re.compile(r"\bBRA\S* `\((\.L\w+)\)")


@dataclass(frozen=True, kw_only=True)
class Footprint:
    """Resources and instructions of a compiled kernel.

    registers and stack_bytes (spills, local arrays) are per thread, shared_memory_bytes per block; instructions: which
    of the watched ones stand in the code.
    one_by_one: ptxas says that it runs Hopper's products one after another (C7515). longest_loop: the instructions of
    the longest stretch that is repeated, which the page does not hold.
    """

    registers: int
    stack_bytes: int
    shared_memory_bytes: int
    instructions: frozenset[str]
    one_by_one: bool = False
    longest_loop: int = field(default=0, compare=False)


def compile_for(configuration: Configuration, *, capability: int) -> Footprint:
    """Return the footprint of `configuration` on a device of `capability` (90 for sm_90).

    Raises: whatever Triton raises for a kernel that it cannot compile.
    """
    with _listening_to_ptxas() as printed:
        compiled = compile_kernel(
            _source_of(configuration),
            target=GPUTarget("cuda", capability, 32),
            options={"num_warps": configuration.n_warps, "num_stages": configuration.n_stages, **configuration.options},
        )
    usage, code = disassembled(compiled.asm["cubin"])
    return Footprint(
        registers=number_after("REG:", usage),
        stack_bytes=number_after("STACK:", usage) + number_after("LOCAL:", usage),
        shared_memory_bytes=compiled.metadata.shared,
        instructions=watched_instructions(code),
        one_by_one="(C7515)" in printed.getvalue(),
        longest_loop=longest_loop(code),
    )


@contextmanager
def _listening_to_ptxas() -> Iterator[io.StringIO]:
    """Capture what ptxas prints for kernels compiled meanwhile, cached ones included."""
    with knobs.nvidia.scope(), knobs.compilation.scope(), redirect_stdout(io.StringIO()) as printed:
        knobs.nvidia.dump_ptxas_log = True
        knobs.compilation.always_compile = True
        yield printed


def faults_in(
    footprint: Footprint, *, capability: int, instructions: frozenset[str], one_by_one: bool = False
) -> list[str]:
    """Return what is wrong with a footprint that should use `instructions`, in words; empty if it fits.

    one_by_one: whether it is accepted that its products run one after another; then they must.
    """
    limit = SHARED_MEMORY_LIMIT_BYTES[capability]
    faults = []
    if footprint.stack_bytes:
        faults.append(f"spills {footprint.stack_bytes} bytes a thread")
    if footprint.shared_memory_bytes > limit:
        faults.append(f"needs {footprint.shared_memory_bytes} bytes of shared memory, the device has {limit}")
    if footprint.one_by_one and not one_by_one:
        faults.append("its wgmma run one by one (C7515)")
    if one_by_one and not footprint.one_by_one:
        faults.append("its wgmma no longer run one by one, which is accepted of it")
    missing = sorted(instructions - footprint.instructions)
    faults.extend(f"has no {name}, which it declares" for name in missing)
    return faults


def disassembled(cubin: bytes) -> tuple[str, str]:
    """Return what cuobjdump says of a binary's resources, and nvdisasm's listing of its code."""
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        usage = _output_of(knobs.nvidia.cuobjdump.path, "--dump-resource-usage", file.name)
        # Without its analysis of jumps, which only puts labels into the listing and takes a quarter of the time.
        return usage, _output_of(knobs.nvidia.nvdisasm.path, "-c", "--no-dataflow", file.name)


def watched_instructions(code: str) -> frozenset[str]:
    """Return which tensor-core instructions and asynchronous copies stand in nvdisasm's listing."""
    return frozenset(_INSTRUCTION.findall(code)).intersection((*TENSOR_CORE_INSTRUCTIONS, *ASYNCHRONOUS_COPIES))


def longest_loop(code: str) -> int:
    """Return the instructions of the longest loop in the listing, from a label to the branch back to it; 0: none."""
    longest, n_before, instructions_before = 0, 0, dict[str, int]()
    for line in code.splitlines():
        if label := _LABEL.match(line):
            instructions_before[label.group(1)] = n_before
        elif _INSTRUCTION.match(line):
            n_before += 1
            branch = _BRANCH.search(line)
            if branch and branch.group(1) in instructions_before:
                longest = max(longest, n_before - instructions_before[branch.group(1)])
    return longest


def number_after(label: str, text: str) -> int:
    """Return the number that stands behind `label` in cuobjdump's words."""
    found = re.search(rf"{re.escape(label)}(\d+)", text)
    if found is None:
        raise ValueError(f"cuobjdump printed no {label} in {text!r}")
    return int(found.group(1))


def _source_of(configuration: Configuration) -> ASTSource:
    constants = configuration.constants
    names = configuration.kernel.arg_names
    if unknown := sorted({*constants, *configuration.types, *configuration.unaligned} - set(names)):
        raise ValueError(f"{configuration} names {', '.join(unknown)}, which {configuration.kernel.__name__} has not")
    pointer = POINTER_TYPES[configuration.dtype]
    signature, values, attributes = {}, {}, {}
    for index, name in enumerate(names):
        if name in constants:
            signature[name] = "constexpr"
            values[index,] = constants[name]
            continue
        signature[name] = configuration.types.get(name, pointer if name.endswith("_ptr") else "i32")
        # As the JIT: pointers and integers may be known to be divisible, floats and descriptors not.
        if name not in configuration.unaligned and signature[name].startswith(("*", "i", "u")):
            attributes[index,] = [["tt.divisibility", 16]]
    return ASTSource(configuration.kernel, signature, values, attributes)


def _output_of(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout
