"""Frozen rows that questions answer in: SI units, the unit in the name; None means unknown.

Where they are: filters, what is stored (inventory), sweep points (points), profiles, one call of a trace (timelines),
what a machine does at best (ceilings), series of any suite and their values (series), which axes were measured
(measured_axes), what was found in histories (judged), freshness, failures and known changes (standing). Imported by
every wing; imports none.
"""

from __future__ import annotations

from results.rows.ceilings import CeilingsRow
from results.rows.filters import Between, PlaceFilter, PointFilter, SeriesFilter
from results.rows.inventory import BenchmarkRow, CommitRow, ParameterRow, PlaceRow, PointChoice, ProjectRow, SeriesPlace
from results.rows.judged import JudgedSeries, RunsOfPlace, UnjudgedPlace
from results.rows.main_line import (
    beside_among,
    beside_main_line,
    count_unordered,
    left_out_in_words,
    unordered_in_words,
)
from results.rows.measured_axes import OF_CONTENDER, MeasuredAxes
from results.rows.points import (
    AT_FLOOR,
    CEILING_NOT_VALID,
    ERROR_OF_CEILINGS,
    MOST_PERCENT_OF_FLOOR,
    PointRow,
    VisitRow,
)
from results.rows.profiles import GapRow, KernelRow, OperatorRow, ProfileRow, RuntimeCallRow
from results.rows.series import (
    HistoryRun,
    HistoryTable,
    HistoryValue,
    ParameterValue,
    ProcessValue,
    RunValues,
    SeriesHistory,
    SeriesRow,
    SeriesValueRow,
    contender_of,
    parameters_in_words,
)
from results.rows.standing import FailureRow, FreshnessRow, KnownChange, KnownLevel, TakenBack
from results.rows.timelines import ActivityRow, IdleRow, NoTimeline, TimelineRow

__all__ = [
    "AT_FLOOR",
    "CEILING_NOT_VALID",
    "ERROR_OF_CEILINGS",
    "MOST_PERCENT_OF_FLOOR",
    "OF_CONTENDER",
    "ActivityRow",
    "BenchmarkRow",
    "Between",
    "CeilingsRow",
    "CommitRow",
    "FailureRow",
    "FreshnessRow",
    "GapRow",
    "HistoryRun",
    "HistoryTable",
    "HistoryValue",
    "IdleRow",
    "JudgedSeries",
    "KernelRow",
    "KnownChange",
    "KnownLevel",
    "MeasuredAxes",
    "NoTimeline",
    "OperatorRow",
    "ParameterRow",
    "ParameterValue",
    "PlaceFilter",
    "PlaceRow",
    "PointChoice",
    "PointFilter",
    "PointRow",
    "ProcessValue",
    "ProfileRow",
    "ProjectRow",
    "RunValues",
    "RunsOfPlace",
    "RuntimeCallRow",
    "SeriesFilter",
    "SeriesHistory",
    "SeriesPlace",
    "SeriesRow",
    "SeriesValueRow",
    "TakenBack",
    "TimelineRow",
    "UnjudgedPlace",
    "VisitRow",
    "beside_among",
    "beside_main_line",
    "contender_of",
    "count_unordered",
    "left_out_in_words",
    "parameters_in_words",
    "unordered_in_words",
]
