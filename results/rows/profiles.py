"""Profiles of sweep points: operators and kernels of one call."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime


@dataclass(frozen=True, kw_only=True)
class OperatorRow:
    """Operator of a profile, per call; times on the host in seconds.

    inputs: each distinct list of inputs, `float32[64] float32[16,256]`. allocated_bytes, freed_bytes: by itself,
    without what it calls. min_bytes: the least that its calls must read and write; min_bytes_reason: why that is not
    known. outermost: of `count`, the calls that are compute operators of their own, inside no other.
    """

    name: str
    count: float
    self_time_s: float | None
    total_time_s: float | None
    is_compute: bool
    inputs: tuple[str, ...] = ()
    allocated_bytes: float | None = None
    freed_bytes: float | None = None
    min_bytes: float | None = None
    min_bytes_reason: str | None = None
    outermost: float | None = None


@dataclass(frozen=True, kw_only=True)
class KernelRow:
    """Device kernel of a profile, per call.

    words: what its name says, on one line; author, kind: of that, the library or compiler and what it does, None where
    the name says neither. stable_name: without what differs between processes.
    """

    name: str
    count: float
    device_time_s: float | None
    words: str = ""
    stable_name: str = ""
    author: str | None = None
    kind: str | None = None


@dataclass(frozen=True, kw_only=True)
class GapRow:
    """Stretch of a call in which the device did nothing, between two activities by their names; `words`: decoded."""

    duration_s: float
    after: str
    before: str
    words: str


@dataclass(frozen=True, kw_only=True)
class RuntimeCallRow:
    """Function of the device's runtime, per call. kind: launch, memcpy, memset, synchronise, occupancy or other."""

    name: str
    kind: str
    count: float | None
    time_s: float | None


@dataclass(frozen=True, kw_only=True)
class ProfileRow:
    """Profile of one call: counts and times, operators and kernels by descending time.

    overhead_s: the host's time outside compute operators; overhead_in: what takes most of it. bound_detail: the
    evidence for `bound`, in words.
    expected_…: by what the provider declares: counts, the bytes its operators read and write, its time at the machine's
    ceilings. compilations: by torch.compile, during a call. unexpected: how what ran differs, in words. trace: name of
    a file under traces/, which may have been removed since. `stacks_of` has the stacks.
    allocated_bytes, freed_bytes: of the device that computes. operators_min_bytes: sum of the computing operators'
    least bytes. device_busy_s: time in which the device did anything; gap_…: of the stretches between in which it did
    nothing; gaps: the longest. missing: why one of these is None, by its name; empty for what older rulers recorded.
    product_libraries: that ran the matrix products, the most frequent first; product_libraries_reason: why none is
    known.
    """

    state: str
    reason: str | None
    measured_at: datetime
    operator_count: float | None
    operator_time_s: float | None
    kernel_launches: float | None
    device_time_s: float | None
    peak_memory_bytes: float | None
    overhead_s: float | None
    overhead_in: str | None
    bound: str | None
    bound_detail: str | None
    expected_operator_count: float | None
    expected_kernel_launches: float | None
    unexpected: str | None
    trace: str | None
    operators: tuple[OperatorRow, ...]
    kernels: tuple[KernelRow, ...]
    allocated_bytes: float | None
    freed_bytes: float | None
    operators_min_bytes: float | None
    device_busy_s: float | None
    gap_count: float | None
    gap_time_s: float | None
    longest_gap_s: float | None
    gaps: tuple[GapRow, ...]
    runtime_calls: tuple[RuntimeCallRow, ...] | None
    missing: Mapping[str, str]
    expected_bytes: float | None
    expected_time_s: float | None
    compilations: float | None
    product_libraries: tuple[str, ...] = ()
    product_libraries_reason: str | None = None

    @property
    def incomparable(self) -> frozenset[str]:
        """What was seen of other operators than expected, and tells nothing beside that: as many, no more bytes.

        Names of fields: `operator_count`, `operators_min_bytes`.
        """
        if re.search(r"expected \S+ operators?, saw", self.unexpected or "") is None:
            return frozenset()
        count, moved = self.operator_count, self.operators_min_bytes
        found = {"operator_count"} if count is not None and count == self.expected_operator_count else set()
        # Less than must be moved, as a replayed graph names no operators.
        if moved is not None and self.expected_bytes is not None and moved <= self.expected_bytes:
            found.add("operators_min_bytes")
        return frozenset(found)
