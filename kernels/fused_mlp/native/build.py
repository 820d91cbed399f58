"""Compile the C++ kernels and their call path once per machine; load them on first use.

The library is keyed by sources, flags, torch version and CPU features; `fused_mlp.native.libraries` holds its location.
CXX names another compiler than the first of c++, g++, clang++ on PATH.
"""

from __future__ import annotations

import os
import platform
import shlex
import shutil
import sysconfig
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import astuple
from functools import cache
from pathlib import Path

import torch

from fused_mlp.errors import Unavailable
from fused_mlp.native import fast_calls
from fused_mlp.native.libraries import (
    PACKAGE,
    ensure_compiled,
    is_damaged,
    is_whole,
    library_path,
    torch_include_flags,
    torch_link_flags,
)
from fused_mlp.tuned import Policy, cpu_name, policy_for
from fused_mlp.vocabulary import NumberFormat, Operation

_LIBRARY_NAME = "fused_mlp_cpu.so"
_CALLS_NAME = f"{fast_calls.EXTENSION}.so"
_COMPILERS = ("c++", "g++", "clang++")
_DTYPES = (torch.float32, torch.bfloat16, torch.float16)

_load_lock = threading.RLock()
_loaded: Path | None = None
_failure: str | None = None
_why_long_way: str | None = "the CPU kernels were not used yet"
_are_calls_tried = False


