"""`fusebench status`: what was measured when, what fails since which commit, what was left behind, per machine."""

from __future__ import annotations

from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING

import click

from results.commands.echo import echo, echo_rendered, terminal_of_output
from results.commands.no_data import EMPTY_STORE, nothing_to_show
from results.commands.options import NumberRange, all_option, db_option
from results.exit_codes import ExitCode
from results.judgement.stopped import stopped_among
from results.output.status import status_as_json, status_as_text, statuses_from
from results.output.text_tables import MANY
from results.queries import failures, freshness, known_changes, unjudged_places
from results.store import OpenMode, open_store
from results.units import counted

if TYPE_CHECKING:
    from results.rows import PlaceFilter


class StatusFormat(StrEnum):
    """Output format of `status`."""

    TEXT = "text"
    JSON = "json"


@click.command()
@click.option("--project", metavar="NAME", multiple=True, help="Only this project. May be repeated.")
@click.option("--machine", metavar="NAME", multiple=True, help="Only this machine. May be repeated.")
@click.option("--environment", metavar="NAME", multiple=True, help="Only this environment. May be repeated.")
@click.option(
    "--format",
    "status_format",
    type=click.Choice([f.value for f in StatusFormat]),
    default="text",
    show_default=True,
    help="How to print it.",
)
@click.option(
    "--stale-after",
    "most_days",
    metavar="DAYS",
    type=NumberRange(min=0, max=100_000),
    help="Alarm, with exit code 2, if a benchmark was not run for longer.",
)
@click.option(
    "--most-behind",
    metavar="COMMITS",
    type=click.IntRange(min=0),
    help="Alarm, with exit code 2, if a benchmark is left behind by more.",
)
@all_option
@db_option
def status(  # noqa: PLR0913, PLR0917 - its options
    project: tuple[str, ...],
    machine: tuple[str, ...],
    environment: tuple[str, ...],
    status_format: str,
    most_days: float | None,
    most_behind: int | None,
    db: str | None,
    *,
    shows_all: bool,
) -> int:
    """Print what was measured when on each machine, what fails since which commit, and what was left behind.

    BEHIND counts the commits from a benchmark's newest run to the newest one that any was measured at: where nothing is
    measured any more, only --stale-after tells. POINTS `10 of 12`: two points of the sweep were measured at older
    commits only. Failures and known changes follow. The exit code is 0 whatever fails (see `gate`), unless
    data stopped coming: --stale-after and --most-behind alarm on that, but not of what `store acknowledge` says to be
    gone.

    \b
    fusebench status --machine bench-01
    fusebench status --machine bench-01 --stale-after 2 --most-behind 20      every night, in CI
    """  # noqa: D301 - click wants the character, which keeps the lines as they are
    places: PlaceFilter = {
        "project": project or None,
        "machine": machine or None,
        "environment": environment or None,
    }
    with open_store(db, mode=OpenMode.READ) as store:
        rows, known = freshness(store, **places), known_changes(store, **places)
        statuses = statuses_from(rows, failures(store, **places), known, unjudged_places(store))
    if not statuses:
        chosen = ", ".join((*project, *machine, *environment))
        return nothing_to_show(f"Nothing is stored of {chosen}." if chosen else EMPTY_STORE)
    now = datetime.now(UTC)
    stopped = stopped_among(rows, now=now, most_days=most_days, most_behind=most_behind, known=known)
    if status_format == StatusFormat.JSON:
        echo(status_as_json(statuses, stopped))
    else:
        limit = None if shows_all else MANY
        echo_rendered(status_as_text(statuses, terminal_of_output(), limit=limit, stopped=stopped))
    if stopped:
        echo(
            f"Data stopped coming: {counted(len(stopped), 'benchmark')}; look at what should measure them. What was "
            "removed from its suite: `fusebench store acknowledge REV --benchmark NAME`, at a commit that lacks it.",
            err=True,
        )
    return ExitCode.FAILED if stopped else ExitCode.FINE
