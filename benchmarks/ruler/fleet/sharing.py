"""GPUs of one host that measure shards of their own: a lock per GPU, cores pinned, and the journal says so. Opt-in."""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from benchmarks.ruler.errors import InvalidSettings
from benchmarks.ruler.sweep.lock import Hold, machine_lock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from benchmarks.ruler.fleet.host import Host


def cores_of_gpu(index: int, n_gpus: int, cores: Sequence[int]) -> frozenset[int]:
    """Return the cores of the GPU `index` of `n_gpus`: an even part of `cores`, neighbours together.

    Raises: InvalidSettings if there are fewer cores than GPUs.
    """
    n_each = len(cores) // n_gpus
    if not n_each:
        raise InvalidSettings(f"--share: {len(cores)} cores for {n_gpus} GPUs leave none for each; measure without it")
    ordered = sorted(cores)
    return frozenset(ordered[index * n_each : (index + 1) * n_each])


def pin_to_gpu(uuid: str) -> None:
    """Pin this process, and all it starts from now on, to the cores of a GPU. Raises: InvalidSettings."""
    import pynvml  # noqa: PLC0415 - only where there is a GPU

    pynvml.nvmlInit()
    index = pynvml.nvmlDeviceGetIndex(pynvml.nvmlDeviceGetHandleByUUID(uuid))
    cores = cores_of_gpu(index, pynvml.nvmlDeviceGetCount(), sorted(os.sched_getaffinity(0)))
    os.sched_setaffinity(0, cores)


def sharing_host(host: Host) -> Host:
    """Return the host as a part of itself, one GPU, which has a folder of record of its own.

    Raises: InvalidSettings for a CPU, of which there is one.
    """
    if host.gpu_uuid is None:
        raise InvalidSettings("--share is for several GPUs of one host; on a CPU one shard at a time is measured")
    return replace(host, name=f"{host.name}.{host.gpu_uuid[-12:]}")


@contextmanager
def host_lock(path: Path, host: Host, *, is_shared: bool, say: Callable[[str], None], waits: bool) -> Iterator[None]:
    """Hold the host's lock alone; or, where it is shared, together with other GPUs' shards, and that of the GPU alone.

    So a sweep of the whole host waits for all that share it, and they for it. Raises: MachineBusy, InvalidSettings.
    """
    if not is_shared:
        with machine_lock(path, say=say, waits=waits):
            yield
        return
    of_gpu = path.with_name(f"{path.name}-{host.gpu_uuid}")
    with machine_lock(path, say=say, waits=waits, hold=Hold.TOGETHER), machine_lock(of_gpu, say=say, waits=waits):
        yield
