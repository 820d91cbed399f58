"""Ceilings of a sweep: the kept ones while they hold, measured again where they do not."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from benchmarks.ruler.plan import roofline
from benchmarks.ruler.plan.roofline import MACHINE_SPEED, SPEED_OF_PRODUCTS, Ceilings
from benchmarks.ruler.record.codec import value_from_json
from benchmarks.ruler.record.lines import TimingLine
from benchmarks.ruler.record.outcome import State
from benchmarks.ruler.record.part_speed import speed_in_words
from benchmarks.ruler.sweep.journal_lines import judged_line
from benchmarks.ruler.sweep.machine_file import is_of_a_wrong_clock, keep_ceilings, kept_ceilings, moment_from_text
from benchmarks.ruler.sweep.machine_speed import MachineSpeed
from benchmarks.ruler.sweep.machine_spreads import MachineSpreads
from benchmarks.ruler.worker.protocol import CeilingsRequest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from benchmarks.ruler.plan.points import DeviceKind
    from benchmarks.ruler.record.lines import Line
    from benchmarks.ruler.worker.process import WorkerProcess

LONGEST_KEPT = timedelta(days=30)
LONGEST_KEPT_OF_SLOW = timedelta(hours=12)
# What a machine can do at best depends on these of its conditions.
_CONDITIONS = ("device", "os", "torch", "cpu_governor", "cuda", "driver", "tf32", "float32_matmul_precision")


def why_invalid(kept: Ceilings, conditions: Mapping[str, Any]) -> str | None:
    """Return why `kept` say nothing of the machine as it is now, by its fixed conditions; None if they do."""
    if not kept.bandwidth_bytes_per_s:
        return "an earlier ruler measured them, without the caches' bandwidth"
    for name in _CONDITIONS:
        then, now = kept.conditions.get(name), conditions.get(name)
        if then != now:
            return f"{name} was {then}, and is {now}"
    return None


def why_outdated(kept: Ceilings, *, now: datetime, since: str | None) -> str | None:
    """Return why `kept` are to be measured again, though they may still hold; None if they need not.

    since: start of a run that measures everything anew, ISO 8601; None for another run.
    """
    measured_at = moment_from_text(kept.measured_at)
    if since is not None and measured_at < moment_from_text(since):
        return "this run measures everything anew"
    if is_of_a_wrong_clock(measured_at, now=now):
        return f"the clock said {kept.measured_at} when they were measured, which is still to come"
    if kept.slow_rounds and now - measured_at > LONGEST_KEPT_OF_SLOW:
        return "the machine was slow when they were measured"
    if now - measured_at > LONGEST_KEPT:
        return f"they are {(now - measured_at).days} days old"
    return None


def highest(one: Ceilings, other: Ceilings) -> Ceilings:
    """Return the best that the same machine did in either measurement; time and conditions are those of `other`.

    But for the machine's speed, if it was slow then: the higher one's, as no ceiling of both is lower than the faster
    machine's.
    """

    def best(ours: Mapping[str, float], theirs: Mapping[str, float]) -> dict[str, float]:
        return {name: max(ours.get(name, 0.0), theirs.get(name, 0.0)) for name in {**ours, **theirs}}

    launches = [each for each in (one.launch_s, other.launch_s) if each is not None]
    return replace(
        other,
        matmul_flop_per_s=best(one.matmul_flop_per_s, other.matmul_flop_per_s),
        bandwidth_bytes_per_s=best(one.bandwidth_bytes_per_s, other.bandwidth_bytes_per_s),
        copy_bytes_per_s=max(one.copy_bytes_per_s, other.copy_bytes_per_s),
        vector_instruction_per_s=max(one.vector_instruction_per_s, other.vector_instruction_per_s),
        dispatch_s=min(one.dispatch_s, other.dispatch_s),
        launch_s=min(launches, default=None),
        conditions={
            **other.conditions,
            MACHINE_SPEED: max(one.speed, other.speed),
            SPEED_OF_PRODUCTS: max(one.speed_of_products, other.speed_of_products),
        }
        if other.slow_rounds
        else other.conditions,
    )


class SweepCeilings:
    """Ceilings that a sweep's floors come from; `value` is None while there are none.

    since: start of the run if it measures everything anew, else None. speed: the machine's, against its
    best. is_ensured: whether `ensure` was called, whatever came of it. spreads: how far visits lie apart here.
    """

    def __init__(self, data_dir: Path, *, machine: str, environment: str, since: str | None) -> None:
        self._data_dir = data_dir
        self._machine = machine
        self._environment = environment
        self._since = since
        self._beaten_by: str | None = None
        self._was_beaten = False
        self.is_ensured = False
        self.speed = MachineSpeed(data_dir, machine=machine, environment=environment)
        self.value = kept_ceilings(data_dir, machine=machine, environment=environment)
        self.spreads = MachineSpreads(data_dir, machine=machine, environment=environment)

    def ensure(self, worker: WorkerProcess, *, may_measure: bool = True) -> str | None:
        """Have `worker` measure what is missing or no longer holds; return in words what came of it, None for nothing.

        A machine that is disturbed gives no ceilings: then the kept ones stay, if they are this machine's as it is
        now, and otherwise points have no floor until it is quiet. may_measure: or only those that are kept and hold.
        Raises: JournalError.
        """
        self.is_ensured = True
        conditions = (worker.hello or {}).get("conditions", {})
        self.speed.learn_from(worker)
        kept = self.value
        invalid = None if kept is None else why_invalid(kept, conditions)
        if invalid:
            self.value = None
        reason = self._why_measure(kept, invalid)
        if not reason or not may_measure:
            return None
        answer = worker.ask_ceilings(CeilingsRequest(best_probe_s=self.speed.best_s))
        self.speed.see(answer.conditions)
        found = next((message for message in answer.messages if message["event"] == "ceilings"), None)
        if found is None:
            return "the worker died while it measured the machine's ceilings" if answer.death else None
        if found["ceilings"] is None:
            return self._refused(reason, found["refused"])
        measured = value_from_json(Ceilings, found["ceilings"])
        if kept is not None and not invalid and (self._beaten_by or measured.slow_rounds):
            # Of a slow machine the best may not have been met, nor is what it once did any less possible.
            measured, self._was_beaten = highest(kept, measured), self._was_beaten or self._beaten_by is not None
        self._beaten_by = None
        self.value = measured
        keep_ceilings(self._data_dir, measured, machine=self._machine, environment=self._environment)
        return f"the machine's ceilings were measured: {reason}{slow_in_words(measured) or _swings_in_words(measured)}"

    def _why_measure(self, kept: Ceilings | None, invalid: str | None) -> str | None:
        if kept is None:
            return "there were none yet"
        return invalid or self._beaten_by or why_outdated(kept, now=datetime.now(UTC), since=self._since)

    def see(self, lines: Sequence[Line]) -> None:
        """Look whether a point of `lines` beats its floor; if one does, `ensure` measures again, once in a sweep."""
        for line in lines:
            if self._was_beaten or not isinstance(line, TimingLine) or line.outcome.state is not State.OK:
                continue
            if roofline.is_beaten(line.floor_s, line.outcome.latency_s):
                point = f"{line.head.contender} at {line.head.shape.label()}"
                self._beaten_by = self._beaten_by or f"{point} was faster than its floor"

    @property
    def is_beaten(self) -> bool:
        """Whether a point beat its floor since the ceilings were measured."""
        return self._beaten_by is not None

    def corrected(self, lines: Sequence[TimingLine], device: DeviceKind) -> list[TimingLine]:
        """Return those of `lines` that are others by the present ceilings: with their floor, or wrong as implausible.

        Nobody is, while the ceilings are beaten and could not be measured again.
        """
        judged = [judged_line(line, self.value, device) for line in lines]
        if self.is_beaten:
            judged = [replace(line, outcome=before.outcome) for line, before in zip(judged, lines, strict=True)]
        return [line for line, before in zip(judged, lines, strict=True) if line != before]

    def _refused(self, reason: str, disturbance: str) -> str:
        without = "points have no floor and no bound until a run measures them while the machine is quiet"
        kept = "those kept are used" if self.value else without
        return (
            f"the machine's ceilings were refused: {disturbance}; {kept}; "
            f"fusebench doctor looks for what disturbs it ({reason})"
        )


def slow_in_words(ceilings: Ceilings) -> str:
    """Return that the machine was slow while its ceilings were measured, and what follows; else empty."""
    if not ceilings.slow_rounds:
        return ""
    again = "measured again after half a day or when a call beats them"
    if ceilings.speed == 1:
        return f"; the machine was slow throughout: what it did before counts where that was more; they are {again}"
    return (
        f"; the machine was slow throughout, a quarter of the time at {speed_in_words(ceilings.speed)} of its best or "
        f"less: they are the best of the fast moments that {ceilings.slow_rounds} rounds met, and {again}"
    )


def _swings_in_words(ceilings: Ceilings) -> str:
    """Return that memory was now fast and now slow with nothing disturbing it, and what follows; else empty."""
    swings = ceilings.conditions.get(roofline.MEMORY_SWINGS)
    if not isinstance(swings, float) or swings < roofline.SWINGING:
        return ""
    return (
        f"; copying memory took {swings:.1f} times its least in half of the rounds, with nothing to be seen that "
        "disturbs it, as on a host with other guests: floors of memory traffic are uncertain, and measured again "
        "when a call beats them"
    )
