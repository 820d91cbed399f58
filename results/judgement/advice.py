"""What to run at each batch, since where, why, and what a model would gain: rankings to advice; pure."""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 - a field of a dataclass
from dataclasses import dataclass, field, replace
from itertools import groupby, pairwise
from statistics import fmean
from typing import TYPE_CHECKING, NamedTuple

from results.judgement.winners import BASELINE, Ranking, Standing, ranking_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from results.rows import PointRow

_NAMED = 2


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
class Question:
    """What was asked. model: whose blocks these are, in words, or None.

    calls: how often one forward of the model calls a block at a batch, where that is known; layers: how often it calls
    the block whatever the batch, for a model whose batch is free. left_out: contenders that take long and were not
    measured. notes: what of a module is not measured. has_times: whether absolute times are wanted in the answer.
    """

    model: str | None = None
    layers: int | None = None
    calls: Mapping[tuple[Block, int], int] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    has_times: bool = True


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
            return tuple(row for row in ranking.candidates if _is_ahead(row) and _touches(row, ranking.leader))
        return (ranking.leader,)

    @property
    def certainty(self) -> str:
        """How sure the choice is, in words."""
        match self.ranking.standing:
            case Standing.FASTEST:
                return "certain"
            case Standing.TIED:
                return f"as fast: {_listed([row.contender for row in self.options if row != self.advised])}"
            case Standing.UNDECIDED if self.ranking.least_margin is not None:
                return f"ahead by {self.ranking.least_margin:.2f} × at least; times in doubt"
            case Standing.UNDECIDED if self.options:
                return "faster than eager; the fastest is in doubt"
            case Standing.UNDECIDED:
                return "undecided: measure again"
            case _:
                return "nothing to compare with"


def _is_ahead(row: PointRow) -> bool:
    """Tell whether a point is faster than eager by paired rounds, whatever slowed down both."""
    return row.provider != BASELINE and row.speedup_ci_low is not None and row.speedup_ci_low > 1


def _touches(row: PointRow, leader: PointRow) -> bool:
    return row.speedup_ci_high is not None and row.speedup_ci_high >= (leader.speedup_ci_low or 0.0)


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"{', '.join(names[:_NAMED])}{more}"


@dataclass(frozen=True, kw_only=True)
class Stretch:
    """Batches of a block, one after the other, at which the same is to be run; contenders: by name, the best first."""

    contenders: tuple[str, ...]
    choices: tuple[Choice, ...]


@dataclass(frozen=True, kw_only=True)
class Gain:
    """Seconds of a model's blocks in one forward: as eager, and with what is advised. batch: None for several."""

    n_calls: int
    batch: int | None
    eager_s: float
    advised_s: float


@dataclass(frozen=True, kw_only=True)
class Advice:
    """Answer to a question: the choices in order of block and batch, what to run, and what a model gains."""

    choices: tuple[Choice, ...]
    what: tuple[str, ...]
    gains: tuple[Gain, ...]

    @property
    def contenders(self) -> tuple[str, ...]:
        """Names of all that is advised, in order of appearance."""
        return tuple(dict.fromkeys(each.advised.contender for each in self.choices if each.advised is not None))


def advice_from(rows: Sequence[PointRow], question: Question) -> Advice:
    """Return the advice that the points `rows`, all of one run, give."""
    by_shape: dict[tuple[Block, int], list[PointRow]] = {}
    for row in rows:
        by_shape.setdefault((block_of(row), row.batch), []).append(row)
    found = [
        Choice(block=block, batch=batch, ranking=ranking, failed=_failed(points))
        for (block, batch), points in sorted(by_shape.items(), key=lambda each: (each[0][0][:3], each[0]))
        if (ranking := ranking_of(points)) is not None
    ]
    of_block = [(block, tuple(choices)) for block, choices in groupby(found, key=lambda choice: choice.block)]
    choices: list[Choice] = []
    what = []
    for block, of_one in of_block:
        stretches = stretches_of(of_one)
        advised = {
            choice.batch: row
            for stretch in stretches
            for choice in stretch.choices
            for row in choice.options
            if row.contender == stretch.contenders[0]
        }
        choices += [replace(choice, advised=advised.get(choice.batch)) for choice in of_one]
        what.append(_what(stretches, of_one, prefix=f"{block.title}: " if len(of_block) > 1 else ""))
    return Advice(choices=tuple(choices), what=tuple(what), gains=tuple(_gains(choices, question)))


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


