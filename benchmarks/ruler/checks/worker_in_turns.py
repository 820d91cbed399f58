"""Worker that takes turns with other processes: between its chunks of samples each of them has one of its own.

It builds, verifies and samples while it has the turn, so that nothing else runs then; and what the machine does
meanwhile, faster or slower from second to second, it does to all of them alike.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.ruler.checks.turns import Turn
from benchmarks.ruler.worker.main import main as serve
from benchmarks.ruler.worker.tasks import Worker

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from benchmarks.ruler.measure.timing import Policy, Watch
    from benchmarks.ruler.worker.protocol import Request

CHUNK_S = 0.05
"""Length of one contender's part of a turn, in seconds."""


class WatchInTurns:
    """Watch that lets the others have their turns before each of its windows."""

    def __init__(self, watch: Watch, turn: Turn) -> None:
        self._watch, self._turn = watch, turn
        self.forget, self.forget_disturbed = watch.forget, watch.forget_disturbed

    def start(self) -> None:
        """Wait for the next turn, then start an observation window."""
        self._turn.pass_on()
        self._watch.start()

    def disturbance(self, durations_s: Mapping[str, Sequence[float]]) -> str | None:
        """Return what disturbed the machine since `start`, or None."""
        return self._watch.disturbance(durations_s)


class WorkerInTurns(Worker):
    """Worker that has its place in a ring while it answers a request."""

    def __init__(self, *, ring: Path, **others: Any) -> None:  # noqa: ANN401 - what a worker is made of
        super().__init__(**others)
        self._turn = Turn(ring)

    def answer(self, request: Request) -> None:
        """Perform one request in turns with others."""
        with self._turn:
            super().answer(request)

    def watch_of_visit(self, watch: Watch) -> Watch:
        """Return a watch that waits for each of its turns."""
        return WatchInTurns(watch, self._turn)

    def policy(self, request: Request) -> Policy:
        """Return a policy by which every contender is sampled in each turn for CHUNK_S, until its budget is used up."""
        chunk_s = CHUNK_S * len(request.contenders)
        return replace(super().policy(request), half_width=0.0, budget_s=request.budget_s, chunk_s=chunk_s)


def main() -> None:
    """Serve requests in turns with whoever else is in the ring."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ring", type=Path, required=True)
    options, others = parser.parse_known_args()
    serve(others, make=partial(WorkerInTurns, ring=options.ring))


if __name__ == "__main__":
    main()
