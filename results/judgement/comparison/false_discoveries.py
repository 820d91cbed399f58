"""False discovery rate over surfaces, then over the points of those that are selected. Pure.

Sources: Simes 1986; Benjamini and Hochberg 1995; Benjamini and Bogomolov, *Selective inference on multiple families of
hypotheses*, 2014.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]
    Flags = NDArray[np.bool_]
    Numbered = NDArray[np.intp]

Q = 0.025
"""Share of false findings among all that is controlled in one look.

Half of 5 %: all series share the error of their control series, which the rate's proof does not foresee.
"""


def simes(p: Numbers, families: Numbered) -> Numbers:
    """Return of each family the p-value that none of its n hypotheses is false: the least of n·p₍ᵢ₎/i.

    families: the number of each hypothesis' family, from 0, none left out; all at once, as there may be as many
    families as hypotheses.
    """
    order = np.lexsort((p, families))
    sizes = np.bincount(families)
    starts = np.cumsum(sizes) - sizes
    of_each = np.repeat(sizes, sizes)
    places = np.arange(1, len(p) + 1) - np.repeat(starts, sizes)
    found: Numbers = np.minimum.reduceat(p[order] * of_each / places, starts)
    return found


def benjamini_hochberg(p: Numbers, *, q: float = Q) -> Flags:
    """Return which of n hypotheses to reject, so that at most a share `q` of those is false in expectation."""
    n = len(p)
    order = np.argsort(p, kind="stable")
    is_below = p[order] <= q * np.arange(1, n + 1) / max(n, 1)
    found = np.zeros(n, dtype=bool)
    if is_below.any():
        found[order[: int(np.flatnonzero(is_below)[-1]) + 1]] = True
    return found


def selected_points(p: Numbers, surfaces: Sequence[Hashable], *, q: float = Q) -> Flags:
    """Return which of n points differ: surfaces by Simes first, then points within the selected ones.

    surfaces: that of each point. Within a surface the rate is `q` times the share of surfaces that were selected.
    """
    if not len(p):
        return np.zeros(0, dtype=bool)
    known: dict[Hashable, int] = {}
    families = np.array([known.setdefault(surface, len(known)) for surface in surfaces])
    chosen = benjamini_hochberg(simes(p, families), q=q)
    inner_q = q * np.count_nonzero(chosen) / len(known)
    found = np.zeros(len(p), dtype=bool)
    for family in np.flatnonzero(chosen):
        places = np.flatnonzero(families == family)
        found[places] = benjamini_hochberg(p[places], q=inner_q)
    return found
