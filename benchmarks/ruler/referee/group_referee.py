"""Referee of a group: new inputs for every sample, results checked at random, the instrument found as it was."""

from __future__ import annotations

import os
import random
from time import perf_counter
from typing import TYPE_CHECKING

from benchmarks.ruler.measure.attempt import attempt
from benchmarks.ruler.measure.counters import process_cpu_s
from benchmarks.ruler.measure.referee import Implausible
from benchmarks.ruler.providers.registry import CAPTURED
from benchmarks.ruler.record.outcome import State, TimingOutcome
from benchmarks.ruler.referee.contender_record import ContenderRecord
from benchmarks.ruler.referee.failures import RefereeFailed, referee_failures
from benchmarks.ruler.referee.input_timer import InputTimer
from benchmarks.ruler.referee.input_times import InputTimes, why_suspicious_again
from benchmarks.ruler.referee.memory_in_use import REUSED, are_in_same_memory, why_reused
from benchmarks.ruler.referee.rotation import Rotation
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
# One check in so many, beginning with the first, comes with inputs that take a contender by surprise.
_SURPRISED = 4
# Seconds that a new input may cost a lone call beyond its share.
_SLOWER_S = {"cpu": 3e-6, "cuda": 50e-6}
# A machine that slows down looks the same for a moment; one who keeps results does it again.
_ROUNDS_OF_SUSPICION = 5


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
        self._slower_s = _SLOWER_S[load.x.device.type]
        self._random = random.Random()  # noqa: S311 - unpredictable enough; it hides no secret
        self._calls: dict[str, Callable[[], object]] = {}
        self._eager = self._rotation.call(load.module)
        self._records: dict[str, ContenderRecord] = {}
        # These replay into the same memory at each call, as is known of them.
        self._captured: set[str] = set()
        self._n_calls = 1
        # Once something shared was found changed, one looks after every sample, so that it is clear by whom.
        self._is_wary = False
        self._turn_began = 0.0
        self._started = (0.0, 0.0)
        # What is looked up no more, nobody can replace.
        self._now = perf_counter
        self._timer = InputTimer(self._rotation, now=self._now, on_gpu=on_gpu)
        self._cpu_now = perf_counter if self._threads is None else process_cpu_s

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

    def before_sample(self, name: str, *, calls: int, warming_calls: int = 1) -> int:
        """Fill the inputs anew; of several calls add up to a quarter, so that nobody knows which is the last."""
        self._turn_began = self._now()
        self._n_calls = calls + self._random.randrange(-(-calls // 4) + 1) if calls > 1 else 1
        self._rotation.prepare(self._n_calls)
        record = self._records[name]
        record.least_calls, record.warming_calls = calls, warming_calls
        return self._n_calls

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
        record.turn_s += now_s - self._turn_began
        record.n_samples += 1
        record.wall_s += now_s - self._started[0]
        record.cpu_s += cpu_s
        self._judge(name, lambda: self._why_implausible(name, record, last_output))

    def after_warm_up(self, name: str) -> None:
        """Judge what warming up left behind. Raises: Implausible, as `after_sample` does."""
        self._judge(name, self._why_tampered)

    def after_last_sample(self, name: str, *, announce: Callable[[str], None]) -> None:
        """Judge once more, whatever it costs, where samples were of several calls. Raises: Implausible.

        A contender that learns when its calls are looked at has learnt all by now.
        """
        if self._records[name].least_calls > 1:
            announce(name)
            self._judge(name, lambda: self._why_tampered() or self._why_ambushed(name, most=1))

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
            reason = self._why_wrong(name, record, kept)
        is_ambushed = record.n_checks % _SURPRISED == 1 and (record.n_checks == 1 or record.least_calls > 1)
        if is_due and reason is None and is_ambushed:
            reason = self._why_ambushed(name, last_output)
        if is_due and reason is None and record.n_checks == 1 and name not in self._captured:
            self._rotation.rest()
            reason = why_reused(self._calls[name], last_output, now=self._now)
        if is_due:
            record.check_s += self._now() - start
        return reason or record.why_too_many_cores(self._threads)

    def _sabotage(self, name: str, *, thoroughly: bool) -> str | None:
        """Return what the contender did to what all share, or None. What others did is undone, and looked for."""
        if (found := self._verification.sabotage(thoroughly=False)) is not None or not thoroughly:
            return found
        found = self._verification.sabotage(thoroughly=True)
        if found is None or self._is_wary:
            return found
        self._is_wary = True
        self._timer.timed(self._calls[name], 1)
        return self._verification.sabotage(thoroughly=True)

    def _why_wrong(self, name: str, record: ContenderRecord, kept: object) -> str | None:
        if reason := self._why_last_wrong(kept, f"in sample {record.n_samples}, of an input it had not seen, "):
            return reason
        if record.n_checks % _SURPRISED != 1:
            return None
        times, of_eager, n_warming = list[InputTimes](), list[InputTimes](), record.warming_calls
        while True:
            kept = None
            kept, taken = self._timer.surprised(
                self._calls[name], self._n_calls, n_warming=n_warming, is_suspected=bool(times)
            )
            if taken.why_suspicious(self._slower_s) is None:
                break
            times.append(taken)
            of_eager.append(self._timer.surprised_honest(self._eager, self._n_calls, n_warming=n_warming))
            if len(times) == _ROUNDS_OF_SUSPICION:
                return why_suspicious_again(times, of_eager, self._slower_s)
        of_surprise = "of an input that came as a surprise, "
        if reason := self._verification.why_odd(kept):
            return f"{of_surprise}{reason}"
        return self._why_last_wrong(kept, of_surprise)

    def _why_ambushed(self, name: str, last_output: object = None, *, most: int | None = None) -> str | None:
        """Return what is wrong with the last of fewer calls than any sample has, or None.

        One who knows how many calls a sample has at least need not compute the first of them. They begin after a pause,
        as a sample's do; once with calls that warm up before them, by which one would know a sample, and once without,
        as those may be counted, too. last_output: a result that is still in use. most: calls, at most; by one alone,
        who leaves out no more than the first is found out, too.
        """
        for n_warming in self._random.sample((0, self._records[name].warming_calls), 2):
            kept = None
            self._n_calls = n_calls = self._random.randint(1, most or max(1, self._records[name].least_calls - 1))
            _, output = self._timer.in_a_row(self._calls[name], n_calls, n_warming=n_warming)
            if name not in self._captured and are_in_same_memory(output, last_output):
                return REUSED
            if reason := self._verification.why_odd(output):
                return f"of {n_calls} calls in a row, {reason}"
            kept = snapshot(output)
            del output
            if reason := self._why_last_wrong(kept, f"of {n_calls} calls in a row, "):
                return reason
        return None

    def _why_last_wrong(self, kept: object, of_what: str) -> str | None:
        """Return why `kept` is not the result of the last input, of which `of_what` says more, or None.

        The reference is computed from the input itself: so it must hold what it was filled with before and after.
        """
        if reason := self._rotation.spoilt():
            return reason
        reason = self._verification.why_wrong(kept, self._rotation.last())
        return self._rotation.spoilt() or (reason and f"{of_what}{reason}")
