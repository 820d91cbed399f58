"""Bisections → words and JSON; pure."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from results.judgement.bisection.search import Answer
from results.judgement.bisection.target import Kind
from results.rows import parameters_in_words
from results.units import change_in_words, counted, figures, signed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from results.judgement.bisection.target import Target

_ANSWERS = {Answer.GOOD: "good", Answer.BAD: "bad", Answer.SKIPPED: "skipped"}


def target_in_words(target: Target) -> str:
    """Write what is followed: `mlp latency_s (provider=fused), at 4 of 6 points`."""
    surface = parameters_in_words(target.surface)
    where = f" ({surface})" if surface else ""
    return (
        f"{target.benchmark} {target.metric}{where}, at {len(target.series)} of {counted(target.n_compared, 'point')}"
    )


def comparative(target: Target) -> str:
    """Return how the bad end is, compared with the good one: slower, faster, worse or better."""
    if target.kind is Kind.TIME:
        return "slower" if target.is_worse else "faster"
    return "worse" if target.is_worse else "better"


def change_of_target(target: Target, change: float | None, interval: Sequence[float] | None) -> str:
    """Write a change in the units of the target: `+10.1 % [+9.0, +11.2]`, or `+2`; empty for None."""
    if change is None:
        return ""
    match target.kind:
        case Kind.TIME:
            words = change_in_words(math.exp(change))
            edges = [signed(100 * (math.exp(edge) - 1)) for edge in interval or ()]
            return f"{words} [{', '.join(edges)}]" if edges else words
        case Kind.COUNT:
            return f"{'+' if change > 0 else ''}{figures(change)}" if change else "no change"
        case Kind.STATE:
            return "fails" if change >= 0.5 and target.is_worse else "works" if change >= 0.5 else "as before"


def answer_in_words(  # noqa: PLR0913 - what a trial said
    target: Target,
    answer: Answer,
    *,
    why: str,
    change: float | None,
    interval: Sequence[float] | None,
    n_made: int,
) -> str:
    """Write what a trial said: `bad, +10.1 % [+9.0, +11.2], 3 rounds`."""
    words = [_ANSWERS[answer]]
    if answer is Answer.SKIPPED:
        words[0] += f" ({why})"
    if said := change_of_target(target, change, interval):
        words.append(said)
    if target.kind is Kind.STATE and why and answer is not Answer.SKIPPED:
        words.append(why)
    if target.kind is Kind.TIME and n_made:
        words.append(counted(n_made, "round"))
    return ", ".join(words)
