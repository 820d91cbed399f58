"""Slowness of a machine in words: which of its parts ran how far below its best."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import TYPE_CHECKING

from benchmarks.ruler.plan.units import percent

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

LEAST_SPEED = 0.92
"""Below this share of its best, the machine is slow; what is above moves medians by less than they vary anyway."""
MOST_SLOW = 0.25
"""More of what is kept of a visit makes it slow."""

LEAST_ALIKE = 0.70
"""Share of its best down to which a slow machine was seen to slow calls in turns alike (docs/adr/0017)."""

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


_RAN_AT = "the machine ran at"
_HOST_RAN_AT = "the GPU's host ran at"
_SPEED = re.compile(rf"{_RAN_AT} (\d+(?:\.\d+)?) ?%")
_PART_WORDS = {
    Part.CORE: "one core's arithmetic",
    Part.PRODUCT: "a small matrix product",
    Part.MEMORY: "reading memory",
}


def slowness(part: Part, speed: float, *, is_on_host: bool = True) -> str | None:
    """Return in words that the machine ran slower than it can, or None.

    is_on_host: the calls compute on the CPU. A GPU's slow host is told otherwise: it slows those calls alone that wait
    for it, and so disturbs ratios (`disturbs_ratios`).
    """
    if speed >= LEAST_SPEED:
        return None
    ran_at = _RAN_AT if is_on_host else _HOST_RAN_AT
    return f"{ran_at} {speed_in_words(speed)} of its best ({_PART_WORDS[part]})"


def disturbs_ratios(disturbed: str | None) -> bool:
    """Return whether what disturbed calls that took turns may bias the ratio of their times.

    disturbed: causes as an outcome has them, None for none. Slowness alone does not, down to LEAST_ALIKE.
    """
    return speed_of_slow(disturbed) is None


def speed_of_slow(disturbed: str | None) -> float | None:
    """Return the speed, in ]0, 1], of a machine that was `disturbed` by slowness alone, at no less than LEAST_ALIKE.

    1 where nothing disturbed it; None where anything else did, or more.
    """
    if disturbed is None:
        return 1.0
    found = [_SPEED.match(cause) for cause in disturbed.split("; ")]
    speeds = [float(speed[1]) / 100 if speed else 0.0 for speed in found]
    return min(speeds) if min(speeds) >= LEAST_ALIKE else None


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
