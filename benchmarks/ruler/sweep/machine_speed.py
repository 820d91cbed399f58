"""The machine's best speed: the least usual time of each part of the probe, kept from run to run."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from math import inf
from typing import TYPE_CHECKING, Any

from benchmarks.ruler.measure.statistics import better_times_s
from benchmarks.ruler.sweep.machine_file import BestProbe, is_of_a_wrong_clock, keep_probe, kept_probe, moment_from_text

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from benchmarks.ruler.worker.process import WorkerProcess

LONGEST_KEPT = timedelta(days=30)
# Fixed work takes another time with another of these.
_CONDITIONS = ("device", "os", "python", "torch", "cpu_governor", "gpu_uuid", "host_cpu")
# A run's best is what it reached in a fifth of its groups: one lucky reading is no speed that a machine can hold.
_PART_OF_READINGS = 0.2
_WORTH_KEEPING = 0.995


class MachineSpeed:
    """Best times of the probe's parts: those that earlier runs reached, and this one.

    is_kept: whether what is better than was known is written to the machine's file.
    """

    def __init__(self, data_dir: Path, *, machine: str, environment: str, is_kept: bool = True) -> None:
        self._data_dir = data_dir
        self._machine = machine
        self._environment = environment
        self._is_kept = is_kept
        self._kept: BestProbe | None = None
        self._conditions: dict[str, Any] | None = None
        self._readings: dict[str, list[float]] = {}

    @property
    def best_s(self) -> dict[str, float]:
        """Best seconds of each part of the probe; empty before the first reading of a machine."""
        return better_times_s(self._kept.seconds if self._kept else None, self._best_of_run())

    @property
    def kept_since(self) -> str | None:
        """When the best that was taken up or is kept was measured, ISO 8601; None if nothing is."""
        return self._kept.measured_at if self._kept else None

    def learn_from(self, worker: WorkerProcess) -> None:
        """Take up what was kept of the machine of `worker`, which has started; if nothing was, have it look.

        Else the first that is measured would be held against nothing, and the next against the first. Raises:
        JournalError.
        """
        self.begin((worker.hello or {}).get("conditions", {}))
        if not self.best_s:
            self.see(worker.ask_speed().conditions)

    def begin(self, conditions: Mapping[str, Any], *, now: datetime | None = None) -> None:
        """Take up what was kept for this machine as it is now, by its fixed `conditions`. Raises: JournalError."""
        if self._conditions is not None:
            return
        self._conditions = {name: conditions.get(name) for name in _CONDITIONS}
        known = kept_probe(self._data_dir, machine=self._machine, environment=self._environment)
        if known is not None and all(known.conditions.get(name) == value for name, value in self._conditions.items()):
            measured_at, now = moment_from_text(known.measured_at), now or datetime.now(UTC)
            if now - measured_at <= LONGEST_KEPT and not is_of_a_wrong_clock(measured_at, now=now):
                self._kept = replace(known, seconds={part: s for part, s in known.seconds.items() if _is_time(s)})

    def see(self, conditions: Mapping[str, Any]) -> None:
        """Learn from the conditions of one measurement; what is better than was kept is kept at once."""
        for name, seconds in conditions.items():
            if name.startswith("probe_") and isinstance(seconds, float) and _is_time(seconds):
                self._readings.setdefault(name.removeprefix("probe_").removesuffix("_s"), []).append(seconds)
        best_s, kept_s = self.best_s, self._kept.seconds if self._kept else {}
        is_better = any(seconds < _WORTH_KEEPING * kept_s.get(part, inf) for part, seconds in best_s.items())
        if is_better and self._conditions is not None:
            measured_at = datetime.now(UTC).isoformat(timespec="seconds")
            self._kept = BestProbe(seconds=best_s, measured_at=measured_at, conditions=self._conditions)
            if self._is_kept:
                keep_probe(self._data_dir, self._kept, machine=self._machine, environment=self._environment)

    def _best_of_run(self) -> dict[str, float]:
        return {
            part: sorted(readings)[int(_PART_OF_READINGS * (len(readings) - 1))]
            for part, readings in self._readings.items()
        }


def _is_time(seconds: float) -> bool:
    """Tell whether work can take so long. A clock that stood still gives 0, beside which all later speeds are 0 %."""
    return 0 < seconds < inf
