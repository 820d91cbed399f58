"""Slowness of a machine in words: which of its parts ran how far below its best."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from benchmarks.ruler.plan.units import percent

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

LEAST_SPEED = 0.92
"""Below this share of its best, the machine is slow; what is above moves medians by less than they vary anyway."""
MOST_SLOW = 0.25
"""More of what is kept of a visit makes it slow."""


SLOW_QUARTER = "slow_quarter_"
"""Conditions that begin so are of a visit: what a piece of the probe's work took, by part, where it was slow."""


class Part(StrEnum):
    """Part of the machine that a piece of the probe's work uses.

    CORE: one core's scalar instructions; PRODUCT: the vector units of all threads; MEMORY: reading with one thread what
    no cache holds.
    """

    CORE = "core"
    PRODUCT = "product"
    MEMORY = "memory"


_PART_WORDS = {
    Part.CORE: "one core's arithmetic",
    Part.PRODUCT: "a small matrix product",
    Part.MEMORY: "reading memory",
}


def slowness(part: Part, speed: float) -> str | None:
    """Return in words that the machine ran slower than it can, or None."""
    if speed >= LEAST_SPEED:
        return None
    return f"the machine ran at {speed_in_words(speed)} of its best ({_PART_WORDS[part]})"


def speed_in_words(speed: float) -> str:
    """Write a share of the best speed, which is never none at all."""
    return percent(speed) if speed >= 0.01 else f"less than {percent(0.01)}"


def slow_quarter(slowest_first: Sequence[float]) -> float | None:
    """Return the speed (or time) at the end of the slowest MOST_SLOW of a visit; None without any.

    Below LEAST_SPEED exactly where more than MOST_SLOW of the visit is.
    """
    return slowest_first[int(MOST_SLOW * len(slowest_first))] if slowest_first else None


def slowest_part(
    times_s: Mapping[Part, float] | Mapping[str, float], best_s: Mapping[str, float]
) -> tuple[Part, float] | None:
    """Return the part of `times_s`, seconds by part, that is slowest against its best, and its speed; or None."""
    speeds = {Part(part): best_s[part] / time_s for part, time_s in times_s.items() if part in best_s and time_s > 0}
    return min(speeds.items(), key=lambda pair: pair[1]) if speeds else None
