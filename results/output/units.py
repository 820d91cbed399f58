"""Quantities as people read them: three figures and a prefix; pure."""

from __future__ import annotations

import math

PREFIXES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""))
SECONDS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
SECOND_NAMES = {"s", "second", "seconds"}
BYTE_NAMES = {"byte", "bytes"}
ABSENT = "–"


def in_words(value: float | None, *, unit: str) -> str:
    """A value with its unit; a dash where there is none."""
    if value is None:
        return ABSENT
    if unit in SECOND_NAMES:
        return seconds(value)
    if unit in BYTE_NAMES:
        return scaled(value, unit="B")
    return f"{figures(value)} {unit}".rstrip()


def seconds(value: float | None) -> str:
    """A duration: `0.0000123` is `12.3 µs`."""
    if value is None:
        return ABSENT
    for size, name in SECONDS:
        if abs(value) >= size:
            return f"{figures(value / size)} {name}"
    return f"{figures(value / 1e-9)} ns"


def scaled(value: float | None, *, unit: str = "") -> str:
    """A large number with a decimal prefix: `12300` is `12.3 k`."""
    if value is None:
        return ABSENT
    for size, prefix in PREFIXES:
        if abs(value) >= size:
            return f"{figures(value / size)} {prefix}{unit}".rstrip()
    return f"{figures(value)} {unit}".rstrip()


def figures(value: float | None) -> str:
    """Three significant figures without an exponent where that is readable; whole numbers whole."""
    if value is None:
        return ABSENT
    if not math.isfinite(value):
        return str(value)
    if value == int(value) and abs(value) < 1e6:
        return str(int(value))
    if 1e-3 <= abs(value) < 1e6:
        return f"{value:.{max(0, 2 - math.floor(math.log10(abs(value))))}f}"
    return f"{value:.3g}"
