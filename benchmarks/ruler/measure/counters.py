"""Counters of the kernel: processor time of this process and of all, time stolen, time waited for a processor."""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Mapping  # noqa: TC003 - a field's type
from dataclasses import dataclass, field
from pathlib import Path

_PROC_STAT = Path("/proc/stat")
_OWN_THREADS = Path("/proc/self/task")


@dataclass(frozen=True, kw_only=True)
class Counters:
    """One reading, in seconds since arbitrary starts.

    own_s: processor time of this process. busy_s, stolen_s: processor time of all processes, and what a hypervisor
    kept from this machine; None where the system does not say. waited_s: by thread of this process, time in which it
    could have run and no processor was free; empty where the system does not say.
    """

    now_s: float
    own_s: float
    busy_s: float | None
    stolen_s: float | None
    waited_s: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Window:
    """What happened between two readings.

    own_cores, others_cores: processors that this process and all others kept busy. lost: share of the time in which
    the thread that waited most waited for a processor. stolen: share of this process's time that a hypervisor took.
    None where the system does not say.
    """

    elapsed_s: float
    own_cores: float
    others_cores: float | None
    lost: float | None
    stolen: float | None


def read_counters() -> Counters:
    """Read the counters; about 0.1 ms."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    busy_s, stolen_s = _seconds_of_all()
    return Counters(
        now_s=time.monotonic(),
        own_s=usage.ru_utime + usage.ru_stime,
        busy_s=busy_s,
        stolen_s=stolen_s,
        waited_s=_waited_s(),
    )


def window_between(before: Counters, after: Counters) -> Window:
    """Return what happened from `before` to `after`."""
    elapsed_s = max(after.now_s - before.now_s, 1e-9)
    own_s = after.own_s - before.own_s
    busy_s = None if before.busy_s is None or after.busy_s is None else after.busy_s - before.busy_s
    stolen_s = None if before.stolen_s is None or after.stolen_s is None else after.stolen_s - before.stolen_s
    waited = [after.waited_s[thread] - before.waited_s.get(thread, 0.0) for thread in after.waited_s]
    # Time is stolen from whoever wants to run; of it, ours is our part of all that ran.
    our_part = 1.0 if not busy_s else min(1.0, own_s / busy_s)
    return Window(
        elapsed_s=elapsed_s,
        own_cores=own_s / elapsed_s,
        others_cores=None if busy_s is None else max(0.0, busy_s - own_s) / elapsed_s,
        lost=min(1.0, max(waited) / elapsed_s) if waited else None,
        stolen=None if stolen_s is None else min(1.0, our_part * stolen_s / elapsed_s),
    )


def minor_faults() -> int:
    """Return the pages that this process has had mapped without reading a disk."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt


def _seconds_of_all() -> tuple[float | None, float | None]:
    """Return the seconds all processes were busy since boot, idle and iowait excluded, and the seconds stolen."""
    try:
        line = _PROC_STAT.read_text(encoding="ascii").split("\n", 1)[0]
    except OSError:
        return None, None
    name, *fields = line.split()
    if name != "cpu":
        return None, None
    user, nice, system, _idle, _iowait, irq, softirq, steal, *_ = (int(ticks) for ticks in fields)
    ticks_per_s = os.sysconf("SC_CLK_TCK")
    return (user + nice + system + irq + softirq) / ticks_per_s, steal / ticks_per_s


def _waited_s() -> dict[str, float]:
    found = {}
    try:
        threads = list(_OWN_THREADS.iterdir())
    except OSError:
        return {}
    for thread in threads:
        try:
            fields = (thread / "schedstat").read_text(encoding="ascii").split()
        except OSError:
            continue  # the thread has ended, or the kernel keeps no such count
        found[thread.name] = int(fields[1]) * 1e-9
    return found
