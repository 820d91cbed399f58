"""Difference of two profiles as rows and parts; the values only, pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class RowKind(StrEnum):
    """What became of an operator or a kernel between two profiles."""

    ADDED = "added"
    REMOVED = "removed"
    RENAMED = "renamed"  # another name does the same work at the same place: another tile, another library
    MORE_CALLS = "more calls"
    FEWER_CALLS = "fewer calls"
    SLOWER = "slower"
    FASTER = "faster"
    SAME = "same"


class RowPlace(StrEnum):
    """Where the time of a row is spent."""

    OPERATOR = "operator"  # computes on the host; with all that it calls
    KERNEL = "kernel"  # runs on the device
    HOST = "host"  # on the host, outside of what computes; overlaps the device's


@dataclass(frozen=True, kw_only=True)
class DifferenceRow:
    """Operator, kernel or frame of the host, aligned; seconds per call.

    name: without what differs between processes, of the head where it is there. before: the base's name, where another.
    callers: outermost first. base_s, head_s: 0 where it is absent. base_count, head_count: calls, None where the
    profile does not tell them for this place. words: what is known of it by its name; detail: what a new name changed,
    `tile 128x128x64 → 64x64x64`, else empty.
    """

    kind: RowKind
    place: RowPlace
    name: str
    before: str | None = None
    callers: tuple[str, ...] = ()
    base_s: float = 0.0
    head_s: float = 0.0
    base_count: float | None = None
    head_count: float | None = None
    words: str = ""
    detail: str = ""

    @property
    def change_s(self) -> float:
        """Seconds that the head takes more; below zero where less."""
        return self.head_s - self.base_s


@dataclass(frozen=True, kw_only=True)
class DifferencePart:
    """Part of the latency at both commits; below zero for the rest alone."""

    name: str
    base_s: float
    head_s: float

    @property
    def change_s(self) -> float:
        """Seconds that the head takes more; below zero where less."""
        return self.head_s - self.base_s


@dataclass(frozen=True, kw_only=True)
class NameCount:
    """Calls of everything of one stable name that computes, wherever it is called; differing at the two commits."""

    name: str
    base: float
    head: float


@dataclass(frozen=True, kw_only=True)
class ProfileDifference:
    """Two profiles aligned. Without rows, `reason` says why.

    rows: of each place the largest change first. parts: their base_s sum to the base's latency, head_s to the head's,
    so their changes to its change; the last is the rest, what profile and timing do not share. Empty without both
    latencies. counts: names that compute more often, or less. is_by_tree: whether rows were aligned by the tree of
    operators; else by names alone.
    """

    rows: tuple[DifferenceRow, ...] = ()
    parts: tuple[DifferencePart, ...] = ()
    counts: tuple[NameCount, ...] = ()
    is_by_tree: bool = False
    base_s: float | None = None
    head_s: float | None = None
    reason: str | None = None

    @property
    def change_s(self) -> float | None:
        """Seconds of latency that the head takes more; None where either was not timed."""
        return None if self.base_s is None or self.head_s is None else self.head_s - self.base_s

    @property
    def work(self) -> tuple[DifferenceRow, ...]:
        """Rows that compute: kernels on a device, operators on a CPU."""
        return tuple(row for row in self.rows if row.place is not RowPlace.HOST)

    @property
    def is_equal(self) -> bool:
        """Whether both ran the same, as often, and none of it took a different time."""
        return self.reason is None and not self.counts and all(row.kind is RowKind.SAME for row in self.rows)
