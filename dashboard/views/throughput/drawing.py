"""Content of the page *Throughput*: the rows of its charts, those over commits with their change points."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from dashboard.figures.colouring import BY_PROVIDER, Colouring
from dashboard.figures.reduction import reduced
from dashboard.figures.thinning import thinned
from dashboard.figures.throughput import chart_over_batch, chart_over_commits
from dashboard.scales import Colour, Multiples
from dashboard.views.judged_histories import judged_histories, known_histories
from dashboard.views.projects import commits_of_project, names_of_projects
from dashboard.views.throughput.choice import throughput_view_of, with_measured_batch
from dashboard.views.throughput.marks import change_points_over_commits
from dashboard.views.throughput.sides import MOST_PANELS, MOST_SIDES, nearest_panels, panels_of, sides_of
from results.queries import commits, point_choices, throughput_by_batch, throughput_by_commit

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from dashboard.figures.chart import Chart
    from dashboard.views.throughput.choice import ThroughputChoice, ThroughputView
    from results.rows import CommitRow, PointChoice, PointFilter, PointRow
    from results.store import Store

# Metrics of the notes of the curves over commits; the quantity drawn is one of these, made from it, or comes beside.
DRAWN = ("latency_s", "speedup_vs_eager")


@dataclass(frozen=True, kw_only=True)
class ThroughputDrawing:
    """Content of the page: the view, its commits, and the rows of its parts.

    by_batch: of the chosen point's shape at one commit, which the answer is about. beside: what the chart over batch
    draws besides. panels: rows of each small chart, by hidden dim. commits_chart: of `by_commit`, with its change
    points if `is_marked`. left_out, commits_left_out: what the charts do not draw, in
    words.
    """

    view: ThroughputView
    commits: tuple[CommitRow, ...]
    by_batch: tuple[PointRow, ...]
    by_commit: tuple[PointRow, ...]
    commits_chart: Chart
    is_marked: bool
    beside: tuple[PointRow, ...] = ()
    panels: Mapping[int, tuple[PointRow, ...]] = field(default_factory=dict)
    colouring: Colouring = BY_PROVIDER
    left_out: tuple[str, ...] = ()
    commits_left_out: tuple[str, ...] = ()

    @property
    def is_older(self) -> bool:
        """Whether a newer commit than the answer's measured the chosen shape and batch."""
        own = [row.commit for row in self.by_commit if _is_of(row, self.view.choice)]
        return bool(own and self.by_batch) and own[-1] != self.by_batch[0].commit

    @property
    def up_to_answer(self) -> tuple[PointRow, ...]:
        """Points of the chosen shape and batch at the commit of the answer and at those before it."""
        own = [row for row in self.by_commit if _is_of(row, self.view.choice)]
        last = max(
            (i for i, row in enumerate(own) if self.by_batch and row.commit == self.by_batch[0].commit), default=-1
        )
        return tuple(own[: last + 1])


def throughput_drawing_of(store: Store, *, query: str, waits: bool = False) -> ThroughputDrawing:
    """Query the store for what the URL's `query` shows. waits: for its change points, where none are known yet."""
    known = commits(store)
    measured = [row for row in known if row.sweep_machines]
    points = point_choices(store)
    view = throughput_view_of(query, points=points, commits=measured, stored=names_of_projects(known))
    measured = commits_of_project(measured, view.choice.project.name)
    points = [point for point in points if point.project == view.choice.project.name]
    by_batch = _rows_at(store, view.choice, revision=view.choice.commit)
    view = with_measured_batch(view, query, by_batch)
    choice = view.choice
    rank = {row.commit: i for i, row in enumerate(measured)}
    sides, left_out = _drawn_sides(points, choice)
    by_commit = [row for side in sides for row in _rows_over_commits(store, side)]
    by_commit.sort(key=lambda row: rank[row.commit])
    own = by_batch[0].commit if by_batch else choice.commit
    others, note = _others(choice, sides, own=own, measured=(row.commit for row in by_commit if _is_of(row, choice)))
    left_out += note
    beside = [row for side, commit in others for row in _rows_at(store, side, revision=commit)]
    shown = sorted({row.commit for row in (*by_batch, *beside)}, key=lambda commit: rank[commit])
    drawn = sorted({*choice.commits, *([own] if own else [])} & {*shown}, key=lambda commit: rank[commit])
    if len(shown) < 2 and len({row.commit for row in by_commit}) < 2:
        view = _without_commits(view)
        choice = view.choice
    colouring = _colouring(choice, sides, commits=shown if choice.coloured is Colour.COMMIT else drawn)
    panels: dict[int, tuple[PointRow, ...]] = {}
    if choice.multiples is Multiples.HIDDEN:
        panels, note = _panels(store, points, choice, [(choice, own), *others])
        left_out += note
    chart, commits_left_out = _commits_chart(by_commit, choice, colouring, own=own)
    found = judged_histories(store) if waits else known_histories(store)
    if found is not None:
        positions = {commit: place for place, commit in chart.positions}
        marks = change_points_over_commits(store, found, sides=sides, positions=positions)
        chart = replace(chart, change_points=marks)
    return ThroughputDrawing(
        view=view,
        commits=tuple(row for row in measured if choice.machine in row.sweep_machines),
        by_batch=by_batch,
        by_commit=tuple(by_commit),
        commits_chart=chart,
        is_marked=found is not None,
        beside=tuple(beside),
        panels=panels,
        colouring=colouring,
        left_out=tuple(left_out),
        commits_left_out=tuple(commits_left_out),
    )


