"""Repeatability of series: how much they vary from run to run while nothing changes, and what that makes invisible.

Pure. The floor is that of the comparison of two commits: the runs of one commit are dealt to two sides and compared,
with control series and without.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, replace
from statistics import fmean, median
from typing import TYPE_CHECKING

import numpy as np

from results.judgement.comparison.evidence import compare
from results.judgement.comparison.moderation import LEAST_SD, Prior, priors_of
from results.judgement.comparison.processes import LEAST_CONTROLS, controls_of
from results.judgement.sides import is_control, pairs_of, sides_of, surface_of, with_controls
from results.metrics import Precision, Role, metric_of

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence

    from results.judgement.comparison.evidence import Evidence
    from results.judgement.comparison.processes import Pair
    from results.judgement.findings import Surface
    from results.rows import ParameterValue, SeriesValueRow

LEAST_RUNS = 3
"""Runs of one commit from which on their own spread counts; with fewer, that of the series' history."""


@dataclass(frozen=True, kw_only=True)
class _Spread:
    """Spread of a series from run to run. sd: its own; prior: moderated, as comparisons take it."""

    sd: float
    prior: Prior


@dataclass(frozen=True, kw_only=True)
class SeriesNoise:
    """Noise of a series at one commit; relative, 0.01 for 1 %, None where nothing tells it.

    sd: standard deviation from run to run; corrected_sd: without what control series share. floor: smallest change that
    a comparison of two commits with half as many runs each as here finds in 80 % of cases; with corrected_floor the
    machine's part is taken out. is_by_history: whether runs of other commits tell it, for want of runs of this one.
    differs: whether the halves of these runs were told apart, which is a false finding.
    """

    row: SeriesValueRow
    n_runs: int
    n_processes: int
    n_disturbed: int
    sd: float | None
    corrected_sd: float | None
    floor: float
    corrected_floor: float
    is_by_history: bool
    differs: bool


@dataclass(frozen=True, kw_only=True)
class SurfaceNoise:
    """Noise of a surface: of its series the median, and the one that varies most."""

    row: SeriesValueRow
    shared: tuple[ParameterValue, ...]
    series: tuple[SeriesNoise, ...]

    @property
    def sd(self) -> float | None:
        """Median standard deviation from run to run."""
        return _median(one.sd for one in self.series)

    @property
    def corrected_sd(self) -> float | None:
        """Median standard deviation without what control series share."""
        return _median(one.corrected_sd for one in self.series)

    @property
    def floor(self) -> float:
        """Median floor."""
        return median(one.floor for one in self.series)

    @property
    def corrected_floor(self) -> float:
        """Median floor with the machine's part taken out."""
        return median(one.corrected_floor for one in self.series)

    @property
    def worst(self) -> SeriesNoise:
        """Series with the largest floor."""
        return max(self.series, key=lambda one: one.corrected_floor)


@dataclass(frozen=True, kw_only=True)
class MeasuredNoise:
    """Noise of all noisy series of a commit, by surface, the noisiest last. n_controls: control series among them."""

    commit: str
    surfaces: tuple[SurfaceNoise, ...]
    n_controls: int

    @property
    def series(self) -> tuple[SeriesNoise, ...]:
        """Every series."""
        return tuple(one for surface in self.surfaces for one in surface.series)

    @property
    def is_corrected(self) -> bool:
        """Whether there are control series enough to take the machine's part out."""
        return self.n_controls >= LEAST_CONTROLS

    @property
    def floor(self) -> float | None:
        """Median floor over all series, as good as it can be told: corrected where that is possible."""
        return _median(one.corrected_floor if self.is_corrected else one.floor for one in self.series)

    def only(self, series_ids: Collection[int]) -> MeasuredNoise:
        """Return the noise of these series alone."""
        surfaces = (
            replace(surface, series=tuple(one for one in surface.series if one.row.series_id in series_ids))
            for surface in self.surfaces
        )
        return replace(self, surfaces=tuple(surface for surface in surfaces if surface.series))


