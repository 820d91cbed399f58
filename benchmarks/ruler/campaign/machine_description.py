"""What a machine brings: GPU, driver, compilers, packages; the first thing to know of one that is soon gone."""

from __future__ import annotations

import importlib.util
import os
import platform
import shutil
import subprocess
import sysconfig
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.ruler.campaign.settings import Report, Status, write_json
from benchmarks.ruler.plan.points import DeviceKind

if TYPE_CHECKING:
    from benchmarks.ruler.campaign.settings import CampaignSettings

_TOOLS = {
    "nvidia-smi": ("--query-gpu=name,driver_version,memory.total,power.limit,clocks.max.sm", "--format=csv,noheader"),
    "git": ("--version",),
    "gcc": ("--version",),
    "g++": ("--version",),
    "nvcc": ("--version",),
    "ninja": ("--version",),
    "make": ("--version",),
    "ncu": ("--version",),
    "compute-sanitizer": ("--version",),
}
_PACKAGES = ("torch", "triton", "numpy", "liger_kernel", "asv", "ninja", "nvidia-ml-py")
_LONGEST_S = 10.0
_SAY_IT_FIRST = {"gcc", "g++", "make"}


def describe_machine(settings: CampaignSettings) -> Report:
    """Record what the machine brings in machine-description.json; FAILED without the GPU to measure."""
    found = {
        "python": platform.python_version(),
        "system": platform.platform(),
        "cpus": len(os.sched_getaffinity(0)),
        **{name: _said_by(name, arguments) for name, arguments in _TOOLS.items()},
        # Triton compiles what launches its kernels, for which it includes this.
        "Python.h": str(header) if (header := Path(sysconfig.get_path("include"), "Python.h")).exists() else None,
        **{name: _version(name) for name in _PACKAGES},
        "torch_device": _torch_device(settings.device),
    }
    write_json(settings.out / "machine-description.json", found)
    for name, value in found.items():
        print(f"  {name:<18} {value or 'none'}")  # noqa: T201 - a command
    missing = [name for name in ("git", "gcc", "g++", "Python.h", "nvcc", "compute-sanitizer") if found[name] is None]
    words = f"{found['torch_device']}, torch {found['torch']}, triton {found['triton']}"
    words += f"; no {', '.join(missing)}" if missing else ""
    is_there = settings.device is DeviceKind.CPU or found["torch_device"] is not None
    return Report(status=Status.DONE if is_there else Status.FAILED, words=words, measured=1)


def _said_by(tool: str, arguments: tuple[str, ...]) -> str | None:
    """Return the line that names a tool's version; None if it is missing, what it raised if it fails."""
    if shutil.which(tool) is None:
        return None
    try:
        done = subprocess.run(
            [tool, *arguments], capture_output=True, text=True, check=True, timeout=_LONGEST_S, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.SubprocessError) as error:
        return f"fails: {error}"
    lines = done.stdout.strip().splitlines()
    return lines[0 if tool in _SAY_IT_FIRST else -1] if lines else ""


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not as a package" if importlib.util.find_spec(package) else None


def _torch_device(device: DeviceKind) -> str | None:
    import torch  # noqa: PLC0415 - takes seconds

    if device is DeviceKind.CPU:
        return platform.processor() or platform.machine()
    if not torch.cuda.is_available():
        return None
    about = torch.cuda.get_device_properties(0)
    return (
        f"{about.name}, sm_{about.major}{about.minor}, {about.total_memory / 2**30:.0f} GiB, CUDA {torch.version.cuda}"
    )
