"""Properties of the cards of the page *Profile*, from its drawing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dash import html

from dashboard.figures.difference import figure_of_difference, height_of_difference
from dashboard.figures.flames import figure_of_flames, height_of_flames
from dashboard.figures.latency import figure_of_times, height_of_times, key_of_times
from dashboard.figures.timeline import figure_of_timeline, height_of_timeline
from dashboard.pages.profile_cards import GRIDS, key_items, page_id
from dashboard.tables.grids import grid
from dashboard.tables.profiles import (
    DIFFERENCE_COLUMNS,
    difference_rows,
    expected_table,
    kernel_rows,
    operator_rows,
    runtime_rows,
)
from dashboard.views.profiles.difference import steps_in_words, title_of
from dashboard.views.profiles.words import (
    bars_of_call,
    expectations_of,
    missing_of,
    note_of_flames,
    note_of_parts,
    note_of_timeline,
)
from results.queries import StackKind
from results.rows import TimelineRow

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import plotly.graph_objects as go

    from dashboard.figures.latency import TimeBar
    from dashboard.views.profiles.drawing import CallView, ProfileDrawing

HIDDEN = {"display": "none"}


def content_props(drawing: ProfileDrawing, *, query: str) -> dict[str, Any]:
    """Return the properties of all cards; they are hidden where there is nothing to show."""
    call = drawing.call
    if call is None or call.point.state != "ok":
        return {**_nothing(), "content_style": HIDDEN}
    profile = call.profile
    expectations = expectations_of(call)
    rows = {
        "operators": operator_rows(profile.operators) if profile else [],
        "kernels": kernel_rows(profile.kernels) if profile else [],
        "runtime": runtime_rows(profile.runtime_calls or ()) if profile else [],
    }
    sides = [side for side in StackKind if call.stacks[side]]
    has_trace = isinstance(drawing.timeline, TimelineRow)
    bars = _bars(call, drawing.base)
    return {
        "content_style": {},
        "times_key": key_items(key_of_times(bars)),
        "side_style": {} if len(sides) > 1 else HIDDEN,
        "graphs": {
            "times": _graph(figure_of_times(bars), height_of_times(bars), note_of_parts(call)),
            "flames": _flames(call, drawing.view.choice.side),
            "timeline": _timeline(drawing),
        },
        "expected": expected_table(expectations) if expectations else html.P(call.missing, className="detail"),
        "missing": [html.P(text, className="detail") for text in (missing_of(profile) if profile else ())],
        "grids": {name: _grid(rows[name], name, query=query) for name in GRIDS},
        "difference": _difference(drawing, query=query),
        "trace": {"href": f"/profile-trace{query}" if has_trace else "", "style": {} if has_trace else HIDDEN},
    }


def _nothing() -> dict[str, Any]:
    graph = {"figure": {}, "style": {}, "box": HIDDEN, "note": ""}
    table = {"table": None, "box": HIDDEN, "note": "", "csv": ""}
    return {
        "times_key": [],
        "side_style": HIDDEN,
        "graphs": dict.fromkeys(("times", "flames", "timeline"), graph),
        "expected": [],
        "missing": [],
        "grids": dict.fromkeys(GRIDS, table),
        "difference": _no_difference(),
        "trace": {"href": "", "style": HIDDEN},
    }


def _bars(call: CallView, base: CallView | None) -> list[TimeBar]:
    if base is None or base.point.state != "ok":
        return bars_of_call(call)
    bars = bars_of_call(base, prefix=f"{title_of(base.point, than=call.point)}: ")
    return bars + bars_of_call(call, prefix=f"{title_of(call.point, than=base.point)}: ")


def _flames(call: CallView, side: StackKind) -> dict[str, Any]:
    stacks = call.stacks[side] or call.call.host
    shown = side if call.stacks[side] else StackKind.HOST
    profile = call.profile
    if not stacks:
        return {"figure": {}, "style": {}, "box": HIDDEN, "note": note_of_flames(stacks, shown)}
    operators, kernels = (profile.operators, profile.kernels) if profile else ((), ())
    # In a stack a name's white space and semicolons are spaces.
    words = {" ".join(row.name.replace(";", " ").split()): row.words or row.name for row in kernels}
    figure = figure_of_flames(
        stacks, side=str(shown), words=words, computing={*(row.name for row in operators if row.is_compute), *words}
    )
    return _graph(figure, height_of_flames(stacks), note_of_flames(stacks, shown, words=words))


def _timeline(drawing: ProfileDrawing) -> dict[str, Any]:
    timeline = drawing.timeline
    if not isinstance(timeline, TimelineRow):
        return {"figure": {}, "style": {}, "box": HIDDEN, "note": timeline.reason if timeline else ""}
    return _graph(figure_of_timeline(timeline), height_of_timeline(timeline), note_of_timeline(timeline))


def _graph(figure: go.Figure, height: int, note: str) -> dict[str, Any]:
    return {"figure": figure, "style": {"height": f"{height}px"}, "box": {}, "note": note}


def _grid(rows: Sequence[Mapping[str, object]], name: str, *, query: str) -> dict[str, Any]:
    return {
        "table": grid(GRIDS[name][1], rows, grid_id=page_id(name)) if rows else None,
        "box": {} if rows else HIDDEN,
        "note": f"{len(rows)} in one call; a click on a heading sorts, the sign beside it filters",
        "csv": f"/profile-{name}.csv{query}",
    }


def _no_difference() -> dict[str, Any]:
    return {"box": HIDDEN, "names": "", "note": "", "figure": {}, "style": {}, "table": None, "csv": ""}


def _difference(drawing: ProfileDrawing, *, query: str) -> dict[str, Any]:
    difference, call, base = drawing.difference, drawing.call, drawing.base
    if difference is None or call is None or base is None:
        return _no_difference()
    rows = difference_rows(difference)
    titles = title_of(base.point, than=call.point), title_of(call.point, than=base.point)
    has_steps = bool(difference.parts)
    return {
        "box": {},
        "names": f"from {titles[0]} to {titles[1]}",
        "note": steps_in_words(difference),
        "figure": figure_of_difference(difference, base=titles[0], head=titles[1]) if has_steps else {},
        "style": {"height": f"{height_of_difference(difference)}px"} if has_steps else HIDDEN,
        "table": grid(DIFFERENCE_COLUMNS, rows, grid_id=page_id("difference")) if rows else None,
        "csv": f"/profile-difference.csv{query}",
    }
