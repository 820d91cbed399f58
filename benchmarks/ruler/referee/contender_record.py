"""What a referee knows of one contender, and plans for it: samples, checks, what they took, ambushes to come. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, auto
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from random import Random

# Judged from as much sampled time on; threads that wait for the next region may spin a little longer than it lasts.
_JUDGED_FROM_S, _SPARE_CORES = 0.02, 0.3
# An ambush comes at the beginning of one of so many turns: nobody knows which.
_TURNS = 8
# Longer turns are of calls so long that an ambush more would take seconds.
_LONG_TURN_S = 0.1
# Before calls that are to look like a turn's a contender is left alone as long as between turns, which may be minutes.
_LEAST_PAUSE_S, _MOST_PAUSE_S = 1e-3, 0.1


class Ambush(Enum):
    """Calls that begin as a turn does, and end otherwise: fewer than any sample has, and timed on inputs unknown."""

    FEW_CALLS = auto()
    FEW_WARMED_CALLS = auto()
    NEW_INPUTS = auto()


@dataclass
class ContenderRecord:
    """What is known of one contender, in seconds: its calls, and what its samples, turns and checks took.

    least_calls: fewer were not in a sample. warming_calls: untimed ones before each. called_s: when its last call
    ended. between_turns_s: from its last call in one turn to the beginning of the next.
    """

    n_samples: int = 0
    n_checks: int = 0
    least_calls: int = 1
    warming_calls: int = 1
    cpu_s: float = 0.0
    wall_s: float = 0.0
    turn_s: float = 0.0
    check_s: float = 0.0
    called_s: float = 0.0
    between_turns_s: float = 0.0
    _planned: list[tuple[int, Ambush]] = field(default_factory=list)

    def n_sampled(self, random: Random) -> int:
        """Return how many calls to time: up to a quarter more than the least, so that none is known to be the last."""
        calls = self.least_calls
        return calls + random.randrange(-(-calls // 4) + 1) if calls > 1 else 1

    def plan_ambushes(self, kinds: Iterable[Ambush], random: Random) -> None:
        """Plan one of each of the kinds, each for one of the next turns."""
        self._planned += [(self.n_samples + random.randrange(_TURNS), kind) for kind in kinds]

    def due_ambush(self) -> Ambush | None:
        """Return what is planned for this turn, and is no more; what else is planned for it waits for the next."""
        due = min((each for each in self._planned if each[0] <= self.n_samples), key=lambda each: each[0], default=None)
        if due is not None:
            self._planned.remove(due)
        return due and due[1]

    def last_ambushes(self, random: Random) -> list[Ambush]:
        """Return what is left to do when all samples are taken, in an order that nobody knows.

        One of each kind where samples are of several calls; of longer calls what was planned and had no turn, and if
        they are not very long, of inputs unknown in any case.
        """
        left = {kind for _, kind in self._planned}
        if self.turn_s <= _LONG_TURN_S * self.n_samples:
            left.add(Ambush.NEW_INPUTS)
        return random.sample(kinds := [each for each in Ambush if self.least_calls > 1 or each in left], len(kinds))

    def pause_s(self, now_s: float) -> float:
        """Return for how many seconds from `now_s` on it is to be left alone, so that a turn seems to begin."""
        seems_s = min(max(self.between_turns_s, _LEAST_PAUSE_S), _MOST_PAUSE_S)
        return max(0.0, seems_s - (now_s - self.called_s))

    def why_too_many_cores(self, threads: int | None) -> str | None:
        """Return that its calls kept more cores busy than `threads`, in words, or None; so if that is not looked at."""
        if threads is None or self.wall_s < _JUDGED_FROM_S:
            return None
        cores = self.cpu_s / self.wall_s
        if cores <= threads + _SPARE_CORES:
            return None
        return f"its calls kept {cores:.1f} cores busy, and all are measured with {threads}"
