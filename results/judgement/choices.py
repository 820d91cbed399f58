"""Choice of what to run at one batch of a block, and the stretches of batches at which it stays; pure."""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 - a field of a dataclass
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, NamedTuple

from results.judgement.winners import BASELINE, Ranking, Standing, is_lead_unknown
from results.units import figures

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from results.rows import PointRow

NAMED = 2
"""How many that are as fast are named in one line."""


class Block(NamedTuple):
    """Kind of block that advice is asked for: all that decides its time but the batch."""

    operation: str
    dim: int
    hidden: int
    activation: str | None
    dtype: str
    pass_: str

    @property
    def title(self) -> str:
        """Name the block with its sizes."""
        activation = f" · {self.activation}" if self.activation else ""
        passes = " · forward + backward" if self.pass_.endswith("backward") else ""
        return f"{self.operation} · dim {self.dim} → hidden {self.hidden}{activation} · {self.dtype}{passes}"


def block_of(row: PointRow) -> Block:
    """Return the block that a point measured."""
    return Block(row.operation, row.dim, row.hidden, row.activation, row.dtype, row.pass_)


@dataclass(frozen=True, kw_only=True)
class Choice:
    """What to run at one batch of one block, as far as it is known. failed: what gave no time, and why.

    advised: the point of the contender to run; None where it is undecided.
    """

    block: Block
    batch: int
    ranking: Ranking
    failed: Mapping[str, str]
    advised: PointRow | None = None

    @property
    def options(self) -> tuple[PointRow, ...]:
        """Points that may be advised: all that are tied, the winner, or who is ahead by paired rounds; else none.

        Where several are ahead of eager by paired rounds, and of each other not, they are the ones.
        """
        ranking = self.ranking
        if ranking.standing is Standing.TIED:
            return ranking.candidates
        if ranking.standing is Standing.UNDECIDED and ranking.least_margin is None:
            if ranking.eager is not None and is_lead_unknown(ranking.eager):
                return ()
            return tuple(row for row in ranking.candidates if _is_ahead(row) and _touches(row, ranking.leader))
        return (ranking.leader,)

    @property
    def as_fast(self) -> tuple[str, ...]:
        """Names of all that are as fast as the advised, as far as the intervals say."""
        return tuple(row.contender for row in self.options if row != self.advised)

    @property
    def is_in_doubt(self) -> bool:
        """Whether one is advised though times that it rests on are disturbed or not known well enough."""
        return self.ranking.standing is Standing.UNDECIDED and bool(self.options)

    @property
    def certainty(self) -> str:
        """How sure the choice is, in words."""
        match self.ranking.standing:
            case Standing.FASTEST:
                return "certain"
            case Standing.TIED:
                others = self.as_fast
                return f"as fast: {', '.join(others)}" if len(others) <= NAMED else f"as fast as {len(others)} others"
            case Standing.UNDECIDED if self.ranking.least_margin is not None:
                return f"ahead by {figures(self.ranking.least_margin)} × at least; times in doubt"
            case Standing.UNDECIDED if self.options:
                return "faster than eager; the fastest is in doubt"
            case Standing.UNDECIDED:
                return "undecided: measure again"
            case _:
                return "nothing to compare with"


def _is_ahead(row: PointRow) -> bool:
    """Tell whether a point is faster than eager by paired rounds, however slow the machine was for both."""
    if row.provider == BASELINE or is_lead_unknown(row):
        return False
    return row.speedup_ci_low is not None and row.speedup_ci_low > 1


def _touches(row: PointRow, leader: PointRow) -> bool:
    return row.speedup_ci_high is not None and row.speedup_ci_high >= (leader.speedup_ci_low or 0.0)


@dataclass(frozen=True, kw_only=True)
class Stretch:
    """Batches of a block, one after the other, at which the same is to be run; contenders: by name, the best first."""

    contenders: tuple[str, ...]
    choices: tuple[Choice, ...]

    @property
    def named(self) -> tuple[str, ...]:
        """Names of those that a sentence names: the best, and one that is as fast."""
        return self.contenders[:NAMED]


def stretches_of(choices: Sequence[Choice]) -> list[Stretch]:
    """Return the stretches of a block's batches: each as long as one contender is at least as fast as any.

    Where eager is among the fastest it is the one, as nothing is gained by another.
    """
    found: list[tuple[set[str], list[Choice]]] = []
    for choice in choices:
        names = {row.contender for row in choice.options}
        if not names:
            continue
        if BASELINE in names:
            names = {BASELINE}
        if found and found[-1][0] & names:
            found[-1] = (found[-1][0] & names, [*found[-1][1], choice])
        else:
            found.append((names, [choice]))
    return [Stretch(contenders=_ordered(names, of_one), choices=tuple(of_one)) for names, of_one in found]


def _ordered(names: set[str], choices: Sequence[Choice]) -> tuple[str, ...]:
    def speedup(name: str) -> float:
        rows = [row for choice in choices for row in choice.options if row.contender == name]
        return fmean(row.speedup_vs_eager or 1.0 for row in rows)

    return tuple(sorted(names, key=lambda name: (-speedup(name), name)))


def rows_in_words(batches: Iterable[int]) -> str:
    """Return numbers of rows as `1, 8 and 64 rows`."""
    numbers = list(batches)
    if len(numbers) == 1:
        return f"{numbers[0]} {'row' if numbers[0] == 1 else 'rows'}"
    return f"{', '.join(map(str, numbers[:-1]))} and {numbers[-1]} rows"
