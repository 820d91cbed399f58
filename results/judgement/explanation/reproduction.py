"""Command that measures a finding again, both commits in the same minutes; pure."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from results.judgement.findings import EVERYTHING

if TYPE_CHECKING:
    from results.judgement.explanation.calls import ProfiledCall
    from results.judgement.findings import Finding

_HASH = 12


def command_of(revisions: tuple[str, str], call: ProfiledCall | None, finding: Finding | None) -> str | None:
    """Return the command for the worst point of a finding: `fusebench ab` of the sweep's, `asv continuous` of others'.

    None where nothing says what to measure.
    """
    base, head = (revision[:_HASH] for revision in revisions)
    if call is not None:
        point = call.point
        options = {
            "operation": point.operation,
            "provider": point.provider,
            "pass": point.pass_,
            "dtype": point.dtype,
            "batch": point.batch,
            "hidden": point.hidden,
        }
        words = [word for name, value in options.items() for word in (f"--{name}", str(value))]
        return shlex.join(["fusebench", "ab", base, head, "--axes", "full", *words])
    if finding is not None and finding.benchmark != EVERYTHING:
        return shlex.join(["asv", "continuous", base, head, "-b", f"^{finding.benchmark}$"])
    return None
