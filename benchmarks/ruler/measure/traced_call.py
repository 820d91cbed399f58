"""A call traced with shapes and memory, which slow it: a session of its own, whose times nothing is judged by."""

from __future__ import annotations

import tempfile
from contextlib import nullcontext
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch.profiler import ProfilerActivity, profile, schedule

from benchmarks.ruler.measure.generated_kernels import inputs_announced
from benchmarks.ruler.traces.event_names import stable_name
from benchmarks.ruler.traces.events import UnreadableTrace, read_trace
from benchmarks.ruler.traces.summary import OperatorDetail, TraceSummary, summarised, unreadable

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.ruler.record.outcome import OperatorRow, ProfileOutcome

ACTIVE_CALLS = 3


def traced(
    outcome: ProfileOutcome, call: Callable[[], object], *, device: torch.device, trace: Path | None
) -> ProfileOutcome:
    """Return `outcome`, a profile of `call`, with what another session with shapes and memory shows of it.

    trace: where to leave that session's trace, for a viewer; None keeps none.
    """
    computing = {row.name for row in outcome.operators if row.is_compute}
    try:
        summary = _summary(call, device=device, trace=trace, computing=computing)
    except (OSError, UnreadableTrace) as error:
        # As when the disk is full. The profile itself is taken.
        summary, trace = unreadable(f"the trace could not be kept: {error}"), None
    gaps = summary.gaps
    return replace(
        outcome,
        trace=trace.name if trace is not None else None,
        operators=tuple(_with_detail(row, summary) for row in outcome.operators),
        allocated_bytes=summary.allocated_bytes,
        freed_bytes=summary.freed_bytes,
        operators_min_bytes=summary.operators_min_bytes,
        device_busy_s=gaps.device_busy_s if gaps else None,
        gap_count=gaps.gap_count if gaps else None,
        gap_time_s=gaps.gap_time_s if gaps else None,
        longest_gap_s=gaps.longest_gap_s if gaps else None,
        gaps=gaps.gaps if gaps else (),
        runtime_calls=summary.runtime_calls,
        missing={**outcome.missing, **summary.missing},
    )


def _summary(
    call: Callable[[], object], *, device: torch.device, trace: Path | None, computing: set[str]
) -> TraceSummary:
    on_gpu = device.type == "cuda"
    with tempfile.TemporaryDirectory(prefix="fusebench-trace-") if trace is None else nullcontext(None) as folder:
        path = trace or Path(str(folder), "trace.json")
        path.parent.mkdir(parents=True, exist_ok=True)
        _write_trace(call, path, on_gpu=on_gpu)
        found = read_trace(path)
    return summarised(found, on_gpu=on_gpu, computing=computing.__contains__)


def _write_trace(call: Callable[[], object], path: Path, *, on_gpu: bool) -> None:
    activities = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if on_gpu else [])]
    with (
        inputs_announced(),
        profile(
            activities=activities,
            schedule=schedule(wait=1, warmup=1, active=ACTIVE_CALLS, repeat=1),
            record_shapes=True,
            profile_memory=True,
            acc_events=True,
        ) as profiler,
    ):
        for _ in range(2 + ACTIVE_CALLS):
            call()
            if on_gpu:
                torch.cuda.synchronize()
            profiler.step()
    profiler.export_chrome_trace(str(path))


def _with_detail(row: OperatorRow, summary: TraceSummary) -> OperatorRow:
    detail = summary.operators.get(stable_name(row.name), OperatorDetail())
    return replace(row, **{each.name: getattr(detail, each.name) for each in fields(detail)})
