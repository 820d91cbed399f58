"""Rows of values that were made up, for tests of the judgement."""

from __future__ import annotations

import numpy as np

from results.rows import ParameterValue, ProcessValue, SeriesValueRow

A, B = "a" * 40, "b" * 40
IDS = {}


def row(value, *, commit=A, provider="fused", batch=16, metric="latency_s", benchmark="mlp", run=None, **changes):
    """A row of a sweep; `value` is a number, or those of several processes."""
    parameters = {"provider": provider, "batch": batch, "hidden": 256, "pass": "forward"}
    parameters = changes.pop("parameters", parameters)
    values = list(value) if isinstance(value, list | tuple | np.ndarray) else [value]
    disturbed = changes.pop("disturbed", None)
    run = run or f"run-{commit[:1]}"
    key = (benchmark, metric, changes.get("machine"), changes.get("version"), *sorted(parameters.items()))
    found = SeriesValueRow(
        series_id=IDS.setdefault(key, len(IDS)), project="fusebench", commit=commit, commit_date=None,
        commit_subject=None, machine="m", environment="e", benchmark=benchmark, metric=metric, unit="s", version="3",
        parameters=tuple(ParameterValue(name=name, value=each) for name, each in parameters.items()), state="ok",
        reason=disturbed, value=float(np.median(values)), ci_low=min(values) * 0.99, ci_high=max(values) * 1.01,
        q25=None, q75=None, sample_count=None, samples=None, run_id=run, measured_at=None,
        processes=tuple(ProcessValue(run, i, float(each), None, None, disturbed) for i, each in enumerate(values)),
    )  # fmt: skip
    return found._replace(**changes)


def failed(state="crashed", **changes):
    return row(1.0, **changes)._replace(state=state, value=None, reason=f"{state} in this test", processes=())
