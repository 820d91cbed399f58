"""The questions the dashboard and the judgement may ask; answers are frozen rows (results.rows).

Every question takes the store first and everything else by keyword. Nothing here writes. What is where:
what is stored (inventory), series of any suite (histories), one commit (commit_values), sweep points (sweeps), what
one call does inside (profiles), what was measured when (freshness), what fails since when (failures), what people
decided (triage).
"""

from __future__ import annotations

from results.commit_values import executions, values_at
from results.failures import failures
from results.freshness import freshness
from results.histories import history_of, series_where
from results.inventory import benchmarks, commits, environments, machines, parameter_names, projects
from results.point_rows import winner_among
from results.profiles import neighbours_of, profile_of, stacks_of
from results.rows import (
    BenchmarkRow,
    Between,
    CommitRow,
    EnvironmentRow,
    ExecutionRow,
    FailureRow,
    FreshnessRow,
    HistoryValue,
    KernelRow,
    MachineRow,
    NeighboursRow,
    OperationChoices,
    OperatorRow,
    ParameterRow,
    ParameterValue,
    PointFilter,
    PointRow,
    ProfileRow,
    ProjectRow,
    SeriesFilter,
    SeriesHistory,
    SeriesRow,
    SeriesValueRow,
    SweepChoices,
    TriageRow,
    WinnerRow,
)
from results.stacks import FoldedStack, StackKind
from results.sweeps import (
    latest_points,
    sweep_choices,
    throughput_by_batch,
    throughput_by_commit,
    throughput_by_hidden,
    winners_by_shape,
)
from results.triage import triage

__all__ = [
    "BenchmarkRow",
    "Between",
    "CommitRow",
    "EnvironmentRow",
    "ExecutionRow",
    "FailureRow",
    "FoldedStack",
    "FreshnessRow",
    "HistoryValue",
    "KernelRow",
    "MachineRow",
    "NeighboursRow",
    "OperationChoices",
    "OperatorRow",
    "ParameterRow",
    "ParameterValue",
    "PointFilter",
    "PointRow",
    "ProfileRow",
    "ProjectRow",
    "SeriesFilter",
    "SeriesHistory",
    "SeriesRow",
    "SeriesValueRow",
    "StackKind",
    "SweepChoices",
    "TriageRow",
    "WinnerRow",
    "benchmarks",
    "commits",
    "environments",
    "executions",
    "failures",
    "freshness",
    "history_of",
    "latest_points",
    "machines",
    "neighbours_of",
    "parameter_names",
    "profile_of",
    "projects",
    "series_where",
    "stacks_of",
    "sweep_choices",
    "throughput_by_batch",
    "throughput_by_commit",
    "throughput_by_hidden",
    "triage",
    "values_at",
    "winner_among",
    "winners_by_shape",
]
