"""Profiles of sweep points → frozen rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import sqlalchemy as sa

from results.database.schema import (
    Profile,
    ProfileKernel,
    ProfileOperator,
    Project,
    Run,
)
from results.files.stacks import FoldedStack, StackKind, stacks_from_bytes, stacks_of_kind
from results.rows import KernelRow, OperatorRow, PointRow, ProfileRow

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection

    from results.store import Store


def profile_of(store: Store, *, point: PointRow) -> ProfileRow | None:
    """Return the profile of `point` from the same run; None if that run took none."""
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
            overhead_s=profile.overhead_s,
            overhead_in=profile.overhead_in,
            bound=profile.bound,
            bound_detail=profile.bound_detail,
            expected_operator_count=profile.expected_operator_count,
            expected_kernel_launches=profile.expected_kernel_launches,
            unexpected=profile.unexpected,
            trace=profile.trace,
            operators=tuple(OperatorRow(**row._mapping) for row in operators),  # noqa: SLF001 - its public name
            kernels=tuple(KernelRow(**row._mapping) for row in kernels),  # noqa: SLF001
        )


def stacks_of(store: Store, *, point: PointRow, kind: StackKind = StackKind.HOST) -> tuple[FoldedStack, ...]:
    """Return the folded stacks of one call of `point` on the host or the device, from the same run."""
    with store.reading() as connection:
        where = (Profile.run_id == _run_id(connection, point), Profile.point_id == point.point_id)
        stored = connection.execute(sa.select(Profile.stacks).where(*where)).scalar()
    return stacks_of_kind(stacks_from_bytes(stored), kind)


def _run_id(connection: Connection, point: PointRow) -> int | None:
    return connection.execute(
        sa.select(Run.id)
        .join(Project, Project.id == Run.project_id)
        .where(Run.uid == point.run_id, Project.name == point.project)
    ).scalar()
