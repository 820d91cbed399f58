"""What was expected of a call beside what was seen, and the parts of its latency → text; pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from results.judgement.latency_parts import Part, parts_of
from results.output.terminal import Style
from results.output.text_tables import Block, Cell, Column, render_blocks
from results.units import ABSENT, figures, in_words, percent, with_prefix

if TYPE_CHECKING:
    from results.judgement.latency_parts import LatencyPart, LatencyParts
    from results.output.terminal import Terminal
    from results.rows import PointRow, ProfileRow

EXPECTED_COLUMNS = (
    Column(name="of one call"),
    Column(name="expected", is_right=True),
    Column(name="seen", is_right=True),
    Column(name="ratio", is_right=True),
)
PART_COLUMNS = (
    Column(name="part of the latency"),
    Column(name="time", is_right=True),
    Column(name="share", is_right=True),
    Column(name="of which", is_note=True),
)
MOST_NAMES = 6
# A rest below this share of the latency is one of rounding.
_NOTHING = 1e-6
_ABOVE = frozenset({Part.PRODUCTS, Part.OPERATORS, Part.ALL_OPERATORS})
_OF_FLOOR = {"memory": "traffic", "compute": "arithmetic"}


def expectation_as_text(point: PointRow, profile: ProfileRow, terminal: Terminal) -> list[str]:
    """Render what was expected beside what was seen, and the difference in words; nothing where nothing is known."""
    quantities = (
        ("operators", "operator_count", profile.expected_operator_count, profile.operator_count, ""),
        ("launches", "", profile.expected_kernel_launches, profile.kernel_launches, ""),
        ("traffic", "operators_min_bytes", profile.expected_bytes, profile.operators_min_bytes, "bytes"),
        ("time", "", profile.expected_time_s, point.latency_s, "s"),
        ("compilations", "", 0.0 if profile.compilations else None, profile.compilations, ""),
    )
    rows = [
        (
            Cell(name),
            Cell(in_words(expected, unit=unit)),
            Cell(in_words(seen, unit=unit)),
            Cell("other operators" if field in profile.incomparable else _ratio(expected, seen)),
        )
        for name, field, expected, seen, unit in quantities
        if expected is not None
    ]
    parts = [render_blocks(EXPECTED_COLUMNS, [Block(title="", rows=rows)], terminal)] if rows else []
    if profile.unexpected:
        parts.append(terminal.paragraph(f"unexpected: {profile.unexpected}", Style.DOUBTFUL))
    return parts


def _ratio(expected: float, seen: float | None) -> str:
    return f"{figures(seen / expected)} ×" if expected and seen is not None else ABSENT


def parts_as_text(found: LatencyParts, point: PointRow, terminal: Terminal) -> list[str]:
    """Render the parts of a latency as a table, and why there is no floor among them or no part at all."""
    latency_s = found.latency_s or 0.0
    rows = [
        (
            Cell(_name(each, found, point)),
            Cell(with_prefix(each.time_s, "s")),
            Cell(percent(each.time_s / latency_s, digits=0) if latency_s else ABSENT),
            Cell(_within(each)),
        )
        for each in found.parts
        if each.part is not Part.REST or abs(each.time_s) > _NOTHING * latency_s
    ]
    parts = [render_blocks(PART_COLUMNS, [Block(title="", rows=rows)], terminal)] if rows else []
    if found.reason and latency_s:
        parts.append(terminal.paragraph(f"the parts of the latency: {found.reason}"))
    return parts


def largest_part_in_words(point: PointRow) -> str | None:
    """Write which part most of the latency goes to: `80% outside operators`; None where that is not known."""
    found = parts_of(point)
    largest = found.largest
    # Where they overlap the parts are more than the latency.
    whole_s = sum(max(0.0, each.time_s) for each in found.parts)
    if largest is None or not whole_s:
        return None
    return f"{percent(largest.time_s / whole_s, digits=0)} {_name(largest, found, point)}"


def _name(each: LatencyPart, found: LatencyParts, point: PointRow) -> str:
    if each.part is Part.FLOOR:
        work = _OF_FLOOR.get(point.bound or "")
        return f"floor ({work})" if work else "floor"
    return f"{each.part} above the floor" if each.part in _ABOVE and found.has_floor else str(each.part)


def _within(each: LatencyPart) -> str:
    if each.part is Part.REST:
        return _of_the_rest(each.time_s)
    named = [f"{name} {with_prefix(time_s, 's')}" for name, time_s in each.within[:MOST_NAMES]]
    n_more = len(each.within) - MOST_NAMES
    return "; ".join([*named, *([f"{n_more} more"] if n_more > 0 else [])])


def _of_the_rest(time_s: float) -> str:
    if time_s < 0:
        return "overlap: the parts are of calls that were profiled, which took longer than those that were timed"
    return "in no part: the calls that were profiled took less than those that were timed" if time_s else ""
