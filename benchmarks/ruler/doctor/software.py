"""Software that a measurement needs: compilers, a torch for the GPU, versions that belong together, threads."""

from __future__ import annotations

import sys
import sysconfig
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from packaging.requirements import Requirement

from benchmarks.ruler.doctor.findings import fine, note, problem
from benchmarks.ruler.measure.conditions import mkl_processor
from benchmarks.ruler.measure.counters import cpu_quota
from benchmarks.ruler.measure.gpu import driver_version, gpu_state
from benchmarks.ruler.plan.settings import usable_cpus
from benchmarks.ruler.providers.compiled import missing_compiler
from fused_mlp.native.build import why_not_buildable
from fused_mlp.native.nvcc import why_no_nvcc

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.ruler.doctor.findings import Finding

_DRIVER = Path("/proc/driver/nvidia/version")
_INSTALL_COMPILER = "install one, as by `apt install g++` or `dnf install gcc-c++`, or name it in CXX"


def compiler(why_no_kernels: str | None, *, why_not_compiled: str | None) -> Finding:
    """Judge whether there is a C++ compiler for what needs one on a CPU, in words why not, None if there is.

    why_no_kernels: of the C++ kernels, which may be built already; why_not_compiled: of torch.compile.
    """
    missing = {"fused": why_no_kernels, "compiled": why_not_compiled}
    without = [f"`{name}`" for name, reason in missing.items() if reason is not None]
    if not without:
        return fine("C++ compiler", "the CPU kernels are built, or can be, and torch.compile has one")
    reason = why_no_kernels or why_not_compiled
    are = "is" if len(without) == 1 else "are"
    what = f"{' and '.join(without)} {are} unavailable on the CPU: {reason}"
    return problem("C++ compiler", what, mend=_INSTALL_COMPILER)


def headers(folder: Path, *, has_compiler: bool) -> Finding:
    """Judge whether Python's headers are there, which all that is compiled for a call from Python includes."""
    if (folder / "Python.h").exists():
        return fine("Python headers", str(folder))
    text = f"{folder} has no Python.h: `compiled` fails on the CPU, and `fused` takes the long way of a call"
    mend = "install them, as by `apt install python3-dev` or `dnf install python3-devel`"
    # Without a compiler they are of no use yet.
    return problem("Python headers", text, mend=mend) if has_compiler else note("Python headers", text, mend=mend)


def products(taken_for: str | None, *, has: str) -> Finding:
    """Judge the library of torch's float32 products on a CPU. taken_for: what oneMKL takes the processor for."""
    subject = "float32 products"
    if taken_for is None:
        return fine(subject, "not by oneMKL")
    if "AVX" in taken_for or not has.startswith("AVX"):
        return fine(subject, f"by oneMKL, for {taken_for}")
    return note(
        subject,
        f"by oneMKL, which takes this processor for one of `{taken_for}`, not for one with the {has} that it has: "
        "`eager` and `compiled` are slower than the processor allows, and part of a gain over them is the library's",
    )


def gpu(*, has_driver: bool, torch_cuda: str | None, n_devices: int) -> Finding:
    """Judge whether a GPU that is there can be used. torch_cuda: CUDA version that torch was built for, or None."""
    if not has_driver:
        return fine("GPU", "none, so everything is measured on the CPU")
    if torch_cuda is None:
        return problem(
            "GPU",
            "there is one, and torch was built without CUDA",
            mend="install torch for CUDA, by the command that pytorch.org/get-started names",
        )
    if n_devices == 0:
        return problem(
            "GPU",
            f"there is a driver, and torch (CUDA {torch_cuda}) finds no device",
            mend="look whether `nvidia-smi` lists it, and unset CUDA_VISIBLE_DEVICES",
        )
    return fine("GPU", f"{n_devices} of CUDA {torch_cuda}")


