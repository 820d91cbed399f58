"""Values of any asv suite → text, JSON, CSV; pure."""

from __future__ import annotations

import json
from collections import Counter
from itertools import groupby
from typing import TYPE_CHECKING

from results.files.records import State
from results.output.plain_values import plain_fields, plain_value, rows_as_csv, rows_as_json
from results.output.terminal import UNLIMITED, Style
from results.output.text_tables import Block, Cell, Column, render_blocks
from results.rows import parameters_in_words
from results.units import SECOND_NAMES, counted_states, in_words, relative_half_width

if TYPE_CHECKING:
    from collections.abc import Sequence

    from results.output.terminal import Terminal
    from results.rows import SeriesValueRow

COLUMNS = (
    Column(name="benchmark", stack=1),
    Column(name="parameters", stack=2),
    Column(name="value", is_right=True),
    Column(name="±", is_right=True, drop=1),
    Column(name="remark"),
    Column(name="reason", is_note=True),
)
NOT_APPLICABLE = (State.SKIPPED, State.UNAVAILABLE)


def values_as_text(
    rows: Sequence[SeriesValueRow], terminal: Terminal = UNLIMITED, *, shown: Sequence[SeriesValueRow] | None = None
) -> str:
    """Render a table for each project, machine, environment and commit, a line for each series.

    shown: the rows to print, where that is not all of them; every state is counted among all rows.
    """
    printed = sorted(rows if shown is None else shown, key=_place)
    blocks = [Block(title=title, rows=[_cells(row) for row in group]) for title, group in groupby(printed, key=_place)]
    states = counted_states([row.state for row in rows], "value")
    return f"{render_blocks(COLUMNS, blocks, terminal)}\n\n{states}"


def values_as_json(rows: Sequence[SeriesValueRow]) -> str:
    """Render a JSON list of objects; parameters are an object by name."""
    return rows_as_json([_fields(row) for row in rows])


def values_as_csv(rows: Sequence[SeriesValueRow]) -> str:
    """Render one line a series; parameters are a JSON object in one column."""
    return rows_as_csv(
        [
            {**fields, "parameters": json.dumps(fields["parameters"], ensure_ascii=False)}
            for fields in map(_fields, rows)
        ]
    )


def most_important_values(rows: Sequence[SeriesValueRow], *, count: int) -> list[SeriesValueRow]:
    """Return `count` rows in their order: failed ones for up to half of them, then the slowest.

    Of either kind, one of each benchmark comes before a second of any.
    """
    failed = [row for row in rows if row.state != State.OK and row.state not in NOT_APPLICABLE]
    others = sorted((row for row in rows if row.state == State.OK), key=_slowness)
    absent = [row for row in rows if row.state in NOT_APPLICABLE]
    first = _one_of_each_first(failed)
    n_failed = max(count // 2, count - len(others))
    ranked = [*first[:n_failed], *_one_of_each_first(others), *first[n_failed:], *absent]
    chosen = {id(row) for row in ranked[:count]}
    return [row for row in rows if id(row) in chosen]


def _place(row: SeriesValueRow) -> str:
    return f"{row.project} · {row.machine} · {row.environment} · {row.commit[:8]}"


def _slowness(row: SeriesValueRow) -> tuple[bool, float]:
    return (row.unit not in SECOND_NAMES, -(row.value or 0.0))


def _one_of_each_first(rows: Sequence[SeriesValueRow]) -> list[SeriesValueRow]:
    seen: Counter[str] = Counter()
    ranks = []
    for row in rows:
        ranks.append(seen[row.benchmark])
        seen[row.benchmark] += 1
    return [rows[i] for i in sorted(range(len(rows)), key=ranks.__getitem__)]


def _cells(row: SeriesValueRow) -> tuple[Cell, ...]:
    is_ok = row.state == State.OK
    style = Style.DOUBTFUL if row.state in NOT_APPLICABLE else Style.BAD
    return (
        Cell(row.benchmark),
        Cell(parameters_in_words(row.parameters)),
        Cell(in_words(row.value, unit=row.unit)),
        Cell(relative_half_width(row.value, row.ci_low, row.ci_high)),
        Cell("") if is_ok else Cell(row.state, style),
        Cell("") if is_ok else Cell(row.reason or ""),
    )


def _fields(row: SeriesValueRow) -> dict[str, object]:
    fields = row._asdict()
    fields["parameters"] = {parameter.name: plain_value(parameter.value) for parameter in row.parameters}
    left_out = {"samples", "processes", "series_id"}
    return plain_fields({name: value for name, value in fields.items() if name not in left_out})
