"""The commands of the results tower: ingest, show, gate. Each answers with an exit code."""

from __future__ import annotations

import sys
import time
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

import click

from results.commands.advice import how_to_measure
from results.commands.chosen_rows import ChosenPoints, ChosenValues, chosen_rows, known_values
from results.commands.selection import selection_from_texts
from results.errors import UnknownRevision
from results.exit_codes import ExitCode
from results.judgement.verdicts import LEAST_RELEVANT_CHANGE, exit_code, judge
from results.output.report import ReportFormat, rendered
from results.output.tables import (
    points_as_csv,
    points_as_json,
    points_as_text,
    values_as_csv,
    values_as_json,
    values_as_text,
)
from results.queries import values_at
from results.questions.revisions import commit_of
from results.store import OpenMode, Progress, open_store
from results.upkeep.housekeeping import prune_missing_files
from results.upkeep.rebuild import rebuild_store

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from results.store import IngestReport, Store

EMPTY_STORE = "The store is empty: `make bench` measures and fills it, `fusebench ingest PATH` fills it from files."
DEFAULT_PATHS = (Path("results/data/published"), Path("results/data/local"))

db_option = click.option(
    "--db",
    metavar="URL",
    help="SQLite path or postgresql+psycopg://USER@HOST/NAME.  [default: FUSEBENCH_DB, else results/data/fusebench.db]",
)

where_option = click.option(
    "--where",
    metavar="NAME=VALUE",
    multiple=True,
    help="Only where NAME is VALUE or lies in FROM..TO: any parameter, and project, machine, … May be repeated.",
)


class ShowFormat(StrEnum):
    """How `show` writes."""

    TEXT = "text"
    JSON = "json"
    CSV = "csv"


POINT_TABLES = {ShowFormat.TEXT: points_as_text, ShowFormat.JSON: points_as_json, ShowFormat.CSV: points_as_csv}
VALUE_TABLES = {ShowFormat.TEXT: values_as_text, ShowFormat.JSON: values_as_json, ShowFormat.CSV: values_as_csv}


@click.command()
@click.argument("paths", metavar="[PATH]...", nargs=-1, type=click.Path(path_type=Path))
@db_option
@click.option("--project", metavar="NAME", help="Whose results an asv tree holds.  [default: its asv.conf.json]")
@click.option(
    "--repository",
    metavar="PATH",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="The git repository that gives commits their order.  [default: the checkout PATH lies in]",
)
@click.option(
    "--processes",
    "n_processes",
    metavar="N",
    type=click.IntRange(0, 64),
    help="So many others parse files ahead.  [default: 2 for large trees where cores are to spare, else 0]",
)
@click.option("--prune", is_flag=True, help="Forget what came from files under PATH that are gone.")
@click.option("--rebuild", is_flag=True, help="Build a new database from PATH beside the old one, then swap it in.")
def ingest(  # noqa: PLR0913 - its options
    paths: Sequence[Path],
    db: str | None,
    project: str | None,
    repository: Path | None,
    n_processes: int | None,
    *,
    prune: bool,
    rebuild: bool,
) -> int:
    """Store journals and asv results found under PATH (default: results/data/published and results/data/local).

    Files that were read before are not read again. A file that cannot be read is named and set aside, the
    others go in, and the exit code is 2.

    \b
    fusebench ingest                                      what was measured here
    fusebench ingest ../scipy-bench/results --project scipy --repository ../scipy
    fusebench ingest --rebuild                            the database anew from the files
    """  # noqa: D301 - click wants the character, which keeps the lines as they are
    chosen = list(paths) or [path for path in DEFAULT_PATHS if path.exists()]
    if not chosen:
        click.echo(
            "Nothing has been measured here yet: `make bench` measures, `fusebench ingest PATH` reads results "
            "from elsewhere.",
            err=True,
        )
        return ExitCode.NOTHING_COMPARABLE
    missing = [path for path in chosen if not path.exists()]
    if missing:
        raise click.UsageError(f"{missing[0]} does not exist; name a journal, or a folder of asv results")
    progress = progress_line()
    if rebuild:
        name, report = rebuild_store(
            db,
            chosen,
            project=project,
            repository=repository,
            n_processes=n_processes,
            may_lose=prune,
            on_progress=progress,
        )
    else:
        with open_store(db, mode=OpenMode.WRITE) as store:
            name = store.name
            report = store.ingest(
                chosen, project=project, repository=repository, n_processes=n_processes, on_progress=progress
            )
            if prune:
                click.echo(f"{prune_missing_files(store, chosen)} runs forgotten whose files are gone")
    _tell(report, name)
    return ExitCode.FAILED if report.problems else ExitCode.FINE


def _tell(report: IngestReport, name: str) -> None:
    if not report.n_files:
        click.echo("No journals and no asv results were found there.", err=True)
    for note in report.notes:
        click.echo(f"note: {note}", err=True)
    for problem in report.problems:
        click.echo(f"not read: {problem}", err=True)
    n_files = f"{report.n_files:,} file{'' if report.n_files == 1 else 's'}"
    click.echo(
        f"{report.n_values:,} values stored from {n_files} "
        f"({report.n_files_unchanged:,} unchanged, {len(report.problems):,} not read) into {name}"
    )


