"""Worker that takes turns with other processes: between its chunks of samples each of them has one of its own.

It builds, verifies and samples while it has the turn, so that nothing else runs then; and what the machine does
meanwhile, faster or slower from second to second, it does to all of them alike. It tells each turn's times, so that
they can be compared with those of the others' turns beside it.
"""

from __future__ import annotations

import math
import sys
from dataclasses import replace
from functools import partial
from statistics import median
from time import monotonic
from typing import TYPE_CHECKING, Any

import torch

from benchmarks.ruler.checks.turns import Turn
from benchmarks.ruler.command_line import Parser
from benchmarks.ruler.record.part_speed import disturbs_ratios
from benchmarks.ruler.worker.main import main as serve
from benchmarks.ruler.worker.tasks import Worker

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from benchmarks.ruler.measure.kept_chunks import Watch
    from benchmarks.ruler.measure.policy import Policy
    from benchmarks.ruler.worker.protocol import Request

CHUNK_S = 0.02
"""Length of one contender's part of a turn, in seconds."""


class WatchInTurns:
    """Watch that lets the others have their turns before each of its windows.

    send: is told of every turn: the moment of its end, by the clock that all processes share, the median time of each
    contender's samples, in seconds, and what else took the machine's time in it, or None. All are kept, so that all
    processes stay in step; whether the machine was slow does not matter to who compares turns beside each other.
    """

    def __init__(self, watch: Watch, turn: Turn, *, send: Callable[[dict[str, object]], None]) -> None:
        self._watch, self._turn, self._send = watch, turn, send
        self.forget, self.forget_all = watch.forget, watch.forget_all
        self.forget_disturbed = watch.forget_disturbed

    def start(self) -> None:
        """Wait for the next turn, then start an observation window."""
        self._turn.pass_on()
        self._watch.start()

    def disturbance(self, durations_s: Mapping[str, Sequence[float]]) -> None:
        """Tell of the turn since `start`; return None, as every one is kept."""
        reason = self._watch.disturbance(durations_s)
        sample_s = {name: median(durations) for name, durations in durations_s.items() if durations}
        taken = reason if disturbs_ratios(reason) else None
        self._send({"event": "turn", "at_s": monotonic(), "sample_s": sample_s, "taken": taken})


class WorkerInTurns(Worker):
    """Worker that has its place in a ring while it answers a request."""

    def __init__(self, *, ring: str, **others: Any) -> None:  # noqa: ANN401 - what a worker is made of
        super().__init__(**others)
        self._turn = Turn(ring, threads=torch.get_num_threads(), waits=lambda: self._send({"event": "waits"}))

    def answer(self, request: Request) -> None:
        """Perform one request in turns with others."""
        with self._turn:
            super().answer(request)

    def watch_of_visit(self, watch: Watch) -> Watch:
        """Return a watch that waits for each of its turns."""
        return WatchInTurns(watch, self._turn, send=self._send)

    def policy(self, request: Request) -> Policy:
        """Return a policy by which each turn has CHUNK_S of every contender, for `budget_s` with the others' turns.

        By the clock on the wall and whatever the samples are like, so that all processes end together; and not before
        all have built what they time, so that they begin together.
        """
        self._turn.pass_on()
        return replace(
            super().policy(request),
            half_width=math.inf,
            budget_s=math.inf,
            max_samples=sys.maxsize,
            chunk_s=CHUNK_S * len(request.contenders),
            least_s=request.budget_s,
        )


def main() -> None:
    """Serve requests in turns with whoever else is in the ring."""
    parser = Parser(description=__doc__)
    parser.add_argument("--ring", required=True)
    options, others = parser.parse_known_args()
    serve(others, make=partial(WorkerInTurns, ring=options.ring))


if __name__ == "__main__":
    main()
