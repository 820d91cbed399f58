"""The newest value of many series: whether it is beyond all that noise and drift explain; pure."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from results.judgement.changes.arrays import LEAST_SCALE, Booleans, Floats, Integers
from results.judgement.changes.evidence import LEAST_CHANGE

BASELINE = 60  # values before the newest that a suspicion needs
RECENT = 15
SCALES, SCALES_UNPOOLED = 3.8, 5.0  # beyond every expectation; where too few series tell of the tails
OVER_WORST = 1.1  # times the worst residual of the baseline
MOST_RESIDUAL = 4.5  # scales; a series that was further out before has outliers, and one value says nothing
WHITE = 0.3  # largest correlation of neighbours that chance gives values without any; less counts in part
MOST_STRAYS = 1e-3  # of the values that follow on clean ones
LEAST_POOL = 1000  # values that tell so


@dataclass(frozen=True)
class Baselines:
    """What the BASELINE values before the newest say of each series; arrays [series].

    low, high: least and most that is expected of the next value: the trimmed mean, the line through the halves and the
    last values. scale: noise. worst: largest residual.
    """

    low: Floats
    high: Floats
    scale: Floats
    worst: Floats
    worst_early: Floats
    strays_late: Integers

    @property
    def has_clean_tails(self) -> bool:
        """Whether series that were clean in their first half stayed so: then one value can be told from a stray one."""
        was_clean = self.worst_early <= MOST_RESIDUAL * self.scale
        n_values = np.count_nonzero(was_clean) * (BASELINE // 2)
        return bool(n_values >= LEAST_POOL and self.strays_late[was_clean].sum() <= MOST_STRAYS * n_values)


def baselines(old: Floats) -> Baselines:
    """Return what the values before the newest say; old: [series, BASELINE], without gaps."""
    n, half, cut = BASELINE, BASELINE // 2, BASELINE // 10
    ordered = np.sort(old, axis=1)
    mean = ordered[:, cut : n - cut].mean(axis=1)
    early, late = np.median(old[:, :half], axis=1), np.median(old[:, half:], axis=1)
    line = (early + late) / 2 + (late - early) / half * (n + 1) / 2
    expected = np.stack([mean, line, np.median(old[:, -RECENT:], axis=1)])
    # Winsorised deviation, 10 % a side, over what it is of a normal distribution's.
    clipped = np.clip(old, ordered[:, cut, None], ordered[:, n - 1 - cut, None])
    scale = np.maximum(clipped.std(axis=1) / 0.829, LEAST_SCALE)
    residual = np.abs(old - mean[:, None])
    # What resembles its neighbours wanders further than its spread says; source: variance of an AR(1)'s mean.
    r = np.clip(old - mean[:, None], -3 * scale[:, None], 3 * scale[:, None])
    with np.errstate(invalid="ignore"):
        phi = np.clip(np.sum(r[:, 1:] * r[:, :-1], axis=1) / np.maximum(np.sum(r * r, axis=1), 1e-12), 0.0, 0.95)
    phi = phi * np.minimum(1.0, phi / WHITE)
    scale = scale * np.sqrt((1 + phi) / (1 - phi))
    return Baselines(
        low=expected.min(axis=0),
        high=expected.max(axis=0),
        scale=scale,
        worst=residual.max(axis=1),
        worst_early=residual[:, :half].max(axis=1),
        strays_late=np.count_nonzero(residual[:, half:] > MOST_RESIDUAL * scale[:, None], axis=1),
    )


def is_suspect(x: Floats, *, least_change: float = LEAST_CHANGE) -> Booleans:
    """Tell for each row whether its last value is a step that began with it, as far as one value can show; [series].

    x: the last BASELINE + 1 values of each series of a machine, logarithms, [series, BASELINE + 1]; a row with NaN is
    not suspected. One value proves nothing: a suspicion is to be measured again at once.

    Beyond all that its baseline lets expect, by SCALES of its noise, by the least change and beyond its worst residual.
    How heavy the tails are, no single series can say: all of the machine's are asked.
    """
    known = baselines(x[:, :-1])
    beyond = np.maximum(x[:, -1] - known.high, known.low - x[:, -1])
    scales = SCALES if known.has_clean_tails else SCALES_UNPOOLED
    needed = np.maximum(np.maximum(scales * known.scale, OVER_WORST * known.worst), math.log1p(least_change))
    with np.errstate(invalid="ignore"):
        found: Booleans = (beyond >= needed) & (known.worst <= MOST_RESIDUAL * known.scale)
    return found if known.has_clean_tails else found & (len(x) * BASELINE // 2 < LEAST_POOL)
