"""Content of the page *Throughput*: the chosen points' rows, and the notes beside them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING

from dashboard.figures.thinning import thinned
from dashboard.scales import CommitSpacing
from dashboard.sweep_axes import AXES, text_of
from dashboard.views.throughput.choice import throughput_view_of
from results.judgement.winners import WHAT_DECIDES_NOTHING, Standing, leads_in_words, ranking_of
from results.queries import commits, point_choices, throughput_by_batch, throughput_by_commit
from results.units import change_in_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dashboard.views.throughput.choice import ThroughputChoice, ThroughputView
    from results.judgement.winners import Ranking
    from results.rows import CommitRow, PointFilter, PointRow
    from results.store import Store

# Metrics of the notes of the curves over commits; the quantity drawn is one of these, made from it, or comes beside.
DRAWN = ("latency_s", "speedup_vs_eager")
ALWAYS_SHOWN = {"operation", "hidden", "machine", "batch"}
NOTHING_MEASURED = "nothing measured here for this choice"
OPEN_MARKS = " · open marks: disturbed while measured"


@dataclass(frozen=True, kw_only=True)
class ThroughputDrawing:
    """Content of the page: the view, its commits, and the rows of its three parts."""

    view: ThroughputView
    commits: tuple[CommitRow, ...]
    by_batch: tuple[PointRow, ...]
    by_commit: tuple[PointRow, ...]


def throughput_drawing_of(store: Store, *, query: str) -> ThroughputDrawing:
    """Query the store for what the URL's `query` shows."""
    measured = [row for row in commits(store) if row.sweep_machines]
    view = throughput_view_of(query, points=point_choices(store), commits=measured)
    shape = _shape(view.choice)
    point: PointFilter = {**shape, "batch": view.choice.batch}
    by_batch = throughput_by_batch(store, revision=view.choice.commit, **shape)
    by_commit = throughput_by_commit(store, metrics=_drawn(view.choice), **point)
    return ThroughputDrawing(
        view=view,
        commits=tuple(row for row in measured if view.choice.machine in row.sweep_machines),
        by_batch=_shown(by_batch, view.choice),
        by_commit=_shown(by_commit, view.choice),
    )


def shown_by_commit(drawing: ThroughputDrawing) -> tuple[PointRow, ...]:
    """Return the rows of the chart over commits: all, or of very many what a screen can show."""
    chosen = drawing.by_batch[0].commit if drawing.by_batch else None
    keep = [row for row in drawing.by_commit if row.commit == chosen]
    return thinned(drawing.by_commit, curve=attrgetter("contender"), value=attrgetter("latency_s"), keep=keep)


def rankings_by_batch(rows: Sequence[PointRow]) -> tuple[tuple[int, Ranking | None], ...]:
    """Return each batch, smallest first, with the ranking of its points; None where nothing is ok.

    `rows`: one commit's points of a shape.
    """
    by_batch = groupby(sorted(rows, key=attrgetter("batch")), key=attrgetter("batch"))
    return tuple((batch, ranking_of(list(group))) for batch, group in by_batch)


def facts(view: ThroughputView) -> str:
    """Write the axes that need no selector in words."""
    single = [axis.name for axis in AXES if axis.name not in ALWAYS_SHOWN and len(view.options[axis.name]) == 1]
    values = {axis.name: text_of(getattr(view.choice, axis.column)) for axis in AXES}
    return " · ".join(fact(name, values[name]) for name in single)


def note_of_commit(rows: Sequence[PointRow]) -> str:
    """Write who takes the least time at how many batches, and which commit the chart over batch shows."""
    if not rows:
        return NOTHING_MEASURED
    row = rows[0]
    date = "no date" if row.commit_date is None else f"{row.commit_date:%Y-%m-%d %H:%M}"
    marks = OPEN_MARKS if any(row.disturbed for row in rows) else ""
    return f"{_leaders(rows)}{row.commit[:10]} · {date} · {row.commit_subject or 'no subject'}{marks}"


