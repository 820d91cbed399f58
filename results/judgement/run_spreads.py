"""How series vary from run to run while nothing changes, by their histories; pure."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from results.judgement.comparison.moderation import LEAST_SD, Prior

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from results.rows import SeriesHistory

LEAST_RUNS = 8
"""With fewer runs a history says too little of its noise."""
MOST_RUNS = 60
_EFFICIENCY = 0.37  # of the median absolute deviation, against the standard deviation, for normal noise


def run_spreads(
    histories: Iterable[SeriesHistory],
    *,
    without: str,
    controls: Mapping[int, int] | None = None,
    control_histories: Iterable[SeriesHistory] = (),
) -> dict[int, Prior]:
    """Return the spread from run to run of each series with LEAST_RUNS runs at least, by its id.

    Of the differences between successive runs, so that a step counts once: the larger of their median's and their
    90 % quantile's standard deviation. without: a commit whose runs are left out, since it is what is judged, and with
    them the difference between what was before it and what came after. controls: the control series of a series, by
    whose value in the same run it is corrected.
    """
    of_control = {history.series.series_id: _logs(history, without) for history in control_histories}
    found = {}
    for history in histories:
        logs = _logs(history, without)
        control = of_control.get((controls or {}).get(history.series.series_id, -1), {})
        values = np.array([log - control.get(run, 0.0) for run, log in logs.items() if not control or run in control])
        steps = np.abs(np.diff(values[-MOST_RUNS:]))
        steps = steps[~np.isnan(steps)]
        if np.count_nonzero(~np.isnan(values)) < LEAST_RUNS or not len(steps):
            continue
        sd = max(1.4826 * float(np.median(steps)) / math.sqrt(2), float(np.quantile(steps, 0.9)) / 2.326, LEAST_SD)
        found[history.series.series_id] = Prior(sd=sd, dof=max(2.0, _EFFICIENCY * len(steps)))
    return found


def _logs(history: SeriesHistory, without: str) -> dict[str, float]:
    return {
        value.run_id: math.nan if value.commit == without else math.log(value.value)
        for value in history.values
        if value.value is not None and value.value > 0 and value.state == "ok"
    }