def throttling(throttled_by: str | None, *, driver: str | None) -> Finding:
    """Judge the GPU's clock now. throttled_by: what slows it down, in words, or None."""
    if throttled_by is not None:
        return problem("GPU clock", f"throttled by {throttled_by}", mend="let it cool, and end what else uses it")
    known = f"driver {driver}; " if driver else ""
    return note(
        "GPU clock",
        f"{known}nothing throttles it now; whether it is locked cannot be read",
        mend="for times that hold, lock it below its boost: `sudo nvidia-smi --lock-gpu-clocks=MHZ`",
    )


def nvcc(why_not: str | None) -> Finding:
    """Judge whether the C++ operations for CUDA can be built; Triton's need no nvcc."""
    if why_not is None:
        return fine("nvcc", "found")
    return note("nvcc", f"the Triton kernels run without it, the C++ operation for CUDA does not: {why_not}")


def triton(installed: str | None, *, wanted: str | None) -> Finding:
    """Judge Triton's version. wanted: what torch's own metadata asks for, as `==3.7.1`; None if it asks for none."""
    if installed is None:
        return note("triton", "not installed: on a GPU neither `fused` nor `compiled` runs", mend="pip install triton")
    if wanted is None or Requirement(f"triton{wanted}").specifier.contains(installed, prereleases=True):
        return fine("triton", installed)
    return problem("triton", f"{installed}, and torch asks for {wanted}", mend=f"pip install 'triton{wanted}'")


def python(version: tuple[int, int], *, supported: str) -> Finding:
    """Judge Python's version. supported: the project's own requirement, as `>=3.11`."""
    text = ".".join(map(str, version))
    if Requirement(f"python{supported}").specifier.contains(text):
        return fine("Python", text)
    return problem("Python", f"{text}, and {supported} is needed", mend="make the environment with another Python")


def threads(n_threads: int, *, usable: int, quota: float | None) -> Finding:
    """Judge the number of threads. quota: processors that a container's limit leaves, or None without one."""
    free = min(usable, quota) if quota is not None else usable
    if n_threads > free:
        limit = f"a quota of {quota:g} processors" if quota is not None and quota < usable else f"{usable} processors"
        return problem(
            "threads",
            f"{n_threads}, with {limit}: threads would wait for each other",
            mend=f"FUSEBENCH_THREADS={max(1, int(free))} fusebench run",
        )
    return fine("threads", f"{n_threads} on {free:g} processors")


def examine_software(*, n_threads: int, supported_python: str) -> Iterator[Finding]:
    """Examine what is installed; imports torch, compiles nothing."""
    yield python(sys.version_info[:2], supported=supported_python)
    yield fine("torch", torch.__version__)
    yield triton(_version("triton"), wanted=wanted_triton(metadata.requires("torch") or []))
    why_not_compiled = missing_compiler()
    yield compiler(why_not_buildable(), why_not_compiled=why_not_compiled)
    yield headers(Path(sysconfig.get_paths()["include"]), has_compiler=why_not_compiled is None)
    yield products(mkl_processor(), has=torch.backends.cpu.get_cpu_capability())
    n_devices = torch.cuda.device_count() if torch.cuda.is_available() else 0
    yield gpu(has_driver=_DRIVER.exists(), torch_cuda=torch.version.cuda, n_devices=n_devices)
    if n_devices:
        state = gpu_state(torch.device("cuda"))
        yield throttling(state.throttled_by() if state else None, driver=driver_version())
        yield nvcc(why_no_nvcc())
    quota = cpu_quota()
    yield threads(n_threads, usable=usable_cpus(), quota=quota.cpus if quota else None)


def wanted_triton(requirements: list[str]) -> str | None:
    """Return the version specifier of Triton among a distribution's requirements, for this machine; None if none."""
    for requirement in map(Requirement, requirements):
        if requirement.name == "triton" and (requirement.marker is None or requirement.marker.evaluate({"extra": ""})):
            return str(requirement.specifier) or None
    return None


def _version(distribution: str) -> str | None:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None
