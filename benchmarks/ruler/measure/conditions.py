"""Machine conditions during a measurement: versions, clocks, power, temperature, load by other processes."""

from __future__ import annotations

import ctypes
import platform
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from benchmarks.ruler.measure.gpu import driver_version, gpu_state
from benchmarks.ruler.plan.cpu_caches import last_level_cache_bytes

if TYPE_CHECKING:
    from benchmarks.ruler.record.lines import Scalar

# What hypervisors name themselves in the firmware's tables, as maker or as product.
_VIRTUAL = (
    *("Amazon EC2", "Apple Virtualization", "BHYVE", "Google Compute Engine", "KVM", "OpenStack", "Parallels", "QEMU"),
    *("VMW", "VMware", "Virtual Machine", "VirtualBox", "Xen"),
)


def device_name(device: torch.device) -> str:
    """Return the model name of the processor or GPU."""
    if device.type == "cuda":
        return str(torch.cuda.get_device_name(device))
    return cpu_name()


def cpu_name() -> str:
    """Return the model name of the processor."""
    for line in _lines(Path("/proc/cpuinfo")):
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def fixed_conditions(device: torch.device) -> dict[str, Scalar]:
    """Return the conditions fixed for a run: versions, device, driver, governor, float32 precision settings."""
    conditions: dict[str, Scalar] = {
        "python": platform.python_version(),
        "torch": torch.__version__,
        "triton": _version("triton"),
        "fused_mlp": _version("fusebench"),
        "device": device_name(device),
        "os": f"{platform.system()} {platform.release()}",
        "transparent_hugepages": _chosen(Path("/sys/kernel/mm/transparent_hugepage/enabled")),
        "cpu_governor": _first_line(Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")),
        "tf32": bool(torch.backends.cuda.matmul.allow_tf32) if device.type == "cuda" else None,
        "float32_matmul_precision": torch.get_float32_matmul_precision(),
        "vector_instructions": torch.backends.cpu.get_cpu_capability(),
        "mkl_processor": mkl_processor(),
    }
    if device.type == "cuda":
        uuid = getattr(torch.cuda.get_device_properties(device), "uuid", None)
        conditions |= {
            "cuda": torch.version.cuda,
            "driver": driver_version(),
            "gpu_uuid": None if uuid is None else str(uuid),
            "host_cpu": cpu_name(),
        }
    return conditions


class _MklVersion(ctypes.Structure):
    """MKLVersion of oneMKL's mkl_types.h."""

    _fields_ = (
        *((name, ctypes.c_int) for name in ("major", "minor", "update")),
        *((name, ctypes.c_char_p) for name in ("status", "build", "processor", "platform")),
    )


def mkl_processor() -> str | None:
    """Return what oneMKL, which computes ATen's float32 products, takes this processor for; None without oneMKL.

    It chooses its code by that: of Intel's with AVX-512 the name says so, of others it is
    `Intel(R) Architecture processors`. As MKL_Get_Version tells it, which torch's libraries hold under another name.
    """
    library = Path(torch.__file__).parent / "lib" / "libtorch_cpu.so"
    found = _MklVersion()
    try:
        ctypes.CDLL(str(library)).mkl_serv_get_version(ctypes.byref(found))
    except (OSError, AttributeError):
        return None
    return (found.processor or b"").decode(errors="replace") or None


def varying_conditions(device: torch.device) -> dict[str, Scalar]:
    """Return the conditions that vary between groups: frequency, power, temperature, throttle reasons."""
    if device.type == "cuda":
        state = gpu_state(device)
        return state.conditions() if state else {}
    mhz = [float(line.split(":", 1)[1]) for line in _lines(Path("/proc/cpuinfo")) if line.startswith("cpu MHz")]
    return {"cpu_mhz": round(sum(mhz) / len(mhz), 1) if mhz else None}


def available_memory_bytes() -> int | None:
    """Return the bytes available without swapping, or None if the system does not report it."""
    for line in _lines(Path("/proc/meminfo")):
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return None


def shared_cache_bytes() -> int | None:
    """Return the size of the CPU's largest cache in bytes where a hypervisor's other guests use it, too, or None."""
    return last_level_cache_bytes() if _is_virtual() else None


def _is_virtual() -> bool:
    """Return whether a hypervisor lends this machine, as far as the system says so."""
    flags = next((line for line in _lines(Path("/proc/cpuinfo")) if line.startswith("flags")), "")
    if "hypervisor" in flags.split():
        return True
    # ARM's processors have no such flag: there the firmware tells, by a table of devices or by its maker's name.
    if _lines(Path("/proc/device-tree/hypervisor/compatible")):
        return True
    dmi = Path("/sys/class/dmi/id")
    made = [" ".join(_lines(dmi / name)).strip() for name in ("sys_vendor", "product_name")]
    # Amazon's machines without a hypervisor have its name, too.
    return not made[1].endswith(".metal") and any(name.startswith(_VIRTUAL) for name in made)


def _chosen(path: Path) -> str | None:
    """Return the word in brackets, which is how the kernel marks the choice among those it lists."""
    words = (_first_line(path) or "").split()
    return next((word.strip("[]") for word in words if word.startswith("[")), None)


def _version(distribution: str) -> str | None:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except OSError:
        return []


def _first_line(path: Path) -> str | None:
    lines = _lines(path)
    return lines[0] if lines else None
