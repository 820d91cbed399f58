"""A judgement of exact metrics and states alone, which no load of a machine changes; pure."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from results.judgement.outcomes import Change
from results.metrics import Precision

if TYPE_CHECKING:
    from results.judgement.outcomes import Judgement, Verdict

_OF_STATES = frozenset({Change.STATE_CHANGED, Change.GONE})


def exact_only(judgement: Judgement) -> Judgement:
    """Return the judgement without what was timed: counts, memory, error, and what failed or is gone, are left.

    Nor do control series matter: they tell what a machine does to times.
    """
    verdicts = tuple(verdict for verdict in judgement.verdicts if _is_exact(verdict))
    return replace(judgement, verdicts=verdicts, controls=(), floor=None)


def _is_exact(verdict: Verdict) -> bool:
    if verdict.metric.precision is Precision.EXACT or verdict.change in _OF_STATES:
        return True
    return verdict.known is not None and verdict.head.state != "ok"
