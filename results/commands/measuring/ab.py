"""`fusebench ab`: measure two commits in alternation, and judge them; only the uncertain once more."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING

import click

from results.commands.extras import require_modules
from results.commands.measuring import tower
from results.commands.measuring.tower import AS_THEY_ARE, MEASURING, passes_on
from results.exit_codes import ExitCode

if TYPE_CHECKING:
    from results.judgement.verdicts import Judgement

LOOKS = (5, 8, 11)
"""Rounds after which what is known is judged: all points first, then those that are uncertain."""
LEAST_CHANGE = 0.03
FORMATS = ("text", "json", "markdown", "junit", "github")
"""Those of `ReportFormat`, which needs the store's modules."""
_Q = 0.05
_STANDARD_ERROR = 2
_COMMAND = (sys.executable, "-m", "benchmarks.ruler.ab.command")
_SHAPE = ("pass", "dtype", "activation", "batch", "hidden", "dim", "cache")


@click.command(add_help_option=False, context_settings={**AS_THEY_ARE, "allow_interspersed_args": True})
@click.option("--format", "report_format", type=click.Choice(FORMATS), default="text")
@click.option("--report", "reports", multiple=True)
@click.option("--all", "shows_all", is_flag=True)
@passes_on
def ab(options: tuple[str, ...], report_format: str, reports: tuple[str, ...], *, shows_all: bool) -> int:
    """Measure two commits in alternation and say what got slower or faster (needs a checkout)."""
    checkout = tower.checkout_of_command()
    require_modules(MEASURING, command="ab", extra="bench")
    if {"-h", "--help"} & set(options):
        return tower.help_of([*_COMMAND, *options], checkout)
    from results.commands.judging.report_files import report_paths  # noqa: PLC0415 - needs the store's modules
    from results.files.settings import settings_of  # noqa: PLC0415 - the same

    report_paths(reports)
    settings_of(Path.cwd())  # what is wrong with them is said before anything is measured
    with tempfile.TemporaryDirectory() as folder:
        place = tower.place_of(Path(folder), is_recorded=True)
        code, judgement = _measured(checkout, options, place)
    if judgement is None:
        return code
    return _told(judgement, report_format=report_format, reports=reports, shows_all=shows_all)


def _measured(checkout: Path, options: tuple[str, ...], place: tower.Place) -> tuple[int, Judgement | None]:
    """Measure until nothing is uncertain or the last look was taken; return how it ended, and the judgement."""
    from results.commands.ingest import ingest  # noqa: PLC0415 - needs the store's modules

    environ = dict(os.environ) if place.data is None else {**os.environ, "FUSEBENCH_DATA": str(place.data)}
    selection, only = place.folder / "selection.json", place.folder / "only.json"
    started = ["--cwd", str(Path.cwd()), "--parent", str(os.getpid()), "--selection", str(selection)]
    asked, judgement = list(options), None
    n_made = 0
    for n_rounds in LOOKS:
        looked = ["--rounds", str(n_rounds), "--first-round", str(n_made + 1)]
        looked += ["--only", str(only)] if judgement else []
        # What is measured is told beside the answer, which may be read by a program.
        code = tower.run_to_end([*_COMMAND, *started, *looked, *asked], checkout, environ, stdout=_STANDARD_ERROR)
        if code:
            return code, None
        arguments = [*([str(place.data)] if place.data else []), *place.db_option]
        stored = _quietly_called(ingest, arguments)
        if stored:
            return stored, None
        judgement = _judged(json.loads(selection.read_text(encoding="utf-8")), place)
        shapes = uncertain_shapes(judgement)
        if not shapes:
            break
        n_made = n_rounds
        # What was begun anew is gone on with.
        asked = [option for option in asked if option != "--again"]
        only.write_text(json.dumps(shapes), encoding="utf-8")
    return ExitCode.FINE, judgement


def _quietly_called(command: click.Command, arguments: list[str]) -> int:
    with redirect_stdout(sys.stderr):
        return tower.call_command(command, arguments)


def _judged(compared: dict[str, str], place: tower.Place) -> Judgement:
    from results.files.settings import settings_of  # noqa: PLC0415 - the same
    from results.queries import judged_rounds  # noqa: PLC0415 - needs the store's modules
    from results.store import OpenMode, open_store  # noqa: PLC0415 - the same

    settings = settings_of(Path.cwd())
    with open_store(place.db, mode=OpenMode.READ) as store:
        return judged_rounds(
            store,
            base=compared["base"],
            head=compared["head"],
            base_run=compared["base_run"],
            head_run=compared["head_run"],
            least_change=LEAST_CHANGE if settings.least_change is None else settings.least_change,
            thresholds=settings.thresholds,
            q=_Q / len(LOOKS),
        )


def uncertain_shapes(judgement: Judgement) -> list[dict[str, object]]:
    """Return the shapes of the series that are uncertain and may become certain, as they are stored."""
    from results.judgement.sides import is_control  # noqa: PLC0415 - needs the store's modules
    from results.judgement.verdicts import Change  # noqa: PLC0415 - the same

    found: dict[str, dict[str, object]] = {}
    for verdict in judgement.verdicts:
        if verdict.change is not Change.UNCERTAIN or verdict.evidence is None or is_control(verdict.head):
            continue
        parameters = {one.name: one.value for one in verdict.head.parameters if one.name in _SHAPE}
        shape: dict[str, object] = {"operation": verdict.head.benchmark, **parameters}
        found[json.dumps(shape, sort_keys=True)] = shape
    return list(found.values())


def _told(judgement: Judgement, *, report_format: str, reports: tuple[str, ...], shows_all: bool) -> int:
    from results.commands.echo import echo_rendered, terminal_of_output  # noqa: PLC0415 - needs the store's modules
    from results.commands.judging.report_files import report_paths, write_reports  # noqa: PLC0415 - the same
    from results.judgement.verdicts import exit_code  # noqa: PLC0415 - the same
    from results.output.report import ReportFormat, rendered  # noqa: PLC0415 - the same
    from results.output.text_tables import MANY  # noqa: PLC0415 - the same

    printed, limit = ReportFormat(report_format), None if shows_all else MANY
    echo_rendered(rendered(judgement, report_format=printed, terminal=terminal_of_output(), limit=limit))
    write_reports(report_paths(reports), printed, lambda each: rendered(judgement, report_format=each, limit=limit))
    return exit_code(judgement)
