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

Q = 0.025
"""Share of false findings among all that is controlled in one look.

Half of 5 %: all series share the error of their control series, which the rate's proof does not foresee.
"""


def simes(p: Numbers) -> float:
    """Return the p-value that none of n ≥ 1 hypotheses is false: the least of n·p₍ᵢ₎/i."""
    ordered = np.sort(p)
    return float(np.min(ordered * len(p) / np.arange(1, len(p) + 1)))


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
    places: dict[Hashable, list[int]] = {}
    for place, surface in enumerate(surfaces):
        places.setdefault(surface, []).append(place)
    members = [np.array(each) for each in places.values()]
    found = np.zeros(len(p), dtype=bool)
    if not members:
        return found
    chosen = benjamini_hochberg(np.array([simes(p[each]) for each in members]), q=q)
    inner_q = q * np.count_nonzero(chosen) / len(members)
    for each, is_chosen in zip(members, chosen, strict=True):
        if is_chosen:
            found[each] = benjamini_hochberg(p[each], q=inner_q)
    return found
