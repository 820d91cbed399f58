"""Comparison of sides in words and as a table: means with what they do not cover, and ratios with intervals."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dash import html

from dashboard.looks import look_of_side
from dashboard.quantities import MetricFormat
from dashboard.tables.ratios import NOISE_UNKNOWN
from dashboard.widgets import command_code, labelled_cells, labelled_stroke
from results.units import change_in_words, change_interval_in_words, counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dash.development.base_component import Component

    from dashboard.tables.ratios import Mean, Ratio, RatioRow
    from results.measuring_again import OtherVersion

MOST_ROWS = 60
MOST_IN_SIGHT = 20
FEWEST_FOLDED = 5  # so that a fold is shorter than what it hides
COMMIT = re.compile(r"[0-9a-f]{8}( \d{4}-\d\d-\d\d)?(?= |$)")
MANY_SIDES = 3
"""Sides, beside the first, from which on a sentence names the ends; the table below it has each."""
MEAN_HEADINGS = (
    ("Side", ""), ("Geometric mean", "number"), ("Middle 80 % of points", "number"), ("Points in it", "number"),
    ("Not in it", "number"), ("Worse", "number"), ("Better", "number"), ("Conditions that differ", ""),
)  # fmt: skip
CHANGED = ("Changed", "number")  # of metrics whose better direction is unknown


def means_table(
    names: Sequence[str], means: Sequence[Mean], conditions: Sequence[tuple[str, ...] | None], *, are_providers: bool
) -> list[Component]:
    """Build a row for each side but the first, with its mean, what that does not cover, and what else differs."""
    if not means:
        return []
    sides = enumerate(zip(names[1:], means, conditions, strict=True))
    headings = list(MEAN_HEADINGS)
    cells = [_mean_cells(name, i, mean, differing, are_providers=are_providers) for i, (name, mean, differing) in sides]
    if any(mean.n_changed for mean in means):
        headings.insert(-1, CHANGED)
        for row, mean in zip(cells, means, strict=True):
            row.insert(-1, "–" if mean.is_of_unknown_noise else f"{mean.n_changed:,}")
    head = html.Tr([html.Th(text, className=kind, scope="col") for text, kind in headings])
    rows = [html.Tr(labelled_cells(headings, row)) for row in cells]
    return [
        html.Div(html.Table([html.Thead(head), html.Tbody(rows)], className="winners findings"), className="scrolls")
    ]


def others_list(names: Sequence[str], others: Sequence[tuple[int, OtherVersion]]) -> list[Component]:
    """Build a line for each side but the first of which another ruler or version measured points: what helps."""
    return [
        html.P(
            [f"{counted(n, 'point')} {other.how} at {short_name(name)}, not compared: ", command_code(other.command),
             f" {other.effect}."],
            className="detail",
        )
        for name, (n, other) in zip(names[1:], others, strict=False)
        if n
    ]  # fmt: skip


def ratios_table(rows: Sequence[RatioRow], names: Sequence[str]) -> list[Component]:
    """Build a row for each of the first points: its value at the first side, and its ratio at each other one.

    The first are in sight, and the others folded below them.
    """
    if not rows:
        return []
    shown = rows[:MOST_ROWS]
    n_in_sight = MOST_IN_SIGHT if len(shown) >= MOST_IN_SIGHT + FEWEST_FOLDED else len(shown)
    parts = [_ratios(shown[:n_in_sight], names)]
    if folded := shown[n_in_sight:]:
        summary = html.Summary(f"{counted(len(folded), 'point')} more that changed less or have no ratio")
        parts.append(html.Details([summary, _ratios(folded, names)], className="names"))
    if len(rows) > MOST_ROWS:
        more = f"… and {counted(len(rows) - MOST_ROWS, 'point')} that changed less or have no ratio"
        parts.append(html.P(f"{more}: save all of them as CSV", className="dimmed"))
    return parts


def _ratios(rows: Sequence[RatioRow], names: Sequence[str]) -> Component:
    headings = [("Point", ""), *((short_name(name), "number") for name in names)]
    head = html.Tr([html.Th(text, className=kind, scope="col") for text, kind in headings])
    body = [
        html.Tr(
            labelled_cells(
                headings,
                [row.name, _base_cell(row), *(_ratio_cell(one) for one in row.ratios)],
            )
        )
        for row in rows
    ]
    table = html.Table([html.Thead(head), html.Tbody(body)], className="winners findings ratios")
    return html.Div(table, className="scrolls")


def _base_cell(row: RatioRow) -> Component | str:
    """Build the value at the first side, or what state it is in there."""
    if row.base.value is None:
        return html.Span(row.base.state.replace("_", " "), className="dimmed")
    return MetricFormat(metric=row.base.metric, unit=row.base.unit).text(row.base.value)


def short_name(name: str) -> str:
    """Return the hash and date of a commit's name, without its subject; another side's name as it is."""
    found = COMMIT.match(name)
    return found[0] if found else name


def answer_of(names: Sequence[str], means: Sequence[Mean]) -> str:
    """Write in a sentence how the other sides differ from the first, the difference itself first."""
    if not means:
        return "Choose two sides to compare" if len(names) < 2 else f"No point of {names[0]} matches this choice"
    base = short_name(names[0])
    known = sorted((mean.mean, name, mean) for name, mean in zip(names[1:], means, strict=True) if mean.mean)
    if len(known) >= MANY_SIDES:
        ends = " to ".join(
            f"{name} {change_in_words(value)} ({_certainly(mean)})" for value, name, mean in (known[0], known[-1])
        )
        return f"Against {base}, {counted(len(means), 'side')}: from {ends}"
    if len(means) == 1:
        told = _difference(means[0])
        return f"{told[0].upper()}{told[1:]}: {names[1]} against {base}"
    parts = [f"{name}: {_difference(mean)}" for name, mean in zip(names[1:], means, strict=True)]
    return f"Against {base}, {'; '.join(parts)}"


def _certainly(mean: Mean) -> str:
    if mean.is_of_unknown_noise:
        return NOISE_UNKNOWN
    changed = f", {mean.n_changed:,} changed" if mean.n_changed else ""
    undecided = f", {mean.n_undecided:,} undecided" if mean.n_undecided else ""
    return f"{mean.n_worse:,} worse, {mean.n_better:,} better{changed} beyond the noise{undecided}"


def _difference(mean: Mean) -> str:
    if mean.mean is None:
        return "no point has a value on both sides by one ruler or version"
    if mean.is_of_unknown_noise:
        return f"geometric mean {change_in_words(mean.mean)} of {counted(mean.n, 'point')}, whose noise is not known"
    certain = f"{mean.n_worse:,} worse and {mean.n_better:,} better beyond the noise"
    if mean.n_changed:
        certain = f"{mean.n_changed:,} changed beyond the noise, better direction unknown"
        if mean.n_worse or mean.n_better:
            certain = f"{mean.n_worse:,} worse, {mean.n_better:,} better and {certain}"
    if mean.n_undecided:
        certain = f"{certain}, {mean.n_undecided:,} undecided"
    covered = f" of the {mean.n:,} with a ratio" if mean.n_counted else ""
    n = mean.n + mean.n_counted
    return f"{certain}, of {counted(n, 'point')}, geometric mean {change_in_words(mean.mean)}{covered}"


def _mean_cells(
    name: str, number: int, mean: Mean, differing: tuple[str, ...] | None, *, are_providers: bool
) -> list[Component | str]:
    without = []
    if mean.n_without:
        without.append(f"{mean.n_without:,} without a ratio")
    if mean.n_only:
        without.append(f"{mean.n_only:,} on this side only")
    low, high = mean.low, mean.high
    ends = () if low is None or high is None else change_interval_in_words(low, high, ratio=mean.mean)
    conditions = "not recorded" if differing is None else ", ".join(differing) or "none that are recorded"
    return [
        labelled_stroke(look_of_side(name, number, is_provider=are_providers), name),
        "" if mean.mean is None else change_in_words(mean.mean),
        " to ".join(ends),
        f"{mean.n:,}",
        ", ".join(without) or "–",
        *(["–"] * 2 if mean.is_of_unknown_noise else [f"{mean.n_worse:,}", f"{mean.n_better:,}"]),
        conditions,
    ]


def _ratio_cell(ratio: Ratio | None) -> Component | str:
    if ratio is None:
        return html.Span("not measured", className="dimmed")
    if ratio.ratio is None:
        return html.Span(ratio.word, className=f"tone {ratio.kind}" if ratio.kind else "dimmed")
    interval = ""
    if ratio.low is not None and ratio.high is not None:
        interval = f" [{' to '.join(change_interval_in_words(ratio.low, ratio.high, ratio=ratio.ratio))}]"
    size = html.Span(change_in_words(ratio.ratio), className=f"tone {ratio.kind}" if ratio.kind else "")
    return html.Span([size, html.Span(interval, className="dimmed"), f" {ratio.word}"])
