"""Rows → CSV, JSON and Parquet for other programs; units are in the column names.

Rows are written as they come, so that an export of everything needs no more memory than one commit's.
"""

from __future__ import annotations

import io
import json
import re
from dataclasses import dataclass
from enum import StrEnum
from importlib import import_module
from typing import IO, TYPE_CHECKING, Any

from results.output.plain_values import EXTERNAL_NAMES, CsvWriter, plain_value
from results.output.point_tables import STANDING
from results.rows import PointRow, SeriesValueRow

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from results.rows import BenchmarkRow

MEASURED = ("value", "ci_low", "ci_high", "q25", "q75")
LARGEST_INTEGER = 2**63 - 1


class ExportFormat(StrEnum):
    """Format that other programs read."""

    CSV = "csv"
    JSON = "json"
    PARQUET = "parquet"


class ColumnType(StrEnum):
    """Type of a column; every type has null for a missing entry."""

    TEXT = "text"
    INTEGER = "integer"
    NUMBER = "number"
    BOOLEAN = "boolean"
    MOMENT = "moment"


TYPE_OF_ANNOTATION = {
    "str": ColumnType.TEXT,
    "int": ColumnType.INTEGER,
    "float": ColumnType.NUMBER,
    "datetime": ColumnType.MOMENT,
}


@dataclass(frozen=True)
class Table:
    """Columns of an export; `cells_of` returns a row's entries in their order."""

    columns: Mapping[str, ColumnType]
    cells_of: Callable[[Any], Sequence[object]]


def table_of_points() -> Table:
    """Return the table of sweep points, whose fields have their units in their names, and their standing.

    Its rows are those of `cells_with_standing`.
    """
    columns = {EXTERNAL_NAMES.get(name, name): kind for name, kind in _types_of(PointRow).items()}
    return Table({**columns, STANDING: ColumnType.TEXT}, list)


def table_of_values(benchmarks: Sequence[BenchmarkRow]) -> Table:
    """Return the table of values of `benchmarks`, with columns for units and parameters: `value_seconds`, `param_n`.

    Every row has every column, null where it has none. A parameter that is a number in one benchmark and a text in
    another is text.
    """
    left_out = {"samples", "processes", "series_id", "parameters", "unit", *MEASURED}
    described = _types_of(SeriesValueRow, left_out=left_out)
    names = list(described)
    suffixes = suffix_of_units(sorted({row.unit for row in benchmarks}))
    types: dict[str, set[str]] = {}
    for row in benchmarks:
        for parameter in row.parameters:
            found = types.setdefault(parameter.name, set())
            found.update(parameter.types)
            if any(isinstance(value, int) and abs(value) > LARGEST_INTEGER for value in parameter.values):
                found.add("other")
    parameters = {name: _type_of_parameter(found) for name, found in sorted(types.items())}
    columns = {
        **described,
        **{f"param_{name}": kind for name, kind in parameters.items()},
        **{f"{part}{suffix}": ColumnType.NUMBER for suffix in suffixes.values() for part in MEASURED},
    }
    column_of_parameter = {name: (len(names) + i, kind) for i, (name, kind) in enumerate(parameters.items())}
    first = len(names) + len(parameters)
    column_of_unit = {unit: first + list(suffixes).index(unit) * len(MEASURED) for unit in suffixes}
    # A suite may have hundreds of parameters, of which a row has two.
    empty: list[object] = [None] * len(columns)

    def cells_of(row: SeriesValueRow) -> list[object]:
        cells = empty.copy()
        cells[: len(names)] = [getattr(row, name) for name in names]
        for parameter in row.parameters:
            column, kind = column_of_parameter[parameter.name]
            cells[column] = _as_type(parameter.value, kind)
        start = column_of_unit[row.unit]
        cells[start : start + len(MEASURED)] = [getattr(row, part) for part in MEASURED]
        return cells

    return Table(columns, cells_of)


