"""Changes of metrics that are counted and not timed: compared exactly, commit by commit; pure."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from results.judgement.changes.detection import Change
from results.judgement.comparison.relevant_changes import differs, is_worse
from results.judgement.findings import FindingState

if TYPE_CHECKING:
    from results.judgement.changes.arrays import Floats
    from results.metrics import Metric


def exact_changes(values: Floats, *, row: int, metric: Metric) -> list[Change]:
    """Return every change of a counted series, from the oldest; what returns to the value before it is recovered.

    A value is compared with the one before it and with the first of its level, so that what creeps within the
    tolerance from commit to commit is found where it has left it: such a change begins at the latest commit that it
    differs from. What returns for the worse, too, is a change of its own. values: one series, [commits], NaN where
    missing. The jump of a change from or to 0 is infinite.
    """
    known = np.flatnonzero(~np.isnan(values))
    found: list[Change] = []
    before: list[float] = []  # the value ahead of each change
    level = 0  # where it begins, of `known`
    for i, at in enumerate(known[1:], start=1):
        new = float(values[at])
        if not any(differs(metric, float(values[known[k]]), new) for k in {level, i - 1}):
            continue
        last = next(k for k in reversed(known[level:i]) if differs(metric, float(values[k]), new))
        old, level = float(values[last]), i
        taken_back = [
            k for k, change in enumerate(found) if change.ended_at is None and not differs(metric, before[k], new)
        ]
        for k in range(taken_back[0] if taken_back else len(found), len(found)):
            found[k] = found[k] if found[k].ended_at is not None else found[k].recovered(int(at))
        if taken_back and not is_worse(metric, old, new):
            continue
        found.append(
            Change(
                row=row,
                last_good=int(last),
                first_bad=int(at),
                jump=math.log(new / old) if old > 0 and new > 0 else math.copysign(math.inf, new - old),
                interval=None,
                p=None,
                state=FindingState.CONFIRMED,
                confirmed_at=int(at),
            )
        )
        before.append(old)
    return found
