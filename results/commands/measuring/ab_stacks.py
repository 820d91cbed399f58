"""`fusebench ab --stack`: one commit on two stacks, or two commits on both, which tells code from stack."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING

from results.commands.echo import echo, echo_rendered, terminal_of_output
from results.commands.judging.report_files import write_reports
from results.commands.judging.settings import tell_unmatched
from results.commands.judging.stored_rounds import LOOKS, Q
from results.commands.measuring.judged_rounds import judged, shapes_of, uncertain_shapes
from results.commands.measuring.rounds import gone_on_with, measured_rounds
from results.exit_codes import ExitCode
from results.judgement.exchange import exchange_exit_code, exchange_of, uncertain_of
from results.judgement.verdicts import exit_code
from results.output.report import ReportFormat, rendered
from results.output.reports.exchange import exchange_as_json, exchange_as_markdown, exchange_as_text
from results.output.reports.judgement_words import why_nothing, why_undecided
from results.output.text_tables import MANY

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from results.commands.measuring.rounds import Side
    from results.commands.measuring.tower import Place
    from results.files.settings import Settings
    from results.judgement.exchange import Exchange
    from results.judgement.verdicts import Judgement


def compare_stacks(  # noqa: PLR0913 - what is measured, and how it is told
    checkout: Path,
    options: Sequence[str],
    place: Place,
    *,
    settings: Settings,
    report_format: str,
    shows_all: bool,
) -> int:
    """Measure until nothing is uncertain or the last look was taken; print what came of it, return the exit code."""
    only = place.folder / "only.json"
    asked, n_made = list(options), 0
    limit = None if shows_all else MANY
    judgements: tuple[Judgement, ...]
    for n_rounds in LOOKS:
        rounds = measured_rounds(asked, checkout, place, rounds=(n_made + 1, n_rounds), only=only if n_made else None)
        if rounds.sides is None:
            return rounds.exit_code
        stack = rounds.sides[-1].stack
        if len(rounds.sides) == 2:
            judgement = _judged(rounds.sides[0], rounds.sides[1], place)
            judgements = (judgement,)
            shapes = uncertain_shapes(judgement)
            code, render = exit_code(judgement), partial(_stacks_in, judgement, stack, limit=limit)
        else:
            exchange = _exchange(rounds.sides, place)
            judgements = exchange.judgements
            shapes = shapes_of(uncertain_of(exchange))
            code, render = exchange_exit_code(exchange), partial(_exchange_in, exchange, stack, limit=limit)
        if not shapes:
            break
        n_made = n_rounds
        asked = gone_on_with(asked, rounds.sides)
        only.write_text(json.dumps(shapes), encoding="utf-8")
    tell_unmatched(settings, (verdict.head for judgement in judgements for verdict in judgement.verdicts))
    echo_rendered(render(report_format))
    write_reports([], ReportFormat(report_format), render)
    if code == ExitCode.NOTHING_COMPARABLE:
        echo(_why_open(judgements), err=True)
    return code


def _why_open(judgements: Sequence[Judgement]) -> str:
    """Return why the first of the judgements that does not pass for certain does not."""
    one = next((each for each in judgements if exit_code(each) is ExitCode.NOTHING_COMPARABLE), judgements[-1])
    return why_undecided(one) or why_nothing(one)


def _judged(base: Side, head: Side, place: Place) -> Judgement:
    return judged(base, head, place, q=Q / len(LOOKS))


def _exchange(sides: Sequence[Side], place: Place) -> Exchange:
    base, head, other_base, other_head = sides
    return exchange_of(
        code=(_judged(base, head, place), _judged(other_base, other_head, place)),
        stack=(_judged(base, other_base, place), _judged(head, other_head, place)),
        whole=_judged(base, other_head, place),
    )


def _stacks_in(judgement: Judgement, stack: str, report_format: str, *, limit: int | None) -> str:
    """Render a judgement of one commit on two stacks; its base is the present one."""
    terminal = terminal_of_output()
    text = rendered(judgement, report_format=ReportFormat(report_format), terminal=terminal, limit=limit)
    match report_format:
        case "json":
            return json.dumps({"stacks": ["present", stack], **json.loads(text)}, indent=1)
        case "text" | "markdown":
            return f"{judgement.head_commit[:8]} on the present stack against {stack} (eager is judged, too)\n\n{text}"
        case _:
            return text


def _exchange_in(exchange: Exchange, stack: str, report_format: str, *, limit: int | None) -> str:
    match report_format:
        case "json":
            return exchange_as_json(exchange, stack)
        case "markdown":
            return exchange_as_markdown(exchange, stack, limit=limit)
        case "junit" | "github":
            # Neither has a form for four sides.
            return rendered(exchange.whole, report_format=ReportFormat(report_format))
        case _:
            return exchange_as_text(exchange, stack, terminal_of_output(), limit=limit)
