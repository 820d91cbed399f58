"""Realistic journals for tests: several commits, machines, operations, providers, batches and hiddens.

`write_journals(folder)` lays them out as the ruler does; every number follows from the arguments, so that a
test can say what it expects. Slow a commit down, break a point, or leave points out by the arguments.
"""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

START = datetime(2026, 1, 5, 12, tzinfo=UTC)
SPEED_OF_PROVIDER = {"eager": 1.0, "compiled": 1.25, "fused": 1.6}
OPERATORS_OF_PROVIDER = {"eager": 3, "compiled": 2, "fused": 1}
PRODUCTS_OF_OPERATION = {"linear": 1, "mlp": 2, "gated_mlp": 3}


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """What one run of a test journal measures.

    weights: of a provider, where they are not plain. slowdowns: factor by (operation, provider); a missing one is 1.
    states: what a point is instead of ok, by (operation, provider). noise: relative half-width of the samples around
    the latency. n_visits: those a ruler from 3 on has made so far, 0 for an older one.
    """

    commit: str = "a" * 40
    commit_date: datetime = START
    commit_subject: str = "Start"
    machine: str = "bench-01"
    device: str = "cpu"
    run_id: str | None = None
    operations: tuple[str, ...] = ("linear", "mlp", "gated_mlp")
    providers: tuple[str, ...] = ("eager", "compiled", "fused")
    batches: tuple[int, ...] = (1, 64)
    hiddens: tuple[int, ...] = (256, 1024)
    activation: str = "gelu"
    weights: dict[str, str] = field(default_factory=dict)
    slowdowns: dict[tuple[str, str], float] = field(default_factory=dict)
    states: dict[tuple[str, str], str] = field(default_factory=dict)
    noise: float = 0.01
    n_samples: int = 30
    ruler_version: str = "1"
    disturbed: str | None = None
    n_visits: int = 0

    @property
    def dtype(self) -> str:
        return "bfloat16" if self.device == "cuda" else "float32"

    @property
    def environment(self) -> str:
        return f"py3.11-{self.device}-t2"


def commit_hash(number: int) -> str:
    """A full hash that looks like one and is the same every time."""
    return "".join(f"{zlib.crc32(f'{number}/{i}'.encode()):08x}" for i in range(5))


def history(n_commits: int = 3, **changes: object) -> list[Sweep]:
    """Sweeps of `n_commits` commits a day apart, otherwise alike."""
    return [
        replace(
            Sweep(
                commit=commit_hash(i),
                commit_date=START + timedelta(days=i),
                commit_subject=f"Change number {i}",
            ),
            **changes,
        )
        for i in range(n_commits)
    ]


def write_journals(folder: Path, sweeps: list[Sweep]) -> list[Path]:
    """Append the sweeps' lines to the journals below `folder`, named as the ruler names them; the paths."""
    paths = []
    for sweep in sweeps:
        path = folder / "journal" / sweep.machine / f"{sweep.commit[:8]}-{sweep.environment}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as journal:
            journal.writelines(json.dumps(line) + "\n" for line in lines_of(sweep))
        paths.append(path)
    return paths


def lines_of(sweep: Sweep) -> list[dict[str, object]]:
    """All timing lines of a sweep, then all its profile lines."""
    points = [
        (operation, provider, batch, hidden)
        for operation in sweep.operations
        for hidden in sweep.hiddens
        for batch in sweep.batches
        for provider in sweep.providers
    ]
    return [_timing(sweep, *point) for point in points] + [_profile(sweep, *point) for point in points]


