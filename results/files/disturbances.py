"""What disturbed a point, or several, in one line; pure."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_MOST = 3
# As older journals have it.
_UNSPACED_PERCENT = re.compile(r"(?<=\d)%")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
# Of causes that differ in numbers alone the worst has the least of these, and the most of others.
_SLOW = "the machine ran at"
_LESS_IS_WORSE = (_SLOW, "the GPU's host ran at", "the GPU was throttled")
LEAST_ALIKE = 0.70
"""Share of its best down to which a slow machine was seen to slow calls in turns alike (docs/adr/0017)."""
LEAST_BOUNDED, MOST_LOST, BOUND = 0.40, 0.20, 1.2
"""Share of its best, share of the time lost to others, and the factor that both put such ratios off by, at most."""
_LOST = re.compile(r"(?:kept|waited for a processor|stopped this process) (\d+(?:\.\d+)?) ?% of")
_SHARE = re.compile(r"(\d+(?:\.\d+)?) ?%")
# What journals have beside the cause that were written before advice was given once for all.
_ADVICE = ("measure again", "stop them", "let it cool")


def disturbed_in_short(text: str) -> str:
    """Return what disturbed one point, or one visit of it, as its journal has it: of each kind of cause the worst."""
    return "; ".join(_worst(kind, causes) for kind, causes in _kinds(text.split("; ")).items())


def is_slowness_alone(text: str) -> bool:
    """Return whether nothing disturbed a visit but that the machine was slower than at its best."""
    return all(cause.startswith(_SLOW) for cause in text.split("; "))


def disturbs_ratios(text: str) -> bool:
    """Return whether what disturbed a point may bias the ratio of calls that took turns.

    A machine that was slower than at its best slows them alike, as far as that was measured: to LEAST_ALIKE.
    """
    return ratio_bias(text) > 1


def ratio_bias(text: str) -> float:
    """Return by what factor at most what disturbed a point puts the ratio of calls that took turns off, >= 1.

    Endless where that is not known, or known to be large: beside a process that wants its cores for itself a call of
    several threads was taken for 4 × as fast as eager, and is 1.14 × as fast (docs/adr/0019).
    """
    return max(_ratio_bias_of(cause) for cause in _UNSPACED_PERCENT.sub(" %", text).split("; "))


def _ratio_bias_of(cause: str) -> float:
    if cause.startswith(_SLOW):
        speed = least_speed(cause)
        return 1.0 if speed >= LEAST_ALIKE else BOUND if speed >= LEAST_BOUNDED else math.inf
    lost = most_lost(cause)
    return BOUND if lost is not None and lost < MOST_LOST else math.inf


def least_speed(text: str) -> float:
    """Return the least share of its best, in [0, 1], that a machine ran at by a `text` of slowness alone; 0 untold."""
    return min((float(share) / 100 for share in _SHARE.findall(text)), default=0.0)


def most_lost(text: str) -> float | None:
    """Return the greatest share of the time, in [0, 1], that calls lost to others; None where no cause tells one."""
    return max((float(share) / 100 for share in _LOST.findall(_UNSPACED_PERCENT.sub(" %", text))), default=None)


def disturbed_in_words(texts: Sequence[str]) -> str:
    """Return what disturbed points by their `texts`, and what that leaves standing."""
    causes = causes_in_short(texts)
    if any(disturbs_ratios(text) for text in texts):
        return causes
    return f"{causes}; it slows calls in turns alike, so × eager stands"


def causes_in_short(texts: Iterable[str]) -> str:
    """Return what disturbed points by their `texts`: each cause once, the most frequent first, and of each the worst.

    Causes that differ in numbers alone are one. More than three are counted.
    """
    kinds = _kinds(part for text in texts for part in text.split("; ") if not part.startswith(_ADVICE))
    by_count = sorted(kinds.items(), key=lambda item: (-len(item[1]), item[0]))
    told = [_worst(kind, causes) + ", at worst" * (len(set(causes)) > 1) for kind, causes in by_count[:_MOST]]
    more = len(by_count) - _MOST
    return "; ".join([*told, *([f"and {more} more"] if more > 0 else [])])


def _kinds(causes: Iterable[str]) -> dict[str, list[str]]:
    """Return causes that differ in numbers alone together, in the order in which the first of each comes."""
    kinds: dict[str, list[str]] = {}
    for each in causes:
        cause = _UNSPACED_PERCENT.sub(" %", each)
        kinds.setdefault(_NUMBER.sub("…", cause), []).append(cause)
    return kinds


def _worst(kind: str, causes: list[str]) -> str:
    return (min if kind.startswith(_LESS_IS_WORSE) else max)(causes, key=_numbers)


def _numbers(cause: str) -> list[float]:
    return [float(number) for number in _NUMBER.findall(cause)]
