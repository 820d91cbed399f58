"""Points of one shape as the store gives them: eager, and contenders at given speedups."""

from __future__ import annotations

from datetime import UTC, datetime

from results.rows import PointRow

NOW = datetime(2026, 11, 22, tzinfo=UTC)
KNOWN = {
    "project": "fusebench", "commit": "a" * 40, "machine": "desk", "environment": "py3.11-cpu-t2", "ruler_version": "3",
    "operation": "mlp", "pass_": "forward", "dtype": "float32", "activation": "gelu", "hidden": 3072, "dim": 768,
    "cache": "warm", "weights": "plain", "threads": 2, "state": "ok", "run_id": "r", "point_id": 1, "measured_at": NOW,
}  # fmt: skip


def points(batch, *, eager_s=1e-3, width=0.01, disturbed=None, bound="memory", **speedups):
    """Points of one batch: eager, and each contender at its speedup."""

    def row(provider, speedup):
        latency = eager_s / speedup
        of_speedup = (
            {
                "speedup_vs_eager": speedup,
                "speedup_ci_low": speedup * (1 - width),
                "speedup_ci_high": speedup * (1 + width),
            }
            if provider != "eager"
            else {}
        )
        return PointRow(**{
            **dict.fromkeys(PointRow._fields), **KNOWN, "provider": provider, "batch": batch, "latency_s": latency,
            "latency_ci_low_s": latency * 0.99, "latency_ci_high_s": latency * 1.01, "operator_count": 3.0,
            "disturbed": disturbed, "bound": bound, "percent_of_floor": 40.0 * speedup, **of_speedup,
        })  # fmt: skip

    return [row("eager", 1.0), *(row(name, speedup) for name, speedup in speedups.items())]
