"""Identity of a host: its name and GPU, which are conditions, and its class, which names the machine of a series."""

from __future__ import annotations

import os
import platform
import re
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from benchmarks.ruler.plan.points import DeviceKind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from benchmarks.ruler.plan.settings import Settings

_GIB = 2**30


@dataclass(frozen=True, kw_only=True)
class HostClass:
    """What hosts of one class share: a cloud's next host of the class continues the series of the last one.

    gpu, gpu_memory_gib, gpu_power_limit_w: model, size and power cap; None without one. cpu, cores: model of the
    processor, and how many of its threads this process may use.
    """

    cpu: str
    cores: int
    gpu: str | None = None
    gpu_memory_gib: int | None = None
    gpu_power_limit_w: int | None = None

    def name(self) -> str:
        """Return a name for the machine of a series: `nvidia-h200-141gib-700w` or `amd-epyc-9654-8-cores`."""
        if self.gpu is None:
            return _slug(f"{self.cpu} {self.cores} cores")
        power = f" {self.gpu_power_limit_w}w" if self.gpu_power_limit_w else ""
        return _slug(f"{self.gpu} {self.gpu_memory_gib}gib{power}")

    def difference(self, other: HostClass) -> str | None:
        """Return in words what `other` has otherwise; None for the same class."""
        pairs = [
            (each.name.replace("_", " "), getattr(self, each.name), getattr(other, each.name)) for each in fields(self)
        ]
        told = [f"{name} {ours} instead of {theirs}" for name, ours, theirs in pairs if ours != theirs]
        return ", ".join(told) or None


@dataclass(frozen=True, kw_only=True)
class Host:
    """Host, by its name among the fleet's. node: the machine's own. gpu_uuid: of its GPU, None on a CPU."""

    name: str
    node: str
    kind: HostClass
    gpu_uuid: str | None = None

    def conditions(self, *, is_shared: bool) -> tuple[tuple[str, str], ...]:
        """Return what the journal keeps of the host; `shared_host` if other shards are measured on it meanwhile."""
        # On CUDA the worker adds the GPU's identity itself.
        return (("host", self.node), ("shared_host", "yes")) if is_shared else (("host", self.node),)


def host_name(settings: Settings) -> str:
    """Return this host's name: as the settings say, else as Slurm calls the node, else as the system does."""
    return settings.host or os.environ.get("SLURMD_NODENAME") or platform.node()


def this_host(settings: Settings, device: DeviceKind) -> Host:
    """Return the host this process runs on; a GPU is the first of CUDA_VISIBLE_DEVICES."""
    gpu = _gpu() if device is DeviceKind.CUDA else {}
    uuid = gpu.pop("uuid", None)
    kind = HostClass(cpu=_cpu_name(), cores=len(os.sched_getaffinity(0)), **gpu)
    name = host_name(settings)
    return Host(name=name, node=name, kind=kind, gpu_uuid=uuid)


def visible_gpu(environ: Mapping[str, str]) -> str:
    """Return the first of the GPUs that CUDA_VISIBLE_DEVICES leaves, a number or a UUID; `0` without a choice."""
    return environ.get("CUDA_VISIBLE_DEVICES", "").split(",")[0].strip() or "0"


def _gpu() -> dict[str, Any]:
    import pynvml  # noqa: PLC0415 - only where there is a GPU

    pynvml.nvmlInit()
    named = visible_gpu(os.environ)
    handle = (
        pynvml.nvmlDeviceGetHandleByIndex(int(named)) if named.isdigit() else pynvml.nvmlDeviceGetHandleByUUID(named)
    )
    try:
        limit_w = round(pynvml.nvmlDeviceGetEnforcedPowerLimit(handle) / 1000)
    except pynvml.NVMLError:
        limit_w = None  # a part of a GPU has none of its own
    return {
        "gpu": _text(pynvml.nvmlDeviceGetName(handle)),
        "gpu_memory_gib": round(pynvml.nvmlDeviceGetMemoryInfo(handle).total / _GIB),
        "gpu_power_limit_w": limit_w,
        "uuid": _text(pynvml.nvmlDeviceGetUUID(handle)),
    }


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value


def _cpu_name() -> str:
    from benchmarks.ruler.measure.conditions import cpu_name  # noqa: PLC0415 - imports torch

    return cpu_name()


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower().replace("(r)", "").replace("(tm)", "")).strip("-")
