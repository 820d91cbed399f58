"""Disturbances of a measurement: a machine that runs slower than it can, and processes that take its processors.

A flag follows the harm, not the load: what moves no median is no disturbance.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from statistics import median, quantiles
from typing import TYPE_CHECKING

from benchmarks.ruler.measure.counters import Window, read_counters, window_between
from benchmarks.ruler.measure.kept_chunks import LEAST_CALM_SAMPLES
from benchmarks.ruler.measure.probe import Probe, median_times_s
from benchmarks.ruler.plan.cpu_caches import private_cache_bytes
from benchmarks.ruler.plan.roofline import MACHINE_SPEED, SPEED_OF_PRODUCTS
from benchmarks.ruler.plan.units import percent
from benchmarks.ruler.record.part_speed import SLOW_QUARTER, Part, slow_quarter, slowest_part, slowness

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from benchmarks.ruler.measure.counters import Counters

# Sharing processors harms if the median of a contender's samples lies this far above its undisturbed ones …
MOST_HARM = 0.05
# … and somebody was there: this share of the time was lost.
LEAST_LOST = 0.03
# A scheduler takes a processor away for milliseconds: of shorter samples it meets a few, of longer ones each.
_SLICE_S = 3e-3
# Of what was lost, samples lose their part. If those that stick out show less than half of it, each was met alike; but
# for less than half a slice, which may as well have missed them all.
_LEAST_SHOWN, _LEAST_MET_S = 0.5, _SLICE_S / 2
_TICK_S = 0.01  # in which the kernel counts what is stolen
_BUSY_CORES, _SEVERAL_CORES = 0.3, 1.2


@dataclass(frozen=True, kw_only=True)
class Demand:
    """What the calls of a group demand of the machine.

    threads: those that torch uses. data_bytes: what one call reads and writes, or None if it is not known.
    is_on_host: the calls compute on the CPU. n_cpus: processors this process may use.
    """

    threads: int
    data_bytes: int | None = None
    is_on_host: bool = True
    n_cpus: int = field(default_factory=lambda: len(os.sched_getaffinity(0)))
    private_cache_bytes: int = field(default_factory=private_cache_bytes)

    def parts(self, window: Window) -> frozenset[Part]:
        """Return the parts of the machine that the calls use and the probe can tell, as they were in `window`."""
        used = {Part.CORE}
        if not self.is_on_host:
            return frozenset(used)
        # Several threads are timed by the wall, which waiting lengthens: then the samples tell, and not the probe.
        if self.threads == 1 or (window.own_cores > _SEVERAL_CORES and (window.lost or 0.0) <= LEAST_LOST):
            used.add(Part.PRODUCT)
        if self.data_bytes is not None and self.data_bytes > self.threads * self.private_cache_bytes:
            used.add(Part.MEMORY)
        return frozenset(used)


@dataclass(frozen=True)
class _Stretch:
    """Seconds of the probe's parts that the calls use, around a stretch of sampling that is kept."""

    times_s: Mapping[Part, float]
    is_disturbed: bool


@dataclass
class LossSoFar:
    """Seconds that a visit has lost in one way, and that its samples lasted, those thrown away included.

    grain_s: what the kernel counts the loss in; a stretch of a few grains may look calm and not be.
    """

    grain_s: float = 0.0
    elapsed_s: float = 0.0
    lost_s: float = 0.0
    calm_s: float = 0.0
    samples_s: dict[str, list[float]] = field(default_factory=dict)
    calm_samples_s: dict[str, list[float]] = field(default_factory=dict)

    def share_with(self, share: float, elapsed_s: float, durations_s: Mapping[str, Sequence[float]]) -> float:
        """Add a stretch that lost `share`; return it, or the visit's if more, where one stretch holds few grains."""
        self.elapsed_s += elapsed_s
        self.lost_s += share * elapsed_s
        counted = max(share, self.share) if self.grain_s else share
        is_calm = counted <= LEAST_LOST
        self.calm_s += elapsed_s if is_calm else 0.0
        for name, samples in durations_s.items():
            self.samples_s.setdefault(name, []).extend(samples)
            if is_calm:
                self.calm_samples_s.setdefault(name, []).extend(samples)
        return counted

    @property
    def share(self) -> float:
        """Share of the visit's time that was lost."""
        return self.lost_s / self.elapsed_s if self.elapsed_s else 0.0

    def harm(self, durations_s: Mapping[str, Sequence[float]]) -> float:
        """Return how far medians lie above calm ones; while none is known, the share that all samples lost alike."""
        calm = {name: each for name, each in self.calm_samples_s.items() if len(each) >= LEAST_CALM_SAMPLES}
        above = [median(each) / median(calm[name]) - 1 for name, each in durations_s.items() if each and name in calm]
        if above and self.calm_s * LEAST_LOST >= self.grain_s:
            return max(above)
        return self.share if self._is_met_alike() else 0.0

    def _is_met_alike(self) -> bool:
        met_s = self.share * sum(map(sum, self.samples_s.values()))
        middles_s = {name: median(each) for name, each in self.samples_s.items() if each}
        shown_s = sum(max(0.0, one - middle) for name, middle in middles_s.items() for one in self.samples_s[name])
        return met_s >= _LEAST_MET_S and shown_s < _LEAST_SHOWN * met_s


