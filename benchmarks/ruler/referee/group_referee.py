"""Referee of a group: new inputs for every sample, results checked at random, the instrument found as it was."""

from __future__ import annotations

import itertools
import os
import random
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING

from benchmarks.ruler.measure.attempt import attempt
from benchmarks.ruler.measure.counters import process_cpu_s
from benchmarks.ruler.measure.referee import Implausible
from benchmarks.ruler.providers.registry import CAPTURED
from benchmarks.ruler.record.outcome import State, TimingOutcome
from benchmarks.ruler.referee.contender_record import Ambush, ContenderRecord
from benchmarks.ruler.referee.failures import RefereeFailed, referee_failures
from benchmarks.ruler.referee.memory_in_use import why_reused
from benchmarks.ruler.referee.rotation import Rotation
from benchmarks.ruler.referee.surprises import Surprises
from benchmarks.ruler.referee.verification import Verification, snapshot

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    import torch

    from benchmarks.ruler.plan.points import Contender
    from benchmarks.ruler.providers.workload import Workload
    from benchmarks.ruler.referee.tampering import Instrument

# How often a sample's result is checked, unless checking takes more than its share of the time.
_CHECKED, _SHARE = 1 / 8, 0.05
# After one check in so many, beginning with the first, a contender is ambushed in its next turns.
_AMBUSHED = 4


