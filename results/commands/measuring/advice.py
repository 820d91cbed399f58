"""`fusebench advise`, its second half: from what was measured to what to run."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from results.commands.measuring.answers import measured_points, nothing_timed, print_answer, slow_libraries
from results.commands.options import db_option, where_option
from results.exit_codes import ExitCode
from results.judgement.advice import Block, Question, advice_from, block_of
from results.output.advice import advice_as_json, advice_as_markdown, advice_as_text
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
    """Print what to run, and why, by the points of REVISION that `--where` chooses.

    Exit code 3: at some batch that is undecided, or nothing gave a time.
    """
    content = json.loads(question.read_text(encoding="utf-8"))
    asked = question_from(content)
    with open_store(db, mode=OpenMode.READ) as store:
        rows = measured_points(store, where=where, revision=revision)
        library = slow_libraries(store, rows)
    if asked.calls:
        rows = [row for row in rows if (block_of(row), row.batch) in asked.calls]
    asked = replace(asked, notes=(*asked.notes, *library))
    found = advice_from(rows, asked)
    if not found.choices:
        return nothing_timed(rows, purpose="advise")
    print_answer(
        content["form"],
        as_json=lambda: advice_as_json(found, asked),
        as_markdown=lambda: advice_as_markdown(found, asked),
        as_text=lambda terminal: advice_as_text(found, asked, terminal),
    )
    return ExitCode.FINE if found.is_decided else ExitCode.NOTHING_COMPARABLE


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
