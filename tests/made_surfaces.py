"""Judgements of rounds in which the points of a surface changed together, for tests of the judgement."""

from __future__ import annotations

import numpy as np

from results.judgement.verdicts import judge
from tests.made_values import A, B, failed, row

Q = 0.05 / 3
N_POINTS = 24


def judged(factor=1.06, *, noise=0.06, seed=20, is_paired=True, failing=0, of_first=None):
    """Judge a surface of fused, slower by `factor` at the head, beside one of fused-pure, with eager at each shape.

    failing: of the points of fused, so many failed at the head. of_first: factor of the first point alone.
    """
    rng = np.random.default_rng(seed)

    def factor_at(batch, provider, commit):
        if provider != "fused" or commit != B:
            return 1.0
        return of_first if of_first and not batch else factor

    def side(commit):
        return [
            row(
                factor_at(batch, provider, commit) * rng.normal(1, noise, 5),
                commit=commit,
                provider=provider,
                batch=batch,
            )
            for batch in range(N_POINTS)
            for provider in ("eager", "fused", "fused-pure")
        ]

    base = side(A)
    head = [failed(commit=B, provider="fused", batch=batch) for batch in range(failing)]
    broken = {one.series_id for one in head}
    head += [one for one in side(B) if one.series_id not in broken]
    return judge(base, head, base_commit=A, head_commit=B, is_paired=is_paired, least_change=0.03, q=Q)
