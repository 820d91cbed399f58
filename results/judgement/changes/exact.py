"""Changes of metrics that are counted and not timed: compared exactly, commit by commit; pure."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

import numpy as np

from results.judgement.changes.detection import Change
from results.judgement.findings import FindingState
from results.judgement.outcomes import differs, is_worse

if TYPE_CHECKING:
    from results.judgement.changes.arrays import Floats
    from results.metrics import Metric


def exact_changes(values: Floats, *, row: int, metric: Metric) -> list[Change]:
    """Return every change of a counted series, from the oldest; what returns to the value before it is recovered.

    What returns for the worse, too, is a change of its own. values: one series, [commits], NaN where missing. The jump
    of a change from or to 0 is infinite.
    """
    known = np.flatnonzero(~np.isnan(values))
    found: list[Change] = []
    before: list[float] = []  # the value ahead of each change
    for last, at in itertools.pairwise(known):
        old, new = float(values[last]), float(values[at])
        if not differs(metric, old, new):
            continue
        taken_back = [
            i for i, change in enumerate(found) if change.ended_at is None and not differs(metric, before[i], new)
        ]
        for i in range(taken_back[0] if taken_back else len(found), len(found)):
            found[i] = found[i] if found[i].ended_at is not None else found[i].recovered(int(at))
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
