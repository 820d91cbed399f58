"""Rows as CSV: a heading line with units in the names, then a line for each value; empty where nothing is known."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

from results.rows import parameters_in_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from dashboard.tables.ratios import RatioRow
    from results.judgement.changes.ranked import RankedFinding
    from results.rows import PointRow, SeriesHistory

POINT_COLUMNS = (
    "project", "commit", "commit_date", "commit_subject", "machine", "environment", "ruler_version", "operation",
    "contender", "pass_", "dtype", "activation", "batch", "hidden", "dim", "cache", "threads", "state", "reason",
    "disturbed", "latency_s", "latency_ci_low_s", "latency_ci_high_s", "rows_per_s", "tflop_per_s",
    "speedup_vs_eager", "speedup_ci_low", "speedup_ci_high", "gb_per_s", "percent_of_floor", "device_time_s",
    "host_time_s", "operator_time_s", "kernel_launches", "operator_count", "peak_memory_bytes", "compile_time_cold_s",
    "recompile_time_s", "prepare_time_s", "measured_at",
)  # fmt: skip
VALUE_COLUMNS = (
    "commit", "commit_date", "commit_subject", "measured_at", "state", "reason", "value", "ci_low", "ci_high",
)  # fmt: skip
FINDING_COLUMNS = (
    "project", "machine", "environment", "benchmark", "metric", "shared", "worst_point", "points_changed", "points",
    "ratio", "ratio_low", "ratio_high", "floor", "last_good", "first_bad", "first_bad_date", "commits_not_measured",
    "turn", "state", "class", "why", "weight", "finding",
)  # fmt: skip
# A spreadsheet takes a text that begins so for a formula, and the wide forms of these signs for the signs.
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", *"\uff1d\uff0b\uff0d\uff20")


def csv_of_points(rows: Iterable[PointRow]) -> str:
    """Write a line for each point, once, in the order they come."""
    points = {(row.run_id, row.point_id, row.contender): row for row in reversed(list(rows))}
    lines = ([getattr(row, column) for column in POINT_COLUMNS] for row in reversed(points.values()))
    return _csv([column.rstrip("_") for column in POINT_COLUMNS], lines)


def csv_of_histories(histories: Iterable[SeriesHistory]) -> str:
    """Write a line for each value of each series, oldest commit first; values are in the unit of their line."""
    heading = ["project", "machine", "environment", "benchmark", "metric", "unit", "version", "parameters"]
    lines = (
        [
            *(getattr(history.series, name) for name in heading[:-1]),
            parameters_in_words(history.series.parameters),
            *(getattr(value, column) for column in VALUE_COLUMNS),
            history.series.interval_level,
        ]
        for history in histories
        for value in history.values
    )
    return _csv([*heading, *VALUE_COLUMNS, "interval_level"], lines)


def csv_of_findings(found: Iterable[RankedFinding]) -> str:
    """Write a line for each finding, in their order; ratios are new level over old level."""
    return _csv(list(FINDING_COLUMNS), map(_finding, found))


def _finding(found: RankedFinding) -> list[object]:
    finding, surface, run = found.finding, found.finding.surface, found.first_bad
    low, high = finding.interval or (None, None)
    return [
        surface.project, surface.machine, surface.environment, surface.benchmark, surface.metric,
        parameters_in_words(surface.shared), parameters_in_words(finding.points[0]) if finding.points else None,
        len(finding.points), finding.n_points, finding.ratio, low, high, finding.floor, finding.last_good,
        finding.first_bad, run and run.commit_date, finding.n_unmeasured, finding.turn.value, finding.state.value,
        finding.class_ and finding.class_.value, finding.why, found.weight, found.uid,
    ]  # fmt: skip


def csv_of_ratios(
    rows: Iterable[RatioRow], names: Sequence[str], *, shared: str = "", commits: Sequence[str] = ()
) -> str:
    """Write a line for each point and side but the first; ratios are over the first side's value.

    shared: the parameters that all points have, in words, which their names leave out. commits: of the sides, whose
    names are cut short; none where the sides are no commits.
    """
    heading = [
        "project", "base_machine", "base_environment", "metric", "point", "shared_parameters", "unit", "base",
        "base_value", "side", "value", "ratio", "ratio_low", "ratio_high", "outcome",
        "base_commit", "side_commit",
    ]  # fmt: skip
    side_commits = commits[1:] or (None,) * (len(names) - 1)
    lines: Iterable[list[object]] = (
        [
            *(getattr(row.base, column) for column in ("project", "machine", "environment", "metric")),
            row.name, shared, row.base.unit, names[0], row.base.value, name,
            *((None,) * 4 if one is None else (one.value, one.ratio, one.low, one.high)),
            "not measured" if one is None else one.word, row.base.commit, commit,
        ]
        for row in rows
        for name, commit, one in zip(names[1:], side_commits, row.ratios, strict=True)
    )  # fmt: skip
    return _csv(heading, lines)


def csv_of_rows(rows: Sequence[Mapping[str, object]], columns: Sequence[str]) -> str:
    """Write a line for each row of a grid, with all digits; numbers are in SI units."""
    return _csv(list(columns), ([row[column] for column in columns] for row in rows))


def _csv(heading: list[str], lines: Iterable[list[object]]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(heading)
    writer.writerows([_cell(value) for value in line] for line in lines)
    return out.getvalue()


def _cell(value: object) -> object:
    isoformat = getattr(value, "isoformat", None)
    if isoformat is not None:
        return isoformat()
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else value
