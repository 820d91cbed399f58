"""What `self_check company` says of its rounds: how far times in company lie from the others."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import fmean, median, stdev
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.ruler.checks.conclusion import DISTURBED, concluded, first_cause
from benchmarks.ruler.measure.statistics import median_interval, students_t
from benchmarks.ruler.plan.units import percent, signed_percent

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from benchmarks.ruler.checks.conclusion import Conclusion

UNSURE = "the rounds lie too far apart to tell"
TOO_FEW = "a single round that counts tells nothing"
# Below so many seconds a call is short, and so much may lie between clocks.
_SHORT_S, _MOST_APART, _MOST_APART_IF_SHORT = 20e-6, 0.03, 0.05
_LEAST_ROUNDS = 2
# Of fewer, the interval of the median would reach from the least to the greatest.
_LEAST_FOR_MEDIAN = 9
_HEADS, _WIDE = ("over alone", "over Timer", "over it, one input"), 24


@dataclass(frozen=True, kw_only=True)
class Row:
    """A provider at a shape, once: seconds of a call in company, and how many times as long as otherwise they are.

    over_alone: as alone; over_timer: as by torch's Timer on inputs that rotate as those of the others do; over_single:
    as by it on one input, over and over. Each is the median over turns, of the time in one over that in the nearest
    other. taken: what else took the machine's time in so many turns that the others are too few, or None. A provider
    that failed has no times and a `failure`; a ratio of which no turns lay beside each other is NaN.
    """

    provider: str
    shape: str
    company_s: float = math.nan
    over_alone: float = math.nan
    over_timer: float = math.nan
    over_single: float = math.nan
    taken: str | None = None
    failure: str | None = None


def limit_of(call_s: float) -> float:
    """Return how far apart times of a call of `call_s` may lie, as a part of it."""
    return _MOST_APART_IF_SHORT if call_s < _SHORT_S else _MOST_APART


class Apart(NamedTuple):
    """How far the time in company lies above another, as a part of it, and its 95 % interval over the rounds."""

    middle: float
    low: float
    high: float

    def __str__(self) -> str:
        """Write it as `+1.2 % (-0.4 to +2.9)`; without an interval from a single round, `?` from none."""
        if math.isnan(self.middle):
            return "?"
        if math.isinf(self.high):
            return signed_percent(self.middle)
        low, high = (signed_percent(end).removesuffix(" %") for end in (self.low, self.high))
        return f"{signed_percent(self.middle)} ({low} to {high})"


def apart_from(ratios: Sequence[float]) -> Apart:
    """Return how far ratios lie above 1: their median; of less than nine their geometric mean, by Student's interval.

    A process lies well or badly in memory, and a round in which one did so weighs as much as any in a median. Those
    that are NaN are none.
    """
    known = [ratio for ratio in ratios if not math.isnan(ratio)]
    if not known:
        return Apart(math.nan, -1.0, math.inf)
    if len(known) >= _LEAST_FOR_MEDIAN:
        found = median_interval(known)
        return Apart(found.median - 1, found.low - 1, found.high - 1)
    logs = [math.log(ratio) for ratio in known]
    mean = fmean(logs)
    if len(logs) < _LEAST_ROUNDS:
        return Apart(math.expm1(mean), -1.0, math.inf)
    half = students_t(len(logs) - 1) * stdev(logs) / math.sqrt(len(logs))
    return Apart(math.expm1(mean), math.expm1(mean - half), math.expm1(mean + half))


@dataclass(frozen=True, kw_only=True)
class Case:
    """A provider at a shape in all rounds; those count in which nothing else took the machine's time."""

    rounds: tuple[Row, ...]

    @property
    def counted(self) -> tuple[Row, ...]:
        """Rounds in which nothing else took the machine's time."""
        return tuple(row for row in self.rounds if row.failure is None and row.taken is None)

    @property
    def failure(self) -> str | None:
        """Return why there is no time in some round, or None."""
        return next((row.failure for row in self.rounds if row.failure is not None), None)

    @property
    def company_s(self) -> float:
        """Seconds of a call in company."""
        return median(row.company_s for row in self._shown)

    @property
    def apart(self) -> tuple[Apart, Apart]:
        """How far that lies above the time alone, and above the Timer's where inputs rotate."""
        return (
            apart_from([row.over_alone for row in self._shown]),
            apart_from([row.over_timer for row in self._shown]),
        )

    @property
    def apart_from_single(self) -> Apart:
        """How far it lies above the Timer's on a single input, which rotation is no part of."""
        return apart_from([row.over_single for row in self._shown])

    @property
    def limit(self) -> float:
        """How far they may lie apart."""
        return limit_of(self.company_s)

    @property
    def is_within(self) -> bool | None:
        """Whether company, Timer and solitude agree: their whole intervals; None where one reaches over the limit."""
        if any(one.low > self.limit or one.high < -self.limit for one in self.apart):
            return False
        return True if all(-self.limit <= one.low and one.high <= self.limit for one in self.apart) else None

    @property
    def _shown(self) -> tuple[Row, ...]:
        return self.counted or self.rounds


