"""Verdict on one series that two commits measured, and on the points of a surface together; pure."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from results.judgement.comparison.relevant_changes import differs, is_relevant, is_worse
from results.judgement.noise import doubt_about
from results.judgement.outcomes import Change, Doubt, Outcome, SurfaceVerdict, Verdict, outcome_of_change
from results.judgement.sides import BASELINE, surface_of
from results.judgement.thresholds import metric_of_row
from results.metrics import SWEEP_METRICS, Direction, Metric, Precision
from results.units import percent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from results.judgement.comparison.evidence import Evidence
    from results.judgement.comparison.surfaces import SurfaceEvidence
    from results.judgement.sides import Side
    from results.judgement.thresholds import Limits
    from results.rows import SeriesValueRow

STRAY = "single values stray as far here"
_CHANGE_OF = {
    Outcome.REGRESSION: Change.SLOWER,
    Outcome.IMPROVEMENT: Change.FASTER,
    Outcome.CHANGED: Change.CHANGED,
}


class Context(NamedTuple):
    """What a verdict depends on beside the series. cause: why nothing is said of its times, or None.

    limits: which change is relevant. is_control: whether no commit of ours can
    change the series. has_spread: whether its history tells how it varies from run to run. is_paired: whether they
    were measured in rounds.
    """

    limits: Limits
    cause: Doubt | None = None
    is_control: bool = False
    has_spread: bool = False
    is_paired: bool = False


class _Finding(NamedTuple):
    change: Change
    outcome: Outcome
    reason: str | None
    is_doubtful: bool = False
    is_noise_known: bool = True
    is_decided: bool = True
    doubt: Doubt | None = None


# Of thousands that did not change: by whether a relevant change can be ruled out.
_UNCHANGED = {
    True: _Finding(Change.SAME, Outcome.UNCHANGED, reason=None),
    False: _Finding(Change.UNCERTAIN, Outcome.UNCHANGED, reason=None),
}


def verdict_on(base: Side, head: Side, *, evidence: Evidence | None, context: Context) -> Verdict:
    """Judge one series. evidence: of a noisy metric with positive values at both commits, else None."""
    metric, before, after = context.limits.applied_to(metric_of_row(head.row)), base.row.value, head.row.value
    ratio = _ratio(before, after, evidence)
    if evidence is not None and _is_plainly_unchanged(base, head, evidence, context=context):
        found = _unchanged(evidence, context.limits.least_change)
    elif base.n_failed or head.n_failed:
        found = _of_states(base, head)
    elif metric.precision is Precision.EXACT:
        found = _of_counts(base, head, metric)
    elif evidence is None:
        found = _without_ratio(before, after, context.limits.least_change)
    else:
        found = _of_times(base, head, evidence, ratio=ratio or 1.0, metric=metric, context=context)
    change, outcome, reason, is_doubtful, is_noise_known, is_decided, doubt = found
    return Verdict(
        base.row,
        head.row,
        metric,
        change,
        outcome,
        ratio,
        reason,
        evidence if is_noise_known else None,
        evidence.floor if evidence is not None and is_decided else None,
        is_doubtful,
        doubt,
        None,
        context.limits.least_change,
    )


def _is_plainly_unchanged(base: Side, head: Side, evidence: Evidence, *, context: Context) -> bool:
    """Return whether nothing is to be asked of a series, as of thousands: its noise is known, and it hardly moved."""
    difference, least_change = evidence.difference, context.limits.least_change
    return (
        1 / (1 + least_change) < evidence.ratio < 1 + least_change
        and not (base.n_failed or head.n_failed or difference.is_disturbed or context.is_paired or context.cause)
        and (context.has_spread or difference.dof > 0 or _have_own_noise(base.row, head.row))
    )


def _have_own_noise(base: SeriesValueRow, head: SeriesValueRow) -> bool:
    return head.metric not in SWEEP_METRICS and _has_interval(base) and _has_interval(head)


def _unchanged(evidence: Evidence, least_change: float) -> _Finding:
    low, high = evidence.interval
    return _UNCHANGED[1 / (1 + least_change) < low and high < 1 + least_change]


def verdicts_on_surfaces(verdicts: Sequence[Verdict], found: Sequence[SurfaceEvidence]) -> tuple[SurfaceVerdict, ...]:
    """Judge the points of each surface together; `verdicts`: on all series, which the evidence names by id."""
    of_series = {verdict.head.series_id: verdict for verdict in verdicts}
    n_points = Counter(surface_of(verdict.head) for verdict in verdicts)
    told = [[of_series[name] for name in one.names if isinstance(name, int)] for one in found]
    return tuple(
        _verdict_on_surface(points, one, n_points=n_points[surface_of(points[0].head)])
        for points, one in zip(told, found, strict=True)
    )


def _verdict_on_surface(verdicts: Sequence[Verdict], evidence: SurfaceEvidence, *, n_points: int) -> SurfaceVerdict:
    """Judge the points of a surface together, which have limits and doubts in common."""
    first = verdicts[0]
    outcome = Outcome.UNCHANGED
    if is_relevant(1.0, evidence.ratio, least_change=first.least_change):
        is_certain = evidence.is_significant and first.doubt is None
        outcome = outcome_of_change(first.metric, 1.0, evidence.ratio) if is_certain else Outcome.UNDECIDED
    return SurfaceVerdict(
        rows=tuple(one.head for one in verdicts),
        n_points=n_points,
        metric=first.metric,
        outcome=outcome,
        evidence=evidence,
        least_change=first.least_change,
    )


def _ratio(before: float | None, after: float | None, evidence: Evidence | None) -> float | None:
    """Return the change that is told: without the machine's part, as far as what was measured tells that."""
    if evidence is not None and not evidence.difference.is_disturbed:
        return evidence.ratio
    if before is None or after is None or not 0 < before < math.inf or not 0 <= after < math.inf:
        return None
    return after / before


