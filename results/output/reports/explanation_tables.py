"""Explanations → the tables behind their sentences: quantities of a call, its parts, the host's frames; pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from results.judgement.explanation import RowKind, RowPlace
from results.output.reports.comments import Table
from results.units import ABSENT, change_in_words, figures, in_words, with_prefix

if TYPE_CHECKING:
    from collections.abc import Sequence

    from results.judgement.explanation import DifferenceRow, Explanation
    from results.judgement.explanation.exact_differences import Fact, Quantity

LATENCY = "latency"
_MOST_FRAMES = 8


def tables_of(explanation: Explanation) -> list[Table]:
    """Return the tables that are not empty: what differs exactly and what was timed, parts of the time, host frames."""
    tables = [_quantities(explanation.quantities), _parts(explanation), _frames(explanation)]
    return [table for table in tables if table.rows]


def texts_of(explanation: Explanation) -> list[str]:
    """Return what differs and is no number, one text each: `bound: memory → overhead`."""
    return [
        f"{one.name}: {one.base or ABSENT} → {one.head or ABSENT}"
        for one in explanation.quantities
        if _is_text(one) and one.base != one.head
    ]


def _is_text(one: Quantity) -> bool:
    return isinstance(one.base, str) or isinstance(one.head, str)


def _quantities(quantities: Sequence[Quantity]) -> Table:
    """Return the exact ones that differ, then all times; what is equal and exact is left out."""
    numbers = [one for one in quantities if not _is_text(one)]
    exact = [one for one in numbers if one.is_exact and one.base != one.head]
    timed = [one for one in numbers if not one.is_exact and not one.base == one.head == 0]
    rows = [(one.name, _fact(one.base, one.unit), _fact(one.head, one.unit), _change(one)) for one in (*exact, *timed)]
    return Table(title="One call", columns=("quantity", "base", "head", "change"), rows=rows, is_open=False)


def _parts(explanation: Explanation) -> Table:
    """Return the aligned work, what is beside it and the rest, which sum to the latency."""
    difference = explanation.difference
    columns = ("part", "what", "calls", "base", "head", "change")
    if not difference.parts:
        return Table(title="", columns=columns, rows=[], is_open=False)
    rows, same = [], []
    for row in difference.work:
        if row.kind is RowKind.SAME:
            same.append(row)
        else:
            rows.append((_name(row), row.kind.value, _calls(row), *_times(row.base_s, row.head_s)))
    if same:
        sums = (sum(row.base_s for row in same), sum(row.head_s for row in same))
        name = _name(same[0]) if len(same) == 1 else f"{len(same)} others"
        rows.append((name, RowKind.SAME.value, _calls(same[0]) if len(same) == 1 else "", *_times(*sums)))
    rows += [
        (part.name, "", "", *_times(part.base_s, part.head_s)) for part in difference.parts[len(difference.work) :]
    ]
    rows.append((LATENCY, "", "", *_times(difference.base_s or 0.0, difference.head_s or 0.0)))
    by_name = "" if difference.is_by_tree else ", aligned by name alone: no stacks are stored"
    return Table(title=f"Where the time goes{by_name}", columns=columns, rows=rows, is_open=False)


def _frames(explanation: Explanation) -> Table:
    frames = [row for row in explanation.difference.rows if row.place is RowPlace.HOST and row.kind is not RowKind.SAME]
    n_shown = len(frames) if len(frames) <= _MOST_FRAMES else _MOST_FRAMES - 1
    rows = [(_name(row), row.kind.value, *_times(row.base_s, row.head_s)) for row in frames[:n_shown]]
    if others := frames[n_shown:]:
        sums = (sum(row.base_s for row in others), sum(row.head_s for row in others))
        rows.append((f"{len(others)} others", "", *_times(*sums)))
    columns = ("frame", "what", "base", "head", "change")
    return Table(title="On the host, as profiled", columns=columns, rows=rows, is_open=False)


def _name(row: DifferenceRow) -> str:
    return row.name if row.before is None else f"{row.before} → {row.name}"


def _calls(row: DifferenceRow) -> str:
    if row.base_count is None or row.head_count is None:
        return ""
    if row.base_count == row.head_count:
        return figures(row.head_count)
    return f"{figures(row.base_count)} → {figures(row.head_count)}"


def _times(base_s: float, head_s: float) -> tuple[str, str, str]:
    return with_prefix(base_s, "s"), with_prefix(head_s, "s"), _signed(head_s - base_s)


def _signed(time_s: float) -> str:
    return "" if abs(time_s) < 5e-10 else f"{'+' if time_s > 0 else ''}{with_prefix(time_s, 's')}"


def _fact(value: Fact, unit: str) -> str:
    if isinstance(value, str):
        return value
    return ABSENT if value is None else in_words(value, unit=unit)


def _change(one: Quantity) -> str:
    if one.change is None or one.change == 0:
        return ""
    sign = "+" if one.change > 0 else ""
    base, head = one.base, one.head
    share = ""
    if isinstance(base, int | float) and isinstance(head, int | float) and min(base, head) > 0:
        share = f" ({change_in_words(head / base)})"
    return f"{sign}{in_words(one.change, unit=one.unit)}{share}"
