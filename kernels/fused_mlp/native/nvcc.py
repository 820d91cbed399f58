"""NVIDIA's compiler: its path, version and targets, or why there is none.

NVCC names one; else it is looked for under CUDA_HOME, on PATH and under /usr/local/cuda.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

_DEFAULT_HOME = "/usr/local/cuda"


def find_nvcc() -> str | None:
    """Return the path of nvcc, or None; `why_no_nvcc` says why."""
    if named := os.environ.get("NVCC"):
        return shutil.which(named)
    homes = (os.environ.get("CUDA_HOME"), _DEFAULT_HOME)
    in_homes = [str(Path(home) / "bin" / "nvcc") for home in homes if home]
    return next((found for place in (in_homes[0], "nvcc", in_homes[-1]) if (found := shutil.which(place))), None)


def why_no_nvcc() -> str | None:
    """Return why nothing can be compiled for CUDA here, in words; None if there is a compiler that starts."""
    nvcc = find_nvcc()
    if nvcc is None:
        named = os.environ.get("NVCC")
        looked = (
            f"NVCC is {named!r}, which is not there" if named else "neither CUDA_HOME, PATH nor /usr/local/cuda has one"
        )
        return f"the CUDA C++ op needs nvcc and {looked}; install the CUDA toolkit"
    return None if _output_of(nvcc, "--version") else f"the CUDA C++ op needs nvcc and {nvcc} --version fails"


def nvcc_version(nvcc: str) -> str:
    """Return its version, as in "13.0.88"; empty if it prints none."""
    found = re.search(r"\bV(\d+(?:\.\d+)+)", _output_of(nvcc, "--version"))
    return found.group(1) if found else ""


def compiles_for(nvcc: str, *, capability: int) -> bool:
    """Return whether nvcc knows devices of `capability` (90 for sm_90)."""
    return f"compute_{capability}" in _output_of(nvcc, "--list-gpu-arch").split()


@cache
def _output_of(nvcc: str, question: str) -> str:
    try:
        return subprocess.run([nvcc, question], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return ""