def _of_states(base: Side, head: Side) -> _Finding:
    """Judge a series that was not ok in every run of both commits, and ok in some."""
    if base.is_ok or not head.has_value:  # then the head is not ok
        return _Finding(
            Change.STATE_CHANGED, Outcome.FAILED, f"{head.row.state}: {head.row.reason or 'no reason given'}"
        )
    if head.is_ok and not base.has_value:
        return _Finding(Change.STATE_CHANGED, Outcome.FIXED, f"was {base.row.state}")
    often = f"{base.row.state} in {base.n_failed} of {base.n_runs} runs at the base already"
    return _Finding(Change.UNCERTAIN, Outcome.UNDECIDED, often)


def _of_counts(base: Side, head: Side, metric: Metric) -> _Finding:
    """Judge an exact metric: every run at the head against every one at the base."""
    limits = [(min(side.values), max(side.values)) for side in (base, head)]
    (least_before, most_before), (least_after, most_after) = limits
    if least_after <= most_before and least_before <= most_after:
        worst = (most_before, most_after) if metric.direction is Direction.LOWER else (least_before, least_after)
        if is_worse(metric, *worst) and differs(metric, *worst):
            # Else measuring the head again until it is as the base was would be enough to pass.
            why = "a run at the head is worse than any at the base"
            return _Finding(Change.UNCERTAIN, Outcome.UNDECIDED, why, is_doubtful=True)
        if any(differs(metric, low, high) for low, high in limits):
            return _Finding(Change.UNCERTAIN, Outcome.UNCHANGED, "differs between runs of one commit")
        return _Finding(Change.SAME, Outcome.UNCHANGED, "exact")
    before, after = (most_before, least_after) if least_after > most_before else (least_before, most_after)
    if not differs(metric, before, after):
        return _Finding(
            Change.SAME, Outcome.UNCHANGED, f"within its tolerance of {percent(metric.tolerance, digits=0)}"
        )
    return _Finding(Change.EXACT_CHANGE, outcome_of_change(metric, before, after), "exact")


def _without_ratio(before: float | None, after: float | None, least_change: float) -> _Finding:
    """Judge numbers of which some are 0, negative or endless."""
    if before == after:
        return _Finding(Change.SAME, Outcome.UNCHANGED, "the same number")
    is_large = is_relevant(before or 0.0, after or 0.0, least_change=least_change)
    outcome = Outcome.UNDECIDED if is_large else Outcome.UNCHANGED
    doubt = Doubt.WITHOUT_RATIO
    return _Finding(Change.UNCERTAIN, outcome, doubt.value, is_doubtful=is_large, doubt=doubt)


