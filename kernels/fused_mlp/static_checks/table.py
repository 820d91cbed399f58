"""Markdown table of the report's rows, written and read."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fused_mlp.static_checks.footprints import Footprint
from fused_mlp.static_checks.report import Row

if TYPE_CHECKING:
    from collections.abc import Sequence

_HEADER = (
    "| target | kernel and configuration | registers | shared memory, bytes | instructions "
    "| one by one | fits | key |\n|---|---|---|---|---|---|---|---|"
)
_LINE = re.compile(
    r"^\| (sm_\d+) \| (\S+) \| ([^|]+) \| ([^|]+) \| ([^|]+) \| ([^|]+) \| yes \| ([0-9a-f]{10}) \|$",
    re.MULTILINE,
)
_NOTHING = "–"
_BETWEEN = " / "


def table_from_rows(rows: Sequence[Row]) -> str:
    """Return the rows as a Markdown table."""
    return "\n".join([_HEADER, *map(line_from_row, rows)])


def line_from_row(row: Row) -> str:
    """Return one row as a line of the table."""
    verdict = "; ".join(row.faults) or "yes"
    cells = [
        _cell([str(used.registers) for used in row.footprints]),
        _cell([str(used.shared_memory_bytes) for used in row.footprints]),
        _cell([", ".join(sorted(used.instructions)) or _NOTHING for used in row.footprints]),
        _cell(["yes" if used.one_by_one else _NOTHING for used in row.footprints]),
    ]
    return f"| {row.target} | {row.kernel} | {' | '.join(cells)} | {verdict} | {row.key or _NOTHING} |"


def rows_from_table(text: str) -> dict[str, Row]:
    """Return the rows of a table that fit, by their keys; others must be compiled again."""
    rows = {}
    for target, kernel, *cells, key in _LINE.findall(text):
        columns = [cell.split(_BETWEEN) for cell in cells]
        n_footprints = max(map(len, columns))
        wide = (column * n_footprints if len(column) == 1 else column for column in columns)
        footprints = tuple(_footprint(*values) for values in zip(*wide, strict=True))
        rows[key] = Row(target=target, kernel=kernel, footprints=footprints, key=key, is_recorded=True)
    return rows


def _cell(values: list[str]) -> str:
    """Return one value where all are the same, else all."""
    return _BETWEEN.join(values if len(set(values)) > 1 else values[:1]) or _NOTHING


def _footprint(registers: str, shared: str, instructions: str, one_by_one: str) -> Footprint:
    return Footprint(
        registers=int(registers),
        stack_bytes=0,
        shared_memory_bytes=int(shared),
        instructions=frozenset(() if instructions == _NOTHING else instructions.split(", ")),
        one_by_one=one_by_one == "yes",
    )