def ensure_built() -> Path:
    """Return the CPU ops are built and loaded when this returns; where the library lies.

    Takes a minute or two the first time on a machine, milliseconds later, nothing within one process.

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
            library, calls = _built_libraries()
        except Unavailable as unavailable:
            _failure = str(unavailable)
            raise
        try:
            torch.ops.load_library(str(library))
        except OSError as error:
            _failure = f"the CPU kernels were built but do not load: {error.__cause__ or error}"
            raise Unavailable(_failure) from error
        follow_table(cpu_name())
        _use_fast_calls(calls)
        _loaded = library
        return library


def ensure_calls_built() -> str | None:
    """Compile and load the fast path alone, for devices whose kernels are not C++; why there is none, or None.

    Takes half a minute the first time on a machine, milliseconds later, nothing within one process.
    """
    global _are_calls_tried  # noqa: PLW0603 - as in ensure_built
    with _load_lock:
        if not _are_calls_tried and _why_long_way is not None:
            _are_calls_tried = True
            _use_fast_calls(_calls_path() if _calls_path().exists() else _built_calls(_compiler()))
        return _why_long_way


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
    """Return where the library lies that this process uses; None before the first use."""
    return _loaded


def why_long_way() -> str | None:
    """Return why calls go by torch.ops, at twice the host cost of a small one; None if they take the fast path."""
    return _why_long_way


def why_not_buildable() -> str | None:
    """Return why the CPU ops cannot be built here, or None. Compiles nothing, so a failing compiler is found later."""
    if _loaded is not None or is_whole(_library_path()):
        return None
    if _failure is not None:
        return _failure
    return None if _compiler() is not None else _no_compiler()


def _use_fast_calls(library: Path | str) -> None:
    global _why_long_way  # noqa: PLW0603 - as in ensure_built
    if _why_long_way is None:
        return
    if isinstance(library, str):
        _why_long_way = library
        return
    try:
        fast_calls.use(library)
    except ImportError as error:
        _why_long_way = f"the short way was built but does not load: {error}"
    else:
        _why_long_way = None


def _built_libraries() -> tuple[Path, Path | str]:
    """Return the kernels, and the short way to them or the reason why there is none; compiled at the same time."""
    if is_whole(_library_path()) and is_whole(_calls_path()):
        return _library_path(), _calls_path()
    compiler = _compiler()
    if compiler is None and not is_whole(_library_path()):
        raise Unavailable(_no_compiler())
    with ThreadPoolExecutor(max_workers=1) as beside:
        calls = beside.submit(_built_calls, compiler)
        if compiler is not None:
            source = str(PACKAGE / "cpu" / "extension.cpp")
            # The headers' folder is no condition of a library: torch's version says what they hold.
            command = [*compiler, *_kernel_flags(), *torch_include_flags(), source, *_link_flags()]
            ensure_compiled(_library_path(), compiler="the C++ compiler", command=command)
        return _library_path(), calls.result()


def _built_calls(compiler: list[str] | None) -> Path | str:
    if compiler is None:
        return _no_compiler()
    if not (_python_headers() / "Python.h").exists():
        return f"{_python_headers()} has no Python.h; install Python's headers (on Debian python3-dev)"
    source = str(PACKAGE / "host" / "calls.cpp")
    headers = (*torch_include_flags(), "-isystem", str(_python_headers()))
    try:
        ensure_compiled(
            _calls_path(),
            compiler="the C++ compiler",
            command=[*compiler, *_calls_flags(), *headers, source, *_link_flags(), "-ltorch_python"],
        )
    except Unavailable as unavailable:
        return str(unavailable)
    return _calls_path()


def _compiler() -> list[str] | None:
    named = os.environ.get("CXX")
    if named:
        try:
            words = shlex.split(named)
        except ValueError:  # a quotation without its end
            return None
        return words if words and shutil.which(words[0]) else None
    return next(([found] for name in _COMPILERS if (found := shutil.which(name))), None)


def _no_compiler() -> str:
    named = os.environ.get("CXX")
    missing = f"CXX is {named!r}, which is not on PATH" if named else f"none of {', '.join(_COMPILERS)} is on PATH"
    damaged = f"{_library_path()} is damaged; " if is_damaged(_library_path()) else ""
    return f"{damaged}the CPU kernels need a C++ compiler and {missing}; install one (g++ 11 or later does)"


def _kernel_flags() -> list[str]:
    # What at::vec vectorises for; torch's answer follows ATEN_CPU_CAPABILITY.
    reported = torch.backends.cpu.get_cpu_capability()
    capability = reported if reported in ("AVX2", "AVX512") else "DEFAULT"
    instructions = ["-march=native", "-fopenmp", f"-DCPU_CAPABILITY={capability}", f"-DCPU_CAPABILITY_{capability}"]
    return [*_abi_flags(), "-O3", *instructions]


def _calls_flags() -> list[str]:
    return [*_abi_flags(), "-O2"]


def _abi_flags() -> list[str]:
    return ["-std=c++20", "-fPIC", "-w", f"-D_GLIBCXX_USE_CXX11_ABI={int(torch.compiled_with_cxx11_abi())}"]


def _python_headers() -> Path:
    return Path(sysconfig.get_paths()["include"])


def _link_flags() -> list[str]:
    # Not linked with OpenMP: torch has one loaded already, and a second would bring its own threads.
    return ["-shared", *torch_link_flags(), "-lc10", "-ltorch_cpu"]


@cache
def _library_path() -> Path:
    sources = (*PACKAGE.glob("cpu/*.cpp"), *PACKAGE.glob("cpu/*.h"), *PACKAGE.glob("*/cpu*.cpp"))
    conditions = (*_kernel_flags(), torch.__version__, _cpu_features())
    return library_path(_LIBRARY_NAME, sources=sources, conditions=conditions)


@cache
def _calls_path() -> Path:
    conditions = (*_calls_flags(), torch.__version__, str(sysconfig.get_config_var("SOABI")), platform.machine())
    sources = (*PACKAGE.glob("host/*.cpp"), *PACKAGE.glob("host/*.h"), PACKAGE / "cpu" / "typed_operator.h")
    return library_path(_CALLS_NAME, sources=sources, conditions=conditions)


def _cpu_features() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    described = [line for line in lines if line.startswith(("model name", "flags", "Features"))]
    return "\n".join([platform.machine(), *sorted(set(described))])
