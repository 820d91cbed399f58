"""Questions that the judgement, the commands and the dashboard may ask; they answer in frozen rows (results.rows).

Every question takes the store first and everything else by keyword. Nothing here writes. Where they are: what is
stored (inventory), series of any suite (histories), one commit (commit_values), sweep points (sweeps), what one call
does inside (profiles), what was measured when (freshness), what fails since when (failures), known changes (decisions).
"""

from __future__ import annotations

from results.questions.commit_values import values_at
from results.questions.decisions import known_changes, known_levels
from results.questions.failures import failures
from results.questions.freshness import freshness
from results.questions.histories import history_of, series_where
from results.questions.inventory import (
    benchmark_names,
    benchmarks,
    commits,
    parameter_names,
    places,
    point_choices,
    projects,
    series_places,
)
from results.questions.profiles import profile_of, stacks_of
from results.questions.sweeps import latest_points, throughput_by_batch, throughput_by_commit
from results.questions.visits import visits_of

__all__ = [
    "benchmark_names",
    "benchmarks",
    "commits",
    "failures",
    "freshness",
    "history_of",
    "known_changes",
    "known_levels",
    "latest_points",
    "parameter_names",
    "places",
    "point_choices",
    "profile_of",
    "projects",
    "series_places",
    "series_where",
    "stacks_of",
    "throughput_by_batch",
    "throughput_by_commit",
    "values_at",
    "visits_of",
]
