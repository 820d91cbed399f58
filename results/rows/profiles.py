"""Profiles of sweep points: operators and kernels of one call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime


@dataclass(frozen=True, kw_only=True)
class OperatorRow:
    """Operator of a profile, per call; times on the host in seconds."""

    name: str
    count: float
    self_time_s: float | None
    total_time_s: float | None
    is_compute: bool


@dataclass(frozen=True, kw_only=True)
class KernelRow:
    """Device kernel of a profile, per call."""

    name: str
    count: float
    device_time_s: float | None


@dataclass(frozen=True, kw_only=True)
class ProfileRow:
    """Profile of one call: counts and times, operators and kernels by descending time.

    overhead_s: the host's time outside compute operators; overhead_in: what takes most of it. bound_detail: the
    evidence for `bound`, in words.
    expected_…: declared by the provider. unexpected: how the counts differ from it, in words. trace: name of a file
    under traces/, which may have been removed since. `stacks_of` has the stacks.
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
