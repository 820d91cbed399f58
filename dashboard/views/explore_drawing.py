"""Content of the page *Explore*: chart and judgement of the chosen lines, and the notes beside them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dashboard.figures.history import chart_of_lines
from dashboard.quantities import MetricFormat
from dashboard.tables.changes import counts_of, summary_of
from dashboard.views.explore_choice import explore_view_of
from results.metrics import Role, metric_of
from results.queries import commits, history_of, judged_commits

if TYPE_CHECKING:
    from dashboard.figures.chart import Chart
    from dashboard.views.explore_choice import ExploreChoice, ExploreView
    from results.judgement.verdicts import Judgement
    from results.rows import CommitRow
    from results.store import Store


@dataclass(frozen=True, kw_only=True)
class ExploreDrawing:
    """Content of the page. `judgement`: None without an earlier commit or a judged metric."""

    view: ExploreView
    metric_format: MetricFormat
    chart: Chart
    commits: tuple[CommitRow, ...]
    judgement: Judgement | None


def explore_drawing_of(store: Store, *, query: str) -> ExploreDrawing:
    """Query the store for what the URL's `query` shows."""
    view = explore_view_of(store, query=query)
    choice, chosen = view.choice, view.chosen_lines
    metric_format = MetricFormat(metric=choice.metric, unit=view.lines[0].series[0].unit)
    wanted = [row.series_id for line in chosen for row in line.series]
    stored = commits(store, project=choice.project)
    chart = chart_of_lines(
        chosen,
        {history.series.series_id: history for history in history_of(store, series_ids=wanted)},
        metric_format=metric_format,
        order=[row.commit for row in stored],
        spacing=choice.spacing,
    )
    measured = [commit for _, commit in chart.positions]
    view = _with_measured_commit(view, measured)
    return ExploreDrawing(
        view=view,
        metric_format=metric_format,
        chart=chart,
        commits=tuple(row for row in stored if row.commit in set(measured)),
        judgement=_judgement(store, view.choice, measured),
    )


def judged_commit(drawing: ExploreDrawing) -> str | None:
    """Return the commit that the table of changes is about."""
    if drawing.judgement is not None:
        return drawing.judgement.head_commit
    return drawing.view.choice.commit


def note_of_lines(drawing: ExploreDrawing) -> str:
    """Write what the curves show: number of commits, dates, interval and machine."""
    choice, rows = drawing.view.choice, drawing.commits
    if not rows:
        return "choose parameters to draw a line" if not choice.lines else "nothing measured for this choice"
    dates = [row.date for row in rows if row.date is not None]
    parts = [f"{len(rows)} commit{'' if len(rows) == 1 else 's'}"]
    if dates:
        first, last = f"{min(dates):%Y-%m-%d}", f"{max(dates):%Y-%m-%d}"
        parts.append(first if first == last else f"{first} to {last}")
    if not drawing.chart.ordinate.better:
        parts.append("better direction unknown")
    if any(mark.reading.has_interval for curve in drawing.chart.curves for mark in curve.marks):
        parts.append(f"with its {100 * drawing.chart.interval_level:g} % interval")
    parts += [choice.machine, choice.environment if len(choice.environment) <= 40 else choice.environment[:39] + "…"]
    return " · ".join(parts)


def answer_of_changes(drawing: ExploreDrawing) -> str:
    """Write in a sentence what the chosen commit changed, or what is shown where nothing is judged."""
    choice = drawing.view.choice
    name = f"{choice.benchmark}, {metric_of(choice.metric, unit='').label}"
    if drawing.judgement is None:
        return f"{name}: {note_of_changes(drawing) or 'nothing measured for this choice'}"
    return f"{name}: {counts_of(drawing.judgement)} at {drawing.judgement.head_commit[:10]}"


def note_of_changes(drawing: ExploreDrawing) -> str:
    """Write which commits are compared with what outcome, or why there is nothing to compare."""
    judgement = drawing.judgement
    if judgement is not None:
        between = f"{judgement.head_commit[:10]} against {judgement.base_commit[:10]}, the commit measured before it"
        return f"{between}: {summary_of(judgement)}"
    if metric_of(drawing.view.choice.metric, unit="").role is Role.CONTEXT:
        return f"{drawing.view.choice.metric} explains other metrics and is not judged"
    return "there is no earlier commit to compare with" if drawing.commits else ""


def _with_measured_commit(view: ExploreView, measured: list[str]) -> ExploreView:
    """Return the view with its commit's full hash, or with the newest commit if the prefix is ambiguous or unknown."""
    requested = view.choice.commit
    if requested is None:
        return view
    found = [commit for commit in measured if commit.startswith(requested)]
    if len(found) == 1:
        return replace(view, choice=replace(view.choice, commit=found[0]))
    problem = f"{len(found) or 'No'} commits measured here begin with {requested}; showing the latest."
    return replace(view, choice=replace(view.choice, commit=None), problems=(*view.problems, problem))


def _judgement(store: Store, choice: ExploreChoice, measured: list[str]) -> Judgement | None:
    """Judge the benchmark at all its parameters: the chosen commit against the one measured before it."""
    if metric_of(choice.metric, unit="").role is Role.CONTEXT:
        return None
    at = measured.index(choice.commit) if choice.commit else len(measured) - 1
    if at < 1:
        return None
    return judged_commits(
        store,
        base=measured[at - 1],
        head=measured[at],
        project=choice.project,
        benchmark=choice.benchmark,
        metric=choice.metric,
        machine=choice.machine,
        environment=choice.environment,
    )
