"""How series vary from run to run while nothing changes, by their histories; pure."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from results.judgement.comparison.moderation import LEAST_SD, Prior

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from results.rows import RunValues

LEAST_RUNS = 8
"""With fewer runs a history says too little of its noise."""
MOST_RUNS = 60
LEAST_MOVES = 1000
"""Fewer moves of all series together say nothing of how far single values stray."""
MOST_STRAYS = 1e-3  # of the moves
_EFFICIENCY = 0.37  # of the median absolute deviation, against the standard deviation, for normal noise


def run_spreads(
    series: Iterable[RunValues],
    *,
    without: str,
    controls: Mapping[int, int] | None = None,
    control_series: Iterable[RunValues] = (),
    is_one_testbed: bool = False,
) -> dict[int, Prior]:
    """Return the spread from run to run of each series with LEAST_RUNS runs at least, by its id.

    Of the differences between successive runs, so that a step counts once: the larger of their median's and their
    90 % quantile's standard deviation. without: a commit whose runs are left out, since it is what is judged, and with
    them the difference between what was before it and what came after. controls: the control series of a series, by
    whose value in the same run it is corrected. One that is not whole has a spread only if older runs would not change
    it; its control tells of the same runs. is_one_testbed: whether their moves together tell how
    far single values stray there, which no series of some tens of runs shows.
    """
    of_control = {one.series_id: _control_logs(one, without) for one in control_series}
    last: dict[int, list[float]] = {}
    for one in series:
        values, n_numbers = _latest(one, without, of_control.get((controls or {}).get(one.series_id, -1)) or None)
        if n_numbers >= LEAST_RUNS and (one.is_whole or len(values) == MOST_RUNS):
            last[one.series_id] = values
    return _priors(last, is_one_testbed=is_one_testbed)


def _control_logs(one: RunValues, without: str) -> dict[str, float]:
    return {
        run_id: math.nan if commit == without else math.log(value)
        for run_id, commit, value in zip(one.run_ids, one.commits, one.values, strict=True)
        if 0 < value < math.inf
    }


def _latest(one: RunValues, without: str, control: Mapping[str, float] | None) -> tuple[list[float], int]:
    """Return the latest MOST_RUNS logs, oldest first, and how many of all are numbers."""
    if control is None and min(one.values, default=0.0) > 0 and math.isfinite(sum(one.values)):  # as of most series
        latest = zip(one.commits[-MOST_RUNS:], map(math.log, one.values[-MOST_RUNS:]), strict=True)
        logs = [math.nan if commit == without else log for commit, log in latest]
        return logs, len(one.values) - one.commits.count(without)
    runs = zip(one.run_ids, one.commits, one.values, strict=True)
    known = [each for each in runs if 0 < each[2] < math.inf and (control is None or each[0] in control)]
    logs = [
        math.nan if commit == without else math.log(value) - (0.0 if control is None else control[run_id])
        for run_id, commit, value in known[-MOST_RUNS:]
    ]
    return logs, len(known) - [commit for _, commit, _ in known].count(without)


def _priors(values: Mapping[int, Sequence[float]], *, is_one_testbed: bool) -> dict[int, Prior]:
    """Return the spread of each series that has a step; all at once, since numpy takes as long for one as for many."""
    if not values:
        return {}
    padded = np.full((len(values), MOST_RUNS), np.nan)
    for row, each in zip(padded, values.values(), strict=True):
        row[: len(each)] = each
    moves = np.diff(padded, axis=1)
    steps = np.sort(np.abs(moves), axis=1)  # what is not a number comes last
    counts = np.count_nonzero(~np.isnan(steps), axis=1)
    has_steps = counts > 0
    ids = [series_id for series_id, has in zip(values, has_steps, strict=True) if has]
    moves, steps, counts = moves[has_steps], steps[has_steps], counts[has_steps]
    lines = np.arange(len(ids))
    medians = (steps[lines, (counts - 1) // 2] + steps[lines, counts // 2]) / 2
    place = 0.9 * (counts - 1)
    below = np.floor(place).astype(np.intp)
    low, high, share = steps[lines, below], steps[lines, np.minimum(below + 1, counts - 1)], place - below
    # As numpy's quantile interpolates, to the last digit.
    quantiles = np.where(share >= 0.5, high - (high - low) * (1 - share), low + (high - low) * share)
    sds = np.maximum(np.maximum(1.4826 * medians / math.sqrt(2), quantiles / 2.326), LEAST_SD)
    stray = _stray_of(moves / (math.sqrt(2) * sds[:, None])) if is_one_testbed else 0.0
    return {
        series_id: Prior(sd=sd, dof=max(2.0, _EFFICIENCY * count), stray=stray)
        for series_id, sd, count in zip(ids, sds.tolist(), counts.tolist(), strict=True)
    }


def _stray_of(moves: NDArray[np.float64]) -> float:
    """Return what MOST_STRAYS of moves exceed as one value alone lay apart; 0 if there are too few to tell.

    moves: between successive runs, in standard deviations of them; NaN where there are none. A value lies apart by the
    smaller of the moves to it and back; what moves and stays is a step, which is what is looked for.
    """
    there, back = moves[:, :-1], moves[:, 1:]
    apart = np.where(there * back < 0, np.minimum(np.abs(there), np.abs(back)), 0.0)
    known = apart[~np.isnan(there * back)]
    # Of each such value there are two moves.
    return float(np.quantile(known, 1 - MOST_STRAYS / 2)) if len(known) >= LEAST_MOVES else 0.0
