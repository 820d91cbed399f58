"""Changes of metrics that are counted and not timed: compared exactly, commit by commit; pure."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

import numpy as np

from results.judgement.changes.detection import Change
from results.judgement.findings import FindingState

if TYPE_CHECKING:
    from results.judgement.changes.arrays import Floats


def exact_changes(values: Floats, *, row: int, tolerance: float = 0.0) -> list[Change]:
    """Return every change of a counted series, from the oldest; what returns to the value before it is recovered.

    values: one series, [commits], NaN where missing. tolerance: relative change that is none. The jump of a change
    from or to 0 is infinite.
    """
    known = np.flatnonzero(~np.isnan(values))
    found: list[Change] = []
    before: list[float] = []  # the value ahead of each change
    for last, at in itertools.pairwise(known):
        old, new = float(values[last]), float(values[at])
        if _is_same(old, new, tolerance):
            continue
        open_again = [
            i for i, change in enumerate(found) if change.ended_at is None and _is_same(before[i], new, tolerance)
        ]
        if open_again:
            for i in range(open_again[0], len(found)):
                found[i] = found[i] if found[i].ended_at is not None else found[i].recovered(int(at))
            continue
        jump = math.log(new / old) if old > 0 and new > 0 else math.copysign(math.inf, new - old)
        found.append(
            Change(
                row=row,
                last_good=int(last),
                first_bad=int(at),
                jump=jump,
                interval=None,
                p=None,
                state=FindingState.CONFIRMED,
                confirmed_at=int(at),
            )
        )
        before.append(old)
    return found


def _is_same(one: float, other: float, tolerance: float) -> bool:
    smaller, larger = sorted((abs(one), abs(other)))
    return one == other or (one * other > 0 and larger <= smaller * (1 + tolerance))
