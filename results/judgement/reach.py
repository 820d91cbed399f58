"""How near a call comes to the least time that its machine allows, and what takes the rest; pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from results.units import figures, with_prefix

if TYPE_CHECKING:
    from results.rows import PointRow

_LEAST = {
    "compute": "the least its arithmetic takes here",
    "memory": "the least its memory traffic takes here",
}
# Closer to the least than this there is no rest worth telling.
_CLOSE = 1.05


def reach_in_words(row: PointRow) -> str:
    """Say how many times the least a call takes, or that overhead bounds it; empty where nothing is known of that."""
    if not row.has_valid_ceiling:
        return "less than the least that was measured to be possible here, which so is not known"
    if row.bound not in _LEAST:
        return f"bound by {row.bound}" if row.bound else ""
    if not row.percent_of_floor:
        return f"bound by {row.bound}"
    # A ceiling may be somewhat too low; no call takes less than the least.
    times = "no more than" if row.percent_of_floor > 100 else f"{figures(100 / row.percent_of_floor)} ×"
    return f"{times} {_LEAST[row.bound]}"


def rest_in_words(row: PointRow) -> str | None:
    """Say where the time above the least goes, in parts that sum to it; None where that is not known, or next to none.

    A profile makes each operator dearer, so that its operators may fill the whole call: then nothing is told apart.
    """
    latency_s, floor_s, outside_s = row.latency_s, row.floor_s, row.overhead_s
    if not latency_s or not floor_s or outside_s is None or latency_s < _CLOSE * floor_s:
        return None
    inside_s = latency_s - floor_s - outside_s
    if outside_s <= 0 or inside_s < 0:
        return "its operators take all the rest, as far as a profile, which makes each of them dearer, can tell"
    return f"of the rest, {with_prefix(inside_s, 's')} pass in its operators and {with_prefix(outside_s, 's')} outside"
