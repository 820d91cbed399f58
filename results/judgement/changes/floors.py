"""Noise floor of a series: the smallest step that would be found in it, by replays of its own noise; pure."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

from results.judgement.changes.arrays import median_of
from results.judgement.changes.detection import NEAR, standardised
from results.judgement.changes.evidence import step_at
from results.judgement.changes.segments import boundaries, last_changes

if TYPE_CHECKING:
    from results.judgement.changes.arrays import Floats, Integers

AFTER = 5  # commits by which a step is to be found
REPLAYS = 10
FOUND = 0.8  # of the replays
LEAST_VALUES, MOST_VALUES = 20, 80
SMALLEST, LARGEST = 0.0025, 2.0  # relative steps that are tried
HALVINGS = 6


def noise_floors(x: Floats) -> Floats:
    """Return the smallest relative step that is found within AFTER commits in FOUND of the replays; [series].

    "Changes under 2.3 % are invisible here." x: logarithms, [series, commits], NaN where missing. A replay is what the
    series' last MOST_VALUES values leave about their levels, in the same order from another beginning, with a step in
    its last AFTER values. NaN for a series of fewer than LEAST_VALUES values, and where no step up to LARGEST is found.
    """
    found = np.full(len(x), np.nan)
    by_length: dict[int, list[tuple[int, Floats]]] = {}
    for row, values in enumerate(x):
        residuals = _residuals(values[~np.isnan(values)][-MOST_VALUES:])
        if len(residuals) >= LEAST_VALUES:
            by_length.setdefault(len(residuals), []).append((row, residuals))
    for group in by_length.values():
        rows = [row for row, _ in group]
        found[rows] = _floors(np.stack([residuals for _, residuals in group]))
    return found


def _residuals(values: Floats) -> Floats:
    if len(values) < LEAST_VALUES:
        return values
    last = last_changes(standardised(values[None]))[0]
    edges = [0, *boundaries(last, len(values)), len(values)]
    parts = [values[a:b] - median_of(values[a:b]) for a, b in itertools.pairwise(edges)]
    return np.concatenate(parts)


def _floors(residuals: Floats) -> Floats:
    """Halve the range of steps, on a logarithmic scale, for all series at once; residuals: [series, values]."""
    n = residuals.shape[1]
    starts = np.arange(REPLAYS) * n // REPLAYS
    replays = np.stack([np.roll(residuals, -start, axis=1) for start in starts], axis=1)  # [series, replays, values]
    low, high = np.full(len(residuals), np.log(SMALLEST)), np.full(len(residuals), np.log(LARGEST))
    is_visible = _share_found(replays, np.exp(high)) >= FOUND
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        is_found = _share_found(replays, np.exp(middle)) >= FOUND
        low, high = np.where(is_found, low, middle), np.where(is_found, middle, high)
    found: Floats = np.where(is_visible, np.exp(high), np.nan)
    return found


def _share_found(replays: Floats, steps: Floats) -> Floats:
    """Return in which share of its replays each series' relative step is found; replays: [series, replays, values]."""
    n_series, n_replays, n = replays.shape
    x = replays.copy()
    x[:, :, n - AFTER :] += np.log1p(steps)[:, None, None]
    rows = x.reshape(n_series * n_replays, n)
    last = last_changes(standardised(rows))
    found = [_is_found(row, of_row) for row, of_row in zip(rows, last, strict=True)]
    shares: Floats = np.reshape(found, (n_series, n_replays)).mean(axis=1)
    return shares


def _is_found(x: Floats, last: Integers) -> bool:
    at = int(last[-1])
    return abs(at - (len(x) - AFTER)) <= NEAR and step_at(x, at, least_change=0.0) is not None
