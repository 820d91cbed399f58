"""A judgement of exact metrics and states alone, which no load of a machine changes; pure."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from results.judgement.outcomes import Change
from results.judgement.thresholds import metric_of_row
from results.metrics import Precision

if TYPE_CHECKING:
    from results.judgement.outcomes import Judgement, Verdict
    from results.rows import SeriesValueRow

_OF_STATES = frozenset({Change.STATE_CHANGED, Change.GONE})


def exact_only(judgement: Judgement) -> Judgement:
    """Return the judgement without what was timed: counts, memory, error, and what failed or is gone, are left.

    Nor do control series matter: they tell what a machine does to times.
    """
    return replace(
        judgement,
        verdicts=tuple(verdict for verdict in judgement.verdicts if _is_exact(verdict)),
        only_at_base=tuple(filter(_is_counted, judgement.only_at_base)),
        only_at_head=tuple(filter(_is_counted, judgement.only_at_head)),
        not_yet=tuple(filter(_is_counted, judgement.not_yet)),
        controls=(),
        surfaces=(),
        is_exact_only=True,
    )


def _is_counted(row: SeriesValueRow) -> bool:
    return metric_of_row(row).precision is Precision.EXACT


def _is_exact(verdict: Verdict) -> bool:
    if verdict.metric.precision is Precision.EXACT or verdict.change in _OF_STATES:
        return True
    return verdict.known is not None and verdict.head.state != "ok"
