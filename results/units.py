"""Quantities as people read them: three digits, an SI prefix, the unit; pure.

In a terminal (`in_words`, `with_prefix`, `alike`, `figures`) a missing value is a dash and whole numbers are short; on
the dashboard (`si` and the others) all three digits stand, so that labels keep their width.
"""

from __future__ import annotations

import math
from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

PREFIXES = {-12: "p", -9: "n", -6: "µ", -3: "m", 0: "", 3: "k", 6: "M", 9: "G", 12: "T", 15: "P"}
TIMES = "\N{MULTIPLICATION SIGN}"
DIVIDED = "\N{DIVISION SIGN}"
THIN_SPACE = "\N{NARROW NO-BREAK SPACE}"
SECOND_NAMES = {"s", "second", "seconds"}
BYTE_NAMES = {"byte", "bytes"}
ABSENT = "–"
SMALLEST, LARGEST = 1e-15, 1e18  # that a prefix makes readable
FACTOR_FROM = 3.0  # of two values a factor is plainer than a percentage
WHOLE = 1e-9  # of a number, by which its neighbour is still the whole one: differences of times are never exact
WITHOUT_DECIMAL = 99.95  # from which three digits are before the point
WITHOUT_FRACTION = 999.95  # from which four digits are before the point
MOST_WHOLE = 1e9  # written with all its digits


def in_words(value: float | None, *, unit: str) -> str:
    """Write a value with its unit: seconds and bytes with an SI prefix, others as they are; a dash for None."""
    if unit in SECOND_NAMES:
        return with_prefix(value, "s")
    if unit in BYTE_NAMES:
        return with_prefix(value, "B")
    return ABSENT if value is None else f"{figures(value)} {unit}".rstrip()


def with_prefix(value: float | None, symbol: str = "") -> str:
    """Write a number with an SI prefix before `symbol`: 0.0000123 with "s" is `12.3 µs`, 64000 is `64 k`."""
    if value is None:
        return ABSENT
    if not SMALLEST <= abs(value) < LARGEST:
        return f"{value:.3g} {symbol}".rstrip()
    number, exponent = _number_and_exponent(value, digits=3)
    scaled = value / 10.0**exponent
    shown = f"{scaled:.0f}" if _is_whole(scaled) else number
    return f"{shown} {PREFIXES[exponent]}{symbol}".rstrip()


def alike(values: Sequence[float], symbol: str) -> list[str]:
    """Write numbers that are read together with the prefix and decimals of the largest: `5.00 ms` and `4.90 ms`.

    One that would keep fewer than two digits so is written for itself.
    """
    decimals, exponent = _decimals_and_exponent(values)
    if exponent is None:
        return [with_prefix(value, symbol) for value in values]
    least = 9.5 * 10.0 ** (exponent - decimals)
    unit = f"{PREFIXES[exponent]}{symbol}"
    return [
        f"{value / 10.0**exponent:.{decimals}f} {unit}".rstrip() if abs(value) >= least else with_prefix(value, symbol)
        for value in values
    ]


def rest_of(whole: float, parts: Sequence[float], symbol: str) -> tuple[float, str]:
    """Return what parts leave of a whole, and its size in words; 0 for less than the digits of `alike` show of them.

    It is the rest of what is written, so that figures of a sentence add up.
    """
    decimals, exponent = _decimals_and_exponent([whole, *parts])
    rest = whole - sum(parts)
    if exponent is None:
        return rest, with_prefix(abs(rest), symbol)
    if not round(rest / 10.0**exponent, decimals):
        return 0.0, with_prefix(0.0, symbol)
    written = [round(value / 10.0**exponent, decimals) for value in (whole, *parts)]
    rest = round(written[0] - sum(written[1:]), decimals)
    return rest * 10.0**exponent, f"{abs(rest):.{decimals}f} {PREFIXES[exponent]}{symbol}".rstrip()


def figures(value: float | None) -> str:
    """Write three significant digits without an exponent where that is readable; whole numbers whole."""
    if value is None:
        return ABSENT
    if not math.isfinite(value):
        return str(value)
    if value == int(value) and abs(value) < 1e6:
        return str(int(value))
    if 1e-3 <= abs(value) < 1e6:
        return f"{value:.{max(0, 2 - math.floor(math.log10(abs(value))))}f}"
    return f"{value:.3g}"


def relative_half_width(value: float | None, low: float | None, high: float | None) -> str:
    """Write half the interval in percent of the value, `> 100 %` beyond that; a dash where there is no interval."""
    if not value or low is None or high is None or not math.isfinite(high - low):
        return ABSENT
    share = (high - low) / 2 / abs(value)
    return percent(share, digits=1) if share <= 1 else f"> {percent(1)}"


