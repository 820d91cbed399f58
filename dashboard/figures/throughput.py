"""Curves over commits and over batch: rows → `Chart`, which holds everything shown → `go.Figure`."""

from __future__ import annotations

import html
import math
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby
from typing import TYPE_CHECKING, TypeAlias

import plotly.graph_objects as go

from dashboard.contenders import contender_of
from dashboard.figures.looks import CHOSEN_COLOUR, RULE_COLOUR, look_of
from dashboard.filters import CommitSpacing, Scale
from dashboard.quantities import Quantity, Reading, reading_of
from dashboard.units import TIMES, ratio, si, si_interval

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from datetime import datetime

    from results.rows import PointRow

    Place: TypeAlias = str | int | datetime

STATE_SYMBOLS = {
    "unavailable": "line-ew-open",
    "out_of_memory": "square-open",
    "wrong": "x-open",
    "crashed": "x",
    "timed_out": "hourglass-open",
}
TITLE: dict[str, object] = {"font": {"size": 12}, "standoff": 8}
EMPTY_TEXT = "nothing measured here for this choice"
NO_NUMBER_TEXT = "tried here, but there is no number; hover the marks below for the reason"
MOST_MARKERS = 120
SHORTEST_HASH = 7
MOST_HASHES = 8


class Across(StrEnum):
    """What the x axis is."""

    COMMITS = "commits"
    DATES = "dates"
    BATCHES = "batches"


@dataclass(frozen=True, kw_only=True)
class Mark:
    """One measured point of a curve. `key` is what a click on it chooses: a commit or a batch."""

    at: Place
    key: str
    reading: Reading
    note: str
    is_disturbed: bool


@dataclass(frozen=True, kw_only=True)
class Curve:
    """One contender's line, in pieces: it breaks where a point was tried and is not ok."""

    contender: str
    pieces: tuple[tuple[Mark, ...], ...]

    @property
    def marks(self) -> tuple[Mark, ...]:
        """All marks, in order."""
        return tuple(mark for piece in self.pieces for mark in piece)


@dataclass(frozen=True, kw_only=True)
class Absence:
    """A point that was tried and has no number, and why."""

    contender: str
    at: Place
    key: str
    state: str
    note: str


