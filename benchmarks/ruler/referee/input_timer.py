"""Times of a contender's calls, alone and in a row, on inputs that rotate."""

from __future__ import annotations

import math
from time import perf_counter
from typing import TYPE_CHECKING

import torch

from benchmarks.ruler.measure.timing import LAST_WARMING_CALLS
from benchmarks.ruler.referee.failures import raised_by_contender
from benchmarks.ruler.referee.input_times import InputTimes
from benchmarks.ruler.referee.verification import snapshot

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.ruler.referee.rotation import Rotation

_SURPRISES, _SURPRISES_OF_LONG_CALLS, _LONG_CALL_S = 8, 2, 5e-3
# Whoever is suspected takes as many of long calls, too, unless they are so long that noise averages out in one.
_VERY_LONG_CALL_S = 0.5


class InputTimer:
    """Timer of calls that take their inputs from `rotation`, and of nothing else; whoever calls it rests that.

    read_clocks: what is done before the last of a sample's warming calls. Raises, in each method: what
    `raised_by_contender` makes of a call's error.
    """

    def __init__(
        self,
        rotation: Rotation,
        *,
        now: Callable[[], float],
        on_gpu: bool,
        read_clocks: Callable[[], object] = lambda: None,
    ) -> None:
        self._rotation = rotation
        self._read_clocks = read_clocks
        self._on_gpu = on_gpu
        self._wait: Callable[[], object] = torch.cuda.synchronize if on_gpu else lambda: None
        # What is looked up no more, nobody can replace.
        self._now, self._pause_now = now, perf_counter

    def timed(self, call: Callable[[], object], n_calls: int) -> tuple[float, object]:
        """Return the seconds of so many calls in a row, and the last one's result."""
        self._wait()
        output = None
        start = self._now()
        with raised_by_contender():
            for _ in range(n_calls):
                output = call()
            self._wait()
        return self._now() - start, output

    def in_a_row(
        self, call: Callable[[], object], n_calls: int, *, n_warming: int, pause_s: float = 0.0
    ) -> tuple[float, object]:
        """Return what `timed` does of calls that begin as a sample's: after a pause and calls that warm up."""
        self._begin_row(call, n_calls, n_warming=n_warming, pause_s=pause_s)
        return self.timed(call, n_calls)

    def surprised(
        self, call: Callable[[], object], n_calls: int, *, n_warming: int, is_suspected: bool, pause_s: float = 0.0
    ) -> tuple[object, InputTimes]:
        """Time calls whose input was filled just before, the same once more, and `n_calls` in a row.

        Returns the result of the last input, and the times. Before each alone the input is read, as caches may hold it.
        Those in a row follow a pause and warming calls, in which some compute what is timed afterwards; of each
        input only once, so that as many calls as there are inputs tell more than all.
        """
        self._begin_row(call, n_calls, n_warming=n_warming, pause_s=pause_s)
        in_a_row_s = self._mean_of(call, n_calls)
        longest_s = _VERY_LONG_CALL_S if is_suspected else _LONG_CALL_S
        return self._alone(call, _n_surprises(in_a_row_s, longest_s=longest_s), in_a_row_s=in_a_row_s)

    def surprised_honest(self, call: Callable[[], object], n_calls: int, *, n_warming: int) -> InputTimes:
        """Return the times of one who keeps nothing: what being alone costs it is what it costs anybody.

        Of its calls in a row the least counts: on a busy machine some wait for a thread that does not run, and their
        mean would say that to be alone costs nothing. Calls of a GPU overlap, and there the mean does.
        """
        self._begin_row(call, n_calls, n_warming=n_warming)
        in_a_row_s = self._mean_of(call, n_calls) if self._on_gpu else self._least_of(call, n_calls)
        n_inputs = _n_surprises(in_a_row_s, longest_s=_VERY_LONG_CALL_S)
        return self._alone(call, n_inputs, in_a_row_s=in_a_row_s)[1]

    def _begin_row(self, call: Callable[[], object], n_calls: int, *, n_warming: int, pause_s: float = 0.0) -> None:
        self._rotation.rest()
        self._keep_busy(pause_s)
        self._rotation.prepare(n_calls)
        n_last = min(LAST_WARMING_CALLS, n_warming)
        self._warm(call, n_warming - n_last)
        # As before a sample's last calls, by which one would know it: reading the clocks takes a while.
        self._read_clocks()
        self._warm(call, n_last)
        self._rotation.start()

    def _warm(self, call: Callable[[], object], n_calls: int) -> None:
        with raised_by_contender():
            for _ in range(n_calls):
                call()

    def _keep_busy(self, seconds: float) -> None:
        """Let time pass as in the turns of rivals: a processor's clock that stood still would tell of a pause."""
        end_s = self._pause_now() + seconds
        while self._pause_now() < end_s:
            pass

    def _mean_of(self, call: Callable[[], object], n_calls: int) -> float:
        """Return the mean seconds of so many calls in a row, or of those of them that take each input once, if less."""
        n_inputs = self._rotation.n_inputs
        laps = [min(n_inputs, n_calls - n_before) for n_before in range(0, n_calls, n_inputs)]
        took_s = [self.timed(call, n_of_lap)[0] for n_of_lap in laps]
        of_laps = [lap_s / n_inputs for lap_s, n in zip(took_s, laps, strict=True) if n == n_inputs]
        return min([sum(took_s) / n_calls, *of_laps])

    def _least_of(self, call: Callable[[], object], n_calls: int) -> float:
        """Return the seconds of the shortest of so many calls in a row."""
        least_s, before = math.inf, self._now()
        with raised_by_contender():
            for _ in range(n_calls):
                call()
                now = self._now()
                least_s, before = min(least_s, now - before), now
        return least_s

    def _alone(self, call: Callable[[], object], n_inputs: int, *, in_a_row_s: float) -> tuple[object, InputTimes]:
        new_s = seen_s = math.inf
        kept: object = None
        for _ in range(n_inputs):
            self._rotation.prepare(1)
            self._rotation.start()
            self._rotation.read()
            kept = None
            once_s, output = self.timed(call, 1)
            kept = snapshot(output)
            del output
            self._rotation.read()
            again_s, _ = self.timed(call, 1)
            new_s, seen_s = min(new_s, once_s), min(seen_s, again_s)
        return kept, InputTimes(new_s, seen_s, in_a_row_s)


def _n_surprises(call_s: float, *, longest_s: float) -> int:
    return _SURPRISES_OF_LONG_CALLS if call_s > longest_s else _SURPRISES
