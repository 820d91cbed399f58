"""Gaps of a trace's device timeline: stretches of a call in which no stream did anything; pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from benchmarks.ruler.record.outcome import GapRow
from benchmarks.ruler.traces.events import RUNTIME

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.ruler.traces.events import Span, Trace

NO_DEVICE = "a CPU has no timeline of a device"
MOST_GAPS = 8


@dataclass(frozen=True, kw_only=True)
class DeviceGaps:
    """Gaps of one call, between its first activity on the device and its last.

    device_busy_s, gap_count, gap_time_s: means of the profiled calls. longest_gap_s, gaps: of the call whose gap time
    is the median; the longest first. longest_gap_s is 0 where it has none.
    """

    QUANTITIES: ClassVar[tuple[str, ...]] = ("device_busy_s", "gap_count", "gap_time_s", "longest_gap_s")
    device_busy_s: float
    gap_count: float
    gap_time_s: float
    longest_gap_s: float
    gaps: tuple[GapRow, ...]


@dataclass(frozen=True, kw_only=True)
class _Call:
    """One call's time with anything on the device, and its gaps, in nanoseconds, between two activities."""

    busy_ns: int
    gaps: tuple[tuple[int, Span, Span], ...]

    @property
    def gap_ns(self) -> int:
        return sum(length for length, _, _ in self.gaps)


def device_gaps(trace: Trace) -> DeviceGaps | None:
    """Return the gaps of a call's timeline, all streams of the device together; None without any activity."""
    calls = [_call(activities) for activities in _activities_of_steps(trace) if activities]
    if not calls:
        return None
    n_calls = len(trace.steps)
    typical = sorted(calls, key=lambda call: call.gap_ns)[len(calls) // 2]
    longest = sorted(typical.gaps, key=lambda gap: -gap[0])[:MOST_GAPS]
    return DeviceGaps(
        device_busy_s=sum(call.busy_ns for call in calls) / n_calls * 1e-9,
        gap_count=sum(len(call.gaps) for call in calls) / n_calls,
        gap_time_s=sum(call.gap_ns for call in calls) / n_calls * 1e-9,
        longest_gap_s=longest[0][0] * 1e-9 if longest else 0.0,
        gaps=tuple(GapRow(duration_s=ns * 1e-9, after=a.name, before=b.name) for ns, a, b in longest),
    )


def _activities_of_steps(trace: Trace) -> list[list[Span]]:
    """Return each profiled call's activities, by when the host started them, else by when they began."""
    started_at = {span.correlation: span.start_ns for span in trace.host if span.category in RUNTIME}
    of_steps: list[list[Span]] = [[] for _ in trace.steps]
    for activity in trace.device:
        is_linked = activity.correlation is not None
        at_ns = started_at.get(activity.correlation, activity.start_ns) if is_linked else activity.start_ns
        for step, found in zip(trace.steps, of_steps, strict=True):
            if step.start_ns <= at_ns < step.end_ns:
                found.append(activity)
    return of_steps


def _call(activities: Sequence[Span]) -> _Call:
    """Return the gaps between `activities`, in the order of their starts, which may overlap on several streams."""
    gaps: list[tuple[int, Span, Span]] = []
    last = activities[0]
    busy_ns = last.end_ns - last.start_ns
    for activity in activities[1:]:
        if activity.start_ns > last.end_ns:
            gaps.append((activity.start_ns - last.end_ns, last, activity))
        if activity.end_ns > last.end_ns:
            busy_ns += activity.end_ns - max(activity.start_ns, last.end_ns)
            last = activity
    return _Call(busy_ns=busy_ns, gaps=tuple(gaps))