def _of_times(  # noqa: PLR0913 - two sides, and what is known of them
    base: Side, head: Side, evidence: Evidence, *, ratio: float, metric: Metric, context: Context
) -> _Finding:
    """Judge a noisy metric by its evidence, unless something forbids it. ratio: the one that is told; 1 without any."""
    least, most = 1 / (1 + context.limits.least_change), 1 + context.limits.least_change
    low, high = evidence.interval
    is_large = not least < ratio < most
    undecided = Outcome.UNDECIDED if is_large else Outcome.UNCHANGED
    if context.cause is not None:
        # How all moved is a part of their noise then, and no interval of one would say anything.
        return _Finding(
            Change.UNCERTAIN,
            undecided,
            context.cause.value,
            is_doubtful=True,
            is_noise_known=context.cause is not Doubt.MOVED_TOGETHER,
            is_decided=False,
            doubt=context.cause,
        )
    reason, doubt = _doubt(base, head, evidence, metric=metric, context=context)
    if reason is not None:
        is_beyond = evidence.difference.is_disturbed or not low <= 1 <= high
        is_known = bool(evidence.difference.dof) or not any(
            _is_single_number(side.row, metric) for side in (base, head)
        )
        return _Finding(
            Change.UNCERTAIN,
            undecided,
            reason,
            is_doubtful=is_beyond,
            is_noise_known=is_known,
            is_decided=False,
            doubt=doubt,
        )
    if evidence.is_stray and is_large:
        return _Finding(Change.UNCERTAIN, undecided, f"{evidence.words}; {STRAY}", is_doubtful=True)
    if not (evidence.is_significant and is_large):
        unchanged = _unchanged(evidence, context.limits.least_change)
        return _Finding(Change.UNCERTAIN, undecided, reason=None) if is_large else unchanged
    if context.is_control:
        return _Finding(Change.UNCERTAIN, undecided, f"{BASELINE} is no code of ours: torch or the machine did this")
    outcome = outcome_of_change(metric, 1.0, evidence.ratio)
    return _Finding(_CHANGE_OF[outcome], outcome, reason=None)


def _doubt(
    base: Side, head: Side, evidence: Evidence, *, metric: Metric, context: Context
) -> tuple[str | None, Doubt | None]:
    """Return why the two decide nothing, in words, None if they may; and the kind of that."""
    if evidence.difference.is_disturbed:
        found = [one.disturbed for side in (head, base) for one in side.processes if one.disturbed is not None]
        return f"disturbed: {found[0]}", None
    if evidence.difference.dof or (context.has_spread and not context.is_paired):
        return None, None
    if context.is_paired:
        return "one undisturbed round alone", None
    return _doubt_about_one("head", head.row, metric) or _doubt_about_one("base", base.row, metric) or (None, None)


def _doubt_about_one(name: str, row: SeriesValueRow, metric: Metric) -> tuple[str, Doubt | None] | None:
    """Return why one process at a commit decides nothing, as `_doubt` does; None if it may decide."""
    if metric.name in SWEEP_METRICS:
        reason = doubt_about(row.value, low=row.ci_low, high=row.ci_high, disturbed=None)
        return (f"{reason} at the {name}", None) if reason else None
    if _has_interval(row):
        return None
    unknown = "; better direction unknown" if metric.direction is Direction.UNKNOWN else ""
    return f"{Doubt.SINGLE_NUMBER} at the {name}, of which no noise is known{unknown}", Doubt.SINGLE_NUMBER


def _is_single_number(row: SeriesValueRow, metric: Metric) -> bool:
    """Return whether a suite told no interval of a value; the sweep's have one, or a doubt of their own."""
    return not _has_interval(row) and metric.name not in SWEEP_METRICS


def _has_interval(row: SeriesValueRow) -> bool:
    low, high = row.ci_low, row.ci_high
    return low is not None and high is not None and math.isfinite(high - low)
