"""Difference of two profiles as steps from one latency to the other, which sum."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING

import plotly.graph_objects as go

from dashboard.figures.drawing import MARGIN, PLAIN, TITLE
from dashboard.figures.latency import INK
from dashboard.figures.notes import wrapped
from dashboard.looks import RULE_COLOUR
from results.judgement.explanation import DifferencePart
from results.units import si

if TYPE_CHECKING:
    from collections.abc import Sequence

    from results.judgement.explanation import DifferenceRow, ProfileDifference

MOST_STEPS = 10
LONGEST_LABEL, LONGEST_LINE = 30, 20  # of a step's name: in two lines it leaves the bars half of a narrow page
MOST_TICKS = 4  # each bar says its time
STEP_HEIGHT, FRAME_HEIGHT = 30, 78
SLOWER_COLOUR, FASTER_COLOUR, TOTAL_COLOUR = "#e8a29a", "#9cc9a3", "#c3c8ee"
OTHERS = "{n} smaller parts"
REST = "rest (timed, not profiled)"
ROUNDING = 1e-9  # share of the latency below which a change is one of rounding


def steps_of(difference: ProfileDifference) -> list[tuple[str, float]]:
    """Return the largest changes, the sum of the others and the rest, seconds by name; they sum to the whole change.

    The rest, what profile and timing do not share, comes last.
    """
    *known, rest = difference.parts or [DifferencePart(name="", base_s=0.0, head_s=0.0)]
    least_s = ROUNDING * max(difference.base_s or 0.0, difference.head_s or 0.0)
    names = {_part_name(row): row.words or row.name for row in difference.work}
    changed = sorted((part for part in known if abs(part.change_s) > least_s), key=lambda part: -abs(part.change_s))
    steps = [(names.get(part.name, part.name), part.change_s) for part in changed[:MOST_STEPS]]
    if others := changed[MOST_STEPS:]:
        steps.append((OTHERS.format(n=len(others)), sum(part.change_s for part in others)))
    return [*steps, *([(REST, rest.change_s)] if abs(rest.change_s) > least_s else [])]


def _part_name(row: DifferenceRow) -> str:
    """Name a row as the parts of a difference do."""
    return row.name if row.before is None else f"{row.before} → {row.name}"


def height_of_difference(difference: ProfileDifference) -> int:
    """Return the height of the figure in pixels."""
    return FRAME_HEIGHT + STEP_HEIGHT * (len(steps_of(difference)) + 2)


def figure_of_difference(difference: ProfileDifference, *, base: str, head: str) -> go.Figure:
    """Draw the base's latency, the step of each part, and the head's latency, from the top."""
    if difference.base_s is None or difference.head_s is None:
        return go.Figure(layout=_layout([]))
    steps = steps_of(difference)
    labels = _distinct([base, *(_label(name) for name, _ in steps), head])
    starts = [0.0, *accumulate((change_s for _, change_s in steps), initial=difference.base_s)]
    changes = [difference.base_s, *(change_s for _, change_s in steps), difference.head_s]
    starts[-1] = 0.0
    texts = [si(difference.base_s, "s"), *(_signed(change_s) for _, change_s in steps), si(difference.head_s, "s")]
    figure = go.Figure(layout=_layout(labels))
    figure.add_trace(
        go.Bar(
            name="change", orientation="h", y=labels, x=[abs(change_s) for change_s in changes],
            base=[min(start_s, start_s + change_s) for start_s, change_s in zip(starts, changes, strict=True)],
            text=texts, textposition="auto", insidetextfont={"color": INK}, textangle=0, constraintext="none",
            cliponaxis=False,
            hovertext=[f"<b>{wrapped(name)}</b>  {text}" for name, text in
                       zip([base, *(name for name, _ in steps), head], texts, strict=True)],
            hovertemplate="%{hovertext}<extra></extra>", showlegend=False,
            marker={"color": [TOTAL_COLOUR, *map(_colour, changes[1:-1]), TOTAL_COLOUR]},
        )
    )  # fmt: skip
    return figure


def _colour(change_s: float) -> str:
    return SLOWER_COLOUR if change_s > 0 else FASTER_COLOUR


def _signed(change_s: float) -> str:
    return f"{'+' if change_s > 0 else '−'}{si(abs(change_s), 's')}"


def _label(name: str) -> str:
    """Shorten a name at a separator, as long as that leaves what it is."""
    shown, *others = name.split(" · ")
    for other in others:
        if len(shown) + len(other) + 3 > LONGEST_LABEL:
            break
        shown = f"{shown} · {other}"
    return shown if len(shown) <= LONGEST_LABEL else f"{shown[: LONGEST_LABEL - 1]}…"


def _distinct(labels: Sequence[str]) -> list[str]:
    """Tell equal labels apart: a category axis has each once."""
    found: list[str] = []
    for label in labels:
        n_before = sum(one == label or one.startswith(f"{label} (") for one in found)
        found.append(f"{label} ({n_before + 1})" if n_before else label)
    return found


def _layout(labels: list[str]) -> dict[str, object]:
    return {
        **PLAIN,
        "margin": {**MARGIN, "r": 70},
        "bargap": 0.25,
        "xaxis": {
            "rangemode": "tozero", "gridcolor": RULE_COLOUR, "zeroline": False, "tickformat": "~s", "ticksuffix": "s",
            "title": {**TITLE, "text": "Time of one call (shorter is better)"}, "fixedrange": True,
            "tickangle": 0, "nticks": MOST_TICKS,
        },
        "yaxis": {
            "type": "category", "categoryorder": "array", "categoryarray": labels[::-1], "automargin": True,
            "tickmode": "array", "tickvals": labels, "ticktext": [wrapped(one, width=LONGEST_LINE) for one in labels],
            "tickfont": {"size": 11}, "ticks": "", "ticklabelstandoff": 6, "showgrid": False, "fixedrange": True,
        },
    }  # fmt: skip
