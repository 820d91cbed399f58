"""The questions the dashboard and the judgement may ask; answers are frozen rows (results.rows).

Every question takes the store first and everything else by keyword. Nothing here writes. What is where:
what is stored (inventory), what a selector offers (choices), series of any suite (histories), one commit
(commit_values), sweep points (sweeps), what one call does inside (profiles), what was measured when (freshness), what
fails since when (failures), which changes are known (decisions).
"""

from __future__ import annotations

from results.files.stacks import FoldedStack, StackKind
from results.questions.choices import (
    benchmark_names,
    commit_choices,
    place_choices,
    point_choices,
    project_choices,
)
from results.questions.commit_values import executions, values_at
from results.questions.decisions import known_changes, known_levels
from results.questions.failures import failures
from results.questions.freshness import freshness
from results.questions.histories import history_of, series_where
from results.questions.inventory import benchmarks, commits, environments, machines, parameter_names, projects
from results.questions.point_rows import winner_among
from results.questions.profiles import neighbours_of, profile_of, stacks_of
from results.questions.sweeps import (
    latest_points,
    sweep_choices,
    throughput_by_batch,
    throughput_by_commit,
    throughput_by_hidden,
    winners_by_shape,
)
from results.rows import (
    BenchmarkRow,
    Between,
    CommitChoice,
    CommitRow,
    EnvironmentRow,
    ExecutionRow,
    FailureRow,
    FreshnessRow,
    HistoryValue,
    KernelRow,
    KnownChange,
    KnownLevel,
    MachineRow,
    NeighboursRow,
    OperationChoices,
    OperatorRow,
    ParameterRow,
    ParameterValue,
    PlaceChoice,
    PointChoice,
    PointFilter,
    PointRow,
    ProfileRow,
    ProjectChoice,
    ProjectRow,
    SeriesFilter,
    SeriesHistory,
    SeriesRow,
    SeriesValueRow,
    SweepChoices,
    WinnerRow,
)

__all__ = [
    "BenchmarkRow",
    "Between",
    "CommitChoice",
    "CommitRow",
    "EnvironmentRow",
    "ExecutionRow",
    "FailureRow",
    "FoldedStack",
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
    "StackKind",
    "SweepChoices",
    "WinnerRow",
    "benchmark_names",
    "benchmarks",
    "commit_choices",
    "commits",
    "environments",
    "executions",
    "failures",
    "freshness",
    "history_of",
    "known_changes",
    "known_levels",
    "latest_points",
    "machines",
    "neighbours_of",
    "parameter_names",
    "place_choices",
    "point_choices",
    "profile_of",
    "project_choices",
    "projects",
    "series_where",
    "stacks_of",
    "sweep_choices",
    "throughput_by_batch",
    "throughput_by_commit",
    "throughput_by_hidden",
    "values_at",
    "winner_among",
    "winners_by_shape",
]
