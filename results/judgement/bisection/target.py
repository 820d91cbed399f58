"""What a bisection follows: the series in which its ends differ most, and by how much; pure."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from statistics import fmean
from typing import TYPE_CHECKING

from results.judgement.outcomes import Change, Outcome
from results.judgement.sides import BASELINE, surface_of
from results.metrics import LATENCY

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable

    from results.judgement.outcomes import Judgement, SurfaceVerdict, Verdict
    from results.rows import ParameterValue, SeriesValueRow

_OF_SURFACE = ("provider", "weights", "pass")
Key = tuple[str, str, tuple[tuple[str, float | bool | str | None], ...]]


class Kind(StrEnum):
    """How the ends differ, and so how a trial is compared: statistically, by exact numbers, by how it ended."""

    TIME = "time"
    COUNT = "count"
    STATE = "state"


@dataclass(frozen=True, kw_only=True)
class Followed:
    """Series that a bisection follows.

    change: between the ends; log ratio of a TIME, difference of a COUNT, 1 of a STATE.
    """

    benchmark: str
    metric: str
    parameters: tuple[ParameterValue, ...]
    change: float

    @property
    def key(self) -> Key:
        """Name of the series that does not depend on the store."""
        return self.benchmark, self.metric, tuple(sorted((one.name, one.value) for one in self.parameters))


@dataclass(frozen=True, kw_only=True)
class Target:
    """Series of one surface in which the bad end is worse, or better where it is worse in none.

    n_compared: how many series of the surface the ends have.
    """

    kind: Kind
    is_worse: bool
    series: tuple[Followed, ...]
    n_compared: int

    @property
    def change(self) -> float:
        """Change of the ends in all series: their mean, each weighted by its own."""
        weights = [abs(one.change) for one in self.series]
        return sum(w * one.change for w, one in zip(weights, self.series, strict=True)) / sum(weights)

    @property
    def benchmark(self) -> str:
        """Benchmark that all series are of."""
        return self.series[0].benchmark

    @property
    def metric(self) -> str:
        """Metric that all series are of."""
        return self.series[0].metric

    @property
    def surface(self) -> tuple[ParameterValue, ...]:
        """Parameters that all series share by being of one surface: provider, weights, pass."""
        return tuple(one for one in self.series[0].parameters if one.name in _OF_SURFACE)

    @property
    def provider(self) -> str | None:
        """Provider that all series are of, None for benchmarks without."""
        return next((str(one.value) for one in self.surface if one.name == "provider"), None)


def key_of(row: SeriesValueRow) -> Key:
    """Return the name of a series that does not depend on the store."""
    return row.benchmark, row.metric, tuple(sorted((one.name, one.value) for one in row.parameters))


def target_of(judgement: Judgement, *, metric: str | None = None) -> Target | None:
    """Return what to follow from good to bad end by the judgement on them; None if they do not differ.

    What fails goes before what got slower, that before counts that grew, and all before what got better. Of several
    surfaces the one that changed most, certain points before what a surface's points say together. metric: only series
    of it.
    """
    mine = [one for one in judgement.verdicts if metric in {None, one.head.metric} and not _is_baseline(one)]
    for outcomes, is_worse in (
        ((Outcome.FAILED, Outcome.REGRESSION), True),
        ((Outcome.FIXED, Outcome.IMPROVEMENT), False),
    ):
        for kind in (Kind.STATE, Kind.TIME, Kind.COUNT):
            found = [one for one in mine if one.outcome in outcomes and _kind(one) is kind]
            if found:
                return _largest(found, mine, kind=kind, is_worse=is_worse)
            surfaces = [one for one in judgement.together(*outcomes) if metric in {None, one.metric.name}]
            if kind is Kind.TIME and surfaces:
                return _of_surface(surfaces[0], is_worse=is_worse)
    return None


def _of_surface(verdict: SurfaceVerdict, *, is_worse: bool) -> Target:
    """Return all points of a surface, of which only their mean is certain: each is to have changed by that."""
    change = math.log(verdict.evidence.ratio)
    series = [
        Followed(benchmark=row.benchmark, metric=row.metric, parameters=row.parameters, change=change)
        for row in verdict.rows
    ]
    return Target(kind=Kind.TIME, is_worse=is_worse, series=tuple(series), n_compared=len(series))


def _is_baseline(verdict: Verdict) -> bool:
    return any(one.name == "provider" and one.value == BASELINE for one in verdict.head.parameters)


def _kind(verdict: Verdict) -> Kind | None:
    match verdict.change:
        case Change.STATE_CHANGED | Change.GONE:
            # A point that fails has none of its metrics; one tells it.
            return Kind.STATE if verdict.head.metric == LATENCY.name else None
        case Change.SLOWER | Change.FASTER:
            return Kind.TIME
        case Change.EXACT_CHANGE:
            return Kind.COUNT
        case _:
            return None


def _change_of(verdict: Verdict, kind: Kind) -> float:
    match kind:
        case Kind.STATE:
            return 1.0
        case Kind.TIME:
            return math.log(verdict.ratio or 1.0)
        case Kind.COUNT:
            return (verdict.head.value or 0.0) - (verdict.base.value or 0.0)


def _relative(verdict: Verdict, kind: Kind) -> float:
    change = abs(_change_of(verdict, kind))
    return change / max(abs(verdict.base.value or 0.0), 1e-300) if kind is Kind.COUNT else change


def _largest(found: Iterable[Verdict], all_verdicts: Iterable[Verdict], *, kind: Kind, is_worse: bool) -> Target:
    of_surface = _grouped(found, lambda one: surface_of(one.head))
    surface = max(of_surface, key=lambda name: fmean(_relative(one, kind) for one in of_surface[name]))
    return Target(
        kind=kind,
        is_worse=is_worse,
        series=tuple(
            Followed(
                benchmark=one.head.benchmark,
                metric=one.head.metric,
                parameters=one.head.parameters,
                change=_change_of(one, kind),
            )
            for one in of_surface[surface]
        ),
        n_compared=sum(surface_of(one.head) == surface for one in all_verdicts),
    )


def _grouped(verdicts: Iterable[Verdict], name_of: Callable[[Verdict], Hashable]) -> dict[Hashable, list[Verdict]]:
    found: dict[Hashable, list[Verdict]] = {}
    for one in verdicts:
        found.setdefault(name_of(one), []).append(one)
    return found
