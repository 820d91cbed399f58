"""Command that measures a finding again, both commits in the same minutes; pure."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

from results.judgement.findings import EVERYTHING
from results.measuring_again import compare_again, compare_surface_again
from results.metrics import SWEEP_METRICS
from results.rows import contender_of

if TYPE_CHECKING:
    from collections.abc import Collection

    from results.judgement.explanation.calls import ProfiledCall
    from results.judgement.findings import Finding
    from results.rows import ParameterValue

_HASH = 12


def command_of(
    revisions: tuple[str, str],
    call: ProfiledCall | None,
    finding: Finding | None,
    measured: Collection[tuple[ParameterValue, ...]] | None = None,
) -> str | None:
    """Return the command for the worst point of a finding: `fusebench ab` of the sweep's, `asv continuous` of others'.

    Of a surface of which only all points together are certain, it is one for all that were `measured` of it. None where
    nothing says what to measure.
    """
    if call is not None:
        return compare_again(revisions, call.point)
    if finding is not None and finding.metric in SWEEP_METRICS and (contender := contender_of(finding.surface.shared)):
        points = measured or finding.points
        return compare_surface_again(revisions, operation=finding.benchmark, contender=contender, points=points)
    if finding is not None and finding.benchmark != EVERYTHING:
        base, head = (revision[:_HASH] for revision in revisions)
        # asv searches it in `name(param, …)` where there are parameters, and in the name alone where there are none.
        end = r"\(" if any(finding.points) else "$"
        return shlex.join(["asv", "continuous", base, head, "-b", f"^{re.escape(finding.benchmark)}{end}"])
    return None
