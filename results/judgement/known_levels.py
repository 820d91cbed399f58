"""Verdicts that an acknowledged change explains; pure."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from results.judgement.comparison.relevant_changes import differs, is_relevant, is_worse
from results.judgement.noise import Evidence, Observation, difference_between
from results.judgement.outcomes import EXPLAINABLE, Change, Outcome, Verdict
from results.metrics import Direction, Precision

if TYPE_CHECKING:
    from collections.abc import Iterable

    from results.judgement.outcomes import Judgement
    from results.rows import HistoryValue, KnownLevel, SeriesValueRow


def in_question(judgement: Judgement) -> list[int]:
    """Return the ids of the series that an acknowledged change could explain: all that are worse or changed."""
    return [verdict.head.series_id for verdict in judgement.verdicts if _is_explainable(verdict)]


def with_known(judgement: Judgement, levels: Iterable[KnownLevel]) -> Judgement:
    """Return the judgement with `known` for each series that an acknowledged change explains.

    It explains a value no worse than the one at its own commit, as long as the series did not recover in between, and
    that a series is gone until it is measured again; whatever came on top of it keeps its outcome.
    """
    of_series = {level.change.series_id: level for level in levels}
    return replace(
        judgement,
        verdicts=tuple(
            _explained(verdict, of_series[verdict.head.series_id])
            if _is_explainable(verdict) and verdict.head.series_id in of_series
            else verdict
            for verdict in judgement.verdicts
        ),
    )


def _explained(verdict: Verdict, level: KnownLevel) -> Verdict:
    def is_level_worse(before: HistoryValue | SeriesValueRow, after: HistoryValue | SeriesValueRow) -> bool:
        return _is_level_worse(verdict, before, after)

    def is_at_level(known: HistoryValue | None) -> bool:
        if known is None or verdict.change is Change.GONE:
            return known is None and verdict.change is Change.GONE
        return known.state == head.state and (head.state != "ok" or not is_level_worse(known, head))

    base, head, change = verdict.base, verdict.head, level.change
    # What is measured again has come back, however fast it is.
    has_recovered = any(level.value is None or not is_level_worse(base, one) for one in level.later)
    if is_at_level(level.value) and not has_recovered:
        return verdict._replace(change=Change.KNOWN, outcome=Outcome.KNOWN, reason=change.reason, known=change)
    return verdict._replace(reason=f"{verdict.why}; not the known change at {change.commit[:8]}")


def _is_level_worse(
    verdict: Verdict, before: HistoryValue | SeriesValueRow, after: HistoryValue | SeriesValueRow
) -> bool:
    """Return whether one value is worse than another of its series, or changed; by both intervals where it is noisy."""
    if before.value is None or after.value is None:
        return after.state != "ok"
    metric, ratio = verdict.metric, is_relevant(before.value, after.value, least_change=verdict.least_change)
    if metric.direction is not Direction.UNKNOWN and not is_worse(metric, before.value, after.value):
        return False
    if metric.precision is Precision.EXACT:
        return differs(metric, before.value, after.value)
    same = {Evidence.SAME, Evidence.TOO_FEW}
    return ratio and difference_between(_observation(before), _observation(after)) not in same


def _observation(row: HistoryValue | SeriesValueRow) -> Observation:
    interval = None if row.ci_low is None or row.ci_high is None else (row.ci_low, row.ci_high)
    return Observation(value=row.value or 0.0, interval=interval, samples=None)


def _is_explainable(verdict: Verdict) -> bool:
    return verdict.outcome in EXPLAINABLE and (verdict.outcome is not Outcome.UNDECIDED or verdict.may_be_worse)
