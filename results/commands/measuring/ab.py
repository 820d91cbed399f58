"""`fusebench ab`: measure two commits in alternation, and judge them; only the uncertain once more."""

from __future__ import annotations

import json
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from results.commands.extras import require_modules
from results.commands.judging.stored_rounds import LOOKS, Q
from results.commands.measuring import tower
from results.commands.measuring.judged_rounds import judged, uncertain_shapes
from results.commands.measuring.rounds import COMMAND, Rounds, gone_on_with, measured_rounds
from results.commands.measuring.tower import AS_THEY_ARE, MEASURING, passes_on
from results.exit_codes import ExitCode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from results.judgement.verdicts import Judgement
    from results.output.report import ReportFormat
    from results.output.terminal import Terminal

EXACT_LOOKS = (2,)
FORMATS = ("text", "json", "markdown", "junit", "github")
"""Those of `ReportFormat`, which needs the store's modules."""
IN_WORDS = ("text", "markdown")
AGAINST_ITSELF = "A/A: {} against itself. What differs is noise of this machine, and no change of the code."
NOT_MEASURED = "The rounds ended with exit code {code} before anything was judged; what was printed says why."


@click.command(add_help_option=False, context_settings={**AS_THEY_ARE, "allow_interspersed_args": True})
@click.option("--format", "report_format", type=click.Choice(FORMATS), default="text")
@click.option("--report", "reports", multiple=True)
@click.option("--exact", "is_exact_only", is_flag=True)
@click.option("--all", "shows_all", is_flag=True)
@passes_on
def ab(
    options: tuple[str, ...], report_format: str, reports: tuple[str, ...], *, is_exact_only: bool, shows_all: bool
) -> int:
    """Measure two commits in alternation and say what got slower or faster (needs a checkout)."""
    checkout = tower.checkout_of_command()
    require_modules(MEASURING, command="ab", extra="bench")
    if {"-h", "--help"} & set(options):
        return tower.help_of([*COMMAND, *options], checkout)
    from results.commands.judging.report_files import report_paths, unjudged_reports  # noqa: PLC0415 - needs the store's
    from results.commands.judging.settings import tell_unmatched  # noqa: PLC0415 - the same
    from results.files.settings import settings_of  # noqa: PLC0415 - the same
    from results.output.report import ReportFormat  # noqa: PLC0415 - the same

    files = report_paths(reports)
    unjudged = unjudged_reports(files, ReportFormat(report_format), command="ab")
    with tempfile.TemporaryDirectory() as folder, unjudged as tell_unjudged:
        settings = settings_of(Path.cwd())  # what is wrong with them is said before anything is measured
        place = tower.place_of(Path(folder), is_recorded=True)
        if any(option.split("=")[0] == "--stack" for option in options):
            if is_exact_only:
                raise click.UsageError("--exact is about two commits on one stack")
            if reports:
                raise click.UsageError("--report is about two commits on one stack; with --stack, use --format")
            from results.commands.measuring.ab_stacks import compare_stacks  # noqa: PLC0415 - needs the store's modules

            return compare_stacks(
                checkout, options, place, settings=settings, report_format=report_format, shows_all=shows_all
            )
        rounds, judgement = _measured(checkout, options, place, looks=EXACT_LOOKS if is_exact_only else LOOKS)
        if judgement is None:
            code = rounds.exit_code
            tell_unjudged(rounds.why or NOT_MEASURED.format(code=int(code)), code)
            return code
        tell_unmatched(settings, (verdict.head for verdict in judgement.verdicts))
        if is_exact_only:
            from results.judgement.exact_only import exact_only  # noqa: PLC0415 - needs the store's modules

            judgement = exact_only(judgement)
        return _told(judgement, place, report_format=report_format, files=files, shows_all=shows_all)


def _measured(
    checkout: Path, options: tuple[str, ...], place: tower.Place, *, looks: tuple[int, ...]
) -> tuple[Rounds, Judgement | None]:
    """Measure until nothing is uncertain or the last look was taken; return the last rounds, and the judgement."""
    only = place.folder / "only.json"
    asked, judgement, rounds = list(options), None, Rounds(exit_code=ExitCode.OUR_FAULT)
    n_made = 0
    for n_rounds in looks:
        rounds = measured_rounds(
            asked, checkout, place, rounds=(n_made + 1, n_rounds), only=only if judgement else None
        )
        if rounds.sides is None:
            return rounds, None
        judgement = judged(rounds.sides[0], rounds.sides[-1], place, q=Q / len(LOOKS))
        shapes = uncertain_shapes(judgement)
        if not shapes:
            break
        n_made = n_rounds
        asked = gone_on_with(asked, rounds.sides)
        only.write_text(json.dumps(shapes), encoding="utf-8")
    return rounds, judgement


def _told(
    judgement: Judgement,
    place: tower.Place,
    *,
    report_format: str,
    files: Sequence[tuple[ReportFormat, Path]],
    shows_all: bool,
) -> int:
    from results.commands.echo import echo, echo_rendered, terminal_of_output  # noqa: PLC0415 - needs the store's modules
    from results.commands.judging.report_files import write_reports  # noqa: PLC0415 - the same
    from results.explanations import reasons_of  # noqa: PLC0415 - the same
    from results.judgement.verdicts import exit_code  # noqa: PLC0415 - the same
    from results.output.report import ReportFormat, rendered  # noqa: PLC0415 - the same
    from results.output.reports.judgement_words import why_nothing, why_undecided  # noqa: PLC0415 - the same
    from results.output.terminal import UNLIMITED  # noqa: PLC0415 - the same
    from results.output.text_tables import MANY  # noqa: PLC0415 - the same
    from results.store import OpenMode, open_store  # noqa: PLC0415 - the same

    printed, limit = ReportFormat(report_format), None if shows_all else MANY
    with open_store(place.db, mode=OpenMode.READ) as store:
        why = reasons_of(store, judgement)
        report = partial(rendered, judgement, limit=limit, explained=why.sentence, classed=why.class_)
        is_one = judgement.base_commit == judgement.head_commit
        opening = f"{AGAINST_ITSELF.format(judgement.head_commit[:8])}\n\n" if is_one else ""

        def told(each: ReportFormat, terminal: Terminal = UNLIMITED) -> str:
            return (opening if each in IN_WORDS else "") + report(report_format=each, terminal=terminal)

        write_reports(files, printed, told)
        echo_rendered(told(printed, terminal_of_output()))
    answer = exit_code(judgement)
    if is_one and (printed not in IN_WORDS or answer is not ExitCode.FINE):
        echo(AGAINST_ITSELF.format(judgement.head_commit[:8]), err=True)
    if answer is ExitCode.NOTHING_COMPARABLE:
        echo(why_undecided(judgement) or why_nothing(judgement), err=True)
    return answer