def noise_of(
    rows: Sequence[SeriesValueRow],
    *,
    commit: str,
    spreads: Mapping[int, Prior] | None = None,
    corrected_spreads: Mapping[int, Prior] | None = None,
) -> MeasuredNoise:
    """Return the noise of each noisy, judged series of `rows`, all runs of one commit, by its positive numbers.

    spreads, corrected_spreads: of histories, by series (`run_spreads`), for series with fewer than LEAST_RUNS runs.
    """
    noisy = [row for row in rows if _is_noisy(row)]
    whole, pairs = sides_of(noisy), _halves(noisy)
    names = [pair.name for pair in pairs if isinstance(pair.name, int)]  # of all: pairs_of has named them
    sides = _sides_of_runs(noisy)
    raw = _spreads(noisy, sides, {}, spreads or {})
    corrected = _spreads(noisy, sides, _levels(pairs), corrected_spreads or {})
    alone = {key for key, side in whole.items() if side.n_runs == 1}
    controlled = with_controls(pairs, {key: side.row for key, side in whole.items()})
    with_control = _evidence(names, controlled, corrected, alone)
    without = _evidence(names, [pair._replace(control=None, is_control=False) for pair in pairs], raw, alone)
    found = [
        SeriesNoise(
            row=whole[key].row,
            n_runs=whole[key].n_runs,
            n_processes=len(whole[key].processes),
            n_disturbed=sum(one.disturbed is not None for one in whole[key].processes),
            sd=raw[key].sd if key in raw else None,
            corrected_sd=corrected[key].sd if key in corrected else None,
            floor=without[key].floor,
            corrected_floor=with_control[key].floor,
            is_by_history=whole[key].n_runs < LEAST_RUNS and key in raw,
            differs=whole[key].n_runs > 1 and with_control[key].is_significant,
        )
        for key in names
    ]
    return MeasuredNoise(
        commit=commit, surfaces=tuple(_by_surface(found)), n_controls=sum(pair.is_control for pair in pairs)
    )


def _halves(rows: Sequence[SeriesValueRow]) -> list[Pair]:
    """Deal the runs of each series to two sides in turn; one run alone is both, so that only a history tells noise."""
    sides = _sides_of_runs(rows)
    n_runs = Counter(row.series_id for row in rows)
    dealt: tuple[list[SeriesValueRow], list[SeriesValueRow]] = ([], [])
    for row in rows:
        if n_runs[row.series_id] == 1:
            dealt[0].append(row)
            dealt[1].append(_as_another_run(row))
        else:
            dealt[sides[row.run_id]].append(row)
    one, other = (sides_of(side) for side in dealt)
    both = [key for key in one if key in other and one[key].processes and other[key].processes]
    return pairs_of([(one[key], other[key]) for key in both])


def _sides_of_runs(rows: Iterable[SeriesValueRow]) -> dict[str, int]:
    """Return the half, 0 or 1, of each run: by time, in turn for each series, so that a drift is in both."""
    of_run: dict[str, set[int]] = {}
    for row in _by_time(rows):
        of_run.setdefault(row.run_id, set()).add(row.series_id)
    lead, found = Counter[int](), dict[str, int]()
    for run, measured in of_run.items():
        found[run] = int(sum(lead[one] for one in measured) > 0)
        lead.update(dict.fromkeys(measured, 1 - 2 * found[run]))
    return found


def _as_another_run(row: SeriesValueRow) -> SeriesValueRow:
    """Return the row with processes of other names, so that the two sides do not share their machine's level."""
    run = f"{row.run_id}, again"
    return row._replace(run_id=run, processes=tuple(one._replace(run_id=run) for one in row.processes))


def _by_time(rows: Iterable[SeriesValueRow]) -> list[SeriesValueRow]:
    return sorted(rows, key=lambda row: ("" if row.measured_at is None else row.measured_at.isoformat(), row.run_id))


