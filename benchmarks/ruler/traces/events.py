"""Events of a profiler's trace: Kineto's form of Chrome's trace events, as spans that know what they are in; pure.

Source of the form: torch.profiler's own exporters (`torch/profiler/_chrome_trace_export.py`).
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from benchmarks.ruler.traces.event_names import is_step

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

RUNTIME = frozenset({"cuda_runtime", "cuda_driver"})
ON_DEVICE = frozenset({"kernel", "gpu_memcpy", "gpu_memset"})
_ON_HOST = frozenset({"cpu_op", "user_annotation"}) | RUNTIME
_MEMORY = "[memory]"
_HOST_DEVICE_TYPE = 0
_GZIP = b"\x1f\x8b"
_MALFORMED = (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError)


class UnreadableTrace(Exception):
    """Raised for a file that is no trace; the message says what it is instead."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Span:
    """Event with a duration. parent: the innermost span of the same thread that holds it; None on the device.

    correlation: of a call of the runtime with what it started on the device.
    """

    name: str
    category: str
    start_ns: int
    end_ns: int
    args: Mapping[str, Any]
    parent: Span | None = None

    @property
    def correlation(self) -> int | None:
        """Number that a call of the runtime shares with the activity it started."""
        found = self.args.get("correlation")
        return found if isinstance(found, int) else None


@dataclass(frozen=True, kw_only=True, eq=False)
class Allocation:
    """Memory taken, or given back where n_bytes is negative. owner: the innermost span of its thread at that time."""

    at_ns: int
    n_bytes: int
    is_on_host: bool
    owner: Span | None


@dataclass(frozen=True, kw_only=True, eq=False)
class Trace:
    """Spans of a trace, each kind by its start. steps: the profiled calls.

    has_memory: whether allocations are recorded, be there any or none.
    """

    host: tuple[Span, ...]
    device: tuple[Span, ...]
    steps: tuple[Span, ...]
    allocations: tuple[Allocation, ...]
    has_memory: bool


def read_trace(path: Path) -> Trace:
    """Read a trace, compressed or not. Raises: UnreadableTrace, OSError."""
    content = path.read_bytes()
    try:
        values = json.loads(gzip.decompress(content) if content.startswith(_GZIP) else content)
        return trace_from_json(values)
    except (*_MALFORMED, EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise UnreadableTrace(f"{path.name} is no trace: {type(error).__name__}: {error}") from error


def trace_from_json(values: Mapping[str, Any]) -> Trace:
    """Return the spans of a parsed trace.

    Raises: KeyError, TypeError, AttributeError, OverflowError or ValueError for anything else.
    """
    threads: dict[tuple[Any, Any], list[Mapping[str, Any]]] = defaultdict(list)
    device: list[Span] = []
    for event in values["traceEvents"]:
        category = event.get("cat")
        if event.get("ph") == "X" and category in ON_DEVICE:
            device.append(_span(event, parent=None))
        elif event.get("name") == _MEMORY or (event.get("ph") == "X" and category in _ON_HOST):
            threads[event["pid"], event["tid"]].append(event)
    host: list[Span] = []
    allocations: list[Allocation] = []
    for events in threads.values():
        spans, found = _nested(events)
        host += spans
        allocations += found
    host.sort(key=lambda span: (span.start_ns, -span.end_ns))
    return Trace(
        host=tuple(host),
        device=tuple(sorted(device, key=lambda span: (span.start_ns, span.end_ns))),
        steps=tuple(span for span in host if is_step(span.name)),
        allocations=tuple(sorted(allocations, key=lambda each: each.at_ns)),
        has_memory=bool(values.get("profile_memory")) or bool(allocations),
    )


def _nested(events: Iterable[Mapping[str, Any]]) -> tuple[list[Span], list[Allocation]]:
    """Return one thread's spans, each in its parent, and its allocations, each in its owner."""
    spans: list[Span] = []
    allocations: list[Allocation] = []
    open_spans: list[Span] = []
    for event in sorted(events, key=lambda event: (_ns(event["ts"]), -_ns(event.get("dur", 0)))):
        at_ns = _ns(event["ts"])
        is_memory = event["name"] == _MEMORY
        while open_spans and (open_spans[-1].end_ns < at_ns or (open_spans[-1].end_ns == at_ns and not is_memory)):
            open_spans.pop()
        owner = open_spans[-1] if open_spans else None
        if is_memory:
            args = event["args"]
            is_on_host = args.get("Device Type", _HOST_DEVICE_TYPE) == _HOST_DEVICE_TYPE
            n_bytes = int(args["Bytes"])
            allocations.append(Allocation(at_ns=at_ns, n_bytes=n_bytes, is_on_host=is_on_host, owner=owner))
        else:
            span = _span(event, parent=owner)
            spans.append(span)
            open_spans.append(span)
    return spans, allocations


def _span(event: Mapping[str, Any], *, parent: Span | None) -> Span:
    start_ns, duration_ns = _ns(event["ts"]), _ns(event["dur"])
    if duration_ns < 0:
        raise ValueError(f"{event['name']} ends before it begins")
    return Span(
        name=str(event["name"]),
        category=event["cat"],
        start_ns=start_ns,
        end_ns=start_ns + duration_ns,
        args=event.get("args") or {},
        parent=parent,
    )


def _ns(microseconds: float) -> int:
    return round(float(microseconds) * 1000)
