"""Judgements → JSON; pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from results.judgement.commit_findings import findings_of
from results.judgement.sides import surface_parameters
from results.judgement.verdicts import Change, Outcome, exit_code
from results.output.findings import FINDINGS_FORMAT, finding_as_json
from results.output.plain_values import document_as_json
from results.output.reports.finding_words import own_class, unexplained
from results.output.reports.judgement_words import warnings

if TYPE_CHECKING:
    from collections.abc import Collection

    from results.judgement.outcomes import SurfaceVerdict
    from results.judgement.verdicts import ControlChange, Judgement, Verdict
    from results.output.reports.finding_words import Classed, Explained
    from results.rows import KnownChange, SeriesValueRow


def as_json(judgement: Judgement, *, explained: Explained = unexplained, classed: Classed = own_class) -> str:
    """Render everything but the unchanged series, which are counted. explained: why a finding is; classed: as what."""
    counts, told = judgement.count(), judgement.together(*Outcome)
    return document_as_json(
        {
            "format": FINDINGS_FORMAT,
            "base": judgement.base_commit,
            "head": judgement.head_commit,
            "exit_code": int(exit_code(judgement)),
            "warnings": warnings(judgement),
            "least_change": judgement.least_change,
            "compared": judgement.n_compared,
            "of_base": judgement.n_of_base,
            "not_asked": judgement.n_not_asked,
            "floor": judgement.floor,
            "with_floor": judgement.n_with_floor,
            "noisy": judgement.n_noisy,
            "controls": [_control(control) for control in judgement.controls],
            "counts": {outcome.value: counts[outcome] for outcome in Outcome},
            "verdicts": {change.value: judgement.count_changes()[change] for change in Change},
            "only_at_base": [_named(row) for row in judgement.only_at_base],
            "not_there_yet": [_named(row) for row in judgement.not_yet],
            "only_at_head": [_named(row) for row in judgement.only_at_head],
            "failing_anew": _failing_anew(judgement),
            "findings": [
                finding_as_json(finding, explanation=explained(finding), class_=classed(finding))
                for finding in findings_of(judgement)
            ],
            "surfaces": [_surface(surface, told=told) for surface in judgement.surfaces],
            "changes": [
                _fields(v) for v in judgement.with_outcome(*(o for o in Outcome if o is not Outcome.UNCHANGED))
            ],
        }
    )


def _control(control: ControlChange) -> dict[str, object]:
    fields = ("machine", "environment", "ratio", "n_series", "is_moved")
    return {name: getattr(control, name) for name in fields}


def _surface(surface: SurfaceVerdict, *, told: Collection[SurfaceVerdict]) -> dict[str, object]:
    row, evidence = surface.rows[0], surface.evidence
    return {
        **_named(row._replace(parameters=surface_parameters(row))),
        "outcome": surface.outcome.value,
        "is_finding": surface in told,
        "points": len(surface.rows),
        "n_points": surface.n_points,
        "rounds": evidence.n_rounds,
        "ratio": evidence.ratio,
        "interval": list(evidence.interval),
        "p": evidence.p,
        "is_significant": evidence.is_significant,
        "floor": evidence.floor,
        "least_change": surface.least_change,
        "known": None if surface.known is None else _acknowledgement(surface.known),
    }


def _failing_anew(judgement: Judgement) -> list[dict[str, object]]:
    known = {change.series_id: _acknowledgement(change) for change in judgement.known_anew}
    return [
        {
            **_named(row),
            "version": row.version,
            "state": row.state,
            "reason": row.reason,
            "known": known.get(row.series_id),
        }
        for row in judgement.failing_anew
    ]


def _named(row: SeriesValueRow) -> dict[str, object]:
    return {
        "benchmark": row.benchmark,
        "metric": row.metric,
        "machine": row.machine,
        "environment": row.environment,
        "parameters": {parameter.name: parameter.value for parameter in row.parameters},
    }


def _fields(verdict: Verdict) -> dict[str, object]:
    return {
        **_named(verdict.head),
        "verdict": verdict.change.value,
        "outcome": verdict.outcome.value,
        "unit": verdict.head.unit,
        "base": verdict.base.value,
        "head": verdict.head.value,
        "ratio": verdict.ratio,
        "least_change": verdict.least_change,
        "why": verdict.why,
        **_evidence(verdict),
        "known": None if verdict.known is None else _acknowledgement(verdict.known),
    }


def _evidence(verdict: Verdict) -> dict[str, object]:
    found = verdict.evidence
    return {
        "interval": None if verdict.interval is None else list(verdict.interval),
        "p": None if found is None else found.p,
        "floor": verdict.floor,
        "processes": None if found is None else [found.difference.n_base, found.difference.n_head],
    }


def _acknowledgement(change: KnownChange) -> dict[str, object]:
    return {
        "commit": change.commit,
        "decision": change.decision,
        "note": change.note,
        "by": change.decided_by,
        "at": None if change.decided_at is None else change.decided_at.isoformat(),
    }
