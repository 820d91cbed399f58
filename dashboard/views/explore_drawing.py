"""Content of the page *Explore*: chart and judgement of the chosen lines, and the notes beside them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from dashboard.figures.history import chart_of_lines
from dashboard.figures.notes import OPEN_MARKS
from dashboard.figures.reduction import reduced
from dashboard.figures.relative import RelativeFormat, relative_to
from dashboard.lines import parameter_choices, words_of
from dashboard.quantities import MetricFormat
from dashboard.scales import CommitSpacing, Scale
from dashboard.tables.changes import counts_of, summary_of
from dashboard.views.change_points import LOOKING, change_points_of
from dashboard.views.explore_choice import explore_view_of
from dashboard.views.judged_histories import judged_histories, known_histories
from dashboard.views.judged_sides import judged_benchmark
from dashboard.views.settings import better_of
from dashboard.views.url import MOST_SHOWN
from results.metrics import Role, metric_of
from results.printable import printable_line
from results.queries import commits, history_of
from results.rows import beside_among, contender_of, count_unordered, unordered_in_words
from results.units import counted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dashboard.figures.chart import Chart
    from dashboard.lines import HistoryLine
    from dashboard.views.explore_choice import ExploreChoice, ExploreView
    from results.judgement.changes.ranked import RankedFinding
    from results.judgement.verdicts import Judgement
    from results.rows import CommitRow
    from results.store import Store

MOST_PANELS = 12


@dataclass(frozen=True, kw_only=True)
class ExploreDrawing:
    """Content of the page. `judgement`: None without an earlier commit or a judged metric.

    panels: a chart for each value of the parameter that is grouped by, as `name=value`; empty without one.
    `left_out`: what the chart would be too slow with, in words. `is_marked`: whether its change points were looked for.
    `beside`: commits of other branches that are drawn and not judged.
    """

    view: ExploreView
    metric_format: MetricFormat
    chart: Chart
    commits: tuple[CommitRow, ...]
    judgement: Judgement | None
    panels: Mapping[str, Chart] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()
    is_marked: bool = False
    beside: frozenset[str] = frozenset()


def explore_drawing_of(store: Store, *, query: str, waits: bool = False) -> ExploreDrawing:
    """Query the store for what the URL's `query` shows. waits: for its change points, where none are known yet."""
    view = explore_view_of(store, query=query)
    stored = commits(store, project=view.choice.project)
    wanted = [row.series_id for line in view.chosen_lines for row in line.series]
    histories = {history.series.series_id: history for history in history_of(store, series_ids=wanted)}
    unit = view.lines[0].series[0].unit
    better = better_of(store, (row for line in view.chosen_lines or view.lines for row in line.series))
    metric_format = MetricFormat(metric=view.choice.metric, unit=unit, better=better)
    drawn, drawn_format = histories, metric_format
    view, base = _with_base(view, [row.commit for row in stored])
    left_out: list[str] = []
    if base is not None:
        divided, without = relative_to(view.chosen_lines, histories, base=base)
        if divided or not view.chosen_lines:
            drawn = divided
            drawn_format = RelativeFormat(metric=view.choice.metric, unit=unit, better=better, base=base)
        else:
            view = _without_base(view, f"No line has a value above 0 at {base[:8]}")
        if divided and without:
            left_out.append(f"{len(without)} of {len(view.chosen_lines)} lines have no value above 0 at {base[:8]}")
        left = {row.version for line in view.chosen_lines if line not in without for row in line.series} - {
            histories[series_id].series.version for series_id in divided
        }
        if divided and left:
            named = ", ".join(one[:12] for one in sorted(left))
            left_out.append(f"other versions than at {base[:8]}, which do not compare, left out: {named}")
    undated = {value.commit for one in histories.values() for value in one.values if value.commit_date is None}
    if undated and view.choice.spacing is CommitSpacing.DATE:
        left_out.append(f"{counted(len(undated), 'commit')} without a date left out")
    chart, reductions = reduced(
        chart_of_lines(
            view.chosen_lines, drawn, metric_format=drawn_format, order=[row.commit for row in stored],
            spacing=view.choice.spacing, colour=view.choice.colour,
        )
    )  # fmt: skip
    panels, without_panel = _panels(chart, view)
    found = judged_histories(store) if waits else known_histories(store)
    if found is not None:
        chart = _marked(chart, view.chosen_lines, found)
        panels = {name: _marked(panel, _lines_of(view, name), found) for name, panel in panels.items()}
    measured = [commit for _, commit in chart.positions]
    view = _with_measured_commit(view, measured)
    is_measured = frozenset(measured)
    shown = tuple(row for row in stored if row.commit in is_measured)
    beside = beside_among(shown)
    return ExploreDrawing(
        view=view,
        metric_format=metric_format,
        chart=chart,
        commits=shown,
        judgement=_judgement(
            store,
            view.choice,
            measured if view.choice.commit in beside else [one for one in measured if one not in beside],
            is_sweep=contender_of(view.lines[0].series[0].parameters) is not None,
        ),
        panels=panels,
        left_out=(*left_out, *reductions, *without_panel),
        is_marked=found is not None,
        beside=beside,
    )