def report(found: Sequence[Row]) -> tuple[list[str], Conclusion]:
    """Return the lines of a table, and whether all three ways agree wherever nothing else took the machine's time.

    A case fails whose interval lies wholly beyond the limit, and counts as within if all of it lies there; one that
    reaches over the limit tells neither, and is not counted.
    """
    lines = [f"{'provider':16} {'company':>10} {' '.join(f'{head:>{_WIDE}}' for head in _HEADS)}"]
    rounds: dict[tuple[str, str], list[Row]] = {}
    for row in found:
        rounds.setdefault((row.shape, row.provider), []).append(row)
    cases = {key: Case(rounds=tuple(some)) for key, some in rounds.items()}
    for shape in dict.fromkeys(shape for shape, _ in cases):
        lines.append(shape)
        lines += [_line(provider, case) for (name, provider), case in cases.items() if name == shape]
    timed = {key: case for key, case in cases.items() if case.failure is None}
    lines += _lines_of_all(timed)
    counted = [case for case in timed.values() if case.counted]
    judged = [case.is_within for case in counted if case.is_within is not None]
    n_single = sum(len(case.counted) < _LEAST_ROUNDS for case in counted)
    n_failed = len(cases) - len(timed)
    words = f"{sum(judged)} of {len(judged)} within 3 % of both (5 % below 20 µs)"
    if n_failed:
        words += f"; {n_failed} have no time"
    return lines, concluded(
        words,
        holds=all(judged) and not n_failed,
        n_counted=len(judged) + n_failed,
        not_counted={
            DISTURBED: len(timed) - len(counted),
            TOO_FEW: n_single,
            UNSURE: len(counted) - len(judged) - n_single,
        },
    )


def _line(provider: str, case: Case) -> str:
    if case.failure is not None:
        return f"  {provider:14} {case.failure}"
    columns = _columns((*case.apart, case.apart_from_single))
    return f"  {provider:14} {case.company_s * 1e6:7.1f} µs {columns}  {_verdict_on(case)}"


def _lines_of_all(timed: Mapping[tuple[str, str], Case]) -> list[str]:
    """Return what all shapes of a provider say together, of those of which there are several."""
    lines = []
    for provider in dict.fromkeys(provider for _, provider in timed):
        of_all = [case for (_, name), case in timed.items() if name == provider and case.counted]
        if len(of_all) >= _LEAST_ROUNDS:
            middles = zip(*((*case.apart, case.apart_from_single) for case in of_all), strict=True)
            columns = _columns([apart_from([1 + one.middle for one in column]) for column in middles])
            lines.append(f"  {provider:14} {f'{len(of_all)} shapes':>10} {columns}")
    return ["all shapes of a provider together", *lines] if lines else []


def _columns(found: Sequence[Apart]) -> str:
    return " ".join(f"{one!s:>{_WIDE}}" for one in found)


def _verdict_on(case: Case) -> str:
    if not case.counted:
        return f"not counted: {first_cause(case.rounds[-1].taken or '')}"
    words = {True: "within", False: f"beyond {percent(case.limit)}", None: "cannot be told"}[case.is_within]
    left = f", {len(case.counted)} of {len(case.rounds)} rounds counted"
    return words + (left if len(case.counted) < len(case.rounds) else "")