class GroupReferee:
    """Referee of all contenders of one workload; made before the first of them is built.

    threads: cores that a call may keep busy; on a GPU they are not looked at.
    """

    def __init__(self, load: Workload, *, instrument: Instrument, threads: int) -> None:
        on_gpu = load.x.device.type == "cuda"
        self.findings: dict[str, TimingOutcome] = {}
        self.functions: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {}
        self._load = load
        self._rotation = Rotation(load)
        self._verification = Verification(load)
        self._instrument = instrument
        # Nobody keeps more cores busy than there are.
        self._threads = None if on_gpu or threads >= (os.cpu_count() or 1) else threads
        self._random = random.Random()  # noqa: S311 - unpredictable enough; it hides no secret
        self._calls: dict[str, Callable[[], object]] = {}
        self._records: dict[str, ContenderRecord] = {}
        # These replay into the same memory at each call, as is known of them.
        self._captured: set[str] = set()
        # Once something shared was found changed, one looks after every sample, so that it is clear by whom.
        self._is_wary = False
        self._turn_began = 0.0
        self._started = (0.0, 0.0)
        # What is looked up no more, nobody can replace.
        self._now = perf_counter
        self._cpu_now = perf_counter if self._threads is None else process_cpu_s
        self._surprises = Surprises(
            self._rotation,
            self._verification,
            eager=self._rotation.call(load.module),
            device=load.x.device.type,
            random=self._random,
            now=self._now,
            read_clocks=lambda: (self._now(), self._cpu_now()),
        )

    def attempt(
        self, contender: Contender, reference: Sequence[torch.Tensor], *, module: Path | None = None
    ) -> tuple[TimingOutcome, Callable[[], object] | None]:
        """Attempt a contender, as `attempt` does; its call takes the inputs that rotate.

        One that meddles with what all contenders share is wrong; what it did is undone.
        """
        name = str(contender)

        def call_of(function: Callable[[torch.Tensor], torch.Tensor]) -> Callable[[], object]:
            self.functions[name] = function
            return self._rotation.call(function)

        outcome, call = attempt(contender, self._load, reference, module=module, call_of=call_of)
        if reason := self._why_tampered():
            return TimingOutcome(state=State.WRONG, reason=f"implausible: {reason}"), None
        if call is not None:
            self._records[name], self._calls[name] = ContenderRecord(), call
            if contender.provider in CAPTURED:
                self._captured.add(name)
        return outcome, call

    def begin_turn(self, name: str) -> None:
        """Ambush the contender if that is planned for this turn: by the clock it begins as any does.

        Raises: Implausible, as `after_sample` does.
        """
        record, start = self._records[name], self._now()
        if record.n_samples == 0:
            return
        record.between_turns_s = start - record.called_s
        if (ambush := record.due_ambush()) is not None:
            self._undo_others()
            self._judge(name, lambda: self._why_ambushed(name, ambush))

    def before_sample(self, name: str, *, calls: int, warming_calls: int = 1) -> int:
        """Fill the inputs anew; of several calls add up to a quarter, so that nobody knows which is the last."""
        self._turn_began = self._now()
        record = self._records[name]
        record.least_calls, record.warming_calls = calls, warming_calls
        n_calls = record.n_sampled(self._random)
        self._rotation.prepare(n_calls)
        return n_calls

    def before_last_warming(self, name: str) -> None:  # noqa: ARG002 - the protocol's
        """Note the processor time so far: the calls from here on are charged for what they take of it."""
        # The wall clock is read outside of the other: reading takes time, and must convict nobody.
        self._started = (self._now(), self._cpu_now())

    def before_timing(self, name: str) -> None:  # noqa: ARG002 - the protocol's
        """Hand the inputs out from now on."""
        self._rotation.start()

    def after_sample(self, name: str, last_output: object) -> None:
        """Judge the sample. Raises: Implausible, and keeps in `findings` what becomes of the contender.

        One that cannot be verified for want of memory has no time either, and leaves the others theirs.
        """
        cpu_s = self._cpu_now() - self._started[1]
        now_s = self._now()
        record = self._records[name]
        record.called_s = now_s
        record.turn_s += now_s - self._turn_began
        record.n_samples += 1
        record.wall_s += now_s - self._started[0]
        record.cpu_s += cpu_s
        self._judge(name, lambda: self._why_implausible(name, record, last_output))

    def after_warm_up(self, name: str) -> None:
        """Judge what warming up left behind. Raises: Implausible, as `after_sample` does."""
        self._judge(name, self._why_tampered)

    def after_last_samples(self, names: Sequence[str], *, announce: Callable[[str], None]) -> Sequence[str]:
        """Ambush those whose samples were of several calls once more, whatever it costs, by turns; return who is wrong.

        A contender that learns when its calls are looked at has learnt all by now.
        """
        self._undo_others()
        ambushes = {name: self._records[name].last_ambushes(self._random) for name in names}
        refused = list[str]()
        for turn, name in itertools.product(range(len(Ambush)), names):
            if name in refused or turn >= len(ambushes[name]):
                continue
            announce(name)
            try:
                self._judge(name, partial(self._why_ambushed, name, ambushes[name][turn], most=1))
            except Implausible:
                refused.append(name)
        return refused

    def _judge(self, name: str, why: Callable[[], str | None]) -> None:
        state = State.WRONG
        try:
            with referee_failures("while it verified a timed call"):
                reason = why()
        except RefereeFailed as failed:
            state, reason = failed.state, str(failed)
        finally:
            self._rotation.rest()
        if reason is not None:
            # Whatever it was found out by, the others go on with what all share.
            self._why_tampered()
            said = f"implausible: {reason}" if state is State.WRONG else reason
            self.findings[name] = TimingOutcome(state=state, reason=said)
            raise Implausible(said)

    def _why_tampered(self) -> str | None:
        """Return what was done to what all share, and is put back, or None."""
        tampered, moved = self._instrument.repaired(), self._rotation.repaired()
        sabotage = self._verification.sabotage(thoroughly=True)
        return tampered or moved or sabotage

    def _why_implausible(self, name: str, record: ContenderRecord, last_output: object) -> str | None:
        # The first sample always: a visit may have no other.
        can_afford = record.check_s <= _SHARE * record.turn_s
        is_due = record.n_samples == 1 or (can_afford and self._random.random() < _CHECKED)
        start, reason = self._now(), None
        if is_due:
            record.n_checks += 1
            reason = self._verification.why_odd(last_output)
            kept = snapshot(last_output) if reason is None else None
        # Looked at after every sample, so that it is clear who did it.
        reason = self._instrument.repaired() or reason
        reason = self._rotation.repaired() or reason
        reason = self._sabotage(name, thoroughly=is_due or self._is_wary) or reason
        if is_due and reason is None:
            reason = self._surprises.why_last_wrong(
                kept, f"in sample {record.n_samples}, of an input it had not seen, "
            )
        if is_due:
            # What comes after it is rare, and would leave no time for checks.
            record.check_s += self._now() - start
        if is_due and reason is None and record.n_checks % _AMBUSHED == 1:
            reason = self._why_odd_at_once(name, record, last_output)
        return reason or record.why_too_many_cores(self._threads)

    def _sabotage(self, name: str, *, thoroughly: bool) -> str | None:
        """Return what the contender did to what all share, or None. What others did is undone, and looked for."""
        if (found := self._verification.sabotage(thoroughly=False)) is not None or not thoroughly:
            return found
        found = self._verification.sabotage(thoroughly=True)
        if found is None or self._is_wary:
            return found
        self._is_wary = True
        self._surprises.timer.timed(self._calls[name], 1)
        return self._verification.sabotage(thoroughly=True)

    def _why_odd_at_once(self, name: str, record: ContenderRecord, last_output: object) -> str | None:
        """Return what is found right after a sample, or None; plan what takes the beginning of a turn."""
        is_first = record.n_checks == 1
        if is_first and (reason := self._surprises.why_wrong(self._calls[name], record, Ambush.NEW_INPUTS)):
            return reason
        # Fewer calls than one there are none, but of long ones the first check tells what becomes of a turn's first.
        if is_first or record.least_calls > 1:
            record.plan_ambushes(
                [kind for kind in Ambush if not (is_first and kind is Ambush.NEW_INPUTS)], self._random
            )
        if name in self._captured:
            return None
        self._rotation.rest()
        try:
            return why_reused(self._calls[name], last_output, now=self._now)
        finally:
            record.called_s = self._now()

    def _undo_others(self) -> None:
        """Undo what some contender did unseen, so that the next one looked at is not blamed for it."""
        if self._why_tampered():
            self._is_wary = True

    def _why_ambushed(self, name: str, ambush: Ambush, *, most: int | None = None) -> str | None:
        found = self._surprises.why_wrong(self._calls[name], self._records[name], ambush, most=most)
        return self._why_tampered() or found