def _panels(chart: Chart, view: ExploreView) -> tuple[dict[str, Chart], list[str]]:
    """Return the chart of each value of the parameter that is grouped by, and what has none, in words."""
    if view.choice.group is None:
        return {}, []
    charts: dict[str, Chart] = {}
    for name in sorted(parameter_choices(view.lines)[view.choice.group], key=_number_of):
        labels = {line.label for line in _lines_of(view, name)}
        curves = tuple(curve for curve in chart.curves if curve.name in labels)
        absences = tuple(one for one in chart.absences if one.name in labels)
        if curves or absences:
            charts[name] = replace(chart, curves=curves, absences=absences)
    n_left = len(charts) - MOST_PANELS
    note = f"{MOST_PANELS} of {len(charts)} values of {view.choice.group} have a chart"
    return dict(list(charts.items())[:MOST_PANELS]), [note] if n_left > 0 else []


def _number_of(name: str) -> float:
    """Return the value of a `name=value` that is a number, to order by; 0 for all others, which keep their order."""
    try:
        return float(name.partition("=")[2])
    except ValueError:
        return 0.0


def _lines_of(view: ExploreView, name: str) -> list[HistoryLine]:
    """Return the chosen lines with that `name=value`."""
    return [line for line in view.chosen_lines if name in words_of(line)]


def _marked(chart: Chart, lines: Sequence[HistoryLine], found: Sequence[RankedFinding]) -> Chart:
    series = [row for line in lines for row in line.series]
    positions = {commit: place for place, commit in chart.positions}
    return replace(chart, change_points=change_points_of(found, series=series, positions=positions))


def judged_commit(drawing: ExploreDrawing) -> str | None:
    """Return the commit that the table of changes is about."""
    if drawing.judgement is not None:
        return drawing.judgement.head_commit
    return drawing.view.choice.commit


def note_of_lines(drawing: ExploreDrawing) -> str:
    """Write what the curves show: number of commits, dates, interval and machine."""
    choice, rows = drawing.view.choice, drawing.commits
    if not rows:
        nothing = "choose parameters to draw a line" if not choice.lines else "nothing measured for this choice"
        return " · ".join(drawing.left_out) or nothing
    parts = _commits_in_words(drawing)
    if not drawing.chart.ordinate.better:
        parts.append("better direction unknown")
    elif drawing.panels:  # whose axes have no room for it
        parts.append(drawing.chart.ordinate.better)
    if any(mark.reading.has_interval for curve in drawing.chart.curves for mark in curve.marks):
        parts.append(f"with its {100 * drawing.chart.interval_level:g} % interval")
    if any(mark.is_disturbed for curve in drawing.chart.curves for mark in curve.marks):
        parts.append(OPEN_MARKS)
    if choice.scale is Scale.LOG and not drawing.chart.is_positive:
        parts.append("not logarithmic, as not all is above 0")
    parts += drawing.left_out
    if not drawing.is_marked and len(rows) > 1:
        parts.append(LOOKING)
    elif drawing.chart.change_points:
        parts.append(counted(len(drawing.chart.change_points), "change point"))
    parts += [choice.machine, choice.environment if len(choice.environment) <= 40 else choice.environment[:39] + "…"]
    return " · ".join(parts)