@dataclass(frozen=True, kw_only=True)
class Chart:
    """Everything one figure shows. `places`: every position of the x axis, in order, and its click's key."""

    quantity: Quantity
    across: Across
    places: tuple[tuple[Place, str], ...]
    curves: tuple[Curve, ...]
    absences: tuple[Absence, ...]

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing at all to draw."""
        return not self.places


def chart_over_commits(rows: Sequence[PointRow], *, quantity: Quantity, spacing: CommitSpacing) -> Chart:
    """One curve per contender over commits, oldest first as `rows` come.

    By date, commits without one have no place and are left out; by order they are all there.
    """
    if spacing is CommitSpacing.DATE:
        dated = [row for row in rows if row.commit_date is not None]
        return _chart(dated, quantity=quantity, across=Across.DATES, place=_commit_date)
    names = short_hashes(row.commit for row in rows)
    return _chart(rows, quantity=quantity, across=Across.COMMITS, place=lambda row: names[row.commit])


def chart_over_batch(rows: Sequence[PointRow], *, quantity: Quantity) -> Chart:
    """One curve per contender over batch, smallest first."""
    ordered = sorted(rows, key=lambda row: row.batch)
    return _chart(ordered, quantity=quantity, across=Across.BATCHES, place=lambda row: row.batch)


def figure_from_chart(chart: Chart, *, scale: Scale, chosen: str | None, keeps_zoom_of: str) -> go.Figure:
    """The chart drawn. A line marks the key `chosen`; zoom survives while `keeps_zoom_of` stays the same."""
    figure = go.Figure(layout={"uirevision": keeps_zoom_of, **_layout(chart, scale=scale)})
    for curve in chart.curves:
        figure.add_traces(_traces_of_curve(curve))
    figure.add_traces(_traces_of_absences(chart.absences))
    chosen_at = next((place for place, key in chart.places if key == chosen), None)
    if chosen_at is not None and len(chart.places) > 1:
        figure.add_shape(
            type="line", x0=chosen_at, x1=chosen_at, y0=0, y1=1, yref="paper", layer="below",
            line={"color": CHOSEN_COLOUR, "width": 1, "dash": "dot"},
        )  # fmt: skip
    if not chart.curves:
        figure.add_annotation(
            text=EMPTY_TEXT if not chart.places else NO_NUMBER_TEXT,
            x=0.5, y=0.6, xref="paper", yref="paper", showarrow=False, font={"size": 13},
        )  # fmt: skip
    if chart.quantity is Quantity.SPEEDUP and chart.curves:
        figure.add_shape(
            type="line", x0=0, x1=1, xref="paper", y0=1, y1=1, layer="below",
            line={"color": CHOSEN_COLOUR, "width": 1},
        )  # fmt: skip
    return figure


def short_hashes(commits: Iterable[str]) -> dict[str, str]:
    """Each hash cut to the same length, the shortest that keeps them apart."""
    distinct = set(commits)
    length = SHORTEST_HASH
    while length < max(map(len, distinct), default=0) and len({name[:length] for name in distinct}) < len(distinct):
        length += 1
    return {commit: commit[:length] for commit in distinct}


def _chart(
    rows: Sequence[PointRow], *, quantity: Quantity, across: Across, place: Callable[[PointRow], Place]
) -> Chart:
    """`rows` in the order of the x axis → chart."""

    def key(row: PointRow) -> str:
        return str(row.batch) if across is Across.BATCHES else row.commit

    curves: list[Curve] = []
    absences: list[Absence] = []
    # sorted() is stable, so each contender's rows stay in the order of the axis.
    for name, group in groupby(sorted(rows, key=contender_of), key=contender_of):
        pieces: list[list[Mark]] = [[]]
        ruler = None
        for row in group:
            reading = reading_of(row, quantity=quantity)
            # Another ruler version is another series: no line joins the two.
            if reading is None or (ruler is not None and row.ruler_version != ruler):
                pieces.append([])
            ruler = row.ruler_version
            if reading is not None:
                note = _note(row, quantity=quantity, reading=reading)
                is_disturbed = row.disturbed is not None
                pieces[-1].append(
                    Mark(at=place(row), key=key(row), reading=reading, note=note, is_disturbed=is_disturbed)
                )
            elif row.state != "ok":
                absences.append(
                    Absence(
                        contender=name,
                        at=place(row),
                        key=key(row),
                        state=row.state,
                        note=_note_of_absence(row),
                    )
                )
        curves.append(Curve(contender=name, pieces=tuple(tuple(piece) for piece in pieces if piece)))
    return Chart(
        quantity=quantity,
        across=across,
        places=tuple({key(row): (place(row), key(row)) for row in rows}.values()),
        curves=tuple(curve for curve in curves if curve.pieces),
        absences=tuple(absences),
    )


def _commit_date(row: PointRow) -> datetime:
    if row.commit_date is None:
        raise ValueError(f"commit {row.commit} has no date")
    return row.commit_date


def _note(row: PointRow, *, quantity: Quantity, reading: Reading) -> str:
    """What stands on the card under the pointer."""
    interval = ""
    if reading.low is not None and reading.high is not None:
        interval = (
            f" [{reading.low:.2f}, {reading.high:.2f}]"
            if quantity is Quantity.SPEEDUP
            else f" {si_interval(reading.value, reading.low, reading.high)}"
        )
    facts = [f"batch {row.batch}"]
    if quantity is not Quantity.LATENCY and row.latency_s is not None:
        facts.append(si(row.latency_s, "s"))
    if quantity is not Quantity.SPEEDUP and row.speedup_vs_eager is not None:
        facts.append(f"{ratio(row.speedup_vs_eager)} eager")
    if row.bound is not None:
        facts.append(f"bound by {row.bound}")
    lines = [
        f"<b>{html.escape(contender_of(row))}</b>  {quantity.text(reading.value)}{interval}",
        " · ".join(facts),
    ]
    if row.disturbed is not None:
        lines.append(f"disturbed: {_wrapped(row.disturbed)}")
    return "<br>".join([*lines, *_lines_of_commit(row)])


def _note_of_absence(row: PointRow) -> str:
    head = f"<b>{html.escape(contender_of(row))}</b>  {row.state.replace('_', ' ')} at batch {row.batch}"
    return "<br>".join([head, _wrapped(row.reason or "no reason given"), *_lines_of_commit(row)])


def _lines_of_commit(row: PointRow) -> list[str]:
    date = "no date" if row.commit_date is None else f"{row.commit_date:%Y-%m-%d %H:%M}"
    return [f"{row.commit[:10]} · {date}", _wrapped(row.commit_subject or "no subject")]


def _wrapped(text: str, *, width: int = 64) -> str:
    """`text` escaped for plotly's little HTML and broken into lines, three at most."""
    lines: list[str] = [""]
    for word in text.split():
        if lines[-1] and len(lines[-1]) + 1 + len(word) > width:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    shown = lines[:3]
    if len(lines) > 3:
        shown[-1] += " …"
    return "<br>".join(html.escape(line) for line in shown)


