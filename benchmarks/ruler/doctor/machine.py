"""State of the machine that moves times: governor, other processes, stolen time, slow episodes, memory."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from benchmarks.ruler.doctor.findings import Status, fine, note, problem
from benchmarks.ruler.measure.conditions import available_memory_bytes
from benchmarks.ruler.measure.counters import cpu_quota, read_counters, window_between
from benchmarks.ruler.measure.disturbances import LEAST_LOST
from benchmarks.ruler.measure.probe import Probe
from benchmarks.ruler.plan.units import percent
from benchmarks.ruler.record.part_speed import (
    LEAST_ALIKE,
    LEAST_SPEED,
    Part,
    slow_quarter,
    slowest_part,
    speed_in_words,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from benchmarks.ruler.doctor.findings import Finding
    from benchmarks.ruler.measure.counters import Window

_LOOKED_S = 3.0
_BUSY_CORES, _NAMED_CORES = 0.1, 0.05
_LEAST_MEMORY_BYTES = 2 * 2**30
_PROC = Path("/proc")


@dataclass(frozen=True, kw_only=True)
class BusyProcess:
    """Process of somebody's. cores: processors it kept busy."""

    pid: int
    name: str
    cores: float


def governor(name: str | None) -> Finding:
    """Judge the CPU's frequency governor; None where the system tells none, as in a virtual machine."""
    if name is None:
        return note("CPU governor", "not readable here, as in most virtual machines")
    if name == "performance":
        return fine("CPU governor", name)
    return problem(
        "CPU governor",
        f"{name}: the clock follows the load, and times with it",
        mend="sudo cpupower frequency-set --governor performance",
    )


def load(others_cores: float | None, busiest: Sequence[BusyProcess]) -> Finding:
    """Judge what other processes take. others_cores: processors they kept busy; None if it cannot be read."""
    if others_cores is None:
        return note("load", "what other processes take cannot be read here")
    if others_cores <= _BUSY_CORES:
        return fine("load", f"other processes use {others_cores:.2f} cores")
    named = ", ".join(f"{each.name} (process {each.pid}) {each.cores:.1f}" for each in busiest)
    return problem(
        "load",
        f"other processes use {others_cores:.1f} cores{': ' + named if named else ''}",
        mend="end them, or measure when they have ended",
    )


def steal(stolen: float | None) -> Finding:
    """Judge what a hypervisor keeps. stolen: share of the time, or None if it cannot be read."""
    if stolen is None:
        return note("stolen time", "cannot be read here")
    if stolen <= LEAST_LOST:
        return fine("stolen time", percent(stolen, digits=1))
    return problem(
        "stolen time",
        f"the host kept {percent(stolen)} of the processor time from this machine",
        mend="measure on a machine whose processors are its own",
    )


def quota(cpus: float | None, throttled: float | None) -> Finding:
    """Judge a container's limit. cpus: processors it leaves, None without one. throttled: share of the time it took."""
    if cpus is None:
        return fine("CPU quota", "none")
    if throttled is None or throttled <= LEAST_LOST:
        return fine("CPU quota", f"{cpus:g} processors, which one busy thread does not exhaust")
    return problem(
        "CPU quota",
        f"{cpus:g} processors: it stopped one busy thread {percent(throttled)} of the time, and shows in no list",
        mend="give the container more (docker run --cpus, a pod's limits), or end what else runs in it",
    )


def speed(
    readings: Sequence[Mapping[Part, float]],
    best_s: Mapping[str, float],
    *,
    is_explained: bool = False,
    kept_in: str | None = None,
) -> Finding:
    """Judge how fast the machine runs, by `readings` of the probe in seconds beside the best that earlier runs kept.

    is_explained: whether another finding, such as the load, is a reason to be slow. kept_in: since when and in which
    file that best is known, in words.
    Slow episodes show in no counter: where a quarter of the readings is slow, so is a sweep.
    """
    shares = {}
    for part in Part:
        times = [reading[part] for reading in readings]
        best = min([*times, *([best_s[part]] if part in best_s else [])])
        slow = [time_s for time_s in times if best / time_s < LEAST_SPEED]
        shares[part] = (len(slow) / len(times), best / median(times))
    worst = max(shares, key=lambda part: shares[part])
    share, typical = shares[worst]
    if share <= 0.25:
        return fine("speed", f"fixed work takes what it took at best in {percent(1 - share)} of {len(readings)} looks")
    never_met = kept_in if share == 1.0 else None
    return problem(
        "speed",
        f"{_WORK[worst]} ran below {percent(LEAST_SPEED)} of its best in {percent(share)} of {len(readings)} looks, "
        f"typically at {speed_in_words(typical)}",
        mend=_MEND_EXPLAINED if is_explained else _mend_unexplained(readings, best_s, never_met),
    )


