"""Counters of the kernel: processor time of this process and of all, time stolen, waited for a processor, throttled."""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Mapping  # noqa: TC003 - a field's type
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from time import clock_gettime, process_time

_PROC_STAT = Path("/proc/stat")
_OWN_THREADS = Path("/proc/self/task")
_CGROUPS, _OWN_CGROUPS = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")
_THREAD_CPU_CLOCK = 0b110
"""Low bits of the id of a thread's clock of processor time, as pthread_getcpuclockid composes it."""


@dataclass(frozen=True, kw_only=True)
class Counters:
    """One reading, in seconds since arbitrary starts.

    own_s: processor time of this process and of its children. busy_s, stolen_s: processor time of all processes, and
    what a hypervisor kept from this machine; None where the system does not say. waited_s: by thread of this process,
    time in which it could have run and no processor was free; empty where the system does not say. throttled_s: time in
    which a CPU quota stopped this process's group; None without one.
    """

    now_s: float
    own_s: float
    busy_s: float | None
    stolen_s: float | None
    waited_s: Mapping[str, float] = field(default_factory=dict)
    throttled_s: float | None = None


@dataclass(frozen=True, kw_only=True)
class Window:
    """What happened between two readings.

    own_cores, others_cores: processors that this process with its children and all others kept busy. lost: share of the
    time in which the thread that waited most waited for a processor. stolen: share of this process's time that a
    hypervisor took. throttled: share of the time in which a CPU quota stopped it. None where the system does not say.
    """

    elapsed_s: float
    own_cores: float
    others_cores: float | None
    lost: float | None
    stolen: float | None
    throttled: float | None = None


@dataclass(frozen=True, kw_only=True)
class CpuQuota:
    """Limit on a control group's processor time, as a container has. cpus: processors that it leaves.

    counts: the kernel's file about it. key, per_s: the time it stopped the group in there, and its unit.
    """

    cpus: float
    counts: Path
    key: str
    per_s: float

    def throttled_s(self) -> float | None:
        """Return the seconds in which it stopped the group so far, over all processors; None if it cannot be read."""
        for line in _text(self.counts).splitlines():
            name, _, value = line.partition(" ")
            if name == self.key:
                return int(value) / self.per_s
        return None


def cpu_quota(*, cgroups: Path = _CGROUPS, own: Path = _OWN_CGROUPS) -> CpuQuota | None:
    """Return the tightest quota of this process's control group and of those around it; None without one.

    cgroups: where their files are mounted. own: the kernel's list of the groups this process is in. Source: Linux,
    Documentation/admin-guide/cgroup-v2.rst, `cpu.max`, and scheduler/sched-bwc.rst for version 1.
    """
    found = []
    for line in _text(own).splitlines():
        _, controllers, group = line.split(":", 2)
        if not controllers:
            found += [_quota_of_v2(folder) for folder in _folders(cgroups, group)]
        elif "cpu" in controllers.split(","):
            found += [_quota_of_v1(folder) for folder in _folders(cgroups / controllers, group)]
            found += [_quota_of_v1(folder) for folder in _folders(cgroups / "cpu", group)]
    return min(filter(None, found), key=lambda quota: quota.cpus, default=None)


def _folders(mount: Path, group: str) -> list[Path]:
    """Return a group's folder and those around it; in a container the mount is often its own, whatever it is called."""
    folder = mount / group.lstrip("/")
    return [folder, *(each for each in folder.parents if each.is_relative_to(mount))]


def _quota_of_v2(folder: Path) -> CpuQuota | None:
    quota, _, period = _text(folder / "cpu.max").partition(" ")
    return _quota(quota, period, folder / "cpu.stat", key="throttled_usec", per_s=1e6)


def _quota_of_v1(folder: Path) -> CpuQuota | None:
    quota, period = _text(folder / "cpu.cfs_quota_us"), _text(folder / "cpu.cfs_period_us")
    return _quota(quota, period, folder / "cpu.stat", key="throttled_time", per_s=1e9)


def _quota(quota: str, period: str, counts: Path, *, key: str, per_s: float) -> CpuQuota | None:
    # No quota is `max` in version 2 and -1 in version 1.
    if not quota.strip().isdigit() or not period.strip().isdigit() or not int(period):
        return None
    return CpuQuota(cpus=int(quota) / int(period), counts=counts, key=key, per_s=per_s)


_known_quota = cache(cpu_quota)


def read_counters() -> Counters:
    """Read the counters; about 0.1 ms."""
    own_s = process_cpu_s() + _children_cpu_s()
    busy_s, stolen_s = _seconds_of_all()
    quota = _known_quota()
    return Counters(
        now_s=time.monotonic(),
        own_s=own_s,
        busy_s=busy_s,
        stolen_s=stolen_s,
        waited_s=_waited_s(),
        throttled_s=quota.throttled_s() if quota else None,
    )