def _failed(points: Iterable[PointRow]) -> dict[str, str]:
    return {row.contender: f"{row.state}: {row.reason}" for row in points if row.latency_s is None}


def _what(stretches: Sequence[Stretch], choices: Sequence[Choice], *, prefix: str) -> str:
    """Say what to run over the batches, where it changes, and where that is not known."""
    parts, verb = [], ""
    for stretch in stretches:
        before, verb = verb, "keep" if stretch.contenders[0] == BASELINE else "run"
        named = _named(stretch)
        parts.append(f"{verb} {named}" if verb != before else named)
    switches = [
        f"between {before.choices[-1].batch} and {after.choices[0].batch} rows" for before, after in pairwise(stretches)
    ]
    where = f"; the switch-over lies {' and '.join(switches)}" if switches else ""
    text = [f"{', '.join(parts)}{where}"] if parts else []
    unknown = [choice for choice in choices if not choice.options]
    if unknown:
        least = ", ".join(dict.fromkeys(choice.ranking.leader.contender for choice in unknown))
        doubt = unknown[0].ranking.doubt
        at = rows_in_words(choice.batch for choice in unknown)
        text.append(f"at {at} it is undecided, with {least} in the least time ({doubt}): measure again")
    said = "; ".join(text)
    return f"{prefix}{said[0].upper()}{said[1:]}."


def _named(stretch: Stretch) -> str:
    at = rows_in_words(choice.batch for choice in stretch.choices)
    if stretch.contenders[0] == BASELINE:
        is_alone = all(choice.ranking.standing is None for choice in stretch.choices)
        return f"eager at {at}{'' if is_alone else ', where nothing is certainly faster'}"
    shown = " or ".join(stretch.contenders[:_NAMED])
    factors = [
        row.speedup_vs_eager
        for choice in stretch.choices
        for row in choice.options
        if row.contender == stretch.contenders[0] and row.speedup_vs_eager is not None
    ]
    if not factors:
        return f"{shown} at {at}"
    low, high = f"{min(factors):.2g}", f"{max(factors):.2g}"
    return f"{shown} at {at} ({low if low == high else f'{low} to {high}'} × eager)"


def rows_in_words(batches: Iterable[int]) -> str:
    """Return numbers of rows as `1, 8 and 64 rows`."""
    numbers = list(batches)
    if len(numbers) == 1:
        return f"{numbers[0]} {'row' if numbers[0] == 1 else 'rows'}"
    return f"{', '.join(map(str, numbers[:-1]))} and {numbers[-1]} rows"


def _gains(choices: Sequence[Choice], question: Question) -> list[Gain]:
    timed = [choice for choice in choices if choice.ranking.eager is not None]
    if question.calls:
        called = [(choice, question.calls.get((choice.block, choice.batch), 0)) for choice in timed]
        n_calls = sum(count for _, count in called)
        return [_gain(called, n_calls=n_calls, batch=None)] if n_calls else []
    if question.layers is None:
        return []
    by_batch = sorted(timed, key=lambda choice: choice.batch)
    layers = question.layers
    return [_gain([(choice, layers)], n_calls=layers, batch=choice.batch) for choice in by_batch]


def _gain(called: Sequence[tuple[Choice, int]], *, n_calls: int, batch: int | None) -> Gain:
    eager_s = sum(count * _eager_s(choice) for choice, count in called)
    advised_s = sum(count * _eager_s(choice) / _speedup(choice.advised) for choice, count in called)
    return Gain(n_calls=n_calls, batch=batch, eager_s=eager_s, advised_s=advised_s)


def _eager_s(choice: Choice) -> float:
    return (choice.ranking.eager.latency_s or 0.0) if choice.ranking.eager else 0.0


def _speedup(advised: PointRow | None) -> float:
    """Return how much faster than eager the advised is; where it is undecided, eager is kept."""
    return (advised.speedup_vs_eager or 1.0) if advised is not None else 1.0
