"""Changes as they would have been found commit by commit: alarms, and whether measuring again bears them out; pure."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from results.judgement.changes.arrays import packed
from results.judgement.changes.detection import NEAR, standardised, suspects_of_newest, suspicion_of
from results.judgement.changes.evidence import LEAST_CHANGE, step_at
from results.judgement.changes.newest import BASELINE, is_suspect
from results.judgement.changes.segments import last_changes
from results.judgement.findings import FindingState

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from results.judgement.changes.arrays import Booleans, Floats, Integers
    from results.judgement.changes.detection import Change

REPLAYED = 10  # commits
LEAST_HISTORY = 10  # values before anything is judged
TIMES_AGAIN, MOST_AGAIN = 2, 5


def ever_alarmed(x: Floats, again: Callable[[], Floats], *, least_change: float = LEAST_CHANGE) -> Booleans:
    """Tell which series are called changed at any commit though its new level was measured TIMES_AGAIN more; [series].

    x: logarithms of the first runs, [series, commits], without gaps. again: returns another run of every commit.
    Measured again are the commits of the new level, at most the newest MOST_AGAIN.
    """
    began = first_alarms(x, least_change=least_change)
    repeated = np.median(np.stack([x, *(again() for _ in range(TIMES_AGAIN))]), axis=0)
    found = np.zeros(len(x), dtype=np.bool_)
    for t in np.flatnonzero((began > 0).any(axis=0)):
        rows = np.flatnonzero((began[:, t] > 0) & ~found)
        y = x[:, : t + 1].copy()
        for row in rows:
            since = max(int(began[row, t]), t + 1 - MOST_AGAIN)
            y[row, since:] = repeated[row, since : t + 1]
        suspects = is_suspect(y[:, -BASELINE - 1 :], least_change=least_change) if t >= BASELINE else found & False
        last = last_changes(standardised(y[rows]))
        found[rows] = [
            bool(suspects[row]) or _is_step(y[row], one, least_change) for row, one in zip(rows, last, strict=True)
        ]
    return found


def withdrawn_in(x: Floats, found: Iterable[Change], *, least_change: float = LEAST_CHANGE) -> list[Change]:
    """Return the suspicions of the last REPLAYED commits but the newest that later commits did not bear out.

    x: logarithms, [series, commits], NaN where missing. found: what `changes_in` says of x.
    """
    n = x.shape[1]
    borne_out: dict[int, list[int]] = {}
    for change in found:
        borne_out.setdefault(change.row, []).append(change.first_bad)
    withdrawn: list[Change] = []
    for newest in range(max(BASELINE, n - 1 - REPLAYED), n - 1):
        values, columns = packed(x[:, : newest + 1])
        counts = np.count_nonzero(~np.isnan(values), axis=1)
        for row in np.flatnonzero(suspects_of_newest(values, counts, columns, least_change=least_change)):
            later = newest + 1 + np.flatnonzero(~np.isnan(x[row, newest + 1 :]))
            if len(later) and all(abs(at - newest) > NEAR for at in borne_out.get(int(row), ())):
                change = suspicion_of(int(row), values[row, : counts[row]], columns[row])
                withdrawn.append(replace(change, state=FindingState.WITHDRAWN, ended_at=int(later[0])))
    return withdrawn


def first_alarms(x: Floats, *, least_change: float = LEAST_CHANGE) -> Integers:
    """Return where the level begins that each commit's first run would have been called; [series, commits], 0 for none.

    x: logarithms, [series, commits], without gaps.
    """
    n = x.shape[1]
    found = np.zeros(x.shape, dtype=np.int64)
    last = last_changes(standardised(x))
    for row, t in zip(*np.nonzero(last), strict=True):
        if t >= LEAST_HISTORY and _is_step(x[row, : t + 1], last[row], least_change):
            found[row, t] = last[row, t]
    for t in range(BASELINE, n):
        found[is_suspect(x[:, t - BASELINE : t + 1], least_change=least_change) & (found[:, t] == 0), t] = t
    return found


def _is_step(x: Floats, last: Integers, least_change: float) -> bool:
    """Tell whether the newest level of a series is one, as `changes_in` would without the steps before."""
    at = int(last[len(x) - 1])
    return at > 0 and step_at(x, at, least_change=least_change) is not None