def note_of_winners(rows: Sequence[PointRow]) -> str:
    """Write what the table of winners compares, how many points were disturbed, and where no winner is known."""
    if not rows:
        return ""
    notes = [f"the fastest of the providers shown, at commit {rows[0].commit[:10]}"]
    n_incomplete = sum(row.lacks_visits for row in rows)
    if n_incomplete:
        notes.append(f"{n_incomplete} of {len(rows)} points had fewer visits than planned")
    n_disturbed = sum(row.disturbed is not None for row in rows)
    if n_disturbed:
        notes.append(f"{n_disturbed} of {len(rows)} points were disturbed")
    rankings = [ranking for _, ranking in rankings_by_batch(rows) if ranking is not None]
    n_undecided = sum(ranking.standing is Standing.UNDECIDED for ranking in rankings)
    if n_undecided:
        notes.append(f"{n_undecided} of {len(rankings)} undecided ({WHAT_DECIDES_NOTHING})")
        if leads := leads_in_words(rankings):
            notes.append(leads)
    # What is missing comes first: to measure anew would begin another run.
    advice = "complete them (fusebench run)" if n_incomplete else "measure again (fusebench run --again)"
    return " · ".join(notes) + (f": {advice}" if len(notes) > 1 else "")


def note_of_commits(drawing: ThroughputDrawing) -> str:
    """Write how the newest commit differs from the one before, and how many the chart over commits shows."""
    measured = {row.commit: row.commit_date for row in drawing.by_commit}
    undated = sum(date is None for date in measured.values())
    note = f"{_last_step(drawing.by_commit)}{len(measured)} commit{'' if len(measured) == 1 else 's'} at this batch"
    if any(row.disturbed for row in drawing.by_commit):
        note += OPEN_MARKS
    n_shown = len(shown_by_commit(drawing))
    if n_shown < len(drawing.by_commit):
        note += f" · {n_shown:,} of {len(drawing.by_commit):,} points shown, the extremes among neighbours; CSV has all"
    if undated and drawing.view.choice.spacing is CommitSpacing.DATE:
        return f"{note}, {undated} without a date left out"
    return note


def _drawn(choice: ThroughputChoice) -> tuple[str, ...]:
    return DRAWN if choice.quantity.metric is None else (*DRAWN, choice.quantity.metric)


def _leaders(rows: Sequence[PointRow]) -> str:
    leaders = Counter(ranking.leader.contender for _, ranking in rankings_by_batch(rows) if ranking is not None)
    n_batches = len({row.batch for row in rows})
    if n_batches < 2 or not leaders:
        return ""
    parts = ", ".join(f"{name} at {n}" for name, n in leaders.most_common())
    return f"least time of {n_batches} batches: {parts} · "


def _last_step(rows: Sequence[PointRow]) -> str:
    """Write by how much the newest commit's times differ from those of the commit before; `rows` come oldest first."""
    newest = list(dict.fromkeys(row.commit for row in rows))[-2:]
    if len(newest) < 2:
        return ""
    before, after = ({row.contender: row.latency_s for row in rows if row.commit == commit} for commit in newest)
    steps = [(name, time, before.get(name)) for name, time in after.items()]
    changes = ", ".join(f"{name} {change_in_words(now / then)}" for name, now, then in steps if now and then)
    return f"time at the newest commit against the one before: {changes} · " if changes else ""


def fact(name: str, value: str) -> str:
    """Write the value of an axis as it needs no name."""
    if name == "cache":
        return f"{value} cache"
    if name == "threads":
        return "1 thread" if value == "1" else f"{value} threads"
    if name == "dim":
        return f"model dim {value}"
    return "no activation" if (name, value) == ("activation", "none") else value


def _shape(choice: ThroughputChoice) -> PointFilter:
    """Return the axes both curves share, as the store's filter."""
    return {
        "operation": choice.operation, "machine": choice.machine, "environment": choice.environment,
        "pass_": choice.pass_, "dtype": choice.dtype, "activation": choice.activation,
        "hidden": choice.hidden, "dim": choice.dim, "cache": choice.cache, "threads": choice.threads,
    }  # fmt: skip


def _shown(rows: Sequence[PointRow], choice: ThroughputChoice) -> tuple[PointRow, ...]:
    """Return the rows of the chosen providers. No activation is a choice here; the store's filter takes it as any."""
    return tuple(row for row in rows if choice.shows(row.contender) and row.activation == choice.activation)
