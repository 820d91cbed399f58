"""Operators, kernels and expectations of a profiled call: rows and columns of its tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dash import html

from dashboard.tables.grids import Column
from dashboard.widgets import labelled_cells
from results.judgement.explanation import RowKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dash.development.base_component import Component

    from results.judgement.explanation import DifferenceRow, ProfileDifference
    from results.rows import KernelRow, OperatorRow, RuntimeCallRow

EXPECTED_HEADINGS = (("Of one call", ""), ("Expected", "number"), ("Seen", "number"), ("Difference", ""))
OPERATOR_COLUMNS = (
    Column(field="name", heading="Operator on the host", width=220, grows=True),
    Column(field="count", heading="Calls", unit="", has_prefix=False, width=84),
    Column(field="self_time_s", heading="Self time", unit="s", width=110, explanation="without what it calls"),
    Column(field="total_time_s", heading="Total time", unit="s", width=110, explanation="with what it calls"),
    Column(field="computes", heading="Computes", width=104),
    Column(field="allocated_bytes", heading="Allocates", unit="B", width=110, explanation="by itself, in one call"),
    Column(field="min_bytes", heading="Must move", unit="B", width=116,
           explanation="the least: each input read once, each output written once"),
    Column(field="inputs", heading="Inputs", width=200, grows=True),
)  # fmt: skip
KERNEL_COLUMNS = (
    Column(field="words", heading="Kernel on the device", width=300, grows=True),
    Column(field="count", heading="Launches", unit="", has_prefix=False, width=100),
    Column(field="device_time_s", heading="Time", unit="s", width=100),
    Column(field="kind", heading="Kind", width=120),
    Column(field="author", heading="By", width=120),
    Column(field="name", heading="Name", width=200, grows=True),
)
RUNTIME_COLUMNS = (
    Column(field="name", heading="Call of the runtime", width=220, grows=True),
    Column(field="kind", heading="Asks for", width=120),
    Column(field="count", heading="Calls", unit="", has_prefix=False, width=84),
    Column(field="time_s", heading="Time on the host", unit="s", width=140),
)
DIFFERENCE_COLUMNS = (
    Column(field="kind", heading="It is", width=124),
    Column(field="name", heading="Operator or kernel", width=220, grows=True),
    Column(field="base_count", heading="Calls, before", unit="", has_prefix=False, width=132),
    Column(field="head_count", heading="Calls, after", unit="", has_prefix=False, width=124),
    Column(field="base_s", heading="Before", unit="s", width=108),
    Column(field="head_s", heading="After", unit="s", width=100),
    Column(field="change_s", heading="Change", unit="s", width=112, is_change=True),
    Column(field="place", heading="Where", width=100),
    Column(field="detail", heading="Of the name, or called by", width=200, grows=True),
)


@dataclass(frozen=True, kw_only=True)
class Expectation:
    """Quantity of one call: what the provider declares beside what was seen, in words. is_odd: they differ."""

    name: str
    expected: str
    seen: str
    comparison: str
    is_odd: bool = False


def expected_table(rows: Sequence[Expectation]) -> Component:
    """Build a line per quantity: expected, seen, and how the two differ."""
    head = html.Tr([html.Th(text, className=kind, scope="col") for text, kind in EXPECTED_HEADINGS])
    lines = [
        html.Tr(
            [
                html.Th(row.name, scope="row"),
                *labelled_cells(EXPECTED_HEADINGS[1:], [row.expected, row.seen, _compared(row)]),
            ]
        )
        for row in rows
    ]
    return html.Div(
        html.Table([html.Thead(head), html.Tbody(lines)], className="winners named half"), className="scrolls"
    )


def _compared(row: Expectation) -> Component | str:
    if not row.comparison:
        return ""
    return html.Span(row.comparison, className="tone doubt" if row.is_odd else "dimmed")


def operator_rows(operators: Sequence[OperatorRow]) -> list[dict[str, object]]:
    """Return the rows of OPERATOR_COLUMNS, in their order."""
    return [
        {
            "name": row.name,
            "count": row.count,
            "self_time_s": row.self_time_s,
            "total_time_s": row.total_time_s,
            "computes": "yes" if row.is_compute else "no",
            "allocated_bytes": row.allocated_bytes,
            "min_bytes": row.min_bytes,
            "inputs": "; ".join(row.inputs),
        }
        for row in operators
    ]


def kernel_rows(kernels: Sequence[KernelRow]) -> list[dict[str, object]]:
    """Return the rows of KERNEL_COLUMNS, in their order: what each name says, and the name."""
    return [
        {
            "words": row.words or row.name,
            "count": row.count,
            "device_time_s": row.device_time_s,
            "kind": row.kind or "not known",
            "author": row.author or "not known",
            "name": row.name,
        }
        for row in kernels
    ]


def runtime_rows(calls: Sequence[RuntimeCallRow]) -> list[dict[str, object]]:
    """Return the rows of RUNTIME_COLUMNS, in their order."""
    return [{"name": row.name, "kind": row.kind, "count": row.count, "time_s": row.time_s} for row in calls]


def difference_rows(difference: ProfileDifference) -> list[dict[str, object]]:
    """Return the rows of DIFFERENCE_COLUMNS: what changed first, by size, then what stayed the same."""
    ordered = sorted(difference.rows, key=lambda row: (row.kind is RowKind.SAME, -abs(row.change_s)))
    return [
        {
            "kind": str(row.kind),
            "name": row.words or row.name,
            "base_count": row.base_count,
            "head_count": row.head_count,
            "base_s": row.base_s if row.kind is not RowKind.ADDED else None,
            "head_s": row.head_s if row.kind is not RowKind.REMOVED else None,
            "change_s": row.change_s,
            "place": str(row.place),
            "detail": _detail(row),
        }
        for row in ordered
    ]


def _detail(row: DifferenceRow) -> str:
    before = f"was {row.before}" if row.before else ""
    callers = f"below {' › '.join(row.callers)}" if row.callers else ""
    return "; ".join(filter(None, (before, row.detail, callers)))
