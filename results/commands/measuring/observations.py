"""`fusebench article`, its second half: from what was measured to guess, observation and reason."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from results.commands.measuring.answers import measured_points, nothing_timed, print_answer, slow_libraries
from results.commands.options import db_option, where_option
from results.exit_codes import ExitCode
from results.files.records import State
from results.judgement.article.cases import Case, Entry, Observed
from results.judgement.article.steps import call_from
from results.output.article import Setting, article_as_json, article_as_markdown, article_as_text
from results.queries import profile_of, stacks_of
from results.store import OpenMode, open_store

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from results.rows import PointRow
    from results.store import Store


@click.command()
@click.argument("revision")
@click.option(
    "--question", type=click.Path(exists=True, path_type=Path), required=True, help="What was asked, as JSON."
)
@where_option
@db_option
def observations(revision: str, question: Path, where: tuple[str, ...], db: str | None) -> int:
    """Print what was observed of the article's cases, by the points of REVISION that `--where` chooses."""
    content = json.loads(question.read_text(encoding="utf-8"))
    with open_store(db, mode=OpenMode.READ) as store:
        rows = measured_points(store, where=where, revision=revision)
        found = [observed_from(case, rows, store) for case in cases_from(content)]
        remarks = slow_libraries(store, rows)
    timed = [entry.row for observed in found for entry in observed.entries if entry.row.latency_s is not None]
    if not timed:
        return nothing_timed(rows, purpose="explain")
    first = timed[0]
    setting = Setting(machine=first.machine, environment=first.environment, commit=first.commit, remarks=remarks)
    print_answer(
        content["form"],
        as_json=lambda: article_as_json(found, setting),
        as_markdown=lambda: article_as_markdown(found, setting),
        as_text=lambda terminal: article_as_text(found, setting, terminal),
    )
    return ExitCode.FINE


def cases_from(content: Mapping[str, Any]) -> list[Case]:
    """Read the cases as the measuring half wrote them."""
    return [Case(rows=case["batch"], **{key: case[key] for key in case if key != "batch"}) for case in content["cases"]]


def observed_from(case: Case, rows: Iterable[PointRow], store: Store) -> Observed:
    """Return what was observed of `case`, contenders in the order in which they were guessed."""
    order = list(case.steps)
    mine = sorted(
        (row for row in rows if case.is_of(row) and row.contender in case.steps),
        key=lambda row: order.index(row.contender),
    )
    return Observed(case=case, entries=tuple(_entry(row, store) for row in mine))


def _entry(row: PointRow, store: Store) -> Entry:
    profile = profile_of(store, point=row) if row.state == State.OK else None
    if profile is None or profile.state != State.OK:
        return Entry(row=row)
    return Entry(
        row=row, profile=profile, call=call_from(profile, stacks_of(store, point=row), latency_s=row.latency_s)
    )