def _traces_of_curve(curve: Curve) -> list[go.Scatter]:
    """The confidence band, one closed outline per piece, below the line with its marks."""
    look = look_of(curve.contender)
    band_x: list[Place | None] = []
    band_y: list[float | None] = []
    for piece in curve.pieces:
        ends = [(mark.at, mark.reading.low, mark.reading.high) for mark in piece if mark.reading.has_interval]
        if len(ends) > 1:
            band_x += [at for at, _, _ in ends] + [at for at, _, _ in reversed(ends)] + [None]
            band_y += [high for _, _, high in ends] + [low for _, low, _ in reversed(ends)] + [None]
    marks = [mark for piece in curve.pieces for mark in (*piece, None)][:-1]
    band = go.Scatter(
        name=f"{curve.contender}, 95 % interval", x=band_x, y=band_y, mode="lines", fill="toself",
        line={"width": 0}, fillcolor=look.faded(0.18), hoverinfo="skip", showlegend=False,
    )  # fmt: skip
    line = go.Scatter(
        name=curve.contender,
        x=[mark and mark.at for mark in marks],
        y=[mark and mark.reading.value for mark in marks],
        mode="lines+markers" if len(marks) <= MOST_MARKERS else "lines",
        connectgaps=False,
        line={"color": look.colour, "width": 2, "dash": look.dash},
        marker={
            "size": 7,
            "symbol": [look.symbol + ("-open" if mark and mark.is_disturbed else "") for mark in marks],
            "color": look.colour,
        },
        error_y=_error_bars(curve),
        customdata=[mark and mark.key for mark in marks],
        hovertext=[mark and mark.note for mark in marks],
        hovertemplate="%{hovertext}<extra></extra>",
        showlegend=False,
    )
    return [band, line] if band_x else [line]


def _error_bars(curve: Curve) -> dict[str, object]:
    """Bars for marks that stand alone, where a band has no width."""
    above: list[float] = []
    below: list[float] = []
    for piece in curve.pieces:
        for mark in piece:
            low, value, high = mark.reading.low, mark.reading.value, mark.reading.high
            is_alone = len(piece) == 1 and low is not None and high is not None
            above.append(high - value if is_alone and high is not None else 0.0)
            below.append(value - low if is_alone and low is not None else 0.0)
        above.append(0.0)
        below.append(0.0)
    look = look_of(curve.contender)
    return {
        "type": "data", "symmetric": False, "array": above[:-1], "arrayminus": below[:-1],
        "visible": any(above) or any(below), "color": look.faded(0.6), "thickness": 1.5, "width": 4,
    }  # fmt: skip


