"""Judgements of rounds in which the points of a surface changed together, for tests of the judgement."""

from __future__ import annotations

import numpy as np

from results.judgement.verdicts import judge
from tests.made_values import A, B, row

Q = 0.05 / 3
N_POINTS = 24


def judged(factor=1.06, *, noise=0.06, seed=20, n_points=N_POINTS, metric="latency_s", is_paired=True, n_rounds=5):
    """Judge a surface of fused, slower by `factor` at the head, beside one of fused-pure, with eager at each shape."""
    rng = np.random.default_rng(seed)

    def side(commit):
        return [
            row(
                (factor if provider == "fused" and commit == B else 1.0) * rng.normal(1, noise, n_rounds),
                commit=commit,
                provider=provider,
                batch=batch,
                metric=metric,
            )
            for batch in range(n_points)
            for provider in ("eager", "fused", "fused-pure")
        ]

    return judge(side(A), side(B), base_commit=A, head_commit=B, is_paired=is_paired, least_change=0.03, q=Q)
