from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from results.rows import CommitRow, PointRow

START = datetime(2026, 3, 1, 12, tzinfo=UTC)

PLAIN = PointRow(
    project="fusebench", commit="a" * 40, commit_date=START, commit_subject="First", machine="desk",
    environment="py3.11-cpu-t2", ruler_version="1", operation="mlp", provider="eager", pass_="forward",
    dtype="float32", activation="gelu", batch=64, hidden=1024, dim=256, cache="warm", weights="plain", threads=2,
    state="ok", reason=None, disturbed=None, provider_detail=None, latency_s=1e-3, latency_ci_low_s=0.95e-3,
    latency_ci_high_s=1.1e-3, sample_count=30, device_time_s=None, host_time_s=None, operator_time_s=None,
    kernel_launches=None, operator_count=3, peak_memory_bytes=None, rows_per_s=64e3, tflop_per_s=0.067,
    gb_per_s=None, floor_s=None, percent_of_floor=None, speedup_vs_eager=1.0, speedup_ci_low=0.97,
    speedup_ci_high=1.02, bound="compute", compile_time_s=None, prepare_time_s=None, error_rel=1e-7, run_id="r1",
    point_id=1, measured_at=START,
)  # fmt: skip

NO_NUMBERS = {
    name: None
    for name in (
        "latency_s", "latency_ci_low_s", "latency_ci_high_s", "rows_per_s", "tflop_per_s", "speedup_vs_eager",
        "speedup_ci_low", "speedup_ci_high", "bound", "error_rel", "operator_count", "sample_count",
    )
}  # fmt: skip


@pytest.fixture
def point():
    """Build a point: the plain one with changes; its rates follow from latency, its numbers go unless it is ok."""

    def build(**changes):
        row = replace(PLAIN, **changes)
        if row.state != "ok":
            return replace(row, **{**NO_NUMBERS, **{"reason": "no compiler"}, **changes})
        if row.latency_s is None:
            return row
        derived = {
            "rows_per_s": row.batch / row.latency_s,
            "tflop_per_s": 4 * row.batch * row.hidden * row.dim / row.latency_s / 1e12,
            "latency_ci_low_s": 0.95 * row.latency_s,
            "latency_ci_high_s": 1.1 * row.latency_s,
        }
        return replace(row, **{**derived, **changes})

    return build


@pytest.fixture
def commit():
    """Build a commit: its hash, and the number of days after the first one."""

    def build(name, *, day=0, n_points=1, **changes):
        row = CommitRow(
            project="fusebench", commit=name, date=START + timedelta(days=day), subject=f"Commit {name[:4]}",
            n_runs=1, n_points=n_points, n_values=10,
        )  # fmt: skip
        return replace(row, **changes)

    return build