def batch_chart_of(drawing: ThroughputDrawing) -> tuple[Chart, list[str]]:
    """Return the chart over batch, and what it leaves out, in words."""
    rows = (*drawing.by_batch, *drawing.beside)
    return reduced(chart_over_batch(rows, quantity=drawing.view.choice.quantity, colouring=drawing.colouring))


def panel_charts_of(drawing: ThroughputDrawing) -> tuple[dict[int, Chart], list[str]]:
    """Return the chart of each hidden dim, and what they leave out, in words."""
    charts: dict[int, Chart] = {}
    notes: dict[str, None] = {}
    for hidden, rows in drawing.panels.items():
        chart = chart_over_batch(rows, quantity=drawing.view.choice.quantity, colouring=drawing.colouring)
        if chart.absences:  # their names would take half of a small chart
            chart = replace(chart, absences=())
            notes["what has no value is not marked"] = None
        charts[hidden], left_out = reduced(chart)
        notes |= dict.fromkeys(left_out)
    return charts, list(notes)


def _drawn_sides(
    points: Sequence[PointChoice], choice: ThroughputChoice
) -> tuple[tuple[ThroughputChoice, ...], list[str]]:
    """Return the sides that are drawn, the chosen one first, and how many are not."""
    sides = sides_of(points, choice, choice.coloured)
    drawn = tuple(sorted(sides, key=lambda side: side != choice))[:MOST_SIDES]
    n_left = len(sides) - len(drawn)
    return drawn, [f"{len(drawn)} of {len(sides)} {choice.coloured}s are drawn"] if n_left else []


def _others(
    choice: ThroughputChoice, sides: Sequence[ThroughputChoice], *, own: str | None, measured: Iterable[str]
) -> tuple[list[tuple[ThroughputChoice, str | None]], list[str]]:
    """Return the sides and commits that the chart over batch draws besides the chosen, and how many it does not.

    measured: the commits of the chosen point, the oldest first; coloured by commit, the newest are drawn.
    """
    commits: Sequence[str] = choice.commits
    notes: list[str] = []
    if choice.coloured is Colour.COMMIT and not commits:
        every = list(dict.fromkeys(measured))
        commits = [commit for commit in every if commit != own][1 - MOST_SIDES :]
        if len(every) > MOST_SIDES:
            notes.append(f"{len(commits) + 1} of {len(every)} commits are drawn, the newest")
    found: list[tuple[ThroughputChoice, str | None]] = [(choice, commit) for commit in commits if commit != own]
    found += [(side, choice.commit) for side in sides[1:]]
    found += [(side, commit) for side in sides[1:] for commit in commits]
    if len(found) >= MOST_SIDES:
        notes.append(f"{MOST_SIDES} of {len(found) + 1} pairs of {choice.coloured} and commit are drawn")
    return found[: MOST_SIDES - 1], notes


def _without_commits(view: ThroughputView) -> ThroughputView:
    """Return the view of a point that one commit measured: there is nothing to colour by commit."""
    problem = ["One commit measured this shape: there is nothing to colour by commit."]
    is_asked = view.choice.colour is Colour.COMMIT
    return replace(
        view,
        choice=replace(view.choice, colour=None) if is_asked else view.choice,
        colours=tuple(colour for colour in view.colours if colour is not Colour.COMMIT),
        problems=(*view.problems, *(problem if is_asked else [])),
    )


