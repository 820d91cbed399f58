"""What `self_check company` says of its rounds: how far times in company lie from the others."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import fmean, median, stdev
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.ruler.checks.conclusion import DISTURBED, concluded, first_cause
from benchmarks.ruler.measure.statistics import students_t
from benchmarks.ruler.plan.units import percent, signed_percent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.ruler.checks.conclusion import Conclusion

UNSURE = "the rounds lie too far apart to tell"
TOO_FEW = "a single round that counts tells nothing"
# Below so many seconds a call is short, and so much may lie between clocks.
_SHORT_S, _MOST_APART, _MOST_APART_IF_SHORT = 20e-6, 0.03, 0.05
_LEAST_ROUNDS = 2


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
    """Return how far ratios lie above 1: their geometric mean, with Student's interval of their logarithms.

    Those that are NaN are none.
    """
    logs = [math.log(ratio) for ratio in ratios if not math.isnan(ratio)]
    if not logs:
        return Apart(math.nan, -1.0, math.inf)
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
        return _MOST_APART_IF_SHORT if self.company_s < _SHORT_S else _MOST_APART

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
    wide = max((len(row.shape) for row in found), default=0)
    heads = "over alone", "over Timer", "over it, one input"
    lines = [f"{'provider':14} {'shape':{wide}} {'company':>10} {' '.join(f'{head:>26}' for head in heads)}"]
    rounds: dict[tuple[str, str], list[Row]] = {}
    for row in found:
        rounds.setdefault((row.provider, row.shape), []).append(row)
    cases = {key: Case(rounds=tuple(some)) for key, some in rounds.items()}
    for (provider, shape), case in cases.items():
        if case.failure is not None:
            lines.append(f"{provider:14} {shape:{wide}} {case.failure}")
            continue
        alone, timer, single = map(str, (*case.apart, case.apart_from_single))
        lines.append(
            f"{provider:14} {shape:{wide}} {case.company_s * 1e6:7.1f} µs {alone:>26} {timer:>26} {single:>26}  "
            f"{_verdict_on(case)}"
        )
    timed = {key: case for key, case in cases.items() if case.failure is None}
    for provider in dict.fromkeys(provider for provider, _ in timed):
        of_all = [case for (name, _), case in timed.items() if name == provider and case.counted]
        if len(of_all) >= _LEAST_ROUNDS:
            middles = zip(*((*case.apart, case.apart_from_single) for case in of_all), strict=True)
            columns = (f"{apart_from([1 + one.middle for one in column])!s:>26}" for column in middles)
            lines.append(f"{provider:14} {f'{len(of_all)} shapes':{wide}} {'':10} {' '.join(columns)}")
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


def _verdict_on(case: Case) -> str:
    if not case.counted:
        return f"not counted: {first_cause(case.rounds[-1].taken or '')}"
    words = {True: "within", False: f"beyond {percent(case.limit)}", None: "cannot be told"}[case.is_within]
    left = f", {len(case.counted)} of {len(case.rounds)} rounds counted"
    return words + (left if len(case.counted) < len(case.rounds) else "")
