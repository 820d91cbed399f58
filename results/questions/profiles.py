"""Questions about what one call of a point does inside, and what to compare it with → frozen rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import sqlalchemy as sa
from sqlalchemy.orm import aliased

from results.database.schema import (
    NEWEST_FIRST,
    OLDEST_FIRST,
    Measurement,
    Profile,
    ProfileKernel,
    ProfileOperator,
    Project,
    Run,
)
from results.files.stacks import FoldedStack, StackKind, stacks_from_bytes, stacks_of_kind
from results.questions.measured_points import point_rows, runs_by_id, together
from results.questions.point_rows import nearest_along, rivals_of
from results.questions.sweep_points import sweep_points
from results.questions.sweeps import newest_at
from results.rows import KernelRow, NeighboursRow, OperatorRow, PointRow, ProfileRow

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection

    from results.rows import PointFilter
    from results.store import Store


def profile_of(store: Store, *, point: PointRow) -> ProfileRow | None:
    """What one call of `point` does inside, from the same run; None if that run took no profile of it."""
    with store.reading() as connection:
        run_id = _run_id(connection, point)
        columns = [column for column in Profile.__table__.c if column.name != "stacks"]
        profile = connection.execute(
            sa.select(*columns).where(Profile.run_id == run_id, Profile.point_id == point.point_id)
        ).first()
        if profile is None:
            return None
        operators = connection.execute(
            sa.select(
                ProfileOperator.name,
                ProfileOperator.count,
                ProfileOperator.self_time_s,
                ProfileOperator.total_time_s,
                ProfileOperator.is_compute,
            )
            .where(ProfileOperator.run_id == run_id, ProfileOperator.point_id == point.point_id)
            .order_by(ProfileOperator.self_time_s.desc().nulls_last(), ProfileOperator.position)
        )
        kernels = connection.execute(
            sa.select(ProfileKernel.name, ProfileKernel.count, ProfileKernel.device_time_s)
            .where(ProfileKernel.run_id == run_id, ProfileKernel.point_id == point.point_id)
            .order_by(ProfileKernel.device_time_s.desc().nulls_last(), ProfileKernel.position)
        )
        return ProfileRow(
            state=profile.state,
            reason=profile.reason,
            measured_at=profile.measured_at,
            operator_count=profile.operator_count,
            operator_time_s=profile.operator_time_s,
            kernel_launches=profile.kernel_launches,
            device_time_s=profile.device_time_s,
            peak_memory_bytes=profile.peak_memory_bytes,
            bound=profile.bound,
            expected_operator_count=profile.expected_operator_count,
            expected_kernel_launches=profile.expected_kernel_launches,
            unexpected=profile.unexpected,
            trace=profile.trace,
            operators=tuple(OperatorRow(**row._mapping) for row in operators),  # noqa: SLF001 - its public name
            kernels=tuple(KernelRow(**row._mapping) for row in kernels),  # noqa: SLF001
        )


def stacks_of(store: Store, *, point: PointRow, kind: StackKind = StackKind.HOST) -> tuple[FoldedStack, ...]:
    """The folded stacks of one call of `point` on the host or the device, from the same run; none if it took none."""
    with store.reading() as connection:
        where = (Profile.run_id == _run_id(connection, point), Profile.point_id == point.point_id)
        stored = connection.execute(sa.select(Profile.stacks).where(*where)).scalar()
    return stacks_of_kind(stacks_from_bytes(stored), kind)


def neighbours_of(store: Store, *, point: PointRow) -> NeighboursRow:
    """What a profile of `point` may be compared with: other runs of it, and other points of its commit."""
    around: PointFilter = {
        "project": point.project,
        "machine": point.machine,
        "environment": point.environment,
        "operation": point.operation,
        "pass_": point.pass_,
        "dtype": point.dtype,
        "activation": [point.activation],
        "cache": point.cache,
        "threads": point.threads,
    }
    with store.reading() as connection:
        points = sweep_points(connection)
        run_id = _run_id(connection, point)
        before, after = (
            connection.execute(_beside(run_id, point.point_id, is_later=is_later)).all() for is_later in (False, True)
        )
        here = newest_at(connection, points, around, commit=point.commit)
        pairs = [(one, point_id) for one, point_id in (*before, *here, *after)]
        runs = runs_by_id(connection, (one for one, _ in pairs))
        others, previous, following = (
            point_rows(connection, points, together(found), runs=runs) for found in (here, before, after)
        )
    return NeighboursRow(
        previous=next(iter(previous), None),
        next=next(iter(following), None),
        providers=rivals_of(point, others),
        **nearest_along(point, others),
    )


def _run_id(connection: Connection, point: PointRow) -> int | None:
    return connection.execute(
        sa.select(Run.id)
        .join(Project, Project.id == Run.project_id)
        .where(Run.uid == point.run_id, Project.name == point.project)
    ).scalar()


def _beside(run_id: int | None, point_id: int, *, is_later: bool) -> sa.Select[int, int]:
    """(run, point) of the nearest run that measured the point, on the same machine and environment."""
    this = aliased(Run)
    here, there = ([getattr(run, column.key) for column in OLDEST_FIRST] for run in (this, Run))
    # Compared as a whole where nothing is null, so that the index is walked from here on.
    comes_after = sa.tuple_(*there) > sa.tuple_(*here) if is_later else sa.tuple_(*there) < sa.tuple_(*here)
    return (
        sa.select(Measurement.run_id, Measurement.point_id)
        .join(Run, Run.id == Measurement.run_id)
        .join(
            this,
            (this.machine_id == Run.machine_id)
            & (this.environment_id == Run.environment_id)
            & (this.project_id == Run.project_id),
        )
        .where(this.id == run_id, Measurement.point_id == point_id, comes_after)
        .order_by(*(OLDEST_FIRST if is_later else NEWEST_FIRST))
        .limit(1)
    )
