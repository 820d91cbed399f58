"""Measured ceilings of a machine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from results.units import percent

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime


@dataclass(frozen=True, kw_only=True)
class CeilingsRow:
    """Ceilings of a machine in an environment, in SI units; empty or None for what was not measured.

    matmul_flop_per_s: of square products, by dtype. bandwidth_bytes_per_s: of data moved over and over, by its size in
    bytes. copy_bytes_per_s: of a copy far beyond the caches, read plus written. slow_rounds: of how many rounds they
    are the best, where the machine was slow throughout, else 0; speed: its speed then, 1 at its best, None if unknown.
    """

    machine: str
    environment: str
    measured_at: datetime | None
    matmul_flop_per_s: Mapping[str, float]
    bandwidth_bytes_per_s: Mapping[int, float]
    copy_bytes_per_s: float | None
    slow_rounds: int = 0
    speed: float | None = None

    @property
    def slow_in_words(self) -> str | None:
        """That the machine was slow while they were measured, so that they may be too low; None where it was not."""
        if not self.slow_rounds:
            return None
        how_slow = "" if self.speed is None or self.speed >= 1 else f" (at {percent(self.speed)} of its best speed)"
        return f"on a slow machine{how_slow}, so they may be too low"

    def level_of(self, n_bytes: float) -> tuple[int | None, float] | None:
        """Return the size and the bandwidth of the level that `n_bytes` of warm data live in; None if unknown.

        Between two measured sizes the smaller one's level counts, and more data is never faster than less, as for the
        floor of a point. The size is None where only a copy was measured.
        """
        if not self.bandwidth_bytes_per_s:
            return None if self.copy_bytes_per_s is None else (None, self.copy_bytes_per_s)
        sizes = sorted(self.bandwidth_bytes_per_s)
        nearest = max((size for size in sizes if size <= n_bytes), default=sizes[0])
        best = max((size for size in sizes if size >= nearest), key=lambda size: self.bandwidth_bytes_per_s[size])
        return best, self.bandwidth_bytes_per_s[best]

    def level_of_memory(self) -> tuple[int | None, float] | None:
        """Return the size and the bandwidth of data that lies in no cache; None if unknown."""
        return self.level_of(max(self.bandwidth_bytes_per_s, default=0))
