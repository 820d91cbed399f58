"""Rows of a judgement in words: benchmark, place, and the parameters that need no mention at each; pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from results.metrics import SWEEP_METRICS

if TYPE_CHECKING:
    from results.judgement.verdicts import Judgement
    from results.rows import SeriesValueRow


def benchmark_in_words(row: SeriesValueRow) -> str:
    """Return the benchmark, and its metric where the name does not say it."""
    # asv's name already says what is measured; an operation does not.
    return f"{row.benchmark} {row.metric}" if row.metric in SWEEP_METRICS else row.benchmark


def shared_parameters(judgement: Judgement) -> frozenset[str]:
    """Return the parameters that every compared series has with the same value."""
    if len(judgement.verdicts) < 2:
        return frozenset()
    parameters = [set(verdict.head.parameters) for verdict in judgement.verdicts]
    return frozenset(parameter.name for parameter in set.intersection(*parameters))


def place_in_words(row: SeriesValueRow) -> str:
    """Return the machine and environment."""
    return f"{row.machine}, {row.environment}"
