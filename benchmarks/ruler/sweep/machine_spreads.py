"""How far visits usually lie apart on a machine, kept from run to run."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from benchmarks.ruler.sweep.machine_file import (
    KeptUsual,
    is_of_a_wrong_clock,
    is_speed,
    keep_usual,
    kept_usual,
    moment_from_text,
)
from benchmarks.ruler.sweep.usual_spreads import (
    NOTHING_KNOWN,
    KnownSpreads,
    Usual,
    speed_of_run,
    usual_beside,
    usual_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from benchmarks.ruler.plan.points import Contender, Shape
    from benchmarks.ruler.record.lines import TimingLine
    from benchmarks.ruler.record.outcome import TimingOutcome

LONGEST_KEPT = timedelta(days=30)
# Runs in a row find the machine in one mood.
_LEAST_BETWEEN_RUNS = timedelta(hours=1)
_MOST_RUNS = 30


class MachineSpreads:
    """Spreads between visits on a machine. before: those of earlier runs. Raises: JournalError for a damaged file."""

    def __init__(self, data_dir: Path, *, machine: str, environment: str) -> None:
        self._data_dir = data_dir
        self._machine = machine
        self._environment = environment
        self._known = KnownSpreads()
        self.before = self._of_earlier_runs()

    def usual(self, outcomes: Iterable[TimingOutcome]) -> Usual:
        """Return how far visits usually lie apart here, by those of `outcomes` and by earlier runs."""
        return usual_of(outcomes, before=self.before)

    def usual_beside(self, shape: Shape, timings: Mapping[tuple[Shape, Contender], TimingLine]) -> Usual:
        """Return how far visits at `shape` usually lie apart, by those at other shapes and by earlier runs."""
        outcomes = {key: line.outcome for key, line in timings.items()}
        return usual_beside([shape], outcomes, before=self.before, known=self._known)[shape]

    def learn(self, lines: Iterable[TimingLine], *, now: datetime | None = None) -> None:
        """Keep for later runs how far the visits of a whole run's `lines` lay apart, and how fast the machine was.

        Raises: JournalError.
        """
        now, outcomes = now or datetime.now(UTC), [line.outcome for line in lines]
        found = replace(self.usual(outcomes).for_later_runs(), speeds=self._speeds_with(speed_of_run(outcomes), now))
        if found != self.before:
            kept = KeptUsual(usual=found, measured_at=now.isoformat(timespec="seconds"))
            keep_usual(self._data_dir, kept, machine=self._machine, environment=self._environment)

    def _speeds_with(self, speed: float | None, now: datetime) -> dict[str, float]:
        speeds = _of_late(self.before.speeds, now=now)
        ages = [abs(now - moment_from_text(at)) for at in speeds]
        if speed is not None and is_speed(speed) and min(ages, default=LONGEST_KEPT) >= _LEAST_BETWEEN_RUNS:
            speeds[now.isoformat(timespec="seconds")] = speed
        return dict(sorted(speeds.items())[-_MOST_RUNS:])

    def _of_earlier_runs(self) -> Usual:
        kept, now = kept_usual(self._data_dir, machine=self._machine, environment=self._environment), datetime.now(UTC)
        if kept is None:
            return NOTHING_KNOWN
        measured_at = moment_from_text(kept.measured_at)
        holds = now - measured_at <= LONGEST_KEPT and not is_of_a_wrong_clock(measured_at, now=now)
        return replace(kept.usual, speeds=_of_late(kept.usual.speeds, now=now)) if holds else NOTHING_KNOWN


def _of_late(speeds: Mapping[str, float], *, now: datetime) -> dict[str, float]:
    """Return the speeds of the last days that are kept, without those of a wrong clock."""
    moments = {at: moment_from_text(at) for at in speeds}
    return {
        at: speeds[at]
        for at, moment in moments.items()
        if now - moment <= LONGEST_KEPT and not is_of_a_wrong_clock(moment, now=now)
    }
