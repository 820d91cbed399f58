"""What moved every series of a machine at a run, read from control series that a commit cannot change; pure."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from results.judgement.changes.arrays import Floats, Integers

LEAST_CONTROLS = 5


def common_effect(controls: Floats) -> Floats | None:
    """Return what each run did to all series, a logarithm, [runs]; None with fewer than LEAST_CONTROLS controls.

    The median over control series of the distance from their own medians. controls: logarithms, [series, runs], NaN
    where missing. A run with fewer known controls has the effect of the nearest earlier run that has enough, else of
    the next.

    Never the median over all series: where a commit slows down everything of ours, that would take the slowdown out
    of it and put a speedup into the rest.
    """
    n_known = np.count_nonzero(~np.isnan(controls), axis=0)
    enough = np.flatnonzero(n_known >= LEAST_CONTROLS)
    if not len(enough):
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # rows and runs without a value
        effect = np.nanmedian(controls - np.nanmedian(controls, axis=1, keepdims=True), axis=0)
    nearest = enough[np.maximum(np.searchsorted(enough, np.arange(controls.shape[1]), side="right") - 1, 0)]
    found: Floats = effect[nearest]
    return found


def by_commit(x: Floats, commit_of_run: Integers) -> Floats:
    """Combine the runs of each commit by their median; [series, commits].

    x: [series, runs], NaN where missing. commit_of_run: index of each run's commit, never descending, [runs]. All runs
    of a commit count, so that measuring until one is fast does not help.
    """
    starts = np.flatnonzero(np.diff(commit_of_run, prepend=-1))
    ends = np.append(starts[1:], len(commit_of_run))
    found = x[:, starts].copy()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        for column in np.flatnonzero(ends - starts > 1):
            found[:, column] = np.nanmedian(x[:, starts[column] : ends[column]], axis=1)
    return found
