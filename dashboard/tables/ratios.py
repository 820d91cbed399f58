"""Ratios of points between sides: commits, providers, machines or environments, each against the first."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from dashboard.tables.changes import CONTRADICTION, WORDS, word_of
from results.judgement.thresholds import Limits, limits_of_rows, metric_of_row
from results.judgement.verdicts import LEAST_RELEVANT_CHANGE, Outcome, differs
from results.measuring_again import other_version
from results.metrics import Direction, Precision
from results.printable import printable_line
from results.rows import parameters_in_words

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from results.judgement.thresholds import Threshold
    from results.judgement.verdicts import Judgement, Verdict
    from results.rows import ParameterValue, SeriesValueRow

Key = tuple[str, frozenset["ParameterValue"]]
CERTAIN = frozenset(
    {Outcome.FAILED, Outcome.REGRESSION, Outcome.IMPROVEMENT, Outcome.FIXED, Outcome.CHANGED, Outcome.KNOWN}
)
BAD, GOOD = "bad", "good"
KINDS = {Outcome.REGRESSION: BAD, Outcome.FAILED: BAD, Outcome.IMPROVEMENT: GOOD, Outcome.FIXED: GOOD}
DIFFERS = "differs"
NOISE_UNKNOWN = "noise not known"
WORKS = "works here"
USUAL = Limits(least_change=LEAST_RELEVANT_CHANGE)
WITHOUT_RATIO = -1.0
# What was tried and did not work; that a side does not offer a point is no fault of it.
FAULTY = frozenset({"out_of_memory", "wrong", "crashed", "timed_out", "failed"})
OF_NO_RATIO = {True: math.inf, False: WITHOUT_RATIO}
WITHOUT_DIRECTION = frozenset({DIFFERS, WORDS[Outcome.CHANGED]})


class Ratio(NamedTuple):
    """One point of one side over the same of the first side. word: what became of it; kind: good, bad, or neither.

    ratio: None where one of the two has no value; low, high: its 95 % interval, None where unknown. A tuple, as its row
    is, because there are thousands.
    """

    value: float | None
    ratio: float | None
    low: float | None
    high: float | None
    is_significant: bool
    word: str
    kind: str


class RatioRow(NamedTuple):
    """Point with its value at the first side, and its ratio at each other one; None where it was not measured.

    One that another ruler or version measured has a Ratio without a ratio, whose word says so.

    size: largest change, a logarithm; infinite where something changed certainly and has no ratio, as what fails now,
    and WITHOUT_RATIO where nothing has one.
    """

    name: str
    base: SeriesValueRow
    ratios: tuple[Ratio | None, ...]
    size: float

    @property
    def has_ratio(self) -> bool:
        """Whether it has a ratio at any side."""
        return any(one is not None and one.ratio for one in self.ratios)

    @property
    def is_significant(self) -> bool:
        """Whether it changed at any side beyond its noise."""
        return any(one is not None and one.is_significant for one in self.ratios)


@dataclass(frozen=True, kw_only=True)
class Mean:
    """Geometric mean of a side's ratios, every point with one weight. low, high: the tenth and ninetieth percentile.

    n: points in it. n_without: points of the first side without a ratio there; n_only: points only this side has.
    n_counted: of those without a ratio, the ones that count as worse, better, changed or undecided, as what fails now.
    n_changed: points that changed certainly, of which it is not known which way is better. n_unknown: of those in it,
    the ones without an interval, which nothing certain can be said of. n_undecided: what looks changed and is not
    known well enough.
    """

    mean: float | None
    low: float | None
    high: float | None
    n: int
    n_without: int
    n_only: int
    n_worse: int
    n_better: int
    n_counted: int = 0
    n_changed: int = 0
    n_unknown: int = 0
    n_undecided: int = 0

    @property
    def is_of_unknown_noise(self) -> bool:
        """Whether nothing certain can be said of any point in it."""
        return self.n_unknown == self.n > 0


def are_unlike_their_values(rows: Iterable[RatioRow]) -> bool:
    """Return whether some ratio is another than that of the two values, as of a judgement of commits."""
    told = [(row.base.value, one) for row in rows if row.base.value for one in row.ratios if one is not None]
    quotients = [one.ratio * base / one.value for base, one in told if one.ratio and one.value]
    return bool(quotients) and (max(quotients) > 1 + CONTRADICTION or min(quotients) < 1 - CONTRADICTION)


def key_of(row: SeriesValueRow, *, without: Collection[str] = ()) -> Key:
    """Return what a point is matched by: its benchmark and its parameters, but for those that tell sides apart."""
    return row.benchmark, _own(row.parameters, frozenset(without))


@lru_cache(maxsize=32768)  # a point has the same ones on each side, and at each of its metrics
def _own(parameters: tuple[ParameterValue, ...], without: frozenset[str]) -> frozenset[ParameterValue]:
    return frozenset([one for one in parameters if one.name not in without])


def shared_parameters(rows: Iterable[SeriesValueRow]) -> tuple[ParameterValue, ...]:
    """Return the parameters with one value in all rows of all their benchmarks, which need no mention at each."""
    first, *others = [row.parameters for row in rows] or [()]
    shared = frozenset(first if others else ())
    for parameters in others:
        shared &= frozenset(parameters)
        if not shared:
            break
    return tuple(sorted(shared, key=lambda one: one.name))


def name_of(row: SeriesValueRow, *, without: Collection[str] = ()) -> str:
    """Write a point: its benchmark and its parameters."""
    return _name(row.benchmark, row.parameters, frozenset(without))


@lru_cache(maxsize=32768)  # a point has one name at every commit
def _name(benchmark: str, parameters: tuple[ParameterValue, ...], without: frozenset[str]) -> str:
    words = parameters_in_words(parameters, without=without)
    return printable_line(f"{benchmark} [{words}]" if words else benchmark)


def rows_from_values(
    sides: Sequence[Mapping[Key, SeriesValueRow]],
    *,
    unnamed: Collection[str] = (),
    least_change: float = LEAST_RELEVANT_CHANGE,
    thresholds: Sequence[Threshold] = (),
) -> list[RatioRow]:
    """Compare the values of sides; the interval of a ratio is the widest that both values' intervals allow.

    unnamed: parameters that a point's name leaves out. least_change, thresholds: what is relevant. Largest first.
    """
    base, *others = sides
    limits = limits_of_rows(base, thresholds, least_change)
    rows = base.items()
    columns = [[ratio_of(row, side[key], limits[key]) if key in side else None for key, row in rows] for side in others]
    return _rows_from_columns(base.values(), columns, unnamed=unnamed)


def rows_from_judgements(
    judgements: Sequence[Judgement], sides: Sequence[Mapping[Key, SeriesValueRow]], *, unnamed: Collection[str] = ()
) -> list[RatioRow]:
    """Compare commits as the gate does: what a verdict says of a point is its ratio; without one, its state there.

    Ordered as `rows_from_values`.
    """
    base, *others = sides
    columns = [_ratios_of(judgement, base, side) for judgement, side in zip(judgements, others, strict=True)]
    return _rows_from_columns(base.values(), columns, unnamed=unnamed)


def _rows_from_columns(
    base: Collection[SeriesValueRow], columns: Sequence[Sequence[Ratio | None]], *, unnamed: Collection[str]
) -> list[RatioRow]:
    """Return the rows of the first side's values and the others' ratios; the largest change first, then by name.

    What fails now is larger than any: among thousands nobody would find it behind what did not change.
    """
    without = frozenset(unnamed)
    names = [name_of(row, without=without) for row in base]
    sizes = [
        [
            WITHOUT_RATIO if one is None else abs(math.log(one.ratio)) if one.ratio else OF_NO_RATIO[one.is_significant]
            for one in column
        ]
        for column in columns
    ]
    largest = sizes[0] if len(sizes) == 1 else list(map(max, zip(*sizes, strict=True)))
    rows = sorted(map(RatioRow, names, base, zip(*columns, strict=True), largest), key=attrgetter("name"))
    return sorted(rows, key=attrgetter("size"), reverse=True)


def _ratios_of(
    judgement: Judgement, base: Mapping[Key, SeriesValueRow], head: Mapping[Key, SeriesValueRow]
) -> list[Ratio | None]:
    """Return the ratio of each point of the first side, in its order."""
    of_series = dict(map(_from_verdict, judgement.verdicts))
    revisions = (judgement.base_commit, judgement.head_commit)
    return [of_series.get(row.series_id) or _without_verdict(head.get(key), revisions) for key, row in base.items()]


def _without_verdict(head: SeriesValueRow | None, revisions: tuple[str, str]) -> Ratio | None:
    """Return the state of a point that the head has and no verdict is of, or how it was measured where it has a value.

    It works at neither commit, or the head measured it by another ruler or version.
    """
    if head is None:
        return None
    return _of_state(head, word=None if head.value is None else other_version(head.metric, revisions).how)


def ratio_of(base: SeriesValueRow, head: SeriesValueRow, limits: Limits = USUAL) -> Ratio:
    """Compare two values: certain where it is relevant and their intervals are apart, or both are exact.

    What fails at one side and works at the other is certain, too, and worse at the one where it fails. Two rulers'
    values, or two versions', have no ratio, unless they were joined.
    """
    if base.value is None or head.value is None:
        return _of_states(base, head)
    if base.version != head.version and base.series_id != head.series_id:
        return _of_state(head, word=other_version(head.metric, ("", "")).how)
    if base.value <= 0 or head.value <= 0:
        return Ratio(head.value, ratio=None, low=None, high=None, is_significant=False, word="no ratio", kind="")
    ratio, low, high = head.value / base.value, None, None
    ends = (base.ci_low, base.ci_high, head.ci_low, head.ci_high)
    if all(end is not None and 0 < end < math.inf for end in ends):
        low, high = (head.ci_low or 0) / (base.ci_high or 1), (head.ci_high or 0) / (base.ci_low or 1)
    metric = limits.applied_to(metric_of_row(base))
    if metric.precision is Precision.EXACT:  # what is counted has no interval and needs none
        is_significant = differs(metric, base.value, head.value)
    else:
        is_apart = low is not None and high is not None and not low <= 1 <= high
        is_significant = is_apart and abs(math.log(ratio)) >= math.log1p(limits.least_change)
    direction = metric.direction
    is_known = low is not None or metric.precision is Precision.EXACT
    word, kind = "no certain difference" if is_known else NOISE_UNKNOWN, ""
    if is_significant and direction is Direction.UNKNOWN:
        word = DIFFERS
    elif is_significant:
        is_worse = (ratio > 1) is (direction is Direction.LOWER)
        word, kind = ("worse", BAD) if is_worse else ("better", GOOD)
    return Ratio(value=head.value, ratio=ratio, low=low, high=high, is_significant=is_significant, word=word, kind=kind)


def _of_states(base: SeriesValueRow, head: SeriesValueRow) -> Ratio:
    """Tell of a point that has no value at one side, or at neither, whether it is for a fault of one alone."""
    if head.value is None:
        return _of_state(head, kind=BAD if base.value is not None and head.state in FAULTY else "")
    return _of_state(head, word=WORKS, kind=GOOD if base.state in FAULTY else "")


def _of_state(head: SeriesValueRow, *, word: str | None = None, kind: str = "") -> Ratio:
    word = word or head.state.replace("_", " ")
    return Ratio(head.value, ratio=None, low=None, high=None, is_significant=bool(kind), word=word, kind=kind)


def mean_of(rows: Sequence[RatioRow], side: int, *, n_only: int) -> Mean:
    """Return the geometric mean of one side's ratios, and what it does not cover."""
    found = [one for row in rows if (one := row.ratios[side]) is not None]
    logs = sorted([math.log(one.ratio) for one in found if one.ratio])
    n, undecided = len(logs), WORDS[Outcome.UNDECIDED]
    certain = [one for one in found if one.is_significant]
    words = Counter([one.word for one in found])
    return Mean(
        mean=math.exp(math.fsum(logs) / n) if n else None,
        low=math.exp(logs[n // 10]) if n else None,
        high=math.exp(logs[-1 - n // 10]) if n else None,
        n=n,
        n_without=len(rows) - n,
        n_only=n_only,
        n_worse=sum(one.kind == BAD for one in certain),
        n_better=sum(one.kind == GOOD for one in certain),
        n_counted=sum(one.is_significant or one.word == undecided for one in found if not one.ratio),
        n_changed=sum(one.word in WITHOUT_DIRECTION for one in certain),
        n_unknown=words[NOISE_UNKNOWN],
        n_undecided=words[undecided],
    )


def _from_verdict(verdict: Verdict) -> tuple[int, Ratio]:
    """Return the series, and its ratio."""
    head, evidence, outcome, ratio = verdict.head, verdict.evidence, verdict.outcome, verdict.ratio
    if ratio is not None and ratio <= 0:
        ratio = None
    # Of a disturbed point the quotient of the two values is told, which the evidence's interval is not of.
    low, high = evidence.interval if evidence is not None and evidence.ratio == ratio else (None, None)
    word, kind = word_of(verdict), KINDS.get(outcome, "")
    return head.series_id, Ratio(head.value, ratio, low, high, outcome in CERTAIN, word, kind)
