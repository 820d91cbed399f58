"""Words beside the charts and the table of the page *Throughput*."""

from __future__ import annotations

from collections import Counter
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING

from dashboard.clocks import has_device_time
from dashboard.figures.notes import OPEN_MARKS, SHORTEST_HASH, cut_short
from dashboard.scales import Colour, CommitSpacing
from dashboard.sweep_axes import AXES, text_of
from dashboard.views.change_points import LOOKING
from results.judgement.winners import WHAT_DECIDES_NOTHING, Standing, leads_in_words, ranking_of
from results.metrics import LATENCY
from results.rows import beside_among
from results.units import change_in_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dashboard.figures.chart import ChangePoint
    from dashboard.views.throughput.choice import ThroughputView
    from dashboard.views.throughput.drawing import ThroughputDrawing
    from results.judgement.winners import Ranking
    from results.rows import PointRow

ALWAYS_SHOWN = {"operation", "hidden", "machine", "batch"}
NOTHING_MEASURED = "nothing measured here for this choice"
MOST_CHANGES = 3  # named in a note
# Of subjects in a note: the selectors have them whole.
LONGEST_SUBJECT, LONGEST_BESIDE = 72, 32


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
    marks = f" · {OPEN_MARKS}" if any(row.disturbed for row in rows) else ""
    subject = f" · {cut_short(row.commit_subject, longest=LONGEST_SUBJECT)}" if row.commit_subject else ""
    return f"{_leaders(rows)}{row.commit[:10]} · {date}{subject}{marks}"


def note_of_beside(drawing: ThroughputDrawing) -> list[str]:
    """Write which commits the chart over batch draws beside the chosen one, and what of the choice has no points."""
    own = {row.commit for row in drawing.by_batch}
    by = drawing.colouring.by
    subjects: dict[str, str] = {}
    for row in drawing.beside:
        if row.commit not in own:
            side = f"{getattr(row, by)} at " if by in {Colour.DTYPE, Colour.MACHINE} else ""
            subject = cut_short(row.commit_subject or "", longest=LONGEST_BESIDE)
            subjects[row.commit] = f"{side}{row.commit[:SHORTEST_HASH]} {subject}".rstrip()
    names = list(subjects.values())
    missing = [one[:SHORTEST_HASH] for one in drawing.view.choice.commits if one not in {*subjects, *own}]
    return [
        *([f"beside it {', '.join(names)}"] if names else []),
        *([f"{', '.join(missing)} did not measure this"] if missing else []),
        *drawing.left_out,
    ]


def note_of_winners(rows: Sequence[PointRow]) -> str:
    """Write what the table of winners compares, how many points were disturbed, and where no winner is known."""
    if not rows:
        return ""
    clock = " by wall time" if has_device_time(rows) else ""
    notes = [f"the fastest{clock} of the providers shown, at commit {rows[0].commit[:10]}"]
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
    beside = beside_among(row for row in drawing.commits if row.commit in measured)
    step = _last_step([row for row in drawing.by_commit if row.commit not in beside])
    note = f"{step}{len(measured)} commit{'' if len(measured) == 1 else 's'} at this batch"
    if beside:
        note += f", {len(beside)} of other branches not judged"
    if any(row.disturbed for row in drawing.by_commit):
        note += f" · {OPEN_MARKS}"
    is_timed = drawing.view.choice.quantity.judged_as == LATENCY.name
    changes = _changes(drawing.commits_chart.change_points, is_timed=is_timed)
    if not drawing.is_marked and len(measured) > 1:
        changes = [LOOKING]
    note = " · ".join([note, *drawing.commits_left_out, *changes])
    if undated and drawing.view.choice.spacing is CommitSpacing.DATE:
        return f"{note}, {undated} without a date left out"
    return note


def _changes(points: Sequence[ChangePoint], *, is_timed: bool) -> list[str]:
    """Write the newest change points, and how many there are besides; of times, that they need not be a curve's own."""
    named = [point.text.replace("\n", " ") for point in reversed(points)][:MOST_CHANGES]
    more = f" and {len(points) - MOST_CHANGES} more" if len(points) > MOST_CHANGES else ""
    how = " (without what moved eager there, too)" if is_timed else ""
    return [f"changed: {', '.join(named)}{more}{how}"] if named else []


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
