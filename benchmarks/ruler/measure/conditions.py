"""Machine conditions during a measurement: versions, clocks, power, temperature, load by other processes."""

from __future__ import annotations

import os
import platform
import resource
import time
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from benchmarks.ruler.measure.gpu import driver_version, gpu_state

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.ruler.record.lines import Scalar

FOREIGN_LOAD_LIMIT = 0.3
_PROC_STAT = Path("/proc/stat")


def device_name(device: torch.device) -> str:
    """Return the model name of the processor or GPU."""
    if device.type == "cuda":
        return str(torch.cuda.get_device_name(device))
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
        "cpu_governor": _first_line(Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")),
        "tf32": bool(torch.backends.cuda.matmul.allow_tf32) if device.type == "cuda" else None,
        "float32_matmul_precision": torch.get_float32_matmul_precision(),
    }
    if device.type == "cuda":
        conditions |= {"cuda": torch.version.cuda, "driver": driver_version()}
    return conditions


def varying_conditions(device: torch.device) -> dict[str, Scalar]:
    """Return the conditions that vary between groups: frequency, power, temperature, throttle reasons."""
    if device.type == "cuda":
        state = gpu_state(device)
        return state.conditions() if state else {}
    mhz = [float(line.split(":", 1)[1]) for line in _lines(Path("/proc/cpuinfo")) if line.startswith("cpu MHz")]
    return {"cpu_mhz": round(sum(mhz) / len(mhz), 1) if mhz else None}


class LoadWatch:
    """Load of other processes in busy cores, from /proc/stat; None on systems without it.

    cpu_seconds_of_all and cpu_seconds_of_us are injected so that the rule is tested without any load.
    """

    def __init__(
        self,
        *,
        now: Callable[[], float] = time.monotonic,
        cpu_seconds_of_all: Callable[[], float | None] | None = None,
        cpu_seconds_of_us: Callable[[], float] | None = None,
    ) -> None:
        self._now = now
        self._of_all = cpu_seconds_of_all or busy_cpu_seconds
        self._of_us = cpu_seconds_of_us or own_cpu_seconds
        self._started = (0.0, 0.0, 0.0)
        self.max_foreign_load: float | None = None

    def start(self) -> None:
        """Start an observation window."""
        self._started = (self._now(), self._of_all() or 0.0, self._of_us())

    def foreign_load(self) -> float | None:
        """Return the cores other processes kept busy since `start`, or None if the system does not report it."""
        of_all = self._of_all()
        elapsed = self._now() - self._started[0]
        if of_all is None or elapsed <= 0:
            return None
        foreign = (of_all - self._started[1]) - (self._of_us() - self._started[2])
        return max(0.0, foreign / elapsed)

    def disturbance(self) -> str | None:
        """Return what disturbed the machine since `start` and what to do about it, or None."""
        load = self.foreign_load()
        if load is None:
            return None
        self.max_foreign_load = max(load, self.max_foreign_load or 0.0)
        if load <= FOREIGN_LOAD_LIMIT:
            return None
        return f"other processes used {load:.1f} cores while this was measured; stop them, or measure with 1 thread"


def busy_cpu_seconds() -> float | None:
    """Return the CPU seconds all processes used since boot, idle and iowait excluded; None without /proc/stat."""
    line = _first_line(_PROC_STAT)
    if line is None or not line.startswith("cpu "):
        return None
    user, nice, system, _idle, _iowait, irq, softirq, steal, *_ = (int(field) for field in line.split()[1:])
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")


def own_cpu_seconds() -> float:
    """Return the CPU seconds used by this process."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def available_memory_bytes() -> int | None:
    """Return the bytes available without swapping, or None if the system does not report it."""
    for line in _lines(Path("/proc/meminfo")):
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return None


def last_level_cache_bytes() -> int:
    """Return the size of the CPU's largest cache in bytes; 32 MiB if the system does not report it."""
    sizes = [_size(path) for path in Path("/sys/devices/system/cpu/cpu0/cache").glob("index*/size")]
    return max(sizes, default=32 * 2**20)


def _size(path: Path) -> int:
    text = _first_line(path) or "0"
    units = {"K": 2**10, "M": 2**20, "G": 2**30}
    return int(text[:-1]) * units[text[-1]] if text[-1] in units else int(text)


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
