"""Verdicts on two commits as values: what happened to each series, and what a gate makes of it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from enum import StrEnum
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from results.judgement.comparison.relevant_changes import is_worse, size_of
from results.metrics import Direction, Precision

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from results.judgement.comparison.evidence import Evidence
    from results.judgement.comparison.surfaces import SurfaceEvidence
    from results.metrics import Metric
    from results.rows import KnownChange, SeriesValueRow

LEAST_RELEVANT_CHANGE = 0.05


class Change(StrEnum):
    """What happened to one series between two commits."""

    SLOWER = "slower"  # worse, beyond the noise and relevant
    FASTER = "faster"  # better, likewise
    CHANGED = "changed"  # the same, better direction unknown
    SAME = "same"  # its interval lies within ± the least relevant change
    UNCERTAIN = "uncertain"  # neither: to be measured again
    NEW = "new"
    GONE = "gone"
    STATE_CHANGED = "state changed"
    EXACT_CHANGE = "exact change"
    KNOWN = "known"


class Outcome(StrEnum):
    """What a gate makes of one series."""

    REGRESSION = "regression"
    FAILED = "failed"  # ok at the base; not ok, or gone, at the head
    IMPROVEMENT = "improvement"
    FIXED = "fixed"  # not ok at the base, ok at the head
    KNOWN = "known"  # would be a regression or a failure, but it was acknowledged
    UNDECIDED = "undecided"  # a relevant change that is not certain
    CHANGED = "changed"  # relevant and significant, better direction unknown
    UNCHANGED = "unchanged"


class Doubt(StrEnum):
    """Why nothing is said of a series, where measuring it again would not help; its words, or their beginning."""

    CONTROL_MOVED = "machine or torch changed: eager moved, so nothing is said of kernels"
    MOVED_TOGETHER = "more than half of all series moved together: the machine, or all code; measure the base again"
    SINGLE_NUMBER = "a single number"
    WITHOUT_RATIO = "numbers that are not all positive and finite have no ratio"


# What a person can acknowledge.
EXPLAINABLE = frozenset({Outcome.REGRESSION, Outcome.FAILED, Outcome.UNDECIDED, Outcome.CHANGED})


class Verdict(NamedTuple):
    """Judgement of one series; its value at each commit is the median of all its runs there. A tuple: of thousands.

    ratio: head ÷ base, or None. reason: why it is judged so, in words; None where its evidence alone says it.
    evidence: of a noisy metric that has a value at both, and a noise that is known.
    floor: the relative change that would be found in four of five cases if the other points of the surface changed by
    it, too, whatever is relevant; None where none would, however large.
    is_doubtful: whether it was not measured well enough to be compared. doubt: the kind of its reason, where that has a
    remedy of its own. known: the acknowledged change that explains it, where the outcome is `known`.
    least_change: what was relevant here.
    """

    base: SeriesValueRow
    head: SeriesValueRow
    metric: Metric
    change: Change
    outcome: Outcome
    ratio: float | None
    reason: str | None
    evidence: Evidence | None = None
    floor: float | None = None
    is_doubtful: bool = False
    doubt: Doubt | None = None
    known: KnownChange | None = None
    least_change: float = LEAST_RELEVANT_CHANGE

    @property
    def why(self) -> str:
        """Why it is judged so, in words; of what did not change nobody asks it, and there are thousands."""
        if self.reason is not None:
            return self.reason
        return "" if self.evidence is None else self.evidence.words

    @property
    def may_be_worse(self) -> bool:
        """Whether it was not measured well enough and the head looks worse: what keeps a gate from passing."""
        if self.outcome is not Outcome.UNDECIDED or not self.is_doubtful:
            return False
        if self.metric.precision is Precision.EXACT:
            return True  # a run of the head was, whatever its median is
        return is_worse(self.metric, self.base.value or 0.0, self.head.value or 0.0)

    @property
    def interval(self) -> tuple[float, float] | None:
        """Interval of the ratio, 95 %; None where none is known: what was disturbed is evidence of none."""
        return None if self.evidence is None or self.evidence.difference.is_disturbed else self.evidence.interval

    @property
    def size(self) -> float:
        """Distance of the ratio from 1, as `size_of` gives it."""
        return size_of(self.ratio)


class SurfaceVerdict(NamedTuple):
    """Judgement of the points of one surface together, each measured by both commits in rounds.

    rows: of the points at the head that tell of it; n_points: of all that both commits have. evidence: of the mean over
    the points. least_change: what is relevant at every point. known: as a verdict's.
    """

    rows: tuple[SeriesValueRow, ...]
    n_points: int
    metric: Metric
    outcome: Outcome
    evidence: SurfaceEvidence
    least_change: float
    known: KnownChange | None = None


@dataclass(frozen=True, kw_only=True)
class ControlChange:
    """Change of the control series of a testbed, or without them of all of a metric.

    is_moved: whether it forbids verdicts on other times there. metric: of all, where there are no control series.
    """

    machine: str
    environment: str
    ratio: float
    n_series: int
    is_moved: bool
    metric: str = ""


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """Verdicts on the series of two commits, and the series that only one of them measured.

    only_at_base: those that the head did not set out to measure: its axes are others, or it is from before they were
    first measured, as those are that are not_yet. Series of the base that it should have measured have a verdict,
    `gone`. is_paired: whether both were measured in the same minutes, in rounds. shifts: of testbeds without control
    series in which more than half of all series moved together, how far. n_not_asked: number of series of the base that
    were left out since others were asked for. is_exact_only: whether what was timed was left out.
    failing: series that both measured and that worked at neither, which is no change. surfaces: of rounds, what the
    points of each surface say together. failing_anew: rows that fail at the head, by another ruler or version than that
    by which the base's were ok; commit and ruler are both new to them, and either may be the cause. known_anew: the
    acknowledged changes that explain some of these. failing_besides: rows that fail so while the base's ruler finds the
    head's ok.
    """

    base_commit: str
    head_commit: str
    verdicts: tuple[Verdict, ...]
    only_at_base: tuple[SeriesValueRow, ...]
    only_at_head: tuple[SeriesValueRow, ...]
    least_change: float
    controls: tuple[ControlChange, ...] = ()
    is_paired: bool = False
    shifts: tuple[ControlChange, ...] = ()
    not_yet: tuple[SeriesValueRow, ...] = ()
    n_not_asked: int = 0
    is_exact_only: bool = False
    failing: tuple[SeriesValueRow, ...] = ()
    surfaces: tuple[SurfaceVerdict, ...] = ()
    failing_anew: tuple[SeriesValueRow, ...] = ()
    failing_besides: tuple[SeriesValueRow, ...] = ()
    known_anew: tuple[KnownChange, ...] = ()

    def only(self, series_ids: Collection[int]) -> Judgement:
        """Return the judgement of these series alone, and of the testbeds that they were measured on.

        What is told of control series there stays, whether they are among these or not.
        """

        def chosen(rows: tuple[SeriesValueRow, ...]) -> tuple[SeriesValueRow, ...]:
            return tuple(row for row in rows if row.series_id in series_ids)

        found = replace(
            self,
            verdicts=tuple(verdict for verdict in self.verdicts if verdict.head.series_id in series_ids),
            only_at_base=chosen(self.only_at_base),
            only_at_head=chosen(self.only_at_head),
            not_yet=chosen(self.not_yet),
            failing=chosen(self.failing),
            failing_anew=chosen(self.failing_anew),
            failing_besides=chosen(self.failing_besides),
            surfaces=tuple(one for one in self.surfaces if len(chosen(one.rows)) == len(one.rows)),
        )
        of_verdicts = (verdict.head for verdict in found.verdicts)
        rows = (*of_verdicts, *found.only_at_base, *found.only_at_head, *found.failing, *found.failing_anew)
        places = {(row.machine, row.environment) for row in rows}
        found = replace(found, controls=_at(places, self.controls), shifts=_at(places, self.shifts))
        return replace(found, n_not_asked=self.n_not_asked + self.n_of_base - found.n_of_base)

    def with_outcome(self, *outcomes: Outcome) -> list[Verdict]:
        """Return the verdicts with these outcomes, the largest change first."""
        chosen = [verdict for verdict in self.verdicts if verdict.outcome in outcomes]
        return sorted(chosen, key=lambda verdict: -verdict.size)

    def together(self, *outcomes: Outcome) -> list[SurfaceVerdict]:
        """Return the surfaces of which these outcomes are certain and no point alone has them; largest change first."""
        alone = {(one.head.series_id, one.outcome) for one in self.verdicts}
        chosen = [
            one
            for one in self.surfaces
            if one.outcome in outcomes and one.outcome not in {Outcome.UNDECIDED, Outcome.UNCHANGED}
            if not any((row.series_id, one.outcome) in alone for row in one.rows)
        ]
        return sorted(chosen, key=lambda one: -size_of(one.evidence.ratio))

    @property
    def unknown_anew(self) -> tuple[SeriesValueRow, ...]:
        """Those that fail anew and that no acknowledged change explains: no gate passes on them."""
        known = {change.series_id for change in self.known_anew}
        return tuple(row for row in self.failing_anew if row.series_id not in known)

    @property
    def n_perhaps_worse(self) -> int:
        """Number of series that look worse and were not measured well enough to say."""
        return sum(verdict.may_be_worse for verdict in self.verdicts)

    @property
    def floor(self) -> float | None:
        """Relative change that half of the series with a floor would show; None where no series has one."""
        floors = self._floors
        return median(floors) if floors else None

    @property
    def n_with_floor(self) -> int:
        """Number of noisy series of which it is known how small a change would be seen."""
        return len(self._floors)

    @property
    def n_noisy(self) -> int:
        """Number of series of a noisy metric that were ok at both commits."""
        return sum(
            one.metric.precision is Precision.NOISY and one.base.state == one.head.state == "ok"
            for one in self.verdicts
        )

    @property
    def _floors(self) -> list[float]:
        return [one.floor for one in self.verdicts if one.floor is not None]

    @property
    def n_compared(self) -> int:
        """Number of series that both commits measured, in whatever state."""
        return len(self.verdicts) - self.n_gone

    @property
    def n_gone(self) -> int:
        """Number of series that the head should have measured and did not, known ones included."""
        return sum(verdict.head.state == Change.GONE for verdict in self.verdicts)

    @property
    def n_of_base(self) -> int:
        """Number of series that the base measured."""
        return len(self.verdicts) + len(self.only_at_base)

    @property
    def is_control_moved(self) -> bool:
        """Whether control series moved somewhere: the machine or torch changed."""
        return any(control.is_moved for control in self.controls)

    def count(self) -> Counter[Outcome]:
        """Count the series by outcome."""
        return Counter(verdict.outcome for verdict in self.verdicts)

    def count_changes(self) -> Counter[Change]:
        """Count the series by what happened to them."""
        found = Counter(verdict.change for verdict in self.verdicts)
        return found + Counter({Change.NEW: len(self.only_at_head)})


def _at(places: Collection[tuple[str, str]], changes: Iterable[ControlChange]) -> tuple[ControlChange, ...]:
    return tuple(change for change in changes if (change.machine, change.environment) in places)


def outcome_of_change(metric: Metric, before: float, after: float) -> Outcome:
    """Return the outcome of a change that is certain."""
    if metric.direction is Direction.UNKNOWN:
        return Outcome.CHANGED
    return Outcome.REGRESSION if is_worse(metric, before, after) else Outcome.IMPROVEMENT
