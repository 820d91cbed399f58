"""Made histories: noise of many kinds, steps, controls, and what measuring again gives; for `make bench-judgement`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

Generator = np.random.Generator
Made = Callable[[Generator, int, int], tuple[np.ndarray, np.ndarray]]
PERCENT = 0.01


@dataclass(frozen=True)
class Noise:
    """Kind of noise.

    make: (generator, series, commits) → what stays when a commit is measured again, and what each run adds anew; both
    logarithms, [series, commits]. is_shared: the first moves all series of the machine alike, controls included.
    """

    name: str
    make: Made
    is_shared: bool = False


def _runs(draw: Callable[[Generator, tuple[int, int]], np.ndarray]) -> Made:
    return lambda rng, s, n: (np.zeros((s, n)), draw(rng, (s, n)))


def _gauss(sigma: float) -> Callable[[Generator, tuple[int, int]], np.ndarray]:
    return lambda rng, shape: sigma * rng.standard_normal(shape)


def _strays(sigma: float, low: float, high: float) -> Callable[[Generator, tuple[int, int]], np.ndarray]:
    """Return normal noise of which 2 % is slower by a factor between low and high."""

    def draw(rng: Generator, shape: tuple[int, int]) -> np.ndarray:
        strays = np.where(rng.random(shape) < 0.02, np.log(rng.uniform(low, high, shape)), 0.0)
        return sigma * rng.standard_normal(shape) + strays

    return draw


def _with(slow: Callable[[Generator, int, int], np.ndarray], sigma: float = PERCENT) -> Made:
    return lambda rng, s, n: (slow(rng, s, n), sigma * rng.standard_normal((s, n)))


def _drift(rng: Generator, s: int, n: int) -> np.ndarray:
    return 0.06 * rng.choice([-1, 1], (s, 1)) * np.linspace(-1, 1, n)


def _sine(size: float) -> Callable[[Generator, int, int], np.ndarray]:
    def made(rng: Generator, s: int, n: int) -> np.ndarray:
        period, phase = rng.uniform(80, 200, (s, 1)), rng.uniform(0, 2 * np.pi, (s, 1))
        return size * np.sin(2 * np.pi * np.arange(n) / period + phase)

    return made


def _walk(rng: Generator, s: int, n: int) -> np.ndarray:
    return np.cumsum(0.2 * PERCENT * rng.standard_normal((s, n)), axis=1)


def _autoregressive(phi: float) -> Callable[[Generator, int, int], np.ndarray]:
    def made(rng: Generator, s: int, n: int) -> np.ndarray:
        steps = PERCENT * rng.standard_normal((s, n + 100))
        x = np.zeros((s, n + 100))
        for t in range(1, n + 100):
            x[:, t] = phi * x[:, t - 1] + steps[:, t]
        return x[:, 100:]

    return made


def _levels(share: float) -> Callable[[Generator, tuple[int, int]], np.ndarray]:
    return lambda rng, shape: np.log(1.08) * (rng.random(shape) < share) + PERCENT * rng.standard_normal(shape)


def _sticky(rng: Generator, s: int, n: int) -> np.ndarray:
    """Levels 8 % apart that last 25 commits in the mean; the first is the lower."""
    flips = np.cumsum(rng.random((s, n)) < 1 / 25, axis=1)
    return np.log(1.08) * (flips % 2)


def _rounded(step: float) -> Callable[[Generator, tuple[int, int]], np.ndarray]:
    return lambda rng, shape: (
        step * np.round((PERCENT * rng.standard_normal(shape) + step * rng.uniform(-0.5, 0.5, (shape[0], 1))) / step)
    )


def _growing(rng: Generator, shape: tuple[int, int]) -> np.ndarray:
    return PERCENT * np.geomspace(1, 4, shape[1]) * rng.standard_normal(shape)


def _suddenly_wider(rng: Generator, shape: tuple[int, int]) -> np.ndarray:
    return PERCENT * np.where(np.arange(shape[1]) < shape[1] // 2, 1, 3) * rng.standard_normal(shape)


def _gauss_of_commits(rng: Generator, s: int, n: int) -> np.ndarray:
    return PERCENT * rng.standard_normal((s, n))


KINDS = (
    Noise("gauss 1 %", _runs(_gauss(0.01))),
    Noise("gauss 3 %", _runs(_gauss(0.03))),
    Noise("1 % + 2 % outliers ×2–5", _runs(_strays(0.01, 2, 5))),
    Noise("1 % + 2 % outliers ×1.3", _runs(_strays(0.01, 1.3, 1.3))),
    Noise("3 % + 2 % outliers ×2–5", _runs(_strays(0.03, 2, 5))),
    Noise("t3 1 %", _runs(lambda rng, shape: PERCENT * rng.standard_t(3, shape))),
    Noise("skewed 1 %", _runs(lambda rng, shape: PERCENT * (rng.gamma(2, size=shape) - 2) / np.sqrt(2))),
    Noise("exponential 5 %", _runs(lambda rng, shape: np.log1p(rng.exponential(0.05, shape)))),
    Noise("drift ±6 %", _with(_drift)),
    Noise("sine ±1.5 %", _with(_sine(0.015))),
    Noise("walk 0.2 %", _with(_walk)),
    Noise("two levels 30 %", _runs(_levels(0.3))),
    Noise("two levels 5 %", _runs(_levels(0.05))),
    Noise("rounding 2 %", _runs(_rounded(0.02))),
    Noise("rounding 0.5 %", _runs(_rounded(0.005))),
    Noise("AR 0.6", _with(_autoregressive(0.6), 0.0)),
    Noise("AR 0.9", _with(_autoregressive(0.9), 0.0)),
    Noise("sine ±3 %", _with(_sine(0.03)), is_shared=True),
    Noise("sticky second level", _with(_sticky), is_shared=True),
)
BEYOND = (
    Noise("spread growing from 1 to 4 %", _runs(_growing)),
    Noise("spread tripling at once", _runs(_suddenly_wider)),
    Noise("AR 0.3", _with(_autoregressive(0.3), 0.0)),
    Noise("AR −0.6", _with(_autoregressive(-0.6), 0.0)),
    Noise("1 % that measuring again leaves", _with(_gauss_of_commits, 0.0)),
)
"""Kinds in which the detector is wrong more often than it should be."""

BY_NAME = {kind.name: kind for kind in KINDS}
N_CONTROLS = 20
COMMON = 2 * PERCENT


@dataclass(frozen=True)
class Cell:
    """A step to be found: noise, relative size, commits before it."""

    noise: str
    step: float
    before: int


def with_step(cell: Cell, rng: Generator, *, n_series: int, after: int) -> np.ndarray:
    """Return logarithms of series that end `after` commits after their step began; [series, commits]."""
    slow, fast = BY_NAME[cell.noise].make(rng, n_series, cell.before + after)
    x = slow + fast
    x[:, cell.before :] += np.log1p(cell.step)
    return x


def with_controls(kind: Noise, rng: Generator, *, n_series: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return series of one machine and N_CONTROLS controls, which the same slow part moves; [series, commits] each."""
    slow, _ = kind.make(rng, 1, n)
    return tuple(slow + PERCENT * rng.standard_normal((rows, n)) for rows in (n_series, N_CONTROLS))  # type: ignore[return-value]
