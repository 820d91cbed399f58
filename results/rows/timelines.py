"""Timeline of one profiled call, from its stored trace."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class ActivityRow:
    """Activity of a timeline. lane: the thread or stream; depth: of calls around it, 0 for the outermost.

    start_s: since the call began; words: the name, decoded. is_on_device: whether the device did it.
    """

    lane: str
    depth: int
    name: str
    words: str
    start_s: float
    duration_s: float
    is_on_device: bool


@dataclass(frozen=True, kw_only=True)
class IdleRow:
    """Stretch between two activities in which the lanes of a side did nothing: no kernel ran, or no operator."""

    start_s: float
    duration_s: float
    after: str
    before: str


@dataclass(frozen=True, kw_only=True)
class TimelineRow:
    """Activities of one call by their starts. of: `device` or `host`, whose idle stretches these are.

    call_s: from the call's begin to its end on the host. n_left_out: of the shortest activities, left out.
    """

    activities: tuple[ActivityRow, ...]
    idle: tuple[IdleRow, ...]
    of: str
    call_s: float
    n_left_out: int = 0


@dataclass(frozen=True, kw_only=True)
class NoTimeline:
    """Why there is no timeline, in words, and what to do."""

    reason: str
