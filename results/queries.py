"""The questions the dashboard and the judgement may ask; answers are frozen rows (results.rows).

Every question takes the store first and everything else by keyword. Nothing here writes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from results.rows import (
    CommitRow,
    KernelRow,
    OperationChoices,
    OperatorRow,
    ParameterValue,
    PointFilter,
    PointRow,
    ProfileRow,
    SeriesValueRow,
    SweepChoices,
)

if TYPE_CHECKING:
    from typing import Unpack

    from results.store import Store

__all__ = [
    "CommitRow",
    "KernelRow",
    "OperationChoices",
    "OperatorRow",
    "ParameterValue",
    "PointFilter",
    "PointRow",
    "ProfileRow",
    "SeriesValueRow",
    "SweepChoices",
    "commits",
    "latest_points",
    "profile_of",
    "sweep_choices",
    "throughput_by_batch",
    "throughput_by_commit",
]


def latest_points(store: Store, *, revision: str | None = None, **axes: Unpack[PointFilter]) -> list[PointRow]:
    """Each sweep point's newest measurement, or the newest one at commit `revision` (any hash prefix).

    Newest: by commit date, then by when the run started. One row per point, machine and environment, ordered
    by operation, pass, dtype, activation, hidden, dim, batch, provider.
    Raises: UnknownRevision if `revision` matches no stored commit, or more than one.
    """
    raise NotImplementedError


def throughput_by_commit(store: Store, **axes: Unpack[PointFilter]) -> list[PointRow]:
    """Every measured commit's rows of the chosen points, oldest commit first; the newest run of each commit."""
    raise NotImplementedError


def throughput_by_batch(store: Store, *, revision: str | None = None, **axes: Unpack[PointFilter]) -> list[PointRow]:
    """The chosen points at one commit, ordered by provider and batch.

    `revision` None is the newest commit (by date) that has measured any of the chosen points, so that a curve
    never mixes commits.
    Raises: UnknownRevision if `revision` matches no stored commit, or more than one.
    """
    raise NotImplementedError


def profile_of(store: Store, *, point: PointRow) -> ProfileRow | None:
    """What one call of `point` does inside, from the same run; None if that run took no profile of it."""
    raise NotImplementedError


def sweep_choices(store: Store) -> SweepChoices:
    """The axis values that have been measured, by operation."""
    raise NotImplementedError


def commits(store: Store, *, machine: str | None = None) -> list[CommitRow]:
    """Every commit with anything stored, oldest first (commits without a date come first)."""
    raise NotImplementedError