def _commits_in_words(drawing: ExploreDrawing) -> list[str]:
    """Write how many commits are shown, from when to when, and of how many the order is not known."""
    rows = drawing.commits
    dates = [row.date for row in rows if row.date is not None]
    found = [counted(len(rows), "commit")]
    if drawing.beside:
        found[0] += f", {len(drawing.beside)} of other branches not judged"
    if dates:
        first, last = f"{min(dates):%Y-%m-%d}", f"{max(dates):%Y-%m-%d}"
        found.append(first if first == last else f"{first} to {last}")
    unordered = unordered_in_words(count_unordered((row.position, row.date) for row in rows))
    return [*found, unordered] if unordered else found


def answer_of_changes(drawing: ExploreDrawing) -> str:
    """Write in a sentence what the chosen commit changed, or what is shown where nothing is judged."""
    choice = drawing.view.choice
    label = metric_of(choice.metric, unit="").label
    name = f"{printable_line(choice.benchmark)}, {label}"
    if drawing.judgement is None:
        note = note_of_changes(drawing) or "nothing measured for this choice"
        return f"{name}: {note.removeprefix(f'{label} ')}"
    base, head = drawing.judgement.base_commit[:10], drawing.judgement.head_commit[:10]
    # What is said of both commits has both behind it.
    where = f" at {head}" if drawing.judgement.verdicts else f", {base} and {head}"
    return f"{name}: {counts_of(drawing.judgement)}{where}"


def note_of_changes(drawing: ExploreDrawing) -> str:
    """Write which commits are compared with what outcome, or why there is nothing to compare."""
    judgement = drawing.judgement
    if judgement is not None:
        between = f"{judgement.head_commit[:10]} against {judgement.base_commit[:10]}, the commit measured before it"
        return f"{between}: {summary_of(judgement)}"
    metric = metric_of(drawing.view.choice.metric, unit="")
    if metric.role is Role.CONTEXT:
        return f"{metric.label} explains other metrics and is not judged"
    return "there is no earlier commit to compare with" if drawing.commits else ""


def _with_base(view: ExploreView, stored: list[str]) -> tuple[ExploreView, str | None]:
    """Return the view, and the full hash of the commit that its values are divided by; None for none."""
    requested = view.choice.relative
    if requested is None:
        return view, None
    found = [commit for commit in stored if commit.startswith(requested)]
    if len(found) == 1:
        return replace(view, choice=replace(view.choice, relative=found[0][:12])), found[0]
    return _without_base(view, f"{len(found) or 'No'} commits begin with {requested[:MOST_SHOWN]}"), None


def _without_base(view: ExploreView, why: str) -> ExploreView:
    problem = f"{why}; values are shown as they are."
    return replace(view, choice=replace(view.choice, relative=None), problems=(*view.problems, problem))


def _with_measured_commit(view: ExploreView, measured: list[str]) -> ExploreView:
    """Return the view with its commit's full hash, or with the newest commit if the prefix is ambiguous or unknown."""
    requested = view.choice.commit
    if requested is None:
        return view
    found = [commit for commit in measured if commit.startswith(requested)]
    if len(found) == 1:
        return replace(view, choice=replace(view.choice, commit=found[0]))
    problem = f"{len(found) or 'No'} commits measured here begin with {requested[:MOST_SHOWN]}; showing the latest."
    return replace(view, choice=replace(view.choice, commit=None), problems=(*view.problems, problem))


def _judgement(store: Store, choice: ExploreChoice, measured: list[str], *, is_sweep: bool) -> Judgement | None:
    """Judge the benchmark at all its parameters: the chosen commit against the one measured before it.

    Of a sweep all operations are judged, as by the gate: eager at each of them tells what the machine did.
    """
    if metric_of(choice.metric, unit="").role is Role.CONTEXT:
        return None
    at = measured.index(choice.commit) if choice.commit else len(measured) - 1
    if at < 1:
        return None
    judgement = judged_benchmark(
        store,
        base=measured[at - 1],
        head=measured[at],
        project=choice.project,
        benchmark=None if is_sweep else choice.benchmark,
        metric=choice.metric,
        machine=choice.machine,
        environment=choice.environment,
    )
    own = tuple(one for one in judgement.verdicts if one.head.benchmark == choice.benchmark)
    return replace(judgement, verdicts=own)
