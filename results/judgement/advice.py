"""What to run at each batch, since where, why, and what a model would gain: rankings to advice; pure."""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 - a field of a dataclass
from dataclasses import dataclass, field, replace
from itertools import groupby, pairwise
from typing import TYPE_CHECKING

from results.judgement.choices import Block, Choice, block_of, rows_in_words, stretches_of
from results.judgement.winners import BASELINE, is_disturbed_as_ratio, ranking_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from results.judgement.choices import Stretch
    from results.rows import PointRow

__all__ = ["Advice", "Block", "Choice", "Gain", "Question", "advice_from", "block_of", "rows_in_words"]


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
class Gain:
    """Seconds of a model's blocks in one forward: as eager, and with what is advised. batch: None for several.

    n_calls: those that the seconds are of; n_unknown: those left out, since what to run there is undecided, or nothing
    gave a time. is_in_doubt: whether a time that it rests on is.
    """

    n_calls: int
    batch: int | None
    eager_s: float
    advised_s: float
    n_unknown: int = 0
    is_in_doubt: bool = False


@dataclass(frozen=True, kw_only=True)
class Advice:
    """Answer to a question: the choices in order of block and batch, what to run, and what a model gains.

    named: contenders that `what` names to be run, in order of appearance.
    """

    choices: tuple[Choice, ...]
    what: tuple[str, ...]
    named: tuple[str, ...]
    gains: tuple[Gain, ...]

    @property
    def is_decided(self) -> bool:
        """Whether something is advised at every batch of every block."""
        return all(choice.advised is not None for choice in self.choices)


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
    what, named = [], []
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
        named += [name for stretch in stretches for name in stretch.named]
    return Advice(
        choices=tuple(choices),
        what=tuple(what),
        named=tuple(dict.fromkeys(named)),
        gains=tuple(_gains(choices, question)),
    )


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
    text += _doubts(choices)
    unknown = [choice for choice in choices if not choice.options]
    if unknown:
        doubt = unknown[0].ranking.doubt
        at = rows_in_words(choice.batch for choice in unknown)
        # Nobody is named as ahead: the intervals do not part anybody from eager, and times contradict what they say.
        text.append(f"at {at} it is undecided ({doubt}): measure again")
    said = "; ".join(text)
    return f"{prefix}{said[0].upper()}{said[1:]}."


def _named(stretch: Stretch) -> str:
    at = rows_in_words(choice.batch for choice in stretch.choices)
    if stretch.contenders[0] == BASELINE:
        is_alone = all(choice.ranking.standing is None for choice in stretch.choices)
        return f"eager at {at}{'' if is_alone else ', where nothing is certainly faster'}"
    by = _factors(stretch)
    return f"{' or '.join(stretch.named)} at {at}{f' ({by} × eager)' if by else ''}"


def _factors(stretch: Stretch) -> str:
    """Say how much faster than eager the best is where that is in no doubt; empty where it is everywhere."""
    known = [
        row.speedup_vs_eager
        for choice in stretch.choices
        for row in choice.options
        if row.contender == stretch.contenders[0] and row.speedup_vs_eager is not None and not choice.is_in_doubt
    ]
    if not known:
        return ""
    low, high = _factor(min(known)), _factor(max(known))
    return low if low == high else f"{low} to {high}"


def _factor(value: float) -> str:
    return f"{value:.2g}" if value < 10 else f"{value:.0f}"


def _doubts(choices: Sequence[Choice]) -> Iterable[str]:
    """Say where something is advised that is ahead by paired rounds, though its times are in doubt."""
    found = [choice for choice in choices if choice.is_in_doubt]
    ahead = [choice.batch for choice in found if choice.ranking.least_margin is not None]
    beaten = [choice.batch for choice in found if choice.ranking.least_margin is None]
    # Where it is the machine that a reader can do something about, not a narrow lead.
    is_disturbed = all(is_disturbed_as_ratio(choice.ranking.leader) for choice in found)
    why = ", as the machine was disturbed" if is_disturbed else ""
    if ahead:
        yield f"{_place(ahead, choices)}the times are in doubt{why}: measure again to be sure"
    if beaten:
        yield f"{_place(beaten, choices)}which is the fastest is in doubt{why}: measure again to know"


def _place(batches: Sequence[int], choices: Sequence[Choice]) -> str:
    return "" if len(batches) == len(choices) else f"at {rows_in_words(batches)} "


def _gains(choices: Sequence[Choice], question: Question) -> list[Gain]:
    if question.calls:
        called = [(choice, question.calls.get((choice.block, choice.batch), 0)) for choice in choices]
        n_calls = sum(question.calls.values())
        return [_gain(called, n_calls=n_calls, batch=None)] if n_calls else []
    if question.layers is None:
        return []
    layers = question.layers
    by_batch = sorted(choices, key=lambda choice: choice.batch)
    return [_gain([(choice, layers)], n_calls=layers, batch=choice.batch) for choice in by_batch]


def _gain(called: Sequence[tuple[Choice, int]], *, n_calls: int, batch: int | None) -> Gain:
    """Add up the calls at which it is known what to run and what eager takes; the rest of `n_calls` is left out."""
    known = [
        (choice, count, choice.ranking.eager.latency_s, choice.advised.speedup_vs_eager or 1.0)
        for choice, count in called
        if choice.advised is not None and choice.ranking.eager is not None and choice.ranking.eager.latency_s
    ]
    n_known = sum(count for _, count, _, _ in known)
    return Gain(
        n_calls=n_known,
        batch=batch,
        eager_s=sum(count * eager_s for _, count, eager_s, _ in known),
        advised_s=sum(count * eager_s / speedup for _, count, eager_s, speedup in known),
        n_unknown=n_calls - n_known,
        is_in_doubt=any(count and choice.is_in_doubt for choice, count, _, _ in known),
    )
