"""Calls whose inputs or number come as a surprise to a contender, and what they tell of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.ruler.referee.contender_record import Ambush, ContenderRecord
from benchmarks.ruler.referee.input_timer import InputTimer
from benchmarks.ruler.referee.input_times import InputTimes, why_suspicious_again
from benchmarks.ruler.referee.verification import Verification, snapshot

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from benchmarks.ruler.referee.rotation import Rotation

# Seconds that a new input may cost a lone call beyond its share.
_SLOWER_S = {"cpu": 3e-6, "cuda": 50e-6}
# A machine that slows down looks the same for a moment; one who keeps results does it again.
_ROUNDS_OF_SUSPICION = 5


class Surprises:
    """Surprises for the contenders of a group.

    eager: a call that keeps nothing, with which a contender is compared. now: the clock of the contenders' records.
    read_clocks: as before the last of a sample's warming calls. device: of the calls, `cpu` or `cuda`.
    """

    def __init__(  # noqa: PLR0913 - each is a separate instrument
        self,
        rotation: Rotation,
        verification: Verification,
        *,
        eager: Callable[[], object],
        device: str,
        random: Random,
        now: Callable[[], float],
        read_clocks: Callable[[], object],
    ) -> None:
        self._rotation, self._verification, self._eager = rotation, verification, eager
        self.timer = InputTimer(rotation, now=now, on_gpu=device == "cuda", read_clocks=read_clocks)
        self._slower_s = _SLOWER_S[device]
        self._random, self._now = random, now

    def why_wrong(
        self, call: Callable[[], object], record: ContenderRecord, ambush: Ambush, *, most: int | None = None
    ) -> str | None:
        """Return what an ambush finds out of a contender, or None.

        most: calls, at most, where they are fewer than any sample has. Raises: ContenderRaised.
        """
        if ambush is Ambush.NEW_INPUTS:
            return self._why_known(call, record)
        n_warming = record.warming_calls if ambush is Ambush.FEW_WARMED_CALLS else 0
        return self._why_few_wrong(call, record, n_warming=n_warming, most=most or max(1, record.least_calls - 1))

    def _why_known(self, call: Callable[[], object], record: ContenderRecord) -> str | None:
        """Return what is wrong with the result of an input that comes as a surprise, or with its time, or None."""
        times, of_eager, n_warming = list[InputTimes](), list[InputTimes](), record.warming_calls
        n_calls = record.n_sampled(self._random)
        kept: object = None
        while True:
            kept, taken = self.timer.surprised(
                call,
                n_calls,
                n_warming=n_warming,
                is_suspected=bool(times),
                pause_s=record.pause_s(self._now()),
            )
            record.called_s = self._now()
            if taken.why_suspicious(self._slower_s) is None:
                break
            kept = None
            times.append(taken)
            of_eager.append(self.timer.surprised_honest(self._eager, n_calls, n_warming=n_warming))
            if len(times) == _ROUNDS_OF_SUSPICION:
                return why_suspicious_again(times, of_eager, self._slower_s)
        of_surprise = "of an input that came as a surprise, "
        if reason := self._verification.why_odd(kept):
            return f"{of_surprise}{reason}"
        return self.why_last_wrong(kept, of_surprise)

    def _why_few_wrong(
        self, call: Callable[[], object], record: ContenderRecord, *, n_warming: int, most: int
    ) -> str | None:
        """Return what is wrong with the last of fewer calls than any sample has, of `most` at most, or None.

        One who knows how many calls a sample has at least need not compute the first of them. Once they come with calls
        that warm up before them, by which one would know a sample, and once without, as those may be counted, too; by
        one alone, who leaves out no more than the first is found out.
        """
        n_calls = self._random.randint(1, most)
        pause_s = record.pause_s(self._now())
        _, output = self.timer.in_a_row(call, n_calls, n_warming=n_warming, pause_s=pause_s)
        record.called_s = self._now()
        of_few = "of a call after a pause, " if n_calls == 1 else f"of {n_calls} calls in a row, "
        if reason := self._verification.why_odd(output):
            return f"{of_few}{reason}"
        kept = snapshot(output)
        del output
        return self.why_last_wrong(kept, of_few)

    def why_last_wrong(self, kept: object, of_what: str) -> str | None:
        """Return why `kept` is not the result of the last input, of which `of_what` says more, or None.

        The reference is computed from the input itself: so it must hold what it was filled with before and after.
        """
        if reason := self._rotation.spoilt():
            return reason
        reason = self._verification.why_wrong(kept, self._rotation.last())
        return self._rotation.spoilt() or (reason and f"{of_what}{reason}")
