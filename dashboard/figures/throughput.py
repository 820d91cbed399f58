"""Curves over commits and over batch: the store's rows → `Chart`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dashboard.figures.chart import Absence, Across, Chart, Curve, Mark
from dashboard.figures.colouring import BY_PROVIDER
from dashboard.figures.notes import MOST_SUBJECTS, commit_lines, escaped, short_hashes, tick_label, wrapped
from dashboard.quantities import Quantity, Reading, reading_of
from dashboard.scales import CommitSpacing
from results.rows import CEILING_NOT_VALID
from results.units import ratio, ratio_interval, si, si_interval

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from dashboard.figures.chart import Position
    from dashboard.figures.colouring import Colouring
    from results.rows import PointRow


def chart_over_commits(
    rows: Sequence[PointRow], *, quantity: Quantity, spacing: CommitSpacing, colouring: Colouring = BY_PROVIDER
) -> Chart:
    """Draw a curve per contender, and value of the coloured axis, over commits, oldest first as `rows` come.

    By date, commits without one are left out; by order all are there.
    """
    if spacing is CommitSpacing.DATE:
        dated = [row for row in rows if row.commit_date is not None]
        return _chart(dated, quantity=quantity, across=Across.DATES, place=_commit_date, colouring=colouring)
    names = short_hashes(row.commit for row in rows)
    chart = _chart(
        rows, quantity=quantity, across=Across.COMMITS, place=lambda row: names[row.commit], colouring=colouring
    )
    has_room = len(names) <= MOST_SUBJECTS
    of_commit = {row.commit: row for row in rows}
    labels: dict[Position, str] = {
        names[row.commit]: tick_label(row.commit, row.commit_date, row.commit_subject, has_room=has_room)
        for row in of_commit.values()
    }
    return replace(chart, labels=labels)


def chart_over_batch(rows: Sequence[PointRow], *, quantity: Quantity, colouring: Colouring = BY_PROVIDER) -> Chart:
    """Draw a curve per contender, value of the coloured axis and commit over batch, smallest first."""
    ordered = sorted(rows, key=lambda row: row.batch)
    return _chart(ordered, quantity=quantity, across=Across.BATCHES, place=lambda row: row.batch, colouring=colouring)


def _chart(
    rows: Sequence[PointRow],
    *,
    quantity: Quantity,
    across: Across,
    place: Callable[[PointRow], Position],
    colouring: Colouring,
) -> Chart:
    """Draw `rows`, which come in the order of the x axis."""

    def key(row: PointRow) -> str:
        return str(row.batch) if across is Across.BATCHES else row.commit

    curves: list[Curve] = []
    absences: list[Absence] = []
    groups: dict[str, list[PointRow]] = {}
    for row in rows:
        groups.setdefault(colouring.name_of(row), []).append(row)
    for name, group in sorted(groups.items()):
        look = colouring.look_of(group[0])
        head = f"<b>{escaped(name)}</b>  "
        pieces: list[list[Mark]] = [[]]
        ruler = None
        for row in group:
            reading = reading_of(row, quantity=quantity)
            # Another ruler version is another series: no line joins the two.
            if reading is None or (ruler is not None and row.ruler_version != ruler):
                pieces.append([])
            ruler = row.ruler_version
            if reading is not None:
                text = quantity.text(reading.value)
                note = _note(row, head, quantity=quantity, reading=reading, text=text)
                is_disturbed = row.disturbed is not None
                pieces[-1].append(
                    Mark(at=place(row), key=key(row), reading=reading, text=text, note=note, is_disturbed=is_disturbed)
                )
            elif row.state != "ok":
                absences.append(
                    Absence(
                        name=name,
                        look=look,
                        at=place(row),
                        key=key(row),
                        state=row.state,
                        note=_note_of_absence(row, name),
                    )
                )
        curves.append(Curve(name=name, look=look, pieces=tuple(tuple(piece) for piece in pieces if piece)))
    return Chart(
        ordinate=quantity.ordinate,
        across=across,
        positions=tuple({key(row): (place(row), key(row)) for row in rows}.values()),
        curves=tuple(curve for curve in curves if curve.pieces),
        absences=tuple(absences),
    )


def _commit_date(row: PointRow) -> datetime:
    if row.commit_date is None:
        raise ValueError(f"commit {row.commit} has no date")
    return row.commit_date


def _note(row: PointRow, head: str, *, quantity: Quantity, reading: Reading, text: str) -> str:
    """Write the hover card of a mark. head: the curve's name; text: the reading in words."""
    interval = ""
    if reading.low is not None and reading.high is not None:
        interval = (
            f" {ratio_interval(reading.value, reading.low, reading.high)}"
            if quantity is Quantity.SPEEDUP
            else f" {si_interval(reading.value, reading.low, reading.high)}"
        )
    facts = [f"batch {row.batch}"]
    if quantity is not Quantity.LATENCY and row.latency_s is not None:
        facts.append(si(row.latency_s, "s"))
    if quantity is not Quantity.SPEEDUP and row.speedup_vs_eager is not None:
        facts.append(f"{ratio(row.speedup_vs_eager)} eager")
    if not row.has_valid_ceiling:
        facts.append(CEILING_NOT_VALID)
    elif row.bound is not None:
        facts.append(f"bound by {row.bound}")
    lines = [
        f"{head}{text}{interval}",
        " · ".join(facts),
    ]
    if row.bound_detail is not None and row.has_valid_ceiling:
        lines.append(wrapped(row.bound_detail))
    if row.disturbed is not None:
        lines.append(f"disturbed: {wrapped(row.disturbed)}")
    return "<br>".join([*lines, *commit_lines(row.commit, row.commit_date, row.commit_subject)])


def _note_of_absence(row: PointRow, name: str) -> str:
    head = f"<b>{escaped(name)}</b>  {row.state.replace('_', ' ')} at batch {row.batch}"
    return "<br>".join(
        [
            head,
            wrapped(row.reason or "no reason given"),
            *commit_lines(row.commit, row.commit_date, row.commit_subject),
        ]
    )
