"""Code, stack or both: two commits on two stacks, judged by exchanging either while the other stays; pure."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from results.exit_codes import ExitCode
from results.judgement.outcomes import Change, Outcome
from results.judgement.verdicts import exit_code

if TYPE_CHECKING:
    from collections.abc import Sequence

    from results.judgement.outcomes import Judgement, Verdict

_MOVED = frozenset(
    {Change.SLOWER, Change.FASTER, Change.CHANGED, Change.EXACT_CHANGE, Change.STATE_CHANGED, Change.GONE, Change.KNOWN}
)
_OF_STATE = frozenset({Change.STATE_CHANGED, Change.GONE})


class Factor(StrEnum):
    """What moves a series."""

    CODE = "code"
    STACK = "stack"
    BOTH = "both"  # either moves it, whatever the other is
    TOGETHER = "together"  # one moves it on one side of the other only, or in other directions
    NEITHER = "neither"
    UNCERTAIN = "uncertain"


class _Effect(StrEnum):
    YES = "yes"
    NO = "no"
    ONE_SIDED = "one-sided"
    UNKNOWN = "unknown"


@dataclass(frozen=True, kw_only=True)
class Exchanged:
    """Series in four exchanges: the code on the present and on the other stack, the stack at base and at head.

    Each is None where its series was measured on neither side. whole: from base on the present to head on the other.
    """

    factor: Factor
    code: tuple[Verdict | None, Verdict | None]
    stack: tuple[Verdict | None, Verdict | None]
    whole: Verdict

    @property
    def verdicts(self) -> tuple[Verdict | None, ...]:
        """All four, code first."""
        return (*self.code, *self.stack)


@dataclass(frozen=True, kw_only=True)
class Exchange:
    """Series by what moves them. judgements: of the code on either stack, of the stack at either commit."""

    series: tuple[Exchanged, ...]
    code: tuple[Judgement, Judgement]
    stack: tuple[Judgement, Judgement]
    whole: Judgement

    @property
    def judgements(self) -> tuple[Judgement, ...]:
        """All five."""
        return (*self.code, *self.stack, self.whole)

    def count(self) -> Counter[Factor]:
        """Count the series by what moves them."""
        return Counter(one.factor for one in self.series)


def exchange_of(*, code: tuple[Judgement, Judgement], stack: tuple[Judgement, Judgement], whole: Judgement) -> Exchange:
    """Combine the judgements of four exchanges and of the whole difference, series by series."""
    parts = [{one.head.series_id: one for one in judgement.verdicts} for judgement in (*code, *stack)]
    series = []
    for verdict in whole.verdicts:
        present, other, at_base, at_head = (part.get(verdict.head.series_id) for part in parts)
        is_of_state = verdict.change in _OF_STATE
        factor = factor_of(
            _effect(present, other, is_of_state=is_of_state), _effect(at_base, at_head, is_of_state=is_of_state)
        )
        series.append(Exchanged(factor=factor, code=(present, other), stack=(at_base, at_head), whole=verdict))
    return Exchange(series=tuple(series), code=code, stack=stack, whole=whole)


def factor_of(code: _Effect, stack: _Effect) -> Factor:
    """Return what moves a series by the effect of either."""
    effects = (code, stack)
    if _Effect.ONE_SIDED in effects:
        return Factor.TOGETHER
    if _Effect.UNKNOWN in effects:
        return Factor.UNCERTAIN
    return {
        (_Effect.YES, _Effect.NO): Factor.CODE,
        (_Effect.NO, _Effect.YES): Factor.STACK,
        (_Effect.YES, _Effect.YES): Factor.BOTH,
        (_Effect.NO, _Effect.NO): Factor.NEITHER,
    }[effects]


def exchange_exit_code(exchange: Exchange) -> ExitCode:
    """Return the exit code: what failed or got slower by code or stack counts alike, then what perhaps did."""
    codes = {exit_code(judgement) for judgement in exchange.judgements}
    for code in (ExitCode.FAILED, ExitCode.REGRESSION):
        if code in codes:
            return code
    is_open = any(judgement.n_perhaps_worse or judgement.is_control_moved for judgement in exchange.judgements)
    return ExitCode.FINE if exchange.series and not is_open else ExitCode.NOTHING_COMPARABLE


def _effect(one: Verdict | None, other: Verdict | None, *, is_of_state: bool) -> _Effect:
    """Return whether something moves a series, by what it does on either side of the other factor.

    is_of_state: whether it is about how the point ends, and not about its value.
    """
    moves = [_direction_of_state(verdict) if is_of_state else _direction(verdict) for verdict in (one, other)]
    if moves[0] is None or moves[1] is None:
        return _Effect.UNKNOWN
    if moves[0] == moves[1]:
        return _Effect.YES if moves[0] else _Effect.NO
    return _Effect.ONE_SIDED


def _direction(verdict: Verdict | None) -> int | None:
    """Return 1 if the series got worse or failed, -1 if better, 0 if it is the same; None if that is not known."""
    if verdict is None:
        return None
    if verdict.change in _MOVED:
        return 1 if verdict.outcome in {Outcome.REGRESSION, Outcome.FAILED, Outcome.KNOWN, Outcome.CHANGED} else -1
    return 0 if verdict.change is Change.SAME else None


def _direction_of_state(verdict: Verdict | None) -> int:
    # Without a verdict it failed on both sides, and so alike.
    if verdict is None or verdict.change not in _OF_STATE:
        return 0
    return 1 if verdict.outcome is Outcome.FAILED else -1


def uncertain_of(exchange: Exchange) -> Sequence[Verdict]:
    """Return the verdicts that keep a series' factor unknown, and may become certain."""
    return [
        verdict
        for one in exchange.series
        if one.factor is Factor.UNCERTAIN
        for verdict in one.verdicts
        if verdict is not None and verdict.change is Change.UNCERTAIN and verdict.evidence is not None
    ]
