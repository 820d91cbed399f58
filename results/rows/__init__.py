"""Frozen rows that questions answer in: SI units, the unit in the name; None means unknown.

Where they are: filters, what is stored (inventory), sweep points (points), profiles, series of any suite and their
values (series), freshness, failures and known changes (standing). Imported by every wing; imports none.
"""

from __future__ import annotations

from results.rows.filters import Between, PlaceFilter, PointFilter, SeriesFilter
from results.rows.inventory import BenchmarkRow, CommitRow, ParameterRow, PlaceRow, PointChoice, ProjectRow, SeriesPlace
from results.rows.points import CEILING_NOT_VALID, MOST_PERCENT_OF_FLOOR, PointRow, VisitRow
from results.rows.profiles import KernelRow, OperatorRow, ProfileRow
from results.rows.series import (
    HistoryValue,
    ParameterValue,
    SeriesHistory,
    SeriesRow,
    SeriesValueRow,
    parameters_in_words,
)
from results.rows.standing import FailureRow, FreshnessRow, KnownChange, KnownLevel

__all__ = [
    "CEILING_NOT_VALID",
    "MOST_PERCENT_OF_FLOOR",
    "BenchmarkRow",
    "Between",
    "CommitRow",
    "FailureRow",
    "FreshnessRow",
    "HistoryValue",
    "KernelRow",
    "KnownChange",
    "KnownLevel",
    "OperatorRow",
    "ParameterRow",
    "ParameterValue",
    "PlaceFilter",
    "PlaceRow",
    "PointChoice",
    "PointFilter",
    "PointRow",
    "ProfileRow",
    "ProjectRow",
    "SeriesFilter",
    "SeriesHistory",
    "SeriesPlace",
    "SeriesRow",
    "SeriesValueRow",
    "VisitRow",
    "parameters_in_words",
]
