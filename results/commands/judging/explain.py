"""`fusebench explain`: why a commit is slower or faster than another, as far as what is stored shows it."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING

import click

from results.commands.echo import echo, echo_rendered, terminal_of_output
from results.commands.judging.asked_series import asked_of, nothing_asked
from results.commands.judging.settings import chosen_settings, least_change_option, settings_option
from results.commands.judging.stored_rounds import judgements_by_rounds
from results.commands.no_data import EMPTY_STORE, not_measured, nothing_to_show, why_nothing_compares
from results.commands.options import db_option, where_option
from results.commands.selected_rows import SelectedPoints, select_rows
from results.commands.selection import AXES, selection_from_texts
from results.errors import UnknownRevision
from results.exit_codes import ExitCode
from results.explanations import explanations_of, explanations_of_points
from results.judgement.verdicts import LEAST_RELEVANT_CHANGE, Outcome
from results.output.reports.explanation_report import (
    MOST_DETAILED,
    explanations_as_json,
    explanations_as_markdown,
    explanations_as_text,
)
from results.queries import judged_commits, projects
from results.questions.revisions import commits_of
from results.store import OpenMode, open_store
from results.units import counted

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from results.commands.selection import Selection
    from results.files.settings import Settings
    from results.judgement.explanation import Explanation
    from results.judgement.verdicts import Judgement
    from results.rows import PointFilter
    from results.store import Store

_OF_PLACE = frozenset({"project", "machine", "environment"})


class ExplanationFormat(StrEnum):
    """Format of what `explain` prints."""

    TEXT = "text"
    MARKDOWN = "markdown"
    JSON = "json"


@click.command()
@click.argument("base")
@click.argument("head")
@click.option(
    "--format",
    "explanation_format",
    type=click.Choice([each.value for each in ExplanationFormat]),
    default=ExplanationFormat.TEXT.value,
    show_default=True,
    help="How to print it.",
)
@least_change_option
@settings_option
@click.option("--all", "shows_all", is_flag=True, help="Print the tables behind every sentence, not only the first.")
@where_option
@db_option
def explain(  # noqa: PLR0913, PLR0917 - its options
    base: str,
    head: str,
    explanation_format: str,
    least_change: float | None,
    settings_path: Path | None,
    where: Sequence[str],
    db: str | None,
    *,
    shows_all: bool,
) -> int:
    """Why is commit HEAD slower or faster than commit BASE?

    Explains each finding by its worst point: what differs exactly, which operators and kernels came, went, changed
    their name or their time, where the time went, which versions and conditions differ, what was ruled out. Findings
    are those of `fusebench ab` where it measured the two, and of `fusebench gate` elsewhere. With --where, points
    without a finding, too. What is not known is not explained.

    \b
    fusebench explain HEAD~1 HEAD
    fusebench explain main HEAD --where operation=mlp --where batch=16
    """  # noqa: D301 - click wants the character, which keeps the lines as they are
    selection, settings = selection_from_texts(where), chosen_settings(settings_path)
    if least_change is not None:
        settings = replace(settings, least_change=least_change)
    with open_store(db, mode=OpenMode.READ) as store:
        if not projects(store):
            return nothing_to_show(EMPTY_STORE)
        try:
            commits = commits_of(store, base, head)
        except UnknownRevision as error:
            return not_measured(store, error)
        if commits[0] == commits[1]:
            raise click.UsageError(f"{base} and {head} are both {commits[0][:8]}; name two commits")
        whole = _judged(store, commits, settings)
        judgement = asked_of(store, whole, selection)
        if judgement is None:
            return nothing_to_show(nothing_asked(whole, selection))
        if not judgement.verdicts:
            return nothing_to_show(why_nothing_compares(store, judgement))
        by_rounds = [
            part
            for each in judgements_by_rounds(store, commits, settings)
            if (part := asked_of(store, each, selection)) is not None
        ]
        parts = [*by_rounds, _without(judgement, by_rounds)]
        found = [each for part in parts for each in explanations_of(store, part)]
        if not found and (axes := _axes_of(store, selection)) is not None:
            found = explanations_of_points(store, judgement, axes)
        _print(found, parts, ExplanationFormat(explanation_format), shows_all=shows_all)
    return ExitCode.FINE


def _judged(store: Store, commits: tuple[str, str], settings: Settings) -> Judgement:
    """Judge all series, as `fusebench gate` does."""
    base, head = commits
    return judged_commits(store, base=base, head=head, **settings.relevance(LEAST_RELEVANT_CHANGE))


def _without(judgement: Judgement, by_rounds: Sequence[Judgement]) -> Judgement:
    """Return what is judged of the series that no rounds tell of: theirs are of the same minutes, so they say more."""
    told = {verdict.head.series_id for each in by_rounds for verdict in each.verdicts}
    return judgement.only({verdict.head.series_id for verdict in judgement.verdicts} - told) if told else judgement


def _axes_of(store: Store, selection: Selection) -> PointFilter | None:
    """Return which points of the sweep are asked for; None where all are, or the selection is not of its axes."""
    names = selection.texts.keys()
    if names <= _OF_PLACE or not names <= {*AXES, "state"}:
        return None
    selected = select_rows(store, selection)
    return selected.axes if isinstance(selected, SelectedPoints) else None


def _print(
    found: Sequence[Explanation], parts: Sequence[Judgement], printed: ExplanationFormat, *, shows_all: bool
) -> None:
    base, head = parts[0].base_commit, parts[0].head_commit
    n_silent = sum(one.sentence is None for one in found)
    n_findings = sum(one.finding is not None for one in found)
    of_points = f"no finding, so no change is certain; {counted(len(found), 'point')}"
    what = counted(n_findings, "finding") if n_findings or not found else of_points
    if not found:
        what += f" in {sum(part.n_compared for part in parts):,} series{_undecided_in_words(parts)}"
    silent = f", {n_silent} of them not explained" if n_silent else ""
    headline = f"{base[:8]} → {head[:8]}: {what}{silent}"
    match printed:
        case ExplanationFormat.JSON:
            echo(explanations_as_json(found, base=base, head=head))
        case ExplanationFormat.MARKDOWN:
            echo(explanations_as_markdown(found, headline=headline))
        case ExplanationFormat.TEXT:
            limit = None if shows_all else MOST_DETAILED
            echo_rendered(explanations_as_text(found, terminal_of_output(), headline=headline, limit=limit))


def _undecided_in_words(parts: Sequence[Judgement]) -> str:
    """Return how many series are undecided, which are no findings, and what lists them; empty for none."""
    n_undecided = sum(part.count()[Outcome.UNDECIDED] for part in parts)
    if not n_undecided:
        return ""
    base, head = parts[0].base_commit[:8], parts[0].head_commit[:8]
    listed = f"`fusebench ab {base} {head}`" if parts[0].is_paired else f"`fusebench gate --base {base} --head {head}`"
    return f"; {n_undecided:,} undecided, which {listed} lists"