def suffix_of_units(units: Sequence[str]) -> dict[str, str]:
    """Return the suffix of each unit in a column's name: `_seconds`, `_GB_per_s`; the bare unit where two are alike."""
    found: dict[str, str] = {}
    for unit in units:
        words = re.sub(r"\W+", "_", unit.replace("/", "_per_").replace("%", "percent")).strip("_")
        suffix = f"_{words}" if words else ""
        if suffix in found.values():
            suffix = f"_{unit}"
        while suffix in found.values():
            suffix += "_"
        found[unit] = suffix
    return found


def write_table(
    sink: IO[bytes], table: Table, batches: Iterable[Iterable[object]], *, export_format: ExportFormat
) -> int:
    """Write every row of `batches` and return their number. Raises: ModuleNotFoundError for Parquet without pyarrow."""
    match export_format:
        case ExportFormat.CSV:
            return _write_csv(sink, table, batches)
        case ExportFormat.JSON:
            return _write_json(sink, table, batches)
        case ExportFormat.PARQUET:
            return _write_parquet(sink, table, batches)


def _write_csv(sink: IO[bytes], table: Table, batches: Iterable[Iterable[object]]) -> int:
    n_rows = 0
    text = io.TextIOWrapper(sink, encoding="utf-8", newline="", write_through=True)
    writer = CsvWriter(text)
    writer.write_row(table.columns)
    for batch in batches:
        for row in batch:
            writer.write_row(_plain(table.cells_of(row)))
            n_rows += 1
    text.detach()
    return n_rows


def _write_json(sink: IO[bytes], table: Table, batches: Iterable[Iterable[object]]) -> int:
    n_rows = 0
    for batch in batches:
        for row in batch:
            cells = dict(zip(table.columns, _plain(table.cells_of(row)), strict=True))
            line = json.dumps(cells, ensure_ascii=False)
            sink.write((",\n" if n_rows else "[\n").encode() + line.encode())
            n_rows += 1
    sink.write(b"\n]\n" if n_rows else b"[]\n")
    return n_rows


def _write_parquet(sink: IO[bytes], table: Table, batches: Iterable[Iterable[object]]) -> int:
    # Large, and for this alone; part of the extra `parquet`.
    arrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    types = {
        ColumnType.TEXT: arrow.string(),
        ColumnType.INTEGER: arrow.int64(),
        ColumnType.NUMBER: arrow.float64(),
        ColumnType.BOOLEAN: arrow.bool_(),
        ColumnType.MOMENT: arrow.timestamp("us", tz="UTC"),
    }
    schema = arrow.schema([(name, types[kind]) for name, kind in table.columns.items()])
    n_rows = 0
    with parquet.ParquetWriter(sink, schema) as writer:
        for batch in batches:
            rows = [table.cells_of(row) for row in batch]
            if rows:
                cells = zip(*rows, strict=True)
                arrays = [
                    arrow.array(list(column), type=kind) for column, kind in zip(cells, schema.types, strict=True)
                ]
                writer.write_table(arrow.Table.from_arrays(arrays, schema=schema))
                n_rows += len(rows)
    return n_rows


def _plain(cells: Sequence[object]) -> list[object]:
    """Return the cells as plain values."""
    # Most cells are empty, and checking here takes a tenth of the time of the call.
    return [cell if cell is None or type(cell) is str else plain_value(cell) for cell in cells]


def _types_of(row: type[PointRow | SeriesValueRow], *, left_out: Collection[str] = ()) -> dict[str, ColumnType]:
    """Return the type of each field of a row, which a named tuple keeps as references to what was written."""
    annotations = {name: one.__forward_arg__ for name, one in row.__annotations__.items() if name not in left_out}
    return {name: TYPE_OF_ANNOTATION[text.removesuffix(" | None")] for name, text in annotations.items()}


def _type_of_parameter(types: set[str]) -> ColumnType:
    match sorted(types - {"none"}):
        case ["int"]:
            return ColumnType.INTEGER
        case ["float"] | ["float", "int"]:
            return ColumnType.NUMBER
        case ["bool"]:
            return ColumnType.BOOLEAN
        case _:
            return ColumnType.TEXT


def _as_type(value: float | bool | str | None, kind: ColumnType) -> object:  # noqa: FBT001 - it is the subject
    if value is None:
        return None
    if kind is ColumnType.TEXT:
        return str(value)
    return float(value) if kind is ColumnType.NUMBER else value
