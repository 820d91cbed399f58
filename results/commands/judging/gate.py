"""`fusebench gate`: judge a commit against another."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import click

from results.commands.echo import echo, echo_rendered, terminal_of_output
from results.commands.judging.asked_series import asked_of, nothing_asked, selection_of_series
from results.commands.judging.floors import with_floors
from results.commands.judging.report_files import (
    format_option,
    nothing_judged,
    report_option,
    report_paths,
    unjudged_reports,
    write_reports,
)
from results.commands.judging.settings import chosen_settings, least_change_option, settings_option, tell_unmatched
from results.commands.no_data import why_not_measured, why_nothing_compares
from results.commands.options import all_option, db_option, where_option
from results.errors import UnknownRevision
from results.exit_codes import ExitCode
from results.explanations import reasons_of
from results.judgement.exact_only import exact_only
from results.judgement.verdicts import LEAST_RELEVANT_CHANGE, exit_code
from results.output.report import ReportFormat, rendered
from results.output.reports.judgement_words import why_undecided
from results.output.text_tables import MANY
from results.queries import all_values_at, judged_values
from results.questions.revisions import commits_of
from results.store import OpenMode, open_store

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


@click.command()
@click.option("--base", metavar="REV", required=True, help="The commit to compare with.")
@click.option("--head", metavar="REV", required=True, help="The commit to judge.")
@format_option
@report_option
@least_change_option
@settings_option
@click.option(
    "--exact",
    "is_exact_only",
    is_flag=True,
    help="Judge counts, memory, error and states only: a loaded machine changes none of them.",
)
@all_option
@where_option
@db_option
def gate(  # noqa: PLR0913, PLR0917 - its options
    base: str,
    head: str,
    report_format: str,
    reports: Sequence[str],
    least_change: float | None,
    settings_path: Path | None,
    where: Sequence[str],
    db: str | None,
    *,
    is_exact_only: bool,
    shows_all: bool,
) -> int:
    """Did the commit --head get worse than the commit --base?

    All runs of both commits count. Slower or faster is what differs by more than processes do, the machine's part taken
    out by eager, and by the least relevant change: 5 %, or what --least-change or [tool.fusebench] in pyproject.toml
    say.

    Exit code 0: no, 1: a regression, 2: something fails that was ok, or is gone, 3: nothing comparable was measured,
    the machine changed, what looks slower was disturbed or not measured well enough, or what fails by another ruler was
    ok.

    What the base measured and the head did not is gone, unless its axes are others. Of a head that was measured in
    part, as by `asv run --bench`, --where judges that part.

    \b
    fusebench gate --base HEAD~1 --head HEAD
    fusebench gate --base HEAD~1 --head HEAD --where benchmark=suite.time_it
    fusebench gate --base main --head HEAD --format markdown      as a comment on a pull request
    fusebench gate --base main --head HEAD --format github --report markdown=comment.md --report junit=gate.xml
    """  # noqa: D301 - click wants the character, which keeps the lines as they are
    files, printed = report_paths(reports), ReportFormat(report_format)
    with unjudged_reports(files, printed, command="gate") as tell_unjudged:
        settings, selection = chosen_settings(settings_path), selection_of_series(where)
        with open_store(db, mode=OpenMode.READ) as store:
            try:
                base_commit, head_commit = commits_of(store, base, head)
            except UnknownRevision as error:
                return nothing_judged(why_not_measured(store, error), tell_unjudged)
            if base_commit == head_commit:
                raise click.UsageError(f"--base {base} and --head {head} are both {base_commit[:8]}; name two commits")
            before, after = (all_values_at(store, commit=commit) for commit in (base_commit, head_commit))
            whole = judged_values(
                store,
                before,
                after,
                base=base_commit,
                head=head_commit,
                **settings.relevance(LEAST_RELEVANT_CHANGE, asked=least_change),
            )
            if whole.verdicts:  # all of them: a threshold of times is no misspelt one where only counts are judged
                tell_unmatched(settings, (verdict.head for verdict in whole.verdicts), store=store)
            judgement = asked_of(store, whole, selection)
            if judgement is None:
                return nothing_judged(nothing_asked(whole, selection), tell_unjudged)
            if is_exact_only:
                judgement = exact_only(judgement)
            else:
                judgement = with_floors(store, judgement, before, after, settings.thresholds)
            why = reasons_of(store, judgement)
            limit = None if shows_all else MANY
            report = partial(rendered, judgement, limit=limit, explained=why.sentence, classed=why.class_)
            write_reports(files, printed, lambda each: report(report_format=each))
            echo_rendered(report(report_format=printed, terminal=terminal_of_output()))
            answer = exit_code(judgement)
            if answer is ExitCode.NOTHING_COMPARABLE:
                echo(why_undecided(judgement) or why_nothing_compares(store, judgement), err=True)
    return answer
