"""Quantities as people read them; pure."""

from __future__ import annotations


def percent(share: float, *, digits: int = 0) -> str:
    """Write a share in percent: 0.123 is "12 %", with `digits` 1 "12.3 %"."""
    return f"{100 * share:.{digits}f} %"


def signed_percent(share: float) -> str:
    """Write a difference in percent, with its sign and one decimal: 0.123 is "+12.3 %"."""
    return f"{100 * share:+.1f} %"


def count_of(n: int, noun: str) -> str:
    """Write a number of things: "1 launch", "2 launches"."""
    plural = noun + ("es" if noun.endswith("ch") else "s")
    return f"{n} {noun if n == 1 else plural}"
