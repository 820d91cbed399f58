"""Noise floor of a series: the smallest step that would be found in it, by replays of its own noise; pure."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from results.judgement.changes.detection import NEAR, standardised
from results.judgement.changes.evidence import about_level, are_steps
from results.judgement.changes.segments import boundaries, last_changes, newest_begins

if TYPE_CHECKING:
    from results.judgement.changes.arrays import Booleans, Floats

AFTER = 5  # commits by which a step is to be found
REPLAYS = 10
FOUND = 8  # of the replays
LEAST_VALUES, MOST_VALUES = 20, 80
SMALLEST, LARGEST = 0.0025, 2.0  # relative steps that are tried
HALVINGS = 6
AT_ONCE = 250  # series, whose replays are looked at together


def noise_floors(x: Floats) -> Floats:
    """Return the smallest relative step that is found within AFTER commits in FOUND of the replays; [series].

    "Changes under 2.3 % are invisible here." x: logarithms, [series, commits], NaN where missing. A replay is what the
    series' last MOST_VALUES values leave about their levels, in the same order from another beginning, with a step in
    its last AFTER values. NaN for a series of fewer than LEAST_VALUES values, and where no step up to LARGEST is found.
    """
    found = np.full(len(x), np.nan)
    by_length: dict[int, list[tuple[int, Floats]]] = {}
    for row, values in enumerate(x):
        newest = values[~np.isnan(values)][-MOST_VALUES:]
        if len(newest) >= LEAST_VALUES:
            by_length.setdefault(len(newest), []).append((row, newest))
    for group in by_length.values():
        for start in range(0, len(group), AT_ONCE):
            rows, newest_of = zip(*group[start : start + AT_ONCE], strict=True)
            found[list(rows)] = _floors(_residuals(np.stack(newest_of)))
    return found


def _residuals(x: Floats) -> Floats:
    """Return what the values leave about the medians of their levels; [series, values]."""
    found = np.empty_like(x)
    for row, (values, last) in enumerate(zip(x, last_changes(standardised(x)), strict=True)):
        for a, b in pairwise([0, *boundaries(last, len(values)), len(values)]):
            found[row, a:b] = about_level(values[a:b])
    return found


def _floors(residuals: Floats) -> Floats:
    """Halve the range of steps, on a logarithmic scale, for all series at once; residuals: [series, values]."""
    n = residuals.shape[1]
    starts = np.arange(REPLAYS) * n // REPLAYS
    replays = np.stack([np.roll(residuals, -start, axis=1) for start in starts], axis=1)  # [series, replays, values]
    low, high = np.full(len(residuals), np.log(SMALLEST)), np.full(len(residuals), np.log(LARGEST))
    is_visible = _are_found(replays, np.exp(high))
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        is_found = _are_found(replays, np.exp(middle))
        low, high = np.where(is_found, low, middle), np.where(is_found, middle, high)
    found: Floats = np.where(is_visible, np.exp(high), np.nan)
    return found


def _are_found(replays: Floats, steps: Floats) -> Booleans:
    """Tell whether each series' relative step is found in FOUND of its replays, by as few of them as say so; [series].

    replays: [series, replays, values].
    """
    n_found, n_missed = np.zeros((2, len(replays)), dtype=np.int64)
    for first, last in pairwise([0, REPLAYS - FOUND + 1, FOUND, REPLAYS]):
        rows = np.flatnonzero((n_found < FOUND) & (n_missed <= REPLAYS - FOUND))
        found = _in_replays(replays[rows, first:last], steps[rows])
        n_found[rows] += np.count_nonzero(found, axis=1)
        n_missed[rows] += np.count_nonzero(~found, axis=1)
    is_found: Booleans = n_found >= FOUND
    return is_found


def _in_replays(replays: Floats, steps: Floats) -> Booleans:
    """Tell in which of its replays each series' step is found; [series, replays]."""
    x = replays.copy()
    begin = x.shape[2] - AFTER
    x[:, :, begin:] += np.log1p(steps)[:, None, None]
    rows = x.reshape(-1, x.shape[2])
    found, begins = np.zeros(len(rows), dtype=np.bool_), newest_begins(standardised(rows), since=begin - NEAR)
    for at in range(begin - NEAR, begin + NEAR + 1):
        there = np.flatnonzero(begins == at)
        found[there] = are_steps(rows[there], at)
    return found.reshape(x.shape[:2])