class MachineWatch:
    """Watch over the machine while a group is sampled: its speed, and what other processes take.

    best_s: the machine's best time of each part of the probe; without it no speed is known. `probe` and `read` are
    injected so that the rules are tested without any load.
    """

    def __init__(
        self,
        demand: Demand,
        *,
        probe: Probe | None,
        best_s: Mapping[str, float] | None = None,
        read: Callable[[], Counters] = read_counters,
    ) -> None:
        self._demand = demand
        self._probe = probe
        self._best_s = dict(best_s or {})
        self._read = read
        self._readings: list[dict[Part, float]] = []
        self._stretches: list[_Stretch] = []
        self._before = self._read()
        self._stolen, self._waited = LossSoFar(grain_s=_TICK_S), LossSoFar()
        self._most_others: float | None = None
        self._is_merely_slow = False

    def start(self) -> None:
        """Start an observation window; the probe that ended the window before begins this one."""
        if self._probe is not None and not self._readings:
            self._readings.append(self._probe.times_s())
        self._before = self._read()

    def forget(self) -> None:
        """Forget the speed of the last stretch: what was measured in it is thrown away."""
        if self._stretches:
            self._stretches.pop()

    def forget_all(self) -> None:
        """Forget the speed of all stretches, and how long samples lasted in them: later ones may be of more calls."""
        self._stretches.clear()
        self._stolen, self._waited = LossSoFar(grain_s=_TICK_S), LossSoFar()

    def forget_disturbed(self) -> None:
        """Forget the speed of the stretches that were disturbed: what is kept of them moved no median."""
        self._stretches = [each for each in self._stretches if not each.is_disturbed]

    def disturbance(self, durations_s: Mapping[str, Sequence[float]]) -> str | None:
        """Return what disturbed the machine since `start`, or None.

        durations_s: seconds that each contender's samples lasted meanwhile.
        """
        window = window_between(self._before, self._read())
        if window.others_cores is not None:
            self._most_others = max(window.others_cores, self._most_others or 0.0)
        times_s = self._times_around(window)
        slowest = slowest_part(times_s, self._best_s)
        slow = slowest and slowness(*slowest, is_on_host=self._demand.is_on_host)
        # A GPU goes on meanwhile: its samples do not lose what the host does.
        stolen, waited = (self._stolen, self._waited) if self._demand.is_on_host else (None, None)
        if stolen and window.stolen is not None:
            window = replace(window, stolen=stolen.share_with(window.stolen, window.elapsed_s, durations_s))
        if waited and window.lost is not None:
            waited.share_with(window.lost, window.elapsed_s, durations_s)
        taken = (
            theft(window, durations_s, so_far=stolen)
            or throttling(window, durations_s)
            or contention(window, durations_s, n_cpus=self._demand.n_cpus, so_far=waited)
        )
        is_alone = window.others_cores is not None and window.others_cores <= _BUSY_CORES
        self._is_merely_slow = slow is not None and taken is None and is_alone
        if self._probe is not None:
            self._stretches.append(_Stretch(times_s, is_disturbed=bool(taken or slow)))
        return taken or slow  # what others take harms ratios as well, and slowness latencies alone

    @property
    def is_merely_slow(self) -> bool:
        """Whether all that disturbed the last window was a slow machine, on which nobody else was seen."""
        return self._is_merely_slow

    def machine_speed(self) -> float | None:
        """Return the speed that a quarter of the stretches did not reach, 1 where it was the best; None if unknown.

        A visit is slow if more than that is: its speed is then what makes it so.
        """
        return self._slow_quarter_of(frozenset(Part))

    def speeds(self) -> dict[str, float | None]:
        """Return the machine's speed, and that of what products use of it, as conditions of ceilings."""
        of_products = self._slow_quarter_of(frozenset({Part.CORE, Part.PRODUCT}))
        return {MACHINE_SPEED: self.machine_speed(), SPEED_OF_PRODUCTS: of_products}

    def _slow_quarter_of(self, parts: frozenset[Part]) -> float | None:
        of_parts = (
            {part: time_s for part, time_s in each.times_s.items() if part in parts} for each in self._stretches
        )
        found = (slowest_part(each, self._best_s) for each in of_parts)
        speed = slow_quarter(sorted(speed for _, speed in filter(None, found)))
        return None if speed is None else round(speed, 4)

    def slow_quarter_s(self) -> dict[Part, float]:
        """Return the seconds of each part that the calls use which a quarter of the stretches exceeded."""
        of_stretches = [each.times_s for each in self._stretches]
        times = {part: sorted((e[part] for e in of_stretches if part in e), reverse=True) for part in Part}
        return {part: time_s for part, of_part in times.items() if (time_s := slow_quarter(of_part))}

    def conditions(self) -> dict[str, float | None]:
        """Return load, speed and the probe's times under the journal's keys."""
        of_all = {f"probe_{part}_s": time_s for part, time_s in self.probe_s().items()}
        of_used = {f"{SLOW_QUARTER}{part}_s": time_s for part, time_s in self.slow_quarter_s().items()}
        times = {name: float(f"{time_s:.5g}") for name, time_s in {**of_all, **of_used}.items()}
        return {"load_by_others": self._most_others, MACHINE_SPEED: self.machine_speed(), **times}

    def probe_s(self) -> dict[Part, float]:
        """Return the median seconds of each part of the probe so far; empty without a probe."""
        return median_times_s(self._readings)

    def _times_around(self, window: Window) -> dict[Part, float]:
        """Probe again; return the lesser seconds, before or after `window`, of the parts that the calls use.

        A burst that one probe met and the other did not was over before it could move a median (docs/adr/0021).
        """
        if self._probe is None:
            return {}
        self._readings.append(self._probe.times_s())
        around = self._readings[-2:]
        used = {part for part in self._demand.parts(window) if min(reading[part] for reading in around) > 0}
        return {part: min(reading[part] for reading in around) for part in used}


