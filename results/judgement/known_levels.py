"""Judgements by what else is stored: acknowledged changes, and what became of series that are gone; pure."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from results.judgement.comparison.relevant_changes import differs, is_relevant, is_worse
from results.judgement.noise import Evidence, Observation, difference_between
from results.judgement.outcomes import EXPLAINABLE, Change, Outcome, Verdict
from results.judgement.sides import OK
from results.metrics import Direction, Precision

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from results.judgement.outcomes import Judgement, SurfaceVerdict
    from results.metrics import Metric
    from results.rows import HistoryValue, KnownLevel, SeriesValueRow


def in_question(judgement: Judgement) -> list[int]:
    """Return the ids of the series that an acknowledged change could explain: what is worse, changed or fails anew."""
    alone = (verdict.head.series_id for verdict in judgement.verdicts if _is_explainable(verdict))
    worse = (one for one in judgement.surfaces if one.outcome is Outcome.REGRESSION)
    together = (row.series_id for one in worse for row in one.rows)
    anew = (row.series_id for row in judgement.failing_anew)
    return list(dict.fromkeys([*alone, *together, *anew]))


def with_known(judgement: Judgement, levels: Iterable[KnownLevel]) -> Judgement:
    """Return the judgement with `known` for each series that an acknowledged change explains.

    It explains a value no worse than the one at its own commit, as long as the series did not recover in between, and
    that a series is gone until it is measured again; whatever came on top of it keeps its outcome. It explains what the
    points of a surface say together where it is of all of them, and most of them are no worse. What fails anew it
    explains as any failure: while the series fails the same and did not work in between.
    """
    of_series = {level.change.series_id: level for level in levels}
    anew = [(row, of_series[row.series_id]) for row in judgement.failing_anew if row.series_id in of_series]
    return replace(
        judgement,
        verdicts=tuple(
            _explained(verdict, of_series[verdict.head.series_id])
            if _is_explainable(verdict) and verdict.head.series_id in of_series
            else verdict
            for verdict in judgement.verdicts
        ),
        surfaces=tuple(_explained_together(one, of_series) for one in judgement.surfaces),
        known_anew=tuple(level.change for row, level in anew if _is_known_failure(row, level)),
    )


def _is_known_failure(row: SeriesValueRow, level: KnownLevel) -> bool:
    """Return whether a row fails as its series did at the known change, and it did not work in between."""
    if level.value is None or level.value.state != row.state:
        return False
    return all(one.state != OK for one in level.later)


def _explained_together(surface: SurfaceVerdict, of_series: Mapping[int, KnownLevel]) -> SurfaceVerdict:
    if surface.outcome is not Outcome.REGRESSION or any(row.series_id not in of_series for row in surface.rows):
        return surface

    def explains(row: SeriesValueRow, level: KnownLevel) -> bool:
        def is_worse_there(before: HistoryValue | SeriesValueRow, after: HistoryValue | SeriesValueRow) -> bool:
            return _is_level_worse(surface.metric, before, after, least_change=surface.least_change)

        if level.value is None or is_worse_there(level.value, row):
            return False
        return not any(is_worse_there(one, level.value) for one in level.later)

    n_explained = sum(explains(row, of_series[row.series_id]) for row in surface.rows)
    # One point of many that is worse than then is told by itself, where it is certain.
    if 2 * n_explained <= len(surface.rows):
        return surface
    return surface._replace(outcome=Outcome.KNOWN, known=of_series[surface.rows[0].series_id].change)


def without_later(judgement: Judgement, series_ids: Collection[int]) -> Judgement:
    """Return the judgement with these of the series that are gone, first measured after the head, as not there yet.

    They are among those that only the base measured then.
    """

    def is_later(verdict: Verdict) -> bool:
        return verdict.change is Change.GONE and verdict.base.series_id in series_ids

    rows = tuple(verdict.base for verdict in judgement.verdicts if is_later(verdict))
    return replace(
        judgement,
        verdicts=tuple(verdict for verdict in judgement.verdicts if not is_later(verdict)),
        only_at_base=(*judgement.only_at_base, *rows),
        not_yet=(*judgement.not_yet, *rows),
    )


def with_doubts(judgement: Judgement, reasons: Mapping[int, str]) -> Judgement:
    """Return the judgement with what else may have become of series that are gone, by series; they fail the same.

    What is not known to be there excuses nothing.
    """
    return replace(
        judgement,
        verdicts=tuple(
            verdict._replace(reason=reasons[verdict.base.series_id])
            if verdict.change is Change.GONE and verdict.base.series_id in reasons
            else verdict
            for verdict in judgement.verdicts
        ),
    )


def _explained(verdict: Verdict, level: KnownLevel) -> Verdict:
    def is_level_worse(before: HistoryValue | SeriesValueRow, after: HistoryValue | SeriesValueRow) -> bool:
        return _is_level_worse(verdict.metric, before, after, least_change=verdict.least_change)

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
    metric: Metric,
    before: HistoryValue | SeriesValueRow,
    after: HistoryValue | SeriesValueRow,
    *,
    least_change: float,
) -> bool:
    """Return whether one value is worse than another of its series, or changed; by both intervals where it is noisy."""
    if before.value is None or after.value is None:
        return after.state != "ok"
    ratio = is_relevant(before.value, after.value, least_change=least_change)
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
