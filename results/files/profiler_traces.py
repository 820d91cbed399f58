"""Profiler's traces, as torch.profiler exports them: the spans of one profiled call; pure.

Source of the form: Kineto's Chrome trace events (`torch/profiler/_chrome_trace_export.py`).
"""

from __future__ import annotations

import gzip
import zlib
from dataclasses import dataclass
from io import BytesIO
from typing import Any

import orjson

MOST_BYTES = 1 << 26  # of JSON; a call of ours has some hundred kilobytes
_GZIP = b"\x1f\x8b"
_RUNTIME = frozenset({"cuda_runtime", "cuda_driver"})
_ON_DEVICE = frozenset({"kernel", "gpu_memcpy", "gpu_memset"})
_OPERATOR = "cpu_op"
_ON_HOST = frozenset({_OPERATOR, "user_annotation"}) | _RUNTIME
_STEP = "ProfilerStep"
_GPU_FRAME = "gpu_user_annotation"


class UnreadableTrace(Exception):
    """Raised for content that is no trace of a profiler; the message says what it is instead."""


@dataclass(frozen=True, kw_only=True)
class TracedSpan:
    """Span of a call, in seconds since the call began. lane: number of the thread or stream; depth: spans around it."""

    name: str
    start_s: float
    duration_s: float
    is_on_device: bool
    is_operator: bool
    lane: int
    depth: int

    @property
    def end_s(self) -> float:
        """End, in seconds since the call began."""
        return self.start_s + self.duration_s


@dataclass(frozen=True, kw_only=True)
class TracedCall:
    """Spans of one profiled call by their starts, and how long the call took on the host."""

    spans: tuple[TracedSpan, ...]
    duration_s: float


def call_from_trace(content: bytes) -> TracedCall:
    """Return the profiled call of median duration in a trace, compressed or not. Raises: UnreadableTrace."""
    try:
        return _call(orjson.loads(_unpacked(content)))
    except (ValueError, KeyError, TypeError, AttributeError, EOFError, OSError, zlib.error) as error:
        raise UnreadableTrace(f"it is no trace of a profiler ({type(error).__name__}: {error})") from error


def _unpacked(content: bytes) -> bytes:
    if content.startswith(_GZIP):
        with gzip.GzipFile(fileobj=BytesIO(content)) as file:
            content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise ValueError(f"more than {MOST_BYTES >> 20} MiB of JSON")
    return content


def _call(values: dict[str, Any]) -> TracedCall:
    events = [event for event in values["traceEvents"] if event.get("ph") == "X"]
    steps = sorted((event for event in events if _is_step(event)), key=lambda event: float(event["dur"]))
    if not steps:
        raise ValueError("no profiled call is marked in it")
    step = steps[len(steps) // 2]
    start, end = float(step["ts"]), float(step["ts"]) + float(step["dur"])
    host = [event for event in events if event.get("cat") in _ON_HOST and not str(event["name"]).startswith(_STEP)]
    host = [event for event in host if start <= float(event["ts"]) < end]
    launched = {_correlation(event) for event in host if event["cat"] in _RUNTIME} - {None}
    device = [
        event
        for event in events
        if event.get("cat") in _ON_DEVICE and _is_of_call(event, launched=launched, start=start, end=end)
    ]
    spans = [*_spans(host, start=start, on_device=False), *_spans(device, start=start, on_device=True)]
    return TracedCall(
        spans=tuple(sorted(spans, key=lambda span: (span.start_s, -span.duration_s))),
        duration_s=(end - start) * 1e-6,
    )


def _is_step(event: dict[str, Any]) -> bool:
    return str(event.get("name")).startswith(_STEP) and event.get("cat") != _GPU_FRAME


def _is_of_call(event: dict[str, Any], *, launched: set[object], start: float, end: float) -> bool:
    """Tell whether the call launched it; of one without a link, whether it began during the call."""
    correlation = _correlation(event)
    return correlation in launched if correlation is not None else start <= float(event["ts"]) < end


def _correlation(event: dict[str, Any]) -> object:
    return (event.get("args") or {}).get("correlation")


def _spans(events: list[dict[str, Any]], *, start: float, on_device: bool) -> list[TracedSpan]:
    lanes: dict[tuple[str, str], int] = {}
    ends: dict[int, list[float]] = {}
    found = []
    for event in sorted(events, key=lambda event: (float(event["ts"]), -float(event["dur"]))):
        lane = lanes.setdefault((str(event["pid"]), str(event["tid"])), len(lanes))
        begins, lasts = float(event["ts"]), float(event["dur"])
        around = ends.setdefault(lane, [])
        while around and around[-1] <= begins:
            around.pop()
        depth = 0 if on_device else len(around)
        around.append(begins + lasts)
        found.append(
            TracedSpan(
                name=str(event["name"]),
                start_s=(begins - start) * 1e-6,
                duration_s=lasts * 1e-6,
                is_on_device=on_device,
                is_operator=event["cat"] == _OPERATOR,
                lane=lane,
                depth=depth,
            )
        )
    return found
