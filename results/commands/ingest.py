"""`fusebench ingest`: store journals and asv results."""

from __future__ import annotations

import os.path
from pathlib import Path
from typing import TYPE_CHECKING

import click

from results.commands.echo import echo
from results.commands.options import db_option, judge_option
from results.commands.progress import progress_bar
from results.data_folder import data_folder_of_environment
from results.exit_codes import ExitCode
from results.questions.judged import unjudged_places
from results.store import OpenMode, open_store
from results.units import counted
from results.upkeep.housekeeping import prune_missing_files
from results.upkeep.rebuild import rebuild_store

if TYPE_CHECKING:
    from collections.abc import Sequence

    from results.store import IngestReport

DEFAULT_PATHS = (Path("results/data/published"), Path("results/data/local"))


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
@judge_option
def ingest(  # noqa: PLR0913 - its options
    paths: Sequence[Path],
    db: str | None,
    project: str | None,
    repository: Path | None,
    n_processes: int | None,
    *,
    prune: bool,
    rebuild: bool,
    judge: bool,
) -> int:
    """Store journals and asv results found under PATH.

    Without PATH: FUSEBENCH_DATA's folder, else results/data/published and results/data/local. Files that were read
    before are not read again. A file that cannot be read is named and set aside, the others go in, and the exit
    code is 2.

    \b
    fusebench ingest                                      what was measured here
    fusebench ingest ../scipy-bench/results --project scipy --repository ../scipy
    fusebench ingest --rebuild                            the database anew from the files
    """  # noqa: D301 - click wants the character, which keeps the lines as they are
    folder = data_folder_of_environment()
    sources = list(paths) or [path for path in (DEFAULT_PATHS if folder is None else (folder,)) if path.exists()]
    if not sources:
        echo(
            "Nothing has been measured here yet: `make bench` measures, `fusebench ingest PATH` reads results "
            "from elsewhere.",
            err=True,
        )
        return ExitCode.NOTHING_COMPARABLE
    missing = [path for path in sources if not os.path.exists(path)]  # noqa: PTH110 - never raises
    if missing:
        raise click.UsageError(f"{missing[0]} does not exist; name a journal, or a folder of asv results")
    notices: list[str] = []
    with progress_bar() as progress:
        if rebuild:
            name, report = rebuild_store(
                db,
                sources,
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
                    sources, project=project, repository=repository, n_processes=n_processes, on_progress=progress
                )
                if prune:
                    n_removed = counted(prune_missing_files(store, sources), "run")
                    notices.append(f"Removed {n_removed} whose files are gone.")
    for notice in notices:
        echo(notice)
    _print_report(report, name)
    if judge:
        with open_store(db, mode=OpenMode.WRITE) as store:
            if unjudged_places(store):
                from results.commands.judging.new_values import judge_new_values  # noqa: PLC0415 - loads what judges

                judge_new_values(store)
    if report.barren and not prune and (paths or not report.n_files):
        echo(f"No journals and no asv results were found under {', '.join(report.barren)}.", err=True)
        return ExitCode.FAILED if paths or report.problems else ExitCode.NOTHING_COMPARABLE
    return ExitCode.FAILED if report.problems else ExitCode.FINE


def _print_report(report: IngestReport, name: str) -> None:
    for note in report.notes:
        echo(f"note: {note}", err=True)
    for problem in report.problems:
        echo(f"not read: {problem}", err=True)
    echo(
        f"{counted(report.n_values, 'value')} stored from {counted(report.n_files, 'file')} "
        f"({report.n_files_unchanged:,} unchanged, {len(report.problems):,} not read) into {name}"
    )
