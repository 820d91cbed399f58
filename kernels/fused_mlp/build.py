"""The C++ kernels, compiled once per machine and loaded on first use.

Sources, flags, torch's version and the CPU's features decide which library it is; `fused_mlp.libraries` says where it
lies. CXX names another compiler than the first of c++, g++, clang++ on PATH.
"""

from __future__ import annotations

import os
import platform
import shlex
import shutil
import threading
from dataclasses import astuple
from functools import cache
from pathlib import Path

import torch
from torch.utils import cpp_extension

from fused_mlp.errors import Unavailable
from fused_mlp.libraries import PACKAGE, ensure_compiled, library_path
from fused_mlp.tuned import Policy, cpu_name, policy_for
from fused_mlp.vocabulary import NumberFormat, Operation

_LIBRARY_NAME = "fused_mlp_cpu.so"
_COMPILERS = ("c++", "g++", "clang++")
_DTYPES = (torch.float32, torch.bfloat16, torch.float16)

_load_lock = threading.RLock()
_loaded: Path | None = None
_failure: str | None = None


def ensure_built() -> Path:
    """The CPU ops are built and loaded when this returns; where the library lies.

    Takes some seconds the first time on a machine, milliseconds later, nothing within one process.

    Raises:
        Unavailable: there is no compiler, or it failed; the message says which and what it printed.
    """
    global _loaded, _failure  # noqa: PLW0603 - a library is loaded once per process
    with _load_lock:
        if _loaded is not None:
            return _loaded
        if _failure is not None:
            raise Unavailable(_failure)
        try:
            library = _built_library()
        except Unavailable as unavailable:
            _failure = str(unavailable)
            raise
        try:
            torch.ops.load_library(str(library))
        except OSError as error:
            _failure = f"the CPU kernels were built but do not load: {error.__cause__ or error}"
            raise Unavailable(_failure) from error
        follow_table(cpu_name())
        _loaded = library
        return library


def follow_table(cpu: str) -> None:
    """Let the loaded C++ kernels decide by the tuned numbers of `cpu`, from the next call on."""
    for operation in Operation:
        for dtype in _DTYPES:
            number_format = NumberFormat(str(dtype).removeprefix("torch."))
            policy, _ = policy_for(cpu, operation=operation, number_format=number_format)
            set_policy(policy, operation=operation, dtype=dtype)


def set_policy(policy: Policy, *, operation: Operation, dtype: torch.dtype) -> None:
    """Let the loaded C++ kernels follow `policy` for an operation and dtype, from the next call on."""
    torch.ops.fused_mlp.set_cpu_policy(operation.value, dtype, *astuple(policy))


def loaded_library() -> Path | None:
    """Where the library lies that this process uses; None before the first use."""
    return _loaded


def why_not_buildable() -> str | None:
    """Why the CPU ops cannot be had here, or None. Compiles nothing: a compiler that will fail is found later."""
    if _loaded is not None or _library_path().exists():
        return None
    if _failure is not None:
        return _failure
    return None if _compiler() is not None else _no_compiler()


def _built_library() -> Path:
    library = _library_path()
    if library.exists():
        return library
    compiler = _compiler()
    if compiler is None:
        raise Unavailable(_no_compiler())
    source = str(PACKAGE / "cpu" / "extension.cpp")
    command = [*compiler, *_compile_flags(), source, *_link_flags()]
    ensure_compiled(library, compiler="the C++ compiler", command=command)
    return library


def _compiler() -> list[str] | None:
    named = os.environ.get("CXX")
    if named:
        words = shlex.split(named)
        return words if shutil.which(words[0]) else None
    return next(([found] for name in _COMPILERS if (found := shutil.which(name))), None)


def _no_compiler() -> str:
    named = os.environ.get("CXX")
    missing = f"CXX is {named!r}, which is not on PATH" if named else f"none of {', '.join(_COMPILERS)} is on PATH"
    return f"the CPU kernels need a C++ compiler and {missing}; install one (g++ 11 or later does)"


def _compile_flags() -> list[str]:
    include = [flag for folder in cpp_extension.include_paths() for flag in ("-isystem", folder)]
    # What at::vec vectorises for; torch's answer follows ATEN_CPU_CAPABILITY.
    reported = torch.backends.cpu.get_cpu_capability()
    capability = reported if reported in ("AVX2", "AVX512") else "DEFAULT"
    return [
        *("-std=c++20", "-O3", "-march=native", "-fPIC", "-fopenmp", "-w"),
        *(f"-DCPU_CAPABILITY={capability}", f"-DCPU_CAPABILITY_{capability}"),
        *(f"-D_GLIBCXX_USE_CXX11_ABI={int(torch.compiled_with_cxx11_abi())}", *include),
    ]


def _link_flags() -> list[str]:
    # Not linked with OpenMP: torch has one loaded already, and a second would bring its own threads.
    folders = [f"-L{folder}" for folder in cpp_extension.library_paths()]
    return ["-shared", *folders, "-lc10", "-ltorch_cpu"]


@cache
def _library_path() -> Path:
    sources = (*PACKAGE.glob("cpu/*.cpp"), *PACKAGE.glob("cpu/*.h"), *PACKAGE.glob("*/cpu.cpp"))
    conditions = (*_compile_flags(), *_link_flags(), torch.__version__, _cpu_features())
    return library_path(_LIBRARY_NAME, sources=sources, conditions=conditions)


def _cpu_features() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    described = [line for line in lines if line.startswith(("model name", "flags", "Features"))]
    return "\n".join([platform.machine(), *sorted(set(described))])