def _mend_unexplained(
    readings: Sequence[Mapping[Part, float]], best_s: Mapping[str, float], kept_in: str | None
) -> str:
    """Return what to do about slowness without a reason. kept_in: the best, if no reading came near it."""
    mend = f"{_MEND_UNEXPLAINED} {_what_stands(readings, best_s)}"
    return mend if kept_in is None else f"{mend}. {_FORGET.format(kept_in)}"


def _what_stands(readings: Sequence[Mapping[Part, float]], best_s: Mapping[str, float]) -> str:
    """Return what slowness alone leaves of a measurement made now: × eager, unless a visit would be slower still."""
    least_s = {part: min(reading[part] for reading in readings) for part in Part}
    best = {str(part): min(least_s[part], best_s.get(part, least_s[part])) for part in Part}
    speeds = (slowest_part(reading, best) for reading in readings)
    speed = slow_quarter(sorted(found[1] for found in speeds if found is not None))
    if speed is not None and speed >= LEAST_ALIKE:
        return "latencies are marked as disturbed, and × eager stands on a CPU"
    return "latencies and × eager are marked as disturbed"


_MEND_EXPLAINED = "mend what else is found here first, and look again; until then times are marked as disturbed"
_MEND_UNEXPLAINED = (
    "nothing here shows why: a host's other guests or a clock that changes. Measure at another time, or on a "
    "machine of your own; until then"
)


_FORGET = (
    "Nothing came near the best, which is {}: if the machine became a slower one for good, as a virtual one may, move "
    "that file away and measure by fusebench run --again, which learns its best and its ceilings anew"
)

_WORK = {Part.CORE: "one core's arithmetic", Part.PRODUCT: "a matrix product", Part.MEMORY: "reading memory"}


def memory(available_bytes: int | None) -> Finding:
    """Judge the memory that is free, in bytes; None if it cannot be read."""
    if available_bytes is None:
        return note("memory", "what is free cannot be read here")
    text = f"{available_bytes / 2**30:.1f} GiB available"
    if available_bytes >= _LEAST_MEMORY_BYTES:
        return fine("memory", text)
    return problem("memory", text, mend="end what holds it: a worker that runs out of memory loses its group")


def examine_machine(*, cpu_governor: str | None, best_s: Mapping[str, float], kept_in: str | None) -> Iterator[Finding]:
    """Look at the machine for some seconds with torch's current threads; keeps it busy for half of them.

    best_s, kept_in: as for `speed`.
    """
    yield memory(available_memory_bytes())
    probe = Probe()
    idle, busiest = _idle_window()
    readings = []
    before, end = read_counters(), time.monotonic() + _LOOKED_S / 2
    while time.monotonic() < end:
        readings.append(probe.times_s())
    busy = window_between(before, read_counters())
    limit = cpu_quota()
    reasons = [
        governor(cpu_governor),
        load(idle.others_cores, busiest),
        steal(busy.stolen),
        quota(limit.cpus if limit else None, busy.throttled),
    ]
    yield from reasons
    yield speed(readings, best_s, is_explained=any(each.status is Status.PROBLEM for each in reasons), kept_in=kept_in)


def _idle_window() -> tuple[Window, list[BusyProcess]]:
    """Do nothing for a while; return what others did meanwhile, the busiest processes first."""
    before, seconds_before = read_counters(), seconds_by_process()
    time.sleep(_LOOKED_S / 2)
    window, seconds = window_between(before, read_counters()), seconds_by_process()
    used = (
        BusyProcess(pid=pid, name=name, cores=(now_s - seconds_before.get(pid, (name, 0.0))[1]) / window.elapsed_s)
        for pid, (name, now_s) in seconds.items()
        if pid != os.getpid()
    )
    named = sorted((each for each in used if each.cores >= _NAMED_CORES), key=lambda each: -each.cores)
    return window, named[:3]


def seconds_by_process() -> dict[int, tuple[str, float]]:
    """Return name and processor seconds of each process that can be read; empty on systems without /proc."""
    ticks_per_s = os.sysconf("SC_CLK_TCK")
    found = {}
    for path in _PROC.glob("[0-9]*/stat"):
        try:
            text = path.read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue  # it has ended
        name, _, rest = text.partition("(")[2].rpartition(")")
        fields = rest.split()
        found[int(path.parent.name)] = (name, (int(fields[11]) + int(fields[12])) / ticks_per_s)
    return found