def _levels(pairs: Sequence[Pair]) -> dict[Hashable, dict[str, float]]:
    """Return the machine's level in each run of each testbed, as control series tell it; empty with too few."""
    of_testbed: dict[Hashable, list[Pair]] = {}
    for pair in pairs:
        of_testbed.setdefault(pair.testbed, []).append(pair)
    found: dict[Hashable, dict[str, float]] = {}
    for testbed, members in of_testbed.items():
        of_run: dict[str, list[float]] = {}
        for (run, *_), level in controls_of(members).levels.items():
            of_run.setdefault(run, []).append(level)
        found[testbed] = {run: fmean(levels) for run, levels in of_run.items()}
    return found


def _spreads(
    rows: Sequence[SeriesValueRow],
    sides: Mapping[str, int],
    levels: Mapping[Hashable, Mapping[str, float]],
    histories: Mapping[int, Prior],
) -> dict[int, _Spread]:
    """Return the spread from run to run of each series: of its runs here, from LEAST_RUNS on, else of its history.

    sides: the half of each run; the spread is the one within halves, so that a difference between them is none of it.
    levels: the machine's, which is subtracted. Moderated by what is usual on the surface, as processes are.
    """
    logs: dict[int, tuple[list[float], list[float]]] = {}
    of_series: dict[int, SeriesValueRow] = {}
    for row in rows:
        level = 0.0 if is_control(row) else levels.get(_testbed(row), {}).get(row.run_id, 0.0)
        logs.setdefault(row.series_id, ([], []))[sides[row.run_id]].append(_log_of(row) - level)
        of_series[row.series_id] = row
    repeated = {key: each for key, each in logs.items() if sum(map(len, each)) >= LEAST_RUNS and all(each)}
    variances = {key: _variance(each) for key, each in repeated.items()}
    found = {key: _Spread(sd=histories[key].sd, prior=histories[key]) for key in logs if key in histories}
    if not variances:
        return found
    names = list(variances)
    families = [(_testbed(of_series[key]), surface_of(of_series[key])) for key in names]
    dof = [float(sum(map(len, repeated[key])) - len(repeated[key])) for key in names]
    priors = priors_of(np.array([variances[key] for key in names]), np.array(dof), families)
    for key, of_own, family in zip(names, dof, families, strict=True):
        usual = priors[family]
        total = of_own + usual.dof
        moderated = (of_own * variances[key] + usual.dof * usual.sd**2) / total
        prior = Prior(sd=max(math.sqrt(moderated), LEAST_SD), dof=total)
        found[key] = _Spread(sd=math.sqrt(variances[key]), prior=prior)
    return found


def _variance(halves: Sequence[Sequence[float]]) -> float:
    """Return the variance within halves."""
    squares = sum((value - fmean(half)) ** 2 for half in halves for value in half)
    return squares / (sum(map(len, halves)) - len(halves))


def _testbed(row: SeriesValueRow) -> tuple[str, str, str, str]:
    return row.project, row.machine, row.environment, row.metric


def _log_of(row: SeriesValueRow) -> float:
    calm = [one.value for one in row.processes if one.disturbed is None] or [one.value for one in row.processes]
    return math.log(median(calm or [row.value or 1.0]))


def _evidence(
    names: Sequence[int], pairs: Sequence[Pair], spreads: Mapping[int, _Spread], alone: Collection[int]
) -> dict[int, Evidence]:
    found = compare(pairs, spreads={key: spread.prior for key, spread in spreads.items()}, alike=alone)
    return dict(zip(names, found.evidence, strict=True))


def _by_surface(found: Iterable[SeriesNoise]) -> list[SurfaceNoise]:
    members: dict[Surface, list[SeriesNoise]] = {}
    for one in found:
        members.setdefault(surface_of(one.row), []).append(one)
    surfaces = [
        SurfaceNoise(row=each[0].row, shared=surface.shared, series=tuple(each)) for surface, each in members.items()
    ]
    return sorted(surfaces, key=lambda surface: surface.corrected_floor)


def _is_noisy(row: SeriesValueRow) -> bool:
    metric = metric_of(row.metric, unit=row.unit)
    is_timed = metric.role is Role.JUDGED and metric.precision is Precision.NOISY and row.state == "ok"
    return is_timed and all(0 < one < math.inf for one in [each.value for each in row.processes] or [row.value or 0.0])


def _median(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None
