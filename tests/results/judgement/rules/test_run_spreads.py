"""How series vary from run to run, by their histories."""

from __future__ import annotations

import numpy as np

from results.judgement.run_spreads import run_spreads
from results.rows import HistoryValue, SeriesHistory, SeriesRow
from tests.made_values import B


def test_the_step_that_is_judged_is_no_noise_of_its_history_even_in_its_middle():
    """Nine runs about 1, the judged commit, nine about 1.3: the series itself does not vary by 30 %."""
    rng = np.random.default_rng(8)
    levels = [(f"{i:040x}", 1.0) for i in range(9)] + [(B, 1.3)] + [(f"{i:040x}", 1.3) for i in range(20, 29)]
    values = [
        HistoryValue(commit, None, None, str(i), None, "ok", None, level * float(np.exp(rng.normal(0, 0.01))), *[None] * 5)  # noqa: E501
        for i, (commit, level) in enumerate(levels)
    ]  # fmt: skip
    named = SeriesRow(
        series_id=1, project="p", machine="m", environment="e", benchmark="b", metric="latency_s", unit="s",
        version="3", interval_level=0.95, parameters=(),
    )  # fmt: skip
    found = run_spreads([SeriesHistory(series=named, values=tuple(values))], without=B)
    assert found[1].sd < 0.02
