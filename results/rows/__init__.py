"""What the store answers: frozen rows, SI units, the unit in the name; None means not known.

What is where: what may be asked of (filters), sweep points (points), what one call does inside (profiles), what is
stored (inventory), series of any suite and their values (series), freshness, failures and known changes (standing).
"""

from __future__ import annotations

from results.rows.choices import CommitChoice, PlaceChoice, PointChoice, ProjectChoice
from results.rows.filters import Between, PlaceFilter, PointFilter, SeriesFilter
from results.rows.inventory import BenchmarkRow, CommitRow, EnvironmentRow, MachineRow, ParameterRow, ProjectRow
from results.rows.points import OperationChoices, PointRow, SweepChoices, WinnerRow
from results.rows.profiles import KernelRow, NeighboursRow, OperatorRow, ProfileRow
from results.rows.series import (
    ExecutionRow,
    HistoryValue,
    ParameterValue,
    SeriesHistory,
    SeriesRow,
    SeriesValueRow,
    parameters_in_words,
)
from results.rows.standing import FailureRow, FreshnessRow, KnownChange, KnownLevel

__all__ = [
    "BenchmarkRow",
    "Between",
    "CommitChoice",
    "CommitRow",
    "EnvironmentRow",
    "ExecutionRow",
    "FailureRow",
    "FreshnessRow",
    "HistoryValue",
    "KernelRow",
    "KnownChange",
    "KnownLevel",
    "MachineRow",
    "NeighboursRow",
    "OperationChoices",
    "OperatorRow",
    "ParameterRow",
    "ParameterValue",
    "PlaceChoice",
    "PlaceFilter",
    "PointChoice",
    "PointFilter",
    "PointRow",
    "ProfileRow",
    "ProjectChoice",
    "ProjectRow",
    "SeriesFilter",
    "SeriesHistory",
    "SeriesRow",
    "SeriesValueRow",
    "SweepChoices",
    "WinnerRow",
    "parameters_in_words",
]