@click.command()
@click.argument("revision", metavar="[REV]", required=False)
@click.option(
    "--format",
    "show_format",
    type=click.Choice([f.value for f in ShowFormat]),
    default="text",
    show_default=True,
    help="How to print them.",
)
@where_option
@db_option
def show(revision: str | None, show_format: str, where: Sequence[str], db: str | None) -> int:
    """Print the newest measurements, or those of commit REV (a hash, its start, or a name git knows).

    Where a sweep is stored it is the sweep that is shown; --where project=NAME shows another suite.

    \b
    fusebench show HEAD~1                                    those of another commit
    fusebench show --where batch=64 --where batch=128        any of several values
    fusebench show --where hidden=512..4096                  a range; an end may be left out
    fusebench show --where state=crashed                     what became of a point
    """  # noqa: D301 - click wants the character, which keeps the lines as they are
    selection = selection_from_texts(where)
    with open_store(db, mode=OpenMode.READ) as store:
        try:
            chosen = chosen_rows(store, selection)
            table = None if chosen is None else _table(store, chosen, revision, ShowFormat(show_format))
        except UnknownRevision as error:
            return nothing_known(store, error)
        if chosen is None:
            click.echo(EMPTY_STORE, err=True)
            return ExitCode.NOTHING_COMPARABLE
        if table is None:
            click.echo(f"Nothing stored is chosen by that. {known_values(store, chosen, selection)}".strip(), err=True)
            return ExitCode.NOTHING_COMPARABLE
    click.echo(table)
    if chosen.others:
        click.echo(f"Stored too: {', '.join(chosen.others)} (--where project={chosen.others[0]}).", err=True)
    return ExitCode.FINE


@click.command()
@click.option("--base", metavar="REV", required=True, help="The commit to compare with.")
@click.option("--head", metavar="REV", required=True, help="The commit to judge.")
@click.option(
    "--format",
    "report_format",
    type=click.Choice([f.value for f in ReportFormat]),
    default="text",
    show_default=True,
    help="How to print the report.",
)
@click.option(
    "--least-change",
    metavar="FRACTION",
    type=click.FloatRange(min=0, max=10),
    default=LEAST_RELEVANT_CHANGE,
    show_default=True,
    help="Smallest relative change of a noisy metric that counts: 0.05 is 5 %.",
)
@db_option
def gate(base: str, head: str, report_format: str, least_change: float, db: str | None) -> int:
    """Did the commit --head get worse than the commit --base?

    Exit code 0: no, 1: a regression, 2: something fails that was ok, 3: nothing comparable was measured.

    \b
    fusebench gate --base HEAD~1 --head HEAD
    fusebench gate --base main --head HEAD --format markdown      as a comment on a pull request
    """  # noqa: D301 - click wants the character, which keeps the lines as they are
    with open_store(db, mode=OpenMode.READ) as store:
        try:
            base_commit, head_commit = commit_of(store, base), commit_of(store, head)
        except UnknownRevision as error:
            return nothing_known(store, error)
        if base_commit == head_commit:
            raise click.UsageError(f"--base {base} and --head {head} are both {base_commit[:8]}; name two commits")
        judgement = judge(
            values_at(store, commit=base_commit),
            values_at(store, commit=head_commit),
            base_commit=base_commit,
            head_commit=head_commit,
            least_change=least_change,
        )
        click.echo(rendered(judgement, report_format=ReportFormat(report_format)))
        answer = exit_code(judgement)
        if answer is ExitCode.NOTHING_COMPARABLE:
            click.echo(
                "Nothing was measured at both commits on the same machine. "
                + how_to_measure(store, commit=head_commit),
                err=True,
            )
    return answer


def _table(
    store: Store, chosen: ChosenPoints | ChosenValues, revision: str | None, show_format: ShowFormat
) -> str | None:
    """The table of what was chosen; None if that is nothing."""
    if isinstance(chosen, ChosenPoints):
        points = chosen.latest(store, revision)
        return POINT_TABLES[show_format](points) if points else None
    values = chosen.latest(store, revision)
    return VALUE_TABLES[show_format](values) if values else None


def nothing_known(store: Store, error: UnknownRevision) -> int:
    """Say what the revision is and how to measure it; a name nobody knows is wrong usage."""
    if not error.is_plausible:
        raise click.UsageError(error.message)
    click.echo(f"{error.message}. {how_to_measure(store, commit=error.commit or 'REV')}", err=True)
    return ExitCode.NOTHING_COMPARABLE


def progress_line() -> Callable[[Progress], None] | None:
    """What draws progress on a terminal; None into a pipe."""
    if not sys.stderr.isatty():
        return None
    started = time.monotonic()

    def draw(progress: Progress) -> None:
        is_last = progress.n_files_done == progress.n_files
        rate = progress.n_values / max(time.monotonic() - started, 1e-3)
        n_filled = 30 * progress.n_files_done // progress.n_files
        click.echo(
            f"\r[{'#' * n_filled}{'.' * (30 - n_filled)}] {progress.n_files_done}/{progress.n_files} files, "
            f"{progress.n_values:,} values, {rate:,.0f} values/s " + ("\n" if is_last else ""),
            nl=False,
            err=True,
        )

    return draw
