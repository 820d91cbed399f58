from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from results.rows import CommitRow, PointRow

START = datetime(2026, 3, 1, 12, tzinfo=UTC)

PLAIN = PointRow(
    project="fusebench", commit="a" * 40, commit_date=START, commit_subject="First", machine="desk",
    environment="py3.11-cpu-t2", ruler_version="1", operation="mlp", provider="eager", dtype="float32",
    pass_="forward",  # noqa: S106 - a pass of the network
    activation="gelu", batch=64, hidden=1024, dim=256, cache="warm", weights="plain", threads=2,
    state="ok", reason=None, disturbed=None, provider_detail=None, latency_s=1e-3, latency_ci_low_s=0.95e-3,
    latency_ci_high_s=1.1e-3, sample_count=30, device_time_s=None, host_time_s=None, operator_time_s=None,
    kernel_launches=None, operator_count=3, peak_memory_bytes=None, rows_per_s=64e3, tflop_per_s=0.067,
    gb_per_s=None, floor_s=None, percent_of_floor=None, speedup_vs_eager=1.0, speedup_ci_low=0.97,
    speedup_ci_high=1.02, bound="compute", compile_time_s=None, prepare_time_s=None, error_rel=1e-7,
    run_id="r1", point_id=1, measured_at=START,
)  # fmt: skip

NUMBERS = (
    "latency_s", "latency_ci_low_s", "latency_ci_high_s", "rows_per_s", "tflop_per_s", "speedup_vs_eager",
    "speedup_ci_low", "speedup_ci_high", "bound", "error_rel", "operator_count", "sample_count",
)  # fmt: skip


@pytest.fixture(scope="session")
def point():
    """Build a point: the plain one with changes. Rates follow from latency; only an ok point has numbers."""

    def build(**changes):
        row = replace(PLAIN, **changes)
        if row.state != "ok":
            return replace(row, **{**dict.fromkeys(NUMBERS), "reason": "no compiler", **changes})
        derived = {
            "rows_per_s": row.batch / row.latency_s,
            "tflop_per_s": 4 * row.batch * row.hidden * row.dim / row.latency_s / 1e12,
            "latency_ci_low_s": 0.95 * row.latency_s,
            "latency_ci_high_s": 1.1 * row.latency_s,
        }
        return replace(row, **{**derived, **changes})

    return build


@pytest.fixture(scope="session")
def history(point):
    """Build points of several commits, a day apart: commit i, or only its provider p, changed by `change(i, p)`."""

    def build(n_commits, *, providers=("eager", "fused"), change=lambda _i, _provider: {}):
        return [
            point(
                **{
                    "commit": f"{i:040x}",
                    "commit_date": START + timedelta(days=i),
                    "commit_subject": f"Commit {i}",
                    "provider": provider,
                    **change(i, provider),
                }
            )
            for i in range(n_commits)
            for provider in providers
        ]

    return build


@pytest.fixture(scope="session")
def commit():
    """Build a commit of the store."""

    def build(name, **changes):
        row = CommitRow(
            project="fusebench", commit=name, date=START, subject="A subject", n_runs=1, n_points=1, n_values=9
        )
        return replace(row, **changes)

    return build