def _traces_of_absences(absences: Sequence[Absence]) -> list[go.Scatter]:
    """A row of marks for each contender under the curves: tried there, no number."""
    traces = []
    for name in sorted({absence.contender for absence in absences}):
        own = [absence for absence in absences if absence.contender == name]
        traces.append(
            go.Scatter(
                name=f"{name}, not measured", mode="markers", yaxis="y2",
                x=[absence.at for absence in own], y=[name for _ in own],
                marker={
                    "size": 7, "color": look_of(name).colour,
                    "symbol": [STATE_SYMBOLS.get(absence.state, "x-open") for absence in own],
                    "line": {"width": 1.5, "color": look_of(name).colour},
                },
                customdata=[absence.key for absence in own], hovertext=[absence.note for absence in own],
                hovertemplate="%{hovertext}<extra></extra>", showlegend=False,
            )
        )  # fmt: skip
    return traces


def _layout(chart: Chart, *, scale: Scale) -> dict[str, object]:
    n_absent = len({absence.contender for absence in chart.absences})
    strip = min(0.4, 0.055 * n_absent)
    rule = {"gridcolor": RULE_COLOUR, "zeroline": False, "linecolor": RULE_COLOUR, "automargin": True}
    return {
        "template": "none",
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "margin": {"l": 56, "r": 14, "t": 8, "b": 44},
        "font": {"family": "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif", "size": 12},
        "hovermode": "closest",
        "hoverlabel": {"align": "left", "font": {"size": 12}},
        "showlegend": False,
        "dragmode": "zoom",
        "xaxis": {
            **rule, **_x_axis(chart),
            "anchor": "y2" if n_absent else "y", "showgrid": False, "ticks": "outside",
        },
        "yaxis": {
            **rule, **_y_axis(chart, scale=scale),
            "domain": [strip + 0.05, 1] if n_absent else [0, 1],
            "title": {**TITLE, "text": f"{chart.quantity.axis_title} ({chart.quantity.better})"},
        },
        "yaxis2": {
            "domain": [0, max(strip, 0.01)], "type": "category", "showgrid": False, "zeroline": False,
            "visible": bool(n_absent), "fixedrange": True, "automargin": True, "tickfont": {"size": 11},
            "categoryorder": "category descending", "ticks": "",
        },
    }  # fmt: skip


def _x_axis(chart: Chart) -> dict[str, object]:
    if chart.across is Across.COMMITS:
        # A category axis thins its own labels, also while zooming.
        names = [place for place, _ in chart.places]
        return {
            "type": "category",
            "categoryorder": "array",
            "categoryarray": names,
            "nticks": MOST_HASHES,
            "tickangle": 0,
            "title": {**TITLE, "text": "Commit"},
        }
    if chart.across is Across.DATES:
        return {"type": "date", "title": {**TITLE, "text": "Commit date"}}
    batches = [place for place, _ in chart.places if isinstance(place, int)]
    return {
        "type": "log", "title": {**TITLE, "text": "Batch, rows"}, "tickmode": "array",
        "tickvals": batches, "ticktext": [str(batch) for batch in batches],
        "range": [math.log10(min(batches)) - 0.1, math.log10(max(batches)) + 0.1] if batches else None,
    }  # fmt: skip


def _y_axis(chart: Chart, *, scale: Scale) -> dict[str, object]:
    """Labels carry the SI prefix. A fitted axis spans a fifth of its values, lest noise look like news."""
    readings = [mark.reading for curve in chart.curves for mark in curve.marks]
    lows = [reading.value if reading.low is None else reading.low for reading in readings]
    highs = [reading.value if reading.high is None else reading.high for reading in readings]
    axis: dict[str, object] = {"tickformat": "~s"} if chart.quantity.unit else {"ticksuffix": TIMES}
    if chart.quantity is Quantity.LATENCY:
        axis["ticksuffix"] = "s"
    if not readings:
        return {**axis, "showticklabels": False}
    low, high = min(lows), max(highs)
    if scale is Scale.LOG and low > 0:
        pad = max(0.06 * math.log10(high / low), 0.04)
        return {**axis, "type": "log", "range": [math.log10(low) - pad, math.log10(high) + pad]}
    if scale is Scale.ZERO:
        return {**axis, "range": [0, 1.06 * high]}
    least = 0.2 * (low + high) / 2
    pad = max(0.08 * (high - low), (least - (high - low)) / 2)
    return {**axis, "range": [low - pad, high + pad]}
