"""Calls of a device's runtime and driver in a trace, by function and by what they ask for; pure."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING

from benchmarks.ruler.record.outcome import RuntimeCallRow, RuntimeKind
from benchmarks.ruler.traces.event_names import is_step
from benchmarks.ruler.traces.events import RUNTIME

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from benchmarks.ruler.traces.events import Span

# Names of CUDA's runtime, its driver and HIP; the first that fits.
_KINDS = (
    (re.compile(r"Occupancy"), RuntimeKind.OCCUPANCY),
    (re.compile(r"Memcpy"), RuntimeKind.MEMCPY),
    (re.compile(r"Memset"), RuntimeKind.MEMSET),
    (re.compile(r"Synchronize"), RuntimeKind.SYNCHRONISE),
    (re.compile(r"Launch(?!HostFunc)"), RuntimeKind.LAUNCH),
)
_WAIT = "cudaDeviceSynchronize"


def runtime_kind(name: str) -> RuntimeKind:
    """Return what the function `name` of a runtime or driver asks for."""
    return next((kind for pattern, kind in _KINDS if pattern.search(name)), RuntimeKind.OTHER)


def runtime_calls(host: Iterable[Span], *, n_calls: int) -> tuple[RuntimeCallRow, ...]:
    """Return the functions called, per profiled call of `n_calls`, the longest first.

    Without the last synchronisation of each profiled call outside any operator, which is the ruler's own.
    """
    spans = list(host)
    calls = [span for span in spans if span.category in RUNTIME]
    waits = _own_waits(calls, [span for span in spans if is_step(span.name)])
    sums: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for span in calls:
        if span not in waits:
            sums[span.name][0] += 1
            sums[span.name][1] += span.end_ns - span.start_ns
    rows = (
        RuntimeCallRow(name=name, kind=runtime_kind(name), count=count / n_calls, time_s=time_ns / n_calls * 1e-9)
        for name, (count, time_ns) in sums.items()
    )
    return tuple(sorted(rows, key=lambda row: (-row.time_s, row.name)))


def _own_waits(calls: Sequence[Span], steps: Sequence[Span]) -> set[Span]:
    """Return the last wait for the device of each step that is in nothing else, on whatever thread it is filed."""
    waits = [span for span in calls if span.name == _WAIT and (span.parent is None or is_step(span.parent.name))]
    of_steps = ([span for span in waits if step.start_ns <= span.start_ns < step.end_ns] for step in steps)
    return {found[-1] for found in of_steps if found}
