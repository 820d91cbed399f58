"""Judgements → Markdown of a comment on a pull request: surfaces instead of points, the worst first; pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from results.judgement.commit_findings import findings_of, undecided_of
from results.judgement.findings import FindingState, Turn
from results.judgement.verdicts import Outcome
from results.output.reports.comments import comment_of
from results.output.reports.finding_tables import table_of_findings, without_empty_columns
from results.output.reports.finding_words import unexplained
from results.output.reports.judgement_words import headline, notes, warnings
from results.output.reports.point_words import benchmark_in_words, shared_parameters
from results.rows import parameters_in_words
from results.units import change_in_words, in_words

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from results.judgement.findings import Finding
    from results.judgement.verdicts import Judgement, Verdict
    from results.output.reports.comments import Table
    from results.output.reports.finding_words import Explained

POINTS = "Points of what is worse"


def gate_comment(judgement: Judgement, *, explained: Explained = unexplained) -> str:
    """Return what failed and got slower, one row a surface, then folded: undecided, known, better, and each point."""
    found = findings_of(judgement)
    known = [one for one in found if one.state is FindingState.ACKNOWLEDGED]
    others = [one for one in found if one.state is not FindingState.ACKNOWLEDGED]

    def table(title: str, findings: Sequence[Finding], *, is_open: bool = False) -> Table:
        return table_of_findings(title, findings, is_open=is_open, explained=explained)

    shared = shared_parameters(judgement)
    tables = [
        table("Failed", [one for one in others if one.turn is Turn.FAILED], is_open=True),
        table("Regressions", [one for one in others if one.turn is Turn.SLOWER], is_open=True),
        table_of_findings("Undecided: looks changed, and is not certain", undecided_of(judgement), is_open=False),
        table("Known", known),
        table("Changed (better direction unknown)", [one for one in others if one.turn is Turn.CHANGED]),
        table("Better", [one for one in others if one.turn in {Turn.FASTER, Turn.FIXED}]),
        _points(judgement.with_outcome(Outcome.FAILED, Outcome.REGRESSION), shared),
    ]
    told = dict.fromkeys([*warnings(judgement), *notes(judgement)])
    return comment_of(headline(judgement), tables, list(told))


def _points(verdicts: Sequence[Verdict], shared: Collection[str]) -> Table:
    rows = [
        (
            benchmark_in_words(verdict.head),
            parameters_in_words(verdict.head.parameters, without=shared),
            in_words(verdict.base.value, unit=verdict.base.unit),
            in_words(verdict.head.value, unit=verdict.head.unit),
            change_in_words(verdict.ratio),
            verdict.why,
        )
        for verdict in verdicts
    ]
    columns = ("benchmark", "parameters", "base", "head", "change", "why")
    return without_empty_columns(POINTS, columns, rows, is_open=False)
