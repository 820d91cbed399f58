"""Profiles of sweep points, and the visits that they were measured in → frozen rows."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from results.database.schema import (
    NEWEST_FIRST,
    Commit,
    Environment,
    Machine,
    Measurement,
    Profile,
    ProfileKernel,
    ProfileOperator,
    Project,
    Run,
    Source,
)
from results.files.paths import path_from_text, trace_path
from results.files.records import State
from results.files.stacks import FoldedStack, StackKind, stacks_from_bytes, stacks_of_kind
from results.kernel_names import decoded
from results.product_libraries import product_libraries
from results.rows import GapRow, KernelRow, OperatorRow, PointRow, ProfileRow, RuntimeCallRow, VisitRow

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

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
        found = connection.execute(
            sa.select(
                ProfileOperator.name,
                ProfileOperator.count,
                ProfileOperator.self_time_s,
                ProfileOperator.total_time_s,
                ProfileOperator.is_compute,
                ProfileOperator.inputs,
                ProfileOperator.allocated_bytes,
                ProfileOperator.freed_bytes,
                ProfileOperator.min_bytes,
                ProfileOperator.min_bytes_reason,
                ProfileOperator.outermost,
            )
            .where(ProfileOperator.run_id == run_id, ProfileOperator.point_id == point.point_id)
            .order_by(ProfileOperator.self_time_s.desc().nulls_last(), ProfileOperator.position)
        )
        found_kernels = connection.execute(
            sa.select(ProfileKernel.name, ProfileKernel.count, ProfileKernel.device_time_s)
            .where(ProfileKernel.run_id == run_id, ProfileKernel.point_id == point.point_id)
            .order_by(ProfileKernel.device_time_s.desc().nulls_last(), ProfileKernel.position)
        )
        operators = tuple(_operator(row._mapping) for row in found)  # noqa: SLF001 - its public name
        kernels = tuple(_kernel(*row) for row in found_kernels)
        computing = [(row.name, row.count) for row in operators if row.is_compute]
        libraries = product_libraries(computing, [(row.name, row.count) for row in kernels])
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
            operators=operators,
            kernels=kernels,
            allocated_bytes=profile.allocated_bytes,
            freed_bytes=profile.freed_bytes,
            operators_min_bytes=profile.operators_min_bytes,
            device_busy_s=profile.device_busy_s,
            gap_count=profile.gap_count,
            gap_time_s=profile.gap_time_s,
            longest_gap_s=profile.longest_gap_s,
            gaps=tuple(_gap(**gap) for gap in profile.gaps or ()),
            runtime_calls=_runtime_calls(profile.runtime_calls),
            missing=profile.missing or {},
            expected_bytes=profile.expected_bytes,
            expected_time_s=profile.expected_time_s,
            compilations=profile.compilations,
            product_libraries=libraries.names,
            product_libraries_reason=libraries.reason,
        )


def _operator(columns: Mapping[Any, Any]) -> OperatorRow:
    inputs = columns["inputs"]
    return OperatorRow(**{**columns, "inputs": tuple(inputs.split("\n")) if inputs else ()})


def _kernel(name: str, count: float, device_time_s: float | None) -> KernelRow:
    known = decoded(name)
    return KernelRow(
        name=name,
        count=count,
        device_time_s=device_time_s,
        words=known.words,
        stable_name=known.stable,
        author=known.author,
        kind=known.kind,
    )


def _gap(duration_s: float, after: str, before: str) -> GapRow:
    words = f"{decoded(after).words} → {decoded(before).words}"
    return GapRow(duration_s=duration_s, after=after, before=before, words=words)


def _runtime_calls(stored: list[dict[str, Any]] | None) -> tuple[RuntimeCallRow, ...] | None:
    return None if stored is None else tuple(RuntimeCallRow(**call) for call in stored)


def trace_of(store: Store, *, point: PointRow) -> Path | None:
    """Return where the profiler's trace of `point` from the same run was left; None if none was kept.

    The file may have been removed since.
    """
    with store.reading() as connection:
        where = (Profile.run_id == _run_id(connection, point), Profile.point_id == point.point_id)
        found = connection.execute(
            sa.select(Source.path, Profile.trace)
            .join(Run, Run.id == Profile.run_id)
            .join(Source, Source.id == Run.source_id)
            .where(*where, Profile.trace.is_not(None))
        ).first()
    return None if found is None else trace_path(path_from_text(found.path), found.trace)


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


def conditions_of(store: Store, *, point: PointRow) -> Mapping[str, Any]:
    """Return the conditions under which `point` was measured in its run, by name; empty where none are known."""
    with store.reading() as connection:
        where = (Measurement.run_id == _run_id(connection, point), Measurement.point_id == point.point_id)
        found = connection.execute(sa.select(Measurement.conditions).where(*where)).scalar()
    return found or {}


def run_with_profile(store: Store, *, point: PointRow) -> str | None:
    """Return the id of the newest run that profiled `point` at its commit and testbed, by its ruler; None for none."""
    with store.reading() as connection:
        found = connection.execute(
            sa.select(Run.uid)
            .join(Profile, Profile.run_id == Run.id)
            .outerjoin(Measurement, (Measurement.run_id == Profile.run_id) & (Measurement.point_id == Profile.point_id))
            .join(Commit, Commit.id == Run.commit_id)
            .join(Machine, Machine.id == Run.machine_id)
            .join(Environment, Environment.id == Run.environment_id)
            .where(
                Profile.point_id == point.point_id,
                Profile.state == State.OK.value,
                sa.func.coalesce(Measurement.ruler_version, point.ruler_version) == point.ruler_version,
                Commit.hash == point.commit,
                Machine.name == point.machine,
                Environment.name == point.environment,
            )
            .order_by(*NEWEST_FIRST)
            .limit(1)
        )
        return found.scalar()


def visits_of(store: Store, *, point: PointRow) -> tuple[VisitRow, ...]:
    """Return the visits that `point` was measured in, in their order; none before ruler 3."""
    where = {"run": point.run_id, "project": point.project, "point": point.point_id}
    with store.reading() as connection:
        found = connection.execute(_VISITS, where).scalar()
    return tuple(VisitRow(**{**visit, "measured_at": _moment(visit["measured_at"])}) for visit in found or ())


def _moment(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


_VISITS = (
    sa.select(Measurement.visits)
    .join(Run, Run.id == Measurement.run_id)
    .join(Project, Project.id == Run.project_id)
    .where(
        Run.uid == sa.bindparam("run"),
        Project.name == sa.bindparam("project"),
        Measurement.point_id == sa.bindparam("point"),
    )
)
