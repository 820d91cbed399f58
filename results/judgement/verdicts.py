"""Verdicts on the series of two commits, and the exit code they lead to; pure."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from results.exit_codes import ExitCode
from results.files.records import State
from results.judgement.noise import Evidence, Observation, difference_between, doubt_about
from results.metrics import SWEEP_METRICS, Direction, Metric, Precision, Role, metric_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from results.rows import HistoryValue, KnownChange, KnownLevel, SeriesValueRow

LEAST_RELEVANT_CHANGE = 0.05


class Outcome(StrEnum):
    """Outcome of one series between two commits."""

    REGRESSION = "regression"
    FAILED = "failed"  # ok at the base, not ok at the head
    IMPROVEMENT = "improvement"
    FIXED = "fixed"  # not ok at the base, ok at the head
    KNOWN = "known"  # would be a regression or a failure, but it was acknowledged
    UNDECIDED = "undecided"  # slower or faster, but the measurement was disturbed or is not known well enough
    CHANGED = "changed"  # relevant and significant, better direction unknown
    UNCHANGED = "unchanged"


# What a person can acknowledge.
EXPLAINABLE = frozenset({Outcome.REGRESSION, Outcome.FAILED, Outcome.UNDECIDED, Outcome.CHANGED})


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """Judgement of one series that was measured at both commits.

    ratio: head ÷ base, or None. known: the acknowledged change that explains it, where the outcome is `known`.
    """

    base: SeriesValueRow
    head: SeriesValueRow
    metric: Metric
    outcome: Outcome
    ratio: float | None
    why: str
    known: KnownChange | None = None

    @property
    def may_be_worse(self) -> bool:
        """Whether it is undecided and the head looks worse: what keeps a gate from passing."""
        if self.outcome is not Outcome.UNDECIDED or self.base.value is None or self.head.value is None:
            return False
        return _outcome(self.metric, self.base.value, self.head.value) is not Outcome.IMPROVEMENT


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """Verdicts on the series measured at both commits, and the series that only one of them measured."""

    base_commit: str
    head_commit: str
    verdicts: tuple[Verdict, ...]
    only_at_base: tuple[SeriesValueRow, ...]
    only_at_head: tuple[SeriesValueRow, ...]
    least_change: float

    def with_outcome(self, *outcomes: Outcome) -> list[Verdict]:
        """Return the verdicts with these outcomes, the largest change first."""
        chosen = [verdict for verdict in self.verdicts if verdict.outcome in outcomes]
        return sorted(chosen, key=lambda verdict: -abs((verdict.ratio or 1.0) - 1.0))

    @property
    def n_perhaps_worse(self) -> int:
        """Number of undecided series whose head looks worse."""
        return sum(verdict.may_be_worse for verdict in self.verdicts)

    def count(self) -> Counter[Outcome]:
        """Count the series by outcome."""
        return Counter(verdict.outcome for verdict in self.verdicts)


def judge(
    base: Sequence[SeriesValueRow],
    head: Sequence[SeriesValueRow],
    *,
    base_commit: str,
    head_commit: str,
    least_change: float = LEAST_RELEVANT_CHANGE,
) -> Judgement:
    """Compare the values of two commits, series by series.

    Metrics that only explain others are left out. least_change: smallest relative change of a noisy metric that is
    relevant.
    """
    at_base = {row.series_id: row for row in base if _is_judged(row)}
    at_head = {row.series_id: row for row in head if _is_judged(row)}
    both = [series_id for series_id in at_base if series_id in at_head]
    pairs = [(at_base[series_id], at_head[series_id]) for series_id in both]
    return Judgement(
        base_commit=base_commit,
        head_commit=head_commit,
        verdicts=tuple(
            verdict_on(one, other, least_change=least_change)
            for one, other in pairs
            if State.OK in {one.state, other.state}  # what never worked is no change
        ),
        only_at_base=tuple(row for key, row in at_base.items() if key not in at_head and _is_ok(row)),
        only_at_head=tuple(row for key, row in at_head.items() if key not in at_base and _is_ok(row)),
        least_change=least_change,
    )


def verdict_on(base: SeriesValueRow, head: SeriesValueRow, *, least_change: float) -> Verdict:
    """Judge one series."""
    metric = metric_of(base.metric, unit=base.unit)
    outcome, ratio, why = Outcome.UNCHANGED, None, Evidence.SAME.value
    if not _is_ok(head):
        outcome, why = Outcome.FAILED, f"{head.state}: {head.reason or 'no reason given'}"
    elif not _is_ok(base):
        outcome, why = Outcome.FIXED, f"was {base.state}"
    elif base.value is not None and head.value is not None:
        ratio = head.value / base.value if base.value else None
        is_change, why = _changed(base, head, metric=metric, least_change=least_change)
        outcome = _outcome(metric, base.value, head.value) if is_change else Outcome.UNCHANGED
        doubt = _doubt(base, head, metric=metric)
        if doubt is not None and _is_relevant(base.value, head.value, least_change=least_change):
            outcome, why = Outcome.UNDECIDED, doubt
    return Verdict(base=base, head=head, metric=metric, outcome=outcome, ratio=ratio, why=why)


def in_question(judgement: Judgement) -> list[int]:
    """Return the ids of the series that an acknowledged change could explain: all that are worse or changed."""
    return [verdict.head.series_id for verdict in judgement.verdicts if _is_explainable(verdict)]


def with_known(judgement: Judgement, levels: Iterable[KnownLevel]) -> Judgement:
    """Return the judgement with `known` for each series that an acknowledged change explains.

    It explains a value no worse than the one at its own commit, as long as the series did not recover in between;
    whatever came on top of it keeps its outcome.
    """
    of_series = {level.change.series_id: level for level in levels}
    return replace(
        judgement,
        verdicts=tuple(
            _explained(verdict, of_series[verdict.head.series_id], least_change=judgement.least_change)
            if _is_explainable(verdict) and verdict.head.series_id in of_series
            else verdict
            for verdict in judgement.verdicts
        ),
    )


def exit_code(judgement: Judgement) -> ExitCode:
    """Return the gate's exit code: failed before regression before nothing comparable before fine.

    An undecided series that looks worse was not measured well enough to be compared, so the gate does not pass.
    """
    outcomes = judgement.count()
    if outcomes[Outcome.FAILED]:
        return ExitCode.FAILED
    if outcomes[Outcome.REGRESSION]:
        return ExitCode.REGRESSION
    if not judgement.verdicts or judgement.n_perhaps_worse:
        return ExitCode.NOTHING_COMPARABLE
    return ExitCode.FINE


def _explained(verdict: Verdict, level: KnownLevel, *, least_change: float) -> Verdict:
    def is_worse(base: SeriesValueRow, head: SeriesValueRow) -> bool:
        return _is_explainable(verdict_on(base, head, least_change=least_change))

    base, head, change = verdict.base, verdict.head, level.change
    known = _row_of(head, level.value)
    has_recovered = any(_is_ok(row) and not is_worse(base, row) for row in (_row_of(head, one) for one in level.later))
    is_at_level = known.state == head.state and (not _is_ok(head) or not is_worse(known, head))
    if is_at_level and not has_recovered:
        return replace(verdict, outcome=Outcome.KNOWN, why=change.reason, known=change)
    return replace(verdict, why=f"{verdict.why}; not the known change at {change.commit[:8]}")


def _row_of(row: SeriesValueRow, value: HistoryValue) -> SeriesValueRow:
    """Return the value of the same series at another run; histories have no samples."""
    return replace(
        row,
        commit=value.commit,
        state=value.state,
        reason=value.reason,
        value=value.value,
        ci_low=value.ci_low,
        ci_high=value.ci_high,
        samples=None,
    )


def _changed(base: SeriesValueRow, head: SeriesValueRow, *, metric: Metric, least_change: float) -> tuple[bool, str]:
    before, after = _observation(base), _observation(head)
    if metric.precision is Precision.EXACT:
        return before.value != after.value, "exact"
    # Relevance first: it is cheap, and most series have not moved.
    if not _is_relevant(before.value, after.value, least_change=least_change):
        return False, f"less than {least_change:.0%}"
    evidence = difference_between(before, after)
    return evidence not in {Evidence.SAME, Evidence.TOO_FEW}, evidence.value


def _is_relevant(before: float, after: float, *, least_change: float) -> bool:
    smaller, larger = sorted((abs(before), abs(after)))
    return larger != 0 and (before * after <= 0 or larger / smaller >= 1 + least_change)


def _doubt(base: SeriesValueRow, head: SeriesValueRow, *, metric: Metric) -> str | None:
    """Return why the two decide nothing. Other suites' values are judged by the intervals they come with."""
    if metric.name not in SWEEP_METRICS or metric.precision is Precision.EXACT:
        return None
    for side, row in (("head", head), ("base", base)):
        doubt = doubt_about(row.value, low=row.ci_low, high=row.ci_high, disturbed=row.reason)
        if doubt is not None:
            return doubt if row.reason else f"{doubt} at the {side}"
    return None


def _is_explainable(verdict: Verdict) -> bool:
    return verdict.outcome in EXPLAINABLE and (verdict.outcome is not Outcome.UNDECIDED or verdict.may_be_worse)


def _outcome(metric: Metric, before: float, after: float) -> Outcome:
    if metric.direction is Direction.UNKNOWN:
        return Outcome.CHANGED
    is_worse = after > before if metric.direction is Direction.LOWER else after < before
    return Outcome.REGRESSION if is_worse else Outcome.IMPROVEMENT


def _observation(row: SeriesValueRow) -> Observation:
    has_interval = row.ci_low is not None and row.ci_high is not None
    return Observation(
        value=row.value or 0.0,
        interval=(row.ci_low or 0.0, row.ci_high or 0.0) if has_interval else None,
        samples=row.samples,
    )


def _is_ok(row: SeriesValueRow) -> bool:
    return row.state == State.OK


def _is_judged(row: SeriesValueRow) -> bool:
    return metric_of(row.metric, unit=row.unit).role is Role.JUDGED
