"""Options and files of reports: what `gate`, `ab` and `changes` write beside what they print."""

from __future__ import annotations

import os
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from results.commands.echo import echo, echo_rendered
from results.commands.no_data import nothing_to_show
from results.errors import UnwritableReport
from results.exit_codes import ExitCode
from results.output.report import ReportFormat, unjudged

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    Reports = Sequence[tuple[ReportFormat, Path]]
    TellUnjudged = Callable[[str, int], None]

STEP_SUMMARY = "GITHUB_STEP_SUMMARY"
"""Variable that names the file in which a step of a GitHub workflow leaves its summary, as Markdown."""

format_option = click.option(
    "--format",
    "report_format",
    type=click.Choice([f.value for f in ReportFormat]),
    default=ReportFormat.TEXT.value,
    show_default=True,
    help="How to print the report; `github` is annotations, and a summary of the workflow's step.",
)
report_option = click.option(
    "--report",
    "reports",
    metavar="FORMAT=FILE",
    multiple=True,
    help="Write the report into FILE, too, in any of the formats. May be repeated.",
)


def report_paths(reports: Sequence[str]) -> list[tuple[ReportFormat, Path]]:
    """Parse `markdown=comment.md`. Raises: click.UsageError, before anything is measured."""
    found: list[tuple[ReportFormat, Path]] = []
    for text in reports:
        name, _, path = text.partition("=")
        if name not in set(ReportFormat) or not path:
            known = ", ".join(ReportFormat)
            raise click.UsageError(f"--report {text}: expected FORMAT=FILE, FORMAT one of {known}")
        if not Path(path).parent.is_dir():
            raise click.UsageError(f"--report {text}: there is no folder {Path(path).parent}")
        if Path(path) in {other for _, other in found}:
            raise click.UsageError(f"--report {text}: {path} is to hold another report")
        found.append((ReportFormat(name), Path(path)))
    return found


_KILLED = (
    "`fusebench {command}` ended before it had judged, or has not ended yet; what it printed says more, and it was "
    "killed where that is nothing."
)


@contextmanager
def unjudged_reports(reports: Reports, report_format: ReportFormat, *, command: str) -> Iterator[TellUnjudged]:
    """Have each report say that nothing was judged, and why where an error ends it, until others are written.

    So none of an earlier run is taken for this one's. Yields a function that tells why, with the exit code, where it
    ends without an error: in each report, and on standard output where its format is one that programs read.
    Raises: UnwritableReport naming the file.
    """

    def tell(why: str, code: int) -> None:
        render = partial(unjudged, why, command=command, exit_code=code)
        write_reports(reports, report_format, lambda each: render(report_format=each))
        if report_format is not ReportFormat.TEXT:
            echo_rendered(render(report_format=report_format))

    killed = partial(unjudged, _KILLED.format(command=command), command=command, exit_code=None)
    write_reports(reports, ReportFormat.TEXT, lambda each: killed(report_format=each))
    try:
        yield tell
    except UnwritableReport:
        raise
    except click.ClickException as error:
        tell(error.message, ExitCode.WRONG_USAGE if isinstance(error, click.UsageError) else error.exit_code)
        raise


def nothing_judged(why: str, tell: TellUnjudged) -> int:
    """Print and report why nothing could be compared, and return NOTHING_COMPARABLE."""
    tell(why, ExitCode.NOTHING_COMPARABLE)
    return nothing_to_show(why)


def write_reports(reports: Reports, report_format: ReportFormat, render: Callable[[ReportFormat], str]) -> None:
    """Write each report, and with the format `github` the step's summary where a workflow runs.

    Raises: UnwritableReport naming the file.
    """
    for each, path in reports:
        _write(path, render(each), mode="w")
    summary = os.environ.get(STEP_SUMMARY)
    if report_format is ReportFormat.GITHUB and summary:
        _write(Path(summary), render(ReportFormat.MARKDOWN), mode="a")
        echo(f"The report is in the step's summary ({summary}).", err=True)


def _write(path: Path, text: str, *, mode: str) -> None:
    try:
        with path.open(mode, encoding="utf-8") as file:
            file.write(text if text.endswith("\n") else f"{text}\n")
    except OSError as error:
        raise UnwritableReport(f"{path} cannot be written: {error.strerror or error}") from error
