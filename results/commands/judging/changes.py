"""`fusebench changes`: when series changed level, in the history of any suite that is stored."""

from __future__ import annotations

from fnmatch import fnmatchcase
from functools import partial
from typing import TYPE_CHECKING

import click

from results.commands.echo import echo, echo_rendered, terminal_of_output
from results.commands.judging.asked_series import about_patterns, selection_of_series
from results.commands.judging.report_files import (
    format_option,
    nothing_judged,
    report_option,
    report_paths,
    unjudged_reports,
    write_reports,
)
from results.commands.judging.settings import chosen_settings, least_change_option, settings_option, tell_unmatched
from results.commands.no_data import EMPTY_STORE
from results.commands.options import all_option, db_option, where_option
from results.commands.selection import series_filter_from
from results.exit_codes import ExitCode
from results.explanations import reasons_of
from results.judgement.changes.control import LEAST_CONTROLS
from results.judgement.changes.evidence import LEAST_CHANGE
from results.judgement.changes.from_histories import changes_of_place
from results.judgement.thresholds import NO_SETTINGS, metric_of_row
from results.metrics import Precision, Role
from results.output.changes import changes_rendered
from results.output.report import ReportFormat
from results.output.text_tables import MANY
from results.queries import (
    failures,
    history_tables,
    judged_series,
    known_changes,
    parameter_names,
    projects,
    unjudged_places,
)
from results.store import OpenMode, open_store
from results.upkeep.judged_series import keep_judged

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from results.judgement.changes.from_histories import PlaceChanges
    from results.rows import HistoryTable, PlaceFilter, SeriesFilter
    from results.store import Store

NOTHING = "No stored series matches the selection: `fusebench status` lists what is stored."


@click.command()
@format_option
@report_option
@least_change_option
@settings_option
@click.option(
    "--control",
    "controls",
    metavar="PATTERN",
    multiple=True,
    help="Benchmarks that no commit can change, such as 'calibration.*'; what five or more share is the machine's. May "
    "be repeated.  [default: the sweep's eager]",
)
@all_option
@where_option
@db_option
def changes(  # noqa: PLR0913, PLR0917 - its options
    report_format: str,
    reports: Sequence[str],
    least_change: float | None,
    settings_path: Path | None,
    controls: Sequence[str],
    where: Sequence[str],
    db: str | None,
    *,
    shows_all: bool,
) -> int:
    """When did what get slower, and between which commits does the cause lie?

    Looks for changes of level in the history of every series: of the sweep, or of any project's asv results. One
    finding is one benchmark and commit, with the points it concerns; SUSPECTED is one measurement that is far out.
    "invisible" is each series' noise floor: a change below it would not be found within five commits. Changes under 3 %
    are not told, or under what --least-change or [tool.fusebench] in pyproject.toml say.

    \b
    fusebench changes
    fusebench changes --where project=scipy --where benchmark=stats.BenchSkewKurtosis.time_kurtosis
    """  # noqa: D301 - click wants the character, which keeps the lines as they are
    files, printed = report_paths(reports), ReportFormat(report_format)
    with unjudged_reports(files, printed, command="changes") as tell_unjudged:
        selection, settings = selection_of_series(where), chosen_settings(settings_path)
        relevance = settings.relevance(LEAST_CHANGE, asked=least_change)
        with open_store(db, mode=OpenMode.READ) as store:
            if not projects(store):
                return nothing_judged(EMPTY_STORE, tell_unjudged)
            chosen = series_filter_from(selection, parameters=parameter_names(store))
            known, earlier, unjudged = known_changes(store), judged_series(store), unjudged_places(store)
            tables, asked = _tables(store, chosen)
            failing = failures(store, **_places_of(chosen)) if tables else []
            worked = (one.other_series_id if one.last_ok is None else one.series_id for one in failing)
            failed = {series_id for series_id in worked if series_id is not None}
            found = [
                changes_of_place(
                    table,
                    **relevance,
                    controls=controls,
                    known=known,
                    only=asked,
                    earlier=earlier,
                    failed=failed,
                )
                for table in tables
            ]
            if not found:
                return nothing_judged(NOTHING + about_patterns(selection), tell_unjudged)
            judged = (one for table in tables for one in table.series if metric_of_row(one).role is Role.JUDGED)
            tell_unmatched(settings, judged, store=store)
            _tell_unused(controls, tables, found)
            limit = None if shows_all else MANY
            why = reasons_of(store)
            report = partial(changes_rendered, found, limit=limit, explained=why.sentence, classed=why.class_)
            write_reports(files, printed, lambda each: report(report_format=each))
            echo_rendered(report(report_format=printed, terminal=terminal_of_output()))
            if not controls:  # they are of this command alone
                is_usual = relevance == NO_SETTINGS.relevance(LEAST_CHANGE)
                places = {(table.project, table.machine, table.environment) for table in tables} if is_usual else ()
                keep_judged(
                    store,
                    [one for place in found for one in place.judged],
                    places=[one for one in unjudged if one.place in places],
                )
    return ExitCode.FINE


def _tell_unused(controls: Sequence[str], tables: Sequence[HistoryTable], found: Sequence[PlaceChanges]) -> None:
    """Print each --control that names no benchmark, and where those that were named are too few to tell anything."""
    for pattern in controls:
        if not any(fnmatchcase(series.benchmark, pattern) for table in tables for series in table.series):
            echo(f"--control {pattern} matches no benchmark here.", err=True)
    for table, place in zip(tables, found, strict=True):
        n_named = sum(
            (metric := metric_of_row(series)).precision is Precision.NOISY
            and metric.role is Role.JUDGED
            and any(fnmatchcase(series.benchmark, pattern) for pattern in controls)
            for series in table.series
        )
        if n_named and not place.n_controls:
            echo(
                f"{place.project} on {place.machine}, {place.environment}: --control names {n_named} series, too few "
                f"to tell what the machine did ({LEAST_CONTROLS} at one run); nothing is taken out.",
                err=True,
            )


def _tables(store: Store, chosen: SeriesFilter) -> tuple[list[HistoryTable], frozenset[int] | None]:
    """Return all series of the chosen places, controls included, and the ids of those that are asked for.

    None asks for all.
    """
    tables, places = history_tables(store, **chosen), _places_of(chosen)
    if not any(choice for name, choice in chosen.items() if name not in places):
        return tables, None
    asked = frozenset(series.series_id for table in tables for series in table.series)
    places_asked = {(table.machine, table.environment, table.project) for table in tables}
    whole = history_tables(store, **places)
    return [table for table in whole if (table.machine, table.environment, table.project) in places_asked], asked


def _places_of(chosen: SeriesFilter) -> PlaceFilter:
    return {
        "project": chosen.get("project"),
        "machine": chosen.get("machine"),
        "environment": chosen.get("environment"),
    }
