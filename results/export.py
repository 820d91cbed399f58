"""Rows → files for other programs: CSV, JSON, Parquet; units are in the column names; pure."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import asdict
from enum import StrEnum
from importlib import import_module
from typing import TYPE_CHECKING

from results.errors import ResultsError
from results.tables import plain

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from results.rows import PointRow, SeriesValueRow

MEASURED = ("value", "ci_low", "ci_high", "q25", "q75")


class ExportFormat(StrEnum):
    """What another program can read."""

    CSV = "csv"
    JSON = "json"
    PARQUET = "parquet"


def points_as_columns(rows: Sequence[PointRow]) -> list[dict[str, object]]:
    """Sweep points; their columns carry their units already."""
    return [plain(asdict(row)) for row in rows]


def values_as_columns(rows: Sequence[SeriesValueRow]) -> list[dict[str, object]]:
    """Values of any suite: a column for each unit (`value_seconds`) and for each parameter (`param_n`).

    Every row has every column, null where it has none.
    """
    units = sorted({row.unit for row in rows})
    names = sorted({parameter.name for row in rows for parameter in row.parameters})
    empty = {f"{part}_{unit}": None for unit in units for part in MEASURED}
    columns = []
    for row in rows:
        fields = plain(asdict(row))
        for name in ("samples", "series_id", "parameters", "unit"):
            del fields[name]
        measured = {f"{part}_{row.unit}": fields.pop(part) for part in MEASURED}
        given = {parameter.name: parameter.value for parameter in row.parameters}
        columns.append(fields | {f"param_{name}": given.get(name) for name in names} | empty | measured)
    return columns


def exported(rows: Sequence[Mapping[str, object]], *, export_format: ExportFormat) -> bytes:
    """The file's content. Raises: ResultsError if Parquet is asked for and pyarrow is not there."""
    match export_format:
        case ExportFormat.CSV:
            text = io.StringIO()
            writer = csv.DictWriter(text, fieldnames=list(rows[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
            return text.getvalue().encode()
        case ExportFormat.JSON:
            return json.dumps(list(rows), indent=1, ensure_ascii=False).encode() + b"\n"
        case ExportFormat.PARQUET:
            return _parquet(rows)


def _parquet(rows: Sequence[Mapping[str, object]]) -> bytes:
    try:
        # Large, and for this alone.
        arrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    except ModuleNotFoundError as error:
        raise ResultsError("Parquet needs pyarrow: pip install pyarrow") from error
    # A parameter may be a number here and a text there; a column of Parquet has one type.
    mixed = {
        name for name in rows[0] if len({type(row[name]) for row in rows if row[name] is not None} - {int, float}) > 0
    }
    columns = {
        name: [None if row[name] is None else str(row[name]) if name in mixed else row[name] for row in rows]
        for name in rows[0]
    }
    sink = io.BytesIO()
    parquet.write_table(arrow.table(columns), sink)
    return sink.getvalue()
