"""Which clock a comparison goes by, in words: a caller's wall time, and on a GPU the device's own beside it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from results.judgement.winners import BASELINE
from results.units import counted, percent, si

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from results.rows import PointRow

MOST_NAMED = 2
EVEN = 1.01  # of device times, whose intervals rows do not have
HOST_BOUND = "host-bound"
WHAT_IT_IS = "the device works for less than half of the call, and waits for the host"


def has_device_time(rows: Iterable[PointRow]) -> bool:
    """Return whether a device's own time is known of any, so that it matters which clock is meant."""
    return any(row.device_time_s is not None for row in rows)


def least_on_device(rows: Iterable[PointRow]) -> PointRow | None:
    """Return the point of a shape that a device works the least time for; None where no device's time is known."""
    timed = [row for row in rows if row.device_time_s is not None and row.latency_s is not None]
    return min(timed, key=lambda row: row.device_time_s or 0.0, default=None)


def clocks_of_shape(rows: Sequence[PointRow], *, leader: PointRow) -> str | None:
    """Write that a shape is ranked by wall time, who has the least of the device's, and who is host-bound.

    None where no device's time is known.
    """
    least = least_on_device(rows)
    if least is None:
        return None
    parts = ["That is by wall time, what a caller waits for"]
    if least.contender == leader.contender:
        parts.append(f"it takes the least device time, too, {_device(least)}")
    else:
        own = f", {leader.contender} {_device(leader)}" if leader.device_time_s is not None else ""
        parts.append(f"the least device time has {least.contender}, {_device(least)}{own}")
    bound = sorted(
        (row for row in rows if row.is_host_bound), key=lambda row: (row.provider != BASELINE, row.latency_s)
    )
    if bound:
        named = [f"{row.contender} ({_device(row)} of {si(row.latency_s or 0.0, 's')})" for row in bound[:MOST_NAMED]]
        more = f" and {counted(len(bound) - MOST_NAMED, 'other')}" if len(bound) > MOST_NAMED else ""
        parts.append(f"{HOST_BOUND}, as {WHAT_IT_IS}: {', '.join(named)}{more}")
    return f"{'; '.join(parts)}."


def clocks_of_shapes(shapes: Collection[Sequence[PointRow]]) -> str | None:
    """Write by which clock shapes are ranked, who has the least device time at how many, and where eager is host-bound.

    None where no device's time is known.
    """
    leaders = [leader for rows in shapes if (leader := _leader_on_device(rows)) is not None]
    if not leaders:
        return None
    n_even = leaders.count("")
    named = [f"{name} at {n}" for name, n in Counter(filter(None, leaders)).most_common()]
    at = ", ".join([*named, *([f"even, within {percent(EVEN - 1, digits=0)}, at {n_even}"] if n_even else [])])
    n_bound = sum(any(row.provider == BASELINE and row.is_host_bound for row in rows) for rows in shapes)
    text = f"By wall time, what a caller waits for. Least device time: {at}."
    if not n_bound:
        return text
    return f"{text} {BASELINE.capitalize()} is {HOST_BOUND} at {n_bound} of {len(shapes)}: {WHAT_IT_IS}."


def _leader_on_device(rows: Iterable[PointRow]) -> str | None:
    """Return who has the least device time; nobody's name where another is even, None where none is known."""
    times = sorted((row.device_time_s, row.contender) for row in rows if row.device_time_s is not None)
    if len(times) > 1 and times[1][0] <= EVEN * times[0][0]:
        return ""
    return times[0][1] if times else None


def _device(row: PointRow) -> str:
    return si(row.device_time_s or 0.0, "s")
