"""Rows as JSON and CSV: plain values under the names that people type."""

from __future__ import annotations

import csv
import io
import json
import math
from datetime import datetime
from typing import TYPE_CHECKING, TextIO

from results.printable import json_for_terminal

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

# `pass` is a word of Python and so has an underscore in the rows.
EXTERNAL_NAMES = {"pass_": "pass"}
# A spreadsheet takes a text that starts with one of these for a formula, the full-width forms included.
FORMULA_STARTS = tuple("=+-@\t\r\n＝＋－＠")


def plain_fields(fields: Mapping[str, object]) -> dict[str, object]:
    """Return a row's fields under the names that people type, as values that JSON and CSV know."""
    return {EXTERNAL_NAMES.get(name, name): plain_value(value) for name, value in fields.items()}


def plain_value(value: object) -> object:
    """Return a moment as ISO 8601, an infinity as None (JSON has none), and the rest as it is."""
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def document_as_json(document: object, *, indent: int = 1) -> str:
    """Render a document without control characters; what is not finite is null, which every reader of JSON knows."""
    return json_for_terminal(json.dumps(_without_endless(document), indent=indent, ensure_ascii=False))


def csv_cell(value: object) -> object:
    """Return `value` with an apostrophe before a text that a spreadsheet would run as a formula; numbers stay."""
    if type(value) is str and value.startswith(FORMULA_STARTS) and not _is_number(value):
        return f"'{value}"
    return value


class CsvWriter:
    """Writer of CSV lines that end in a line feed, in which no text is a formula.

    The module csv quotes a carriage return only where it ends lines with one.
    """

    def __init__(self, sink: TextIO) -> None:
        self._sink = sink
        self._writer = csv.writer(self, lineterminator="\r\n")

    def write_row(self, cells: Iterable[object]) -> None:
        """Write one line."""
        self._writer.writerow(map(csv_cell, cells))

    def write(self, line: str) -> int:
        """Take a whole line from the module csv."""
        return self._sink.write(line.removesuffix("\r\n") + "\n")


def rows_as_json(rows: Sequence[Mapping[str, object]]) -> str:
    """Render plain rows as a JSON list of objects, without control characters."""
    return json_for_terminal(json.dumps(rows, indent=1, ensure_ascii=False))


def rows_as_csv(rows: Sequence[Mapping[str, object]]) -> str:
    """Render plain rows as CSV, one line each below the names of their columns."""
    text = io.StringIO()
    if rows:
        writer = CsvWriter(text)
        for cells in (rows[0], *(row.values() for row in rows)):
            writer.write_row(cells)
    return text.getvalue().rstrip("\n")


def _without_endless(value: object) -> object:
    if isinstance(value, dict):
        return {name: _without_endless(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_without_endless(one) for one in value]
    return plain_value(value)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    # Python reads white space and underscores too, a spreadsheet may not.
    return text.isascii() and not set(text) & set("_ \t\r\n")
