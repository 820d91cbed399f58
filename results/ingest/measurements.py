"""Journal lines → rows of the tables `measurement` and `profile`: what belongs to a point and not to one metric."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from results.database.bulk import insert_rows
from results.database.schema import Measurement, Profile, ProfileKernel, ProfileOperator
from results.files.stacks import stacks_as_bytes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from msgspec import Struct
    from sqlalchemy.engine import Connection

    from results.files.journal_lines import OperatorRecord, ProfileRecord, TimingRecord

MEASUREMENT_COLUMNS = (
    "reason",
    "disturbed",
    "provider_detail",
    "stop",
    "latency_between_sd_s",
    "speedup_between_sd",
    "flop",
    "min_bytes",
    "floor_s",
)
PROFILE_NUMBERS = (
    "operator_count",
    "operator_time_s",
    "kernel_launches",
    "device_time_s",
    "peak_memory_bytes",
    "overhead_s",
    "expected_operator_count",
    "expected_kernel_launches",
    "allocated_bytes",
    "freed_bytes",
    "operators_min_bytes",
    "device_busy_s",
    "gap_count",
    "gap_time_s",
    "longest_gap_s",
    "expected_bytes",
    "expected_time_s",
    "compilations",
)
PROFILE_OBJECTS = ("gaps", "runtime_calls")
OPERATOR_COLUMNS = ("allocated_bytes", "freed_bytes", "min_bytes", "min_bytes_reason", "outermost")


def insert_measurements(connection: Connection, run_id: int, lines: Mapping[int, TimingRecord]) -> None:
    """Insert what the timing lines, by point, say beyond the values of metrics."""
    rows = [
        (
            run_id,
            point_id,
            line.run.ruler_version,
            line.measured_at,
            line.group,
            line.state.value,
            *(getattr(line, name) for name in MEASUREMENT_COLUMNS),
            _as_objects(line.visits),
            line.conditions,
        )
        for point_id, line in lines.items()
    ]
    key = ("run_id", "point_id", "ruler_version", "measured_at", "together", "state")
    insert_rows(connection, Measurement, (*key, *MEASUREMENT_COLUMNS, "visits", "conditions"), rows)


def insert_profiles(connection: Connection, run_id: int, lines: Mapping[int, ProfileRecord]) -> None:
    """Insert the profile lines, by point, with their operators and kernels."""
    rows = [
        (
            run_id,
            point_id,
            line.measured_at,
            line.state.value,
            line.reason,
            *(getattr(line, name) for name in PROFILE_NUMBERS),
            line.overhead_in,
            line.bound,
            line.bound_detail,
            line.unexpected,
            stacks_as_bytes(line.stacks or ()),
            line.trace,
            *(_as_objects(getattr(line, name)) for name in PROFILE_OBJECTS),
            line.missing,
        )
        for point_id, line in lines.items()
    ]
    texts = ("overhead_in", "bound", "bound_detail", "unexpected", "stacks", "trace")
    key = ("run_id", "point_id")
    columns = ("measured_at", "state", "reason", *PROFILE_NUMBERS, *texts, *PROFILE_OBJECTS, "missing")
    insert_rows(connection, Profile, (*key, *columns), rows)
    insert_rows(
        connection,
        ProfileOperator,
        (*key, "position", "name", "count", "self_time_s", "total_time_s", "is_compute", "inputs", *OPERATOR_COLUMNS),
        [
            (run_id, point_id, i, *_operator_cells(of))
            for point_id, line in lines.items()
            for i, of in enumerate(line.operators or ())
        ],
    )
    insert_rows(
        connection,
        ProfileKernel,
        (*key, "position", "name", "count", "device_time_s"),
        [
            (run_id, point_id, i, kernel.name, kernel.count or 0.0, kernel.device_time_s)
            for point_id, line in lines.items()
            for i, kernel in enumerate(line.kernels or ())
        ],
    )


def _operator_cells(of: OperatorRecord) -> tuple[object, ...]:
    times = (of.name, of.count or 0.0, of.self_time_s, of.total_time_s, bool(of.is_compute))
    inputs = None if of.inputs is None else "\n".join(of.inputs)
    return (*times, inputs, *(getattr(of, name) for name in OPERATOR_COLUMNS))


def _as_objects(records: Sequence[Struct] | None) -> list[object] | None:
    return None if records is None else [msgspec.to_builtins(record) for record in records]
