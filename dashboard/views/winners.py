"""Which provider to run: the fastest at each batch."""

from __future__ import annotations

from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING

from results.queries import winner_among

if TYPE_CHECKING:
    from collections.abc import Sequence

    from results.rows import PointRow, WinnerRow


def winners_by_batch(rows: Sequence[PointRow]) -> tuple[tuple[int, WinnerRow | None], ...]:
    """Each batch, smallest first, with its winner; None where nothing is ok. `rows`: one commit's points of a shape."""
    by_batch = groupby(sorted(rows, key=attrgetter("batch")), key=attrgetter("batch"))
    return tuple((batch, winner_among(list(group))) for batch, group in by_batch)
