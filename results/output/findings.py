"""Findings → objects of JSON, in one form for all commands that tell them; pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from results.judgement.findings import Finding, FindingClass
    from results.rows import ParameterValue

FINDINGS_FORMAT = 1
"""Version of the documents that hold findings; findings.schema.json describes it."""


def finding_as_json(
    finding: Finding, *, class_: FindingClass | None, explanation: str | None = None
) -> dict[str, object]:
    """Return a finding as an object; findings.schema.json describes the keys.

    class_: as which it is told, which its explanation may know better. explanation: left out where there is none.
    """
    surface = finding.surface
    return {
        "project": surface.project,
        "machine": surface.machine,
        "environment": surface.environment,
        "benchmark": surface.benchmark,
        "metric": surface.metric,
        "shared": _parameters(surface.shared),
        "points": [_parameters(point) for point in finding.points],
        "n_points": finding.n_points,
        "last_good": finding.last_good,
        "first_bad": finding.first_bad,
        "n_unmeasured": finding.n_unmeasured,
        "ratio": finding.ratio,
        "interval": None if finding.interval is None else list(finding.interval),
        "floor": finding.floor,
        "turn": finding.turn.value,
        "state": finding.state.value,
        "class": None if class_ is None else class_.value,
        "why": finding.why,
        **({} if explanation is None else {"explanation": explanation}),
    }


def _parameters(parameters: tuple[ParameterValue, ...]) -> dict[str, object]:
    return {parameter.name: parameter.value for parameter in parameters}