def _colouring(choice: ThroughputChoice, sides: Sequence[ThroughputChoice], *, commits: Sequence[str]) -> Colouring:
    by = choice.coloured if choice.coloured is not Colour.COMMIT or len(commits) > 1 else Colour.PROVIDER
    values: Sequence[str] = ()
    if by is Colour.COMMIT:
        values = commits
    elif by is not Colour.PROVIDER:
        values = sorted(str(getattr(side, by)) for side in sides)
    return Colouring(by=by, values=tuple(values), commits=tuple(commits))


def _panels(
    store: Store,
    points: Sequence[PointChoice],
    choice: ThroughputChoice,
    drawn: Iterable[tuple[ThroughputChoice, str | None]],
) -> tuple[dict[int, tuple[PointRow, ...]], list[str]]:
    """Return the rows of each small chart, by hidden dim, and how many hidden dims have none."""
    every = panels_of(points, choice)
    panels = nearest_panels(every, choice.hidden)
    dims = {panel.hidden: panel.dim for panel in panels}
    rows: dict[int, list[PointRow]] = {hidden: [] for hidden in dims}
    for side, commit in drawn:
        shape: PointFilter = {**_shape(side), "hidden": list(dims), "dim": list({*dims.values()})}
        for row in throughput_by_batch(store, revision=commit, **shape):
            if row.dim == dims[row.hidden] and _is_shown(row, side):
                rows[row.hidden].append(row)
    n_left = len(every) - len(panels)
    note = f"{MOST_PANELS} of {len(every)} hidden dims have a chart, the nearest to {choice.hidden}"
    return {hidden: tuple(own) for hidden, own in rows.items()}, [note] if n_left else []


def _commits_chart(
    rows: Sequence[PointRow], choice: ThroughputChoice, colouring: Colouring, *, own: str | None
) -> tuple[Chart, list[str]]:
    """Draw the curves over commits; return what is left out, in words: a screen cannot show very many points."""
    # Along an axis of commits no curve is one commit's.
    by = Colour.PROVIDER if colouring.by is Colour.COMMIT else colouring.by
    over = replace(colouring, by=by, commits=())
    keep = [row for row in rows if row.commit == own]
    few = thinned(rows, curve=over.name_of, value=lambda row: row.latency_s, keep=keep)
    chart, notes = reduced(chart_over_commits(few, quantity=choice.quantity, spacing=choice.spacing, colouring=over))
    if len(few) < len(rows):
        notes.append(f"{len(few):,} of {len(rows):,} points shown, the extremes among neighbours; CSV has all")
    return chart, notes


def _rows_at(store: Store, side: ThroughputChoice, *, revision: str | None) -> tuple[PointRow, ...]:
    rows = throughput_by_batch(store, revision=revision, **_shape(side))
    return tuple(row for row in rows if _is_shown(row, side))


def _rows_over_commits(store: Store, side: ThroughputChoice) -> tuple[PointRow, ...]:
    point: PointFilter = {**_shape(side), "batch": side.batch}
    rows = throughput_by_commit(store, metrics=_metrics(side), **point)
    return tuple(row for row in rows if _is_shown(row, side))


def _metrics(choice: ThroughputChoice) -> tuple[str, ...]:
    return DRAWN if choice.quantity.metric is None else (*DRAWN, choice.quantity.metric)


def _shape(choice: ThroughputChoice) -> PointFilter:
    """Return the axes both curves share, as the store's filter."""
    return {
        "project": choice.project.name,
        "operation": choice.operation, "machine": choice.machine, "environment": choice.environment,
        "pass_": choice.pass_, "dtype": choice.dtype, "activation": choice.activation,
        "hidden": choice.hidden, "dim": choice.dim, "cache": choice.cache, "threads": choice.threads,
    }  # fmt: skip


def _is_shown(row: PointRow, side: ThroughputChoice) -> bool:
    """Return whether a provider is chosen. No activation is a choice here; the store's filter takes it as any."""
    return side.shows(row.contender) and row.activation == side.activation


def _is_of(row: PointRow, side: ThroughputChoice) -> bool:
    return (row.machine, row.dtype) == (side.machine, side.dtype)
