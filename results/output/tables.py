"""Rows → what `show` prints: text, JSON, CSV; pure."""

from __future__ import annotations

import csv
import io
import json
import math
from dataclasses import asdict
from datetime import datetime
from itertools import groupby
from typing import TYPE_CHECKING

from tabulate import tabulate

from results.files.records import State
from results.questions.point_rows import shape_of, winner_among
from results.rows import parameters_in_words
from results.units import ABSENT, figures, in_words, with_prefix

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from results.rows import PointRow, SeriesValueRow

POINT_HEADERS = (
    "batch",
    "provider",
    "latency",
    "±",
    "rows/s",
    "TFLOP/s",
    "× eager",
    "kernels",
    "operators",
    "bound",
    "remark",
)
VALUE_HEADERS = ("benchmark", "parameters", "value", "±", "remark")

# Names of the columns that people type; `pass` is a word of Python and so has an underscore in the rows.
EXTERNAL_NAMES = {"pass_": "pass"}


def points_as_text(rows: Sequence[PointRow]) -> str:
    """A table for each operation and shape, a line for each batch and provider; the fastest of each batch is marked."""
    standings = _standings(rows)
    blocks = []
    for title, group in groupby(rows, key=point_title):
        lines = [_point_cells(row, standing=standings.get(_key(row), "")) for row in group]
        blocks.append(f"{title}\n{_table(lines, POINT_HEADERS)}")
    blocks.extend(_what_disturbed(rows))
    return "\n\n".join(blocks)


def points_as_json(rows: Sequence[PointRow]) -> str:
    """A JSON list of objects; null where something is not known."""
    return json.dumps([plain(row._asdict()) for row in rows], indent=1, ensure_ascii=False)


def points_as_csv(rows: Sequence[PointRow]) -> str:
    """One line a point, the same columns as the JSON; empty where something is not known."""
    return _csv([plain(row._asdict()) for row in rows])


def values_as_text(rows: Sequence[SeriesValueRow]) -> str:
    """A table for each machine and environment, a line for each series."""
    blocks = []
    for title, group in groupby(sorted(rows, key=_place), key=_place):
        lines = [
            (
                row.benchmark,
                parameters_in_words(row.parameters),
                in_words(row.value, unit=row.unit),
                _half_width(row.value, row.ci_low, row.ci_high),
                _remark(row.state, row.reason),
            )
            for row in group
        ]
        blocks.append(f"{title}\n{_table(lines, VALUE_HEADERS)}")
    return "\n\n".join(blocks)


def values_as_json(rows: Sequence[SeriesValueRow]) -> str:
    """A JSON list of objects; parameters are an object by name."""
    return json.dumps([plain(_value_fields(row)) for row in rows], indent=1, ensure_ascii=False)


def values_as_csv(rows: Sequence[SeriesValueRow]) -> str:
    """One line a series; parameters are a JSON object in one column."""
    return _csv(
        [
            {**fields, "parameters": json.dumps(fields["parameters"], ensure_ascii=False)}
            for fields in (plain(_value_fields(row)) for row in rows)
        ]
    )


def point_title(row: PointRow) -> str:
    """Operation and shape but the batch, place and commit."""
    activation = f" · {row.activation}" if row.activation else ""
    return (
        f"{row.operation} {row.pass_} · {row.dtype}{activation} · hidden {row.hidden}, dim {row.dim} · "
        f"{row.cache} cache · {row.machine} {row.environment} · {row.commit[:8]}"
    )


def _place(row: SeriesValueRow) -> str:
    return f"{row.project} · {row.machine} · {row.environment} · {row.commit[:8]}"


def _standings(rows: Sequence[PointRow]) -> dict[tuple[object, ...], str]:
    """`fastest` for each batch's winner, `as fast` for a next one whose interval overlaps the winner's."""
    standings = {}
    for _, group in groupby(rows, key=lambda row: (row.commit, shape_of(row))):
        standing = winner_among(list(group))
        if standing is not None and standing.runner_up is not None:
            standings[_key(standing.winner)] = "fastest"
            if not standing.is_clear:
                standings[_key(standing.runner_up)] = "as fast"
    return standings


def _key(row: PointRow) -> tuple[object, ...]:
    return (row.run_id, row.point_id)


def _point_cells(row: PointRow, *, standing: str) -> tuple[str, ...]:
    remarks = (standing, _remark(row.state, row.reason), "disturbed" if row.disturbed else "")
    return (
        str(row.batch),
        row.contender,
        with_prefix(row.latency_s, "s"),
        _half_width(row.latency_s, row.latency_ci_low_s, row.latency_ci_high_s),
        with_prefix(row.rows_per_s),
        figures(row.tflop_per_s),
        figures(row.speedup_vs_eager),
        figures(row.kernel_launches),
        figures(row.operator_count),
        row.bound or ABSENT,
        ", ".join(filter(None, remarks)),
    )


def _what_disturbed(rows: Sequence[PointRow]) -> list[str]:
    reasons = list(dict.fromkeys(row.disturbed for row in rows if row.disturbed))
    if not reasons:
        return []
    n_points = sum(row.disturbed is not None for row in rows)
    more = f" (or alike: {len(reasons)} different readings)" if len(reasons) > 1 else ""
    return [f"disturbed, {n_points} of {len(rows)} points: {reasons[0]}{more}"]


def _half_width(value: float | None, low: float | None, high: float | None) -> str:
    """Half the interval in percent of the value."""
    if not value or low is None or high is None or not math.isfinite(high - low):
        return ABSENT
    return f"{(high - low) / 2 / abs(value):.1%}"


def _remark(state: str, reason: str | None) -> str:
    if state == State.OK:
        return ""
    return f"{state}: {reason}" if reason else state


def _table(lines: Sequence[Sequence[str]], headers: Sequence[str]) -> str:
    """Columns that are empty in every line are left out."""
    kept = [i for i in range(len(headers)) if any(line[i] not in {"", ABSENT} for line in lines)]
    table: str = tabulate(
        [[line[i] for i in kept] for line in lines],
        headers=[headers[i] for i in kept],
        disable_numparse=True,
        colalign=[
            "left" if headers[i] in {"provider", "bound", "remark", *VALUE_HEADERS[:2]} else "right" for i in kept
        ],
    )
    return table


def plain(fields: Mapping[str, object]) -> dict[str, object]:
    """A row's fields under the names that people type, as values that JSON and CSV know."""
    return {EXTERNAL_NAMES.get(name, name): plain_value(value) for name, value in fields.items()}


def plain_value(value: object) -> object:
    """A moment as ISO 8601, an infinity as None; the rest as it is."""
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, float) and not math.isfinite(value):
        return None  # JSON has no infinity, and an interval without an end is not known
    return value


def _value_fields(row: SeriesValueRow) -> dict[str, object]:
    fields = asdict(row)
    fields["parameters"] = {parameter.name: plain_value(parameter.value) for parameter in row.parameters}
    return {name: value for name, value in fields.items() if name not in {"samples", "series_id"}}


def _csv(rows: Sequence[Mapping[str, object]]) -> str:
    text = io.StringIO()
    if rows:
        writer = csv.DictWriter(text, fieldnames=list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return text.getvalue().rstrip("\n")