def latency_s(sweep: Sweep, operation: str, provider: str, batch: int, hidden: int) -> float:
    """The median that the journal gives for a point: a fixed cost and a cost by the work."""
    work = PRODUCTS_OF_OPERATION[operation] * 2 * batch * hidden * (hidden // 4)
    slowdown = sweep.slowdowns.get((operation, provider), 1.0)
    return slowdown * (5e-6 + work / 1e11) / SPEED_OF_PROVIDER.get(provider, 1.0)


def _common(sweep: Sweep, kind: str, operation: str, provider: str, batch: int, hidden: int) -> dict[str, object]:
    started_at = sweep.commit_date + timedelta(hours=1)
    return {
        "format": 1,
        "kind": kind,
        "run": {
            "run_id": sweep.run_id or f"{zlib.crc32(repr((sweep.commit, sweep.machine)).encode()):08x}",
            "started_at": started_at.isoformat(),
            "project": "fusebench",
            "commit": sweep.commit,
            "commit_date": sweep.commit_date.isoformat(),
            "commit_subject": sweep.commit_subject,
            "machine": sweep.machine,
            "environment": sweep.environment,
            "ruler_version": sweep.ruler_version,
        },
        "conditions": {"python": "3.11.9", "torch": "2.13.0", "cpu_mhz": 2600.0, "load_by_others": 0.1},
        "point": {
            "operation": operation,
            "provider": provider,
            "pass": "forward",
            "dtype": sweep.dtype,
            "activation": sweep.activation,
            "batch": batch,
            "hidden": hidden,
            "dim": hidden // 4,
            "cache": "warm",
            "weights": sweep.weights.get(provider, "plain"),
            "threads": 2,
        },
        "measured_at": (started_at + timedelta(minutes=5)).isoformat(),
    }


def _timing(sweep: Sweep, operation: str, provider: str, batch: int, hidden: int) -> dict[str, object]:
    line = _common(sweep, "timing", operation, provider, batch, hidden)
    shape = (operation, batch, hidden)
    line |= {"group": f"{zlib.crc32(repr(shape).encode()):08x}", "disturbed": sweep.disturbed, "provider_detail": None}
    line |= {
        "flop": PRODUCTS_OF_OPERATION[operation] * 2 * batch * hidden * (hidden // 4),
        "min_bytes": 4 * (batch * hidden // 2 + hidden * (hidden // 4)),
        "floor_s": None,
    }
    state = sweep.states.get((operation, provider), "ok")
    if state != "ok":
        return line | {"state": state, "reason": f"{provider} is {state} in this test"}
    is_cuda = sweep.device == "cuda"
    latency = latency_s(sweep, operation, provider, batch, hidden)
    # Evenly spread and shuffled by a fixed stride: the median is the latency itself.
    spread = [(i * 7 % sweep.n_samples) / (sweep.n_samples - 1) * 2 - 1 for i in range(sweep.n_samples)]
    speedup = latency_s(sweep, operation, "eager", batch, hidden) / latency
    return (
        line
        | _visited(sweep, latency, speedup)
        | {
            "state": "ok",
            "reason": None,
            "latency_s": latency,
            "latency_ci_low_s": latency * (1 - sweep.noise / 3),
            "latency_ci_high_s": latency * (1 + sweep.noise / 3),
            "samples_s": [latency * (1 + sweep.noise * s) for s in spread],
            "calls_per_sample": 20,
            "stop": "precision",
            "speedup_vs_eager": speedup,
            "speedup_ci_low": speedup * (1 - sweep.noise / 2),
            "speedup_ci_high": speedup * (1 + sweep.noise / 2),
            "device_time_s": latency * 0.6 if is_cuda else None,
            "host_time_s": latency * 0.3 if is_cuda else None,
            "compile_time_s": 1.5 if provider == "compiled" else None,
            "prepare_time_s": None,
            "error_rel": 1e-7,
            "floor_s": latency * 0.4,
        }
    )


def _visited(sweep: Sweep, latency: float, speedup: float) -> dict[str, object]:
    """Return the keys of a timing line that ruler 3 brought."""
    if not sweep.n_visits:
        return {}
    first = sweep.commit_date + timedelta(hours=1)
    return {
        "visits": [
            {
                "measured_at": (first + timedelta(minutes=i)).isoformat(),
                "n_samples": sweep.n_samples // sweep.n_visits,
                "median_s": latency,
                "speedup_vs_eager": speedup,
                "machine_speed": 0.99,
                "disturbed": None,
            }
            for i in range(sweep.n_visits)
        ],
        "latency_between_sd_s": latency * 0.005,
        "speedup_between_sd": speedup * 0.004,
        "minor_faults_per_call": 2.5,
        "recompile_time_s": 1.1,
        "time_to_first_call_s": 7.5,
    }


def _timeline(latency: float, n_launches: int | None) -> dict[str, object]:
    """Return what a profile's second pass says of a device: of one that launches nothing, why it says nothing."""
    why = {"operators_min_bytes": "aten::t: no rule"}
    if n_launches is None:
        numbers = dict.fromkeys(("device_busy_s", "gap_count", "gap_time_s", "longest_gap_s"))
        return {**numbers, "gaps": [], "runtime_calls": None, "missing": why | dict.fromkeys(numbers, "no device")}
    gap = {"duration_s": latency * 0.05, "after": "gemm_tn", "before": "gemm_tn"}
    launch = {"name": "cudaLaunchKernel", "kind": "launch", "count": n_launches, "time_s": latency * 0.1}
    return {
        "device_busy_s": latency * 0.6,
        "gap_count": 1,
        "gap_time_s": latency * 0.05,
        "longest_gap_s": latency * 0.05,
        "gaps": [gap],
        "runtime_calls": [launch],
        "missing": why,
    }


def _profile(sweep: Sweep, operation: str, provider: str, batch: int, hidden: int) -> dict[str, object]:
    line = _common(sweep, "profile", operation, provider, batch, hidden) | {"bound": None}
    state = sweep.states.get((operation, provider), "ok")
    if state != "ok":
        return line | {"state": state, "reason": f"{provider} is {state} in this test"}
    is_cuda = sweep.device == "cuda"
    latency = latency_s(sweep, operation, provider, batch, hidden)
    n_operators = OPERATORS_OF_PROVIDER.get(provider, 1) + PRODUCTS_OF_OPERATION[operation] - 1
    each_s = latency * 0.8 / n_operators
    if sweep.n_visits:
        line |= {
            "overhead_s": latency * 0.2,
            "overhead_in": "aten::t",
            "bound_detail": "a fifth of the time is outside operators",
            "allocated_bytes": 8.0 * batch * hidden,
            "freed_bytes": 8.0 * batch * hidden,
            "operators_min_bytes": None,
            **_timeline(latency, n_operators if is_cuda else None),
        }
    return line | {
        "state": "ok",
        "reason": None,
        "operator_count": n_operators,
        "operator_time_s": None if is_cuda else latency * 0.8,
        "kernel_launches": n_operators if is_cuda else None,
        "device_time_s": latency * 0.6 if is_cuda else None,
        "peak_memory_bytes": 4 * batch * hidden * n_operators,
        "bound": "overhead" if batch == 1 else "compute",
        "operators": [
            {
                "name": "aten::addmm",
                "count": n_operators,
                "self_time_s": each_s,
                "total_time_s": each_s,
                "is_compute": True,
            },
            {"name": "aten::t", "count": 1, "self_time_s": 1e-7, "total_time_s": 2e-7, "is_compute": False},
        ],
        "kernels": [{"name": "gemm_tn", "count": n_operators, "device_time_s": latency * 0.6}] if is_cuda else [],
    }
