"""Points below their roofs: what each reached, and what the ceilings of the level that its data live in allow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from results.rows import CEILING_NOT_VALID, MOST_PERCENT_OF_FLOOR
from results.units import si

if TYPE_CHECKING:
    from collections.abc import Sequence

    from results.rows import CeilingsRow, PointRow

BEYOND = MOST_PERCENT_OF_FLOOR / 100


@dataclass(frozen=True, kw_only=True)
class Slope:
    """Bandwidth of one level. n_bytes: the size of data that live there; None where only a copy was measured.

    is_cache: whether it is faster than memory by more than the ceilings' error.
    """

    n_bytes: int | None
    bytes_per_s: float
    is_cache: bool = False

    @property
    def label(self) -> str:
        """Size of the data and the bandwidth, in words."""
        level = "a cache" if self.is_cache else "memory"
        where = "a copy in memory" if self.n_bytes is None else f"data of {_size(self.n_bytes)} in {level}"
        return f"{where}: {si(self.bytes_per_s, 'B/s')}"

    @property
    def short_label(self) -> str:
        """The same, as it stands beside the line."""
        level = "cache" if self.is_cache else "memory"
        where = "copy" if self.n_bytes is None else f"{level}, {_size(self.n_bytes)}"
        return f"{where}: {si(self.bytes_per_s, 'B/s')}"


@dataclass(frozen=True, kw_only=True)
class Placed:
    """Point of the picture: FLOP/byte, FLOP/s, the slope of the level its data live in, and what the roof allows there.

    slope, roof_flop_per_s: None without ceilings.
    """

    row: PointRow
    flop_per_byte: float
    flop_per_s: float
    slope: Slope | None
    roof_flop_per_s: float | None

    @property
    def share(self) -> float | None:
        """What it reached of what the roof allows; None where that is not known, or the roof is none."""
        return None if not self.roof_flop_per_s or self.is_beyond else self.flop_per_s / self.roof_flop_per_s

    @property
    def share_on_device(self) -> float | None:
        """What its kernels reached of the roof while the device worked; None where that is not known, or is none."""
        device_s, latency_s = self.row.device_time_s, self.row.latency_s
        if not device_s or not latency_s or not self.roof_flop_per_s or self.is_beyond:
            return None
        share = self.flop_per_s * latency_s / device_s / self.roof_flop_per_s
        return None if share > BEYOND else share

    @property
    def is_beyond(self) -> bool:
        """Whether it is more than a tenth above its roof: that was measured too low, and is none."""
        return bool(self.roof_flop_per_s) and self.flop_per_s > BEYOND * (self.roof_flop_per_s or 0.0)

    @property
    def is_below_slope(self) -> bool:
        """Whether the bandwidth of its level is what the roof is made of there."""
        return self.slope is not None and self.flop_per_byte * self.slope.bytes_per_s == self.roof_flop_per_s

    @property
    def roof_in_words(self) -> str:
        """What the roof is made of at the point's intensity."""
        if self.slope is None or self.roof_flop_per_s is None:
            return "not known"
        if self.is_beyond:
            return CEILING_NOT_VALID
        return self.slope.short_label if self.is_below_slope else "the best product"


def placed(rows: Sequence[PointRow], *, ceilings: CeilingsRow | None) -> tuple[Placed, ...]:
    """Place the points whose work is known; warm data live in the smallest level that holds them, cold in memory."""
    found = []
    for row in rows:
        if row.state != "ok" or not row.tflop_per_s or not row.gb_per_s or not row.latency_s:
            continue
        flop_per_s, bytes_per_s = 1e12 * row.tflop_per_s, 1e9 * row.gb_per_s
        slope = _slope(row, bytes_per_s * row.latency_s, ceilings)
        intensity = flop_per_s / bytes_per_s
        peak = None if ceilings is None else ceilings.matmul_flop_per_s.get(row.dtype)
        roof = None if peak is None or slope is None else min(peak, intensity * slope.bytes_per_s)
        found.append(Placed(row=row, flop_per_byte=intensity, flop_per_s=flop_per_s, slope=slope, roof_flop_per_s=roof))
    return tuple(found)


def key_of(one: Placed) -> str:
    """Return the key that a click on the point's mark gives."""
    row = one.row
    return f"{row.batch},{row.hidden},{row.dim},{row.contender}"


def slopes_of(points: Sequence[Placed]) -> tuple[Slope, ...]:
    """Return the levels that the points' data live in, the fastest first."""
    return tuple(sorted({one.slope for one in points if one.slope}, key=lambda slope: -slope.bytes_per_s))


def _slope(row: PointRow, n_bytes: float, ceilings: CeilingsRow | None) -> Slope | None:
    if ceilings is None:
        return None
    level = ceilings.level_of_memory() if row.cache == "cold" else ceilings.level_of(n_bytes)
    if level is None:
        return None
    memory = ceilings.level_of_memory()
    is_cache = memory is not None and level[1] > BEYOND * memory[1]
    return Slope(n_bytes=level[0], bytes_per_s=level[1], is_cache=is_cache)


def _size(n_bytes: int) -> str:
    """Write a size as caches are: in binary prefixes."""
    for power, prefix in ((30, "Gi"), (20, "Mi"), (10, "Ki")):
        if n_bytes >= 1 << power:
            return f"{n_bytes / (1 << power):g} {prefix}B"
    return f"{n_bytes} B"
