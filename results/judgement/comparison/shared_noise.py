"""How much of what varies from round to round all points of a surface have in common. Pure.

Providers may react to what disturbs a process more than eager does, or less: then what is left of it, when eager's
part is taken out, moves all of their points at once.
"""

from __future__ import annotations

from statistics import fmean, variance
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    from results.judgement.comparison.differences import Difference
    from results.judgement.comparison.processes import Pair

LEAST_POINTS = 3
"""Of fewer points of a surface nothing is known of what they share."""


def shared_shares(pairs: Sequence[Pair], differences: Sequence[Difference]) -> dict[Hashable, float]:
    """Return the share of the variance between rounds that points of a surface have in common, by testbed, 0 to 1.

    pairs: measured in rounds, with the difference of each. By how much more the mean over a surface's points varies
    than that of as many independent ones, over all surfaces of the testbed. A testbed of which nothing is known is
    left out.
    """
    surfaces: dict[tuple[Hashable, Hashable], list[Mapping[int, float]]] = {}
    for pair, difference in zip(pairs, differences, strict=True):
        if len(difference.rounds) > 1 and not pair.is_control:
            surfaces.setdefault((pair.testbed, pair.surface), []).append(difference.rounds)
    sums: dict[Hashable, tuple[float, float]] = {}
    for (testbed, _), points in surfaces.items():
        if len(points) >= LEAST_POINTS and (parts := _shared_and_whole(points)) is not None:
            shared, whole = sums.get(testbed, (0.0, 0.0))
            sums[testbed] = shared + parts[0], whole + parts[1]
    return {testbed: max(0.0, shared / whole) for testbed, (shared, whole) in sums.items() if whole}


def _shared_and_whole(points: Sequence[Mapping[int, float]]) -> tuple[float, float] | None:
    """Return the variance that points share, without what chance gives their mean, and that of one of them."""
    numbers = set.intersection(*(set(rounds) for rounds in points))
    if len(numbers) < 2:
        return None
    of_points = fmean(variance([rounds[number] for number in numbers]) for rounds in points)
    of_mean = variance([fmean(rounds[number] for rounds in points) for number in numbers])
    n = len(points)
    return (of_mean - of_points / n) / (1 - 1 / n), of_points
