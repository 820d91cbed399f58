"""`fusebench advise`, its second half: from what was measured to what to run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from results.commands.echo import echo, echo_rendered, terminal_of_output
from results.commands.options import db_option, where_option
from results.commands.selected_rows import SelectedPoints, select_rows
from results.commands.selection import selection_from_texts
from results.exit_codes import ExitCode
from results.judgement.advice import Block, Question, advice_from, block_of
from results.output.advice import advice_as_json, advice_as_markdown, advice_as_text
from results.printable import json_for_terminal
from results.store import OpenMode, open_store

if TYPE_CHECKING:
    from collections.abc import Mapping


@click.command()
@click.argument("revision")
@click.option(
    "--question", type=click.Path(exists=True, path_type=Path), required=True, help="What was asked, as JSON."
)
@where_option
@db_option
def advice(revision: str, question: Path, where: tuple[str, ...], db: str | None) -> int:
    """Print what to run, and why, by the points of REVISION that `--where` chooses."""
    content = json.loads(question.read_text(encoding="utf-8"))
    asked = question_from(content)
    with open_store(db, mode=OpenMode.READ) as store:
        selected = select_rows(store, selection_from_texts(where))
        rows = selected.latest(store, revision) if isinstance(selected, SelectedPoints) else []
    if asked.calls:
        rows = [row for row in rows if (block_of(row), row.batch) in asked.calls]
    found = advice_from(rows, asked)
    if not found.choices:
        reasons = sorted({f"{row.contender}: {row.state}: {row.reason}" for row in rows})
        echo("\n".join(["Nothing gave a time, so there is nothing to advise.", *reasons]), err=True)
        return ExitCode.NOTHING_COMPARABLE
    match content["form"]:
        case "json":
            echo(json_for_terminal(json.dumps(advice_as_json(found, asked), indent=1, ensure_ascii=False)))
        case "markdown":
            echo(advice_as_markdown(found, asked))
        case _:
            echo_rendered(advice_as_text(found, asked, terminal_of_output()))
    return ExitCode.FINE


def question_from(content: Mapping[str, Any]) -> Question:
    """Read a question as the measuring half wrote it."""
    pass_ = content["pass"]
    calls = {
        (Block(operation, dim, hidden, activation, dtype, pass_), batch): count
        for operation, dim, hidden, activation, dtype, batch, count in content.get("calls", [])
    }
    return Question(
        model=content.get("model"),
        layers=content.get("layers"),
        calls=calls,
        left_out=tuple(content["left_out"]),
        notes=tuple(content["notes"]),
        has_times=not content["ratios"],
    )