def theft(window: Window, durations_s: Mapping[str, Sequence[float]], *, so_far: LossSoFar | None = None) -> str | None:
    """Return in words that a hypervisor took processor time and samples show it, or None. so_far: of the visit."""
    share = window.stolen
    if share is None or share <= LEAST_LOST or harm(durations_s, lost=share, so_far=so_far) <= MOST_HARM:
        return None
    return f"the host kept {percent(share)} of the processor time from this machine"


def throttling(window: Window, durations_s: Mapping[str, Sequence[float]]) -> str | None:
    """Return in words that a CPU quota stopped this process and samples show it, or None."""
    share = window.throttled
    if share is None or share <= LEAST_LOST or harm(durations_s, lost=share) <= MOST_HARM:
        return None
    return f"a CPU quota, as containers have, stopped this process {percent(share)} of the time"


def contention(
    window: Window, durations_s: Mapping[str, Sequence[float]], *, n_cpus: int, so_far: LossSoFar | None = None
) -> str | None:
    """Return in words that others took processors and samples show it, or None. so_far: what the visit waited."""
    others = window.others_cores or 0.0
    lost = window.lost
    if lost is None:
        # Without the time we waited: what more was wanted than there are processors.
        lost = max(0.0, window.own_cores + others - 0.95 * n_cpus) if others > _BUSY_CORES else 0.0
    if window.others_cores is not None and others < lost / 2:
        return None  # while we wait somebody runs: it was our own threads
    if lost <= LEAST_LOST or harm(durations_s, lost=lost, so_far=so_far) <= MOST_HARM:
        return None
    return (
        f"other processes used {others:.1f} cores while this was measured, which waited for a processor "
        f"{percent(lost)} of the time"
    )


def harm(durations_s: Mapping[str, Sequence[float]], *, lost: float, so_far: LossSoFar | None = None) -> float:
    """Return how far losing a share `lost` of the time may have moved a median, as a part of it; the worst contender's.

    Short samples are met or spared: the median lies as far above the fast ones as it was moved, and as they vary. Long
    ones are all met alike, so each is longer by what was lost. So are short ones where less time is taken more often:
    they do not vary, and where more than may be was lost the visit so far tells.
    """
    of_stretch = max((_harm_of(samples, lost) for samples in durations_s.values() if samples), default=lost)
    return of_stretch if so_far is None or lost <= MOST_HARM else max(of_stretch, so_far.harm(durations_s))


def _harm_of(samples_s: Sequence[float], lost: float) -> float:
    typical = median(samples_s)
    if typical >= _SLICE_S or len(samples_s) < 5:
        return lost
    return max(0.0, typical / quantiles(samples_s, n=5, method="inclusive")[0] - 1)
