"""Points of a roofline as a table: what each reached, and what its roof allows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dashboard.tables.grids import Column

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dashboard.roofs import Placed

COLUMNS = (
    Column(field="contender", heading="Provider", width=200, grows=True),
    Column(field="batch", heading="Batch", unit="", has_prefix=False, width=100),
    Column(field="hidden", heading="Hidden dim", unit="", has_prefix=False, width=124),
    Column(field="dim", heading="Model dim", unit="", has_prefix=False, width=120),
    Column(field="flop_per_byte", heading="FLOP/byte", unit="", has_prefix=False, width=120),
    Column(field="flop_per_s", heading="Work rate", unit="FLOP/s", width=140),
    Column(field="roof_flop_per_s", heading="Roof", unit="FLOP/s", width=140,
           explanation="what the ceilings of the level its data live in allow at that intensity"),
    Column(field="percent_of_roof", heading="Of the roof", unit=" %", has_prefix=False, width=124),
    Column(field="bound_by", heading="Roof is made of", width=190, grows=True),
    Column(field="latency_s", heading="Latency", unit="s", width=110),
    Column(field="percent_on_device", heading="Of it, by device time", unit=" %", has_prefix=False, width=180,
           explanation="what its kernels reached of the roof, the host's part left out"),
)  # fmt: skip

# What is the same for a whole page but not for a file of several, and what tells how much a value is worth.
OF_MEASURING = (
    "operation", "dtype", "disturbed", "machine", "environment", "commit", "commit_date", "commit_subject",
    "measured_at",
)  # fmt: skip
CSV_COLUMNS = (*(column.field for column in COLUMNS), *OF_MEASURING)
OF_ROOF = frozenset({"roof_flop_per_s", "percent_of_roof", "percent_on_device", "bound_by"})
OF_DEVICE = frozenset({"percent_on_device"})


def columns_of(points: Sequence[Placed]) -> tuple[Column, ...]:
    """Return the columns of the table; none about roofs where no point has one, nor about a device without."""
    has_roofs = any(one.roof_flop_per_s is not None for one in points)
    on_device = any(one.share_on_device is not None for one in points)
    left_out = (frozenset() if has_roofs else OF_ROOF) | (frozenset() if on_device else OF_DEVICE)
    return tuple(column for column in COLUMNS if column.field not in left_out)


def roofline_rows(points: Sequence[Placed]) -> list[dict[str, object]]:
    """Return the rows of COLUMNS, the nearest to its roof first."""
    return [_cells(one) for one in _ordered(points)]


def csv_rows(points: Sequence[Placed]) -> list[dict[str, object]]:
    """Return the rows of CSV_COLUMNS, in the order of the table."""
    return [{**_cells(one), **{name: getattr(one.row, name) for name in OF_MEASURING}} for one in _ordered(points)]


def _ordered(points: Sequence[Placed]) -> list[Placed]:
    return sorted(points, key=lambda one: (-(one.share or 0.0), -one.flop_per_s))


def _cells(one: Placed) -> dict[str, object]:
    return {
        "contender": one.row.contender,
        "batch": one.row.batch,
        "hidden": one.row.hidden,
        "dim": one.row.dim,
        "flop_per_byte": one.flop_per_byte,
        "flop_per_s": one.flop_per_s,
        "roof_flop_per_s": one.roof_flop_per_s,
        "percent_of_roof": None if one.share is None else 100 * one.share,
        "percent_on_device": None if one.share_on_device is None else 100 * one.share_on_device,
        "bound_by": one.roof_in_words,
        "latency_s": one.row.latency_s,
    }
