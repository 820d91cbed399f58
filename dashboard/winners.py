"""Which provider to run: the fastest at each batch, and how sure that is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from results.rows import PointRow


@dataclass(frozen=True, kw_only=True)
class Winner:
    """The fastest provider at one batch and the next; `absent` were tried and have no number.

    `fastest` is None where no provider is ok. `is_tied`: their latency intervals overlap; either may win.
    """

    batch: int
    fastest: PointRow | None
    runner_up: PointRow | None
    is_tied: bool
    absent: tuple[PointRow, ...]

    @property
    def lead(self) -> float | None:
        """How much longer the runner-up takes, as a share of the winner's latency."""
        if self.fastest is None or self.runner_up is None:
            return None
        return _latency_s(self.runner_up) / _latency_s(self.fastest) - 1


def winners_by_batch(rows: Sequence[PointRow]) -> tuple[Winner, ...]:
    """One winner per batch, smallest batch first; `rows` are one commit's points of one shape."""
    return tuple(
        _winner(batch, [row for row in rows if row.batch == batch]) for batch in sorted({row.batch for row in rows})
    )


def _winner(batch: int, rows: Sequence[PointRow]) -> Winner:
    ranked = sorted((row for row in rows if row.latency_s is not None), key=_latency_s)
    fastest = ranked[0] if ranked else None
    runner_up = ranked[1] if len(ranked) > 1 else None
    return Winner(
        batch=batch,
        fastest=fastest,
        runner_up=runner_up,
        is_tied=fastest is not None and runner_up is not None and _is_overlapping(fastest, runner_up),
        absent=tuple(row for row in rows if row.latency_s is None),
    )


def _latency_s(row: PointRow) -> float:
    if row.latency_s is None:
        raise ValueError(f"{row.provider} at batch {row.batch} has no latency")
    return row.latency_s


def _is_overlapping(first: PointRow, second: PointRow) -> bool:
    if first.latency_ci_high_s is None or second.latency_ci_low_s is None:
        return False
    return second.latency_ci_low_s <= first.latency_ci_high_s