def counted(count: int, noun: str) -> str:
    """Write `1 run`, `2 runs` or `12,300 runs`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def counted_states(states: Sequence[str], noun: str) -> str:
    """Write how many there are of each state: `12 points: 11 ok, 1 crashed`."""
    counts = ", ".join(f"{count:,} {state}" for state, count in Counter(states).most_common())
    return f"{counted(len(states), noun)}: {counts}"


def si(value: float, unit: str, *, digits: int = 3) -> str:
    """Write `value` with an SI prefix and `digits` significant digits: 5.21e-5 with "s" is "52.1 µs"."""
    if not SMALLEST <= abs(value) < LARGEST:
        return f"{value:.3g}{THIN_SPACE}{unit}".rstrip()
    number, exponent = _number_and_exponent(value, digits=digits)
    prefix = PREFIXES[exponent]
    # A prefix belongs to a symbol (µs, GFLOP/s) and stands alone before a word (1.2 M rows/s).
    gap = THIN_SPACE if prefix and unit.startswith("rows") else ""
    return f"{number}{THIN_SPACE}{prefix}{gap}{unit}".rstrip()


def si_interval(value: float, low: float, high: float) -> str:
    """Write an interval in the prefix and decimals that `si` gives `value`: "[51.9, 52.4]" after 52.1 µs."""
    number, exponent = _number_and_exponent(value, digits=3)
    decimals = len(number.partition(".")[2])
    return f"[{low / 10**exponent:z.{decimals}f}, {high / 10**exponent:z.{decimals}f}]"


def without_prefix(value: float) -> str:
    """Write a number that takes no prefix: four significant digits, or all before the point: 0.0123, "1,198,234"."""
    return f"{value:,.0f}" if WITHOUT_FRACTION <= abs(value) < MOST_WHOLE else f"{value:.4g}"


def ratio(value: float) -> str:
    """Write a factor with its sign, 1.83 times."""
    return f"{value:.2f}{TIMES}" if value < 100 else f"{value:.0f}{TIMES}"


def ratio_interval(value: float, low: float, high: float) -> str:
    """Write a factor's interval with the decimals that `ratio` gives `value`: "[1.80, 1.86]" after 1.83 times."""
    decimals = 2 if value < 100 else 0
    return f"[{low:.{decimals}f}, {high:.{decimals}f}]"


def percent(fraction: float, *, digits: int | None = None) -> str:
    """Write a share: 0.123 is "12 %", 0.004 is "0.4 %"; with `digits` decimals where they are given."""
    decimals = digits if digits is not None else 0 if abs(fraction) >= 0.0995 else 1
    return f"{100 * fraction:z.{decimals}f}{THIN_SPACE}%"


def visible_from(floor: float, *, digits: int | None = None) -> str:
    """Write the smallest relative change that is visible: a share, or from 200 % on the factor: `× 1,190`."""
    return percent(floor, digits=digits) if floor < FACTOR_FROM - 1 else _as_factor(1 + floor)


def signed(number: float) -> str:
    """Write a number with its sign and one decimal, none from 100 on; what rounds to zero has no sign."""
    if abs(number) >= MOST_WHOLE:
        return f"{number:+.3g}"
    if abs(number) >= WITHOUT_DECIMAL:
        return f"{number:+.0f}"
    text = f"{number:+z.1f}"
    return text if text.strip("+0.") else text[1:]


def change_in_words(ratio: float | None) -> str:
    """Write a ratio as a change, in percent or, from 3 on, as a factor: `+50.0 %` for 1.5, `÷ 5,280` for 1 / 5280.

    `0.0 %` for 0.9999; a dash for no number, empty for None.
    """
    if ratio is None:
        return ""
    return _as_factor(ratio) if _is_factor(ratio) else _as_percent(ratio)


def change_interval_in_words(low: float, high: float, *, ratio: float | None) -> tuple[str, str]:
    """Write the ends of a ratio's interval in the form that the ratio has, so that the three can be compared."""
    write = _as_factor if ratio is not None and _is_factor(ratio) and low > 0 else _as_percent
    return write(low), write(high)


def _is_factor(ratio: float) -> bool:
    return math.isfinite(ratio) and (ratio >= FACTOR_FROM or 0 < ratio <= 1 / FACTOR_FROM)


def _as_percent(ratio: float) -> str:
    return f"{signed(100 * (ratio - 1))} %" if math.isfinite(ratio) else ABSENT


def _as_factor(ratio: float) -> str:
    if not math.isfinite(ratio):
        return ABSENT
    sign, factor = (TIMES, ratio) if ratio >= 1 else (DIVIDED, 1 / ratio)
    return f"{sign} {float(f'{factor:.3g}'):,.10g}" if factor < 1e6 else f"{sign} {factor:.2g}"


def _decimals_and_exponent(values: Sequence[float]) -> tuple[int, int | None]:
    """Return decimals and power of ten of the largest, no decimals where all are whole; None beyond all prefixes."""
    largest = max((abs(value) for value in values), default=0.0)
    if not SMALLEST <= largest < LARGEST:
        return 0, None
    number, exponent = _number_and_exponent(largest, digits=3)
    if all(_is_whole(value / 10.0**exponent) for value in values):
        return 0, exponent
    return len(number.partition(".")[2]), exponent


def _is_whole(number: float) -> bool:
    """Return whether a number is whole but for the rounding of what it was computed from."""
    return abs(number - round(number)) <= WHOLE * abs(number)


@lru_cache(maxsize=4096)  # of a mark, its note and its interval: the same value thrice
def _number_and_exponent(value: float, *, digits: int) -> tuple[str, int]:
    """Return the digits before the prefix and the prefix's power of ten, after rounding: 999.6 is 1.00 k."""
    mantissa, power = f"{value:.{digits - 1}e}".split("e")
    exponent = max(min(3 * (int(power) // 3), max(PREFIXES)), min(PREFIXES))
    shift = int(power) - exponent
    return f"{float(mantissa) * 10**shift:.{max(0, digits - 1 - shift)}f}", exponent


def change_range_in_words(low: float, high: float, *, ratio: float | None) -> str:
    """Write the interval of a change as a phrase, `+4.8 to +13.7 %`: the unit once where both ends share it."""
    first, last = change_interval_in_words(low, high, ratio=ratio)
    return f"{first.removesuffix(' %') if last.endswith(' %') else first} to {last}"
