"""Timeline of a sweep point's profiled call, read from its stored trace → frozen rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from results.errors import UnreadableFile
from results.files.paths import read_regular_file
from results.files.profiler_traces import MOST_BYTES, UnreadableTrace, call_from_trace
from results.kernel_names import decoded
from results.questions.profiles import trace_of
from results.rows import ActivityRow, IdleRow, NoTimeline, TimelineRow

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from results.files.profiler_traces import TracedCall, TracedSpan
    from results.rows import PointRow
    from results.store import Store

MOST_ACTIVITIES = 1500
MOST_IDLE = 300
NO_TRACE = (
    "No trace of this point was kept. The page Throughput shows the commands that measure it again; "
    "with FUSEBENCH_TRACES={batch} in the environment they keep one."
)
NO_FILE = "The trace {name} of this point is no longer there: fusebench store retain-traces removes old ones."
BAD_FILE = "The trace {name} of this point cannot be read: {why}."
BEGIN, END = "the call's begin", "the call's end"


def timeline_of(store: Store, *, point: PointRow) -> TimelineRow | NoTimeline:
    """Return the timeline of `point` from its run's trace, or why there is none."""
    path = trace_of(store, point=point)
    if path is None:
        return NoTimeline(reason=NO_TRACE.format(batch=point.batch))
    if not path.is_file():
        return NoTimeline(reason=NO_FILE.format(name=path.name))
    try:
        if path.stat().st_size > MOST_BYTES:
            return NoTimeline(reason=BAD_FILE.format(name=path.name, why=f"it has more than {MOST_BYTES >> 20} MiB"))
        return timeline_from(call_from_trace(read_regular_file(path)))
    except UnreadableTrace as error:
        return NoTimeline(reason=BAD_FILE.format(name=path.name, why=error))
    except (OSError, UnreadableFile) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no regular file, or too large"
        return NoTimeline(reason=BAD_FILE.format(name=path.name, why=why))


def timeline_from(call: TracedCall) -> TimelineRow:
    """Return the call's longest activities, and where the device, or on a CPU every operator, did nothing."""
    on_device = [span for span in call.spans if span.is_on_device]
    working = on_device or [span for span in call.spans if span.is_operator]
    n_lanes = {side: len({span.lane for span in call.spans if span.is_on_device is side}) for side in (True, False)}
    longest = sorted(call.spans, key=lambda span: -span.duration_s)[:MOST_ACTIVITIES]
    return TimelineRow(
        activities=tuple(_activity(span, n_lanes) for span in sorted(longest, key=lambda span: span.start_s)),
        idle=_idle(working, whole_s=None if on_device else call.duration_s),
        of="device" if on_device else "host",
        call_s=call.duration_s,
        n_left_out=len(call.spans) - len(longest),
    )


def _activity(span: TracedSpan, n_lanes: Mapping[bool, int]) -> ActivityRow:
    number = f" {span.lane + 1}" if n_lanes[span.is_on_device] > 1 else ""
    return ActivityRow(
        lane=f"{'device' if span.is_on_device else 'host'}{number}",
        depth=span.depth,
        name=span.name,
        words=_words(span),
        start_s=span.start_s,
        duration_s=span.duration_s,
        is_on_device=span.is_on_device,
    )


def _idle(working: Sequence[TracedSpan], *, whole_s: float | None) -> tuple[IdleRow, ...]:
    """Return the longest stretches in which none of `working`, by their starts, ran; by start.

    whole_s: of the call, whose begin and end count as well; None between the first and the last alone.
    """
    if not working:
        return ()
    found, last, end_s = [], BEGIN, 0.0 if whole_s is not None else working[0].start_s
    for span in working:
        if span.start_s > end_s:
            found.append(IdleRow(start_s=end_s, duration_s=span.start_s - end_s, after=last, before=_words(span)))
        if span.end_s >= end_s:
            last, end_s = _words(span), span.end_s
    if whole_s is not None and whole_s > end_s:
        found.append(IdleRow(start_s=end_s, duration_s=whole_s - end_s, after=last, before=END))
    longest = sorted(found, key=lambda each: -each.duration_s)[:MOST_IDLE]
    return tuple(sorted(longest, key=lambda each: each.start_s))


def _words(span: TracedSpan) -> str:
    return decoded(span.name).words if span.is_on_device else span.name