def window_between(before: Counters, after: Counters) -> Window:
    """Return what happened from `before` to `after`."""
    elapsed_s = max(after.now_s - before.now_s, 1e-9)
    own_s = after.own_s - before.own_s
    busy_s = None if before.busy_s is None or after.busy_s is None else after.busy_s - before.busy_s
    stolen_s = None if before.stolen_s is None or after.stolen_s is None else after.stolen_s - before.stolen_s
    quota_s = (
        None if before.throttled_s is None or after.throttled_s is None else after.throttled_s - before.throttled_s
    )
    waited = [after.waited_s[thread] - before.waited_s.get(thread, 0.0) for thread in after.waited_s]
    # Time is stolen from whoever wants to run; of it, ours is our part of all that ran.
    our_part = 1.0 if not busy_s else min(1.0, own_s / busy_s)
    return Window(
        elapsed_s=elapsed_s,
        own_cores=own_s / elapsed_s,
        others_cores=None if busy_s is None else max(0.0, busy_s - own_s) / elapsed_s,
        lost=min(1.0, max(waited) / elapsed_s) if waited else None,
        stolen=None if stolen_s is None else min(1.0, our_part * stolen_s / elapsed_s),
        throttled=None if quota_s is None else min(1.0, quota_s / elapsed_s),
    )


def process_cpu_s() -> float:
    """Return the processor time of this process, all threads included, in seconds; some µs a thread.

    Linux adds up what each thread had when it last left its processor or was interrupted by a tick, so that a thread
    which spins elsewhere is up to 10 ms behind, and a window of 0.2 ms can be charged for what ran before it. Reading
    a thread's own clock brings that thread up to date.
    """
    for thread in _own_threads():
        with suppress(OSError):  # the thread has ended
            clock_gettime(~int(thread) << 3 | _THREAD_CPU_CLOCK)
    return process_time()


def minor_faults() -> int:
    """Return the pages that this process has had mapped without reading a disk."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt


def _seconds_of_all() -> tuple[float | None, float | None]:
    """Return the seconds all processes were busy since boot, idle and iowait excluded, and the seconds stolen.

    Of a process that is pinned to some of the machine's processors: on those, as nobody elsewhere takes them from it.
    """
    lines = [line.split() for line in _text(_PROC_STAT).splitlines() if line.startswith("cpu")]
    if not lines or lines[0][0] != "cpu":
        return None, None
    own = {f"cpu{number}" for number in os.sched_getaffinity(0)}
    of_own = [fields for name, *fields in lines if name in own]
    counted = of_own if 0 < len(of_own) < len(lines) - 1 else [lines[0][1:]]
    busy = stolen = 0
    for fields in counted:
        user, nice, system, _idle, _iowait, irq, softirq, steal, *_ = map(int, fields)
        busy, stolen = busy + user + nice + system + irq + softirq, stolen + steal
    ticks_per_s = os.sysconf("SC_CLK_TCK")
    return busy / ticks_per_s, stolen / ticks_per_s


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii")
    except OSError:
        return ""


def _own_threads() -> list[str]:
    try:
        return [thread.name for thread in _OWN_THREADS.iterdir()]
    except OSError:
        return []


def _children_cpu_s() -> float:
    """Return the processor time of all that this process has started: compilers, and what has ended of them."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return ended.ru_utime + ended.ru_stime + sum(map(_seconds_of, _children("self")))


def _children(process: str) -> list[str]:
    """Return the numbers of the living processes that `process` has started, those that they have started included."""
    found: list[str] = []
    try:
        for thread in Path("/proc", process, "task").iterdir():
            found += (thread / "children").read_text(encoding="ascii").split()
    except OSError:
        pass  # it has ended, or the kernel keeps no such list
    return found + [each for child in found for each in _children(child)]


def _seconds_of(process: str) -> float:
    """Return the processor time of a process and of those of its children that have ended; 0 if it has ended itself."""
    try:
        text = Path("/proc", process, "stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return 0.0
    # The name in parentheses may hold anything; utime, stime, cutime and cstime are the 12th to 15th after it.
    ticks = text.rpartition(")")[2].split()[11:15]
    return sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")


def _waited_s() -> dict[str, float]:
    found = {}
    for thread in _own_threads():
        try:
            fields = (_OWN_THREADS / thread / "schedstat").read_text(encoding="ascii").split()
        except OSError:
            continue  # the thread has ended, or the kernel keeps no such count
        found[thread] = int(fields[1]) * 1e-9
    return found
