"""Selectors of a page: empty components, and the properties that fill them."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import dash_mantine_components as dmc

from dashboard.looks import MARKERS, look_of
from dashboard.quantities import Quantity
from dashboard.scales import Colour, CommitSpacing, Multiples, Scale
from dashboard.widgets import stroke
from results.metrics import metric_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

    from dash.development.base_component import Component

    from results.rows import CommitRow

SWITCH_LABELS: dict[str, dict[str, str]] = {
    "spacing": {CommitSpacing.ORDER: "even", CommitSpacing.DATE: "by date"},
    "commits_scale": {Scale.FIT: "fit", Scale.ZERO: "from 0", Scale.LOG: "log"},
    "multiples": {Multiples.NONE: "one hidden dim", Multiples.HIDDEN: "each"},
    "batch_scale": {Scale.LOG: "log", Scale.FIT: "fit", Scale.ZERO: "from 0"},
}
COLOUR_LABELS = {
    Colour.PROVIDER: "provider",
    Colour.DTYPE: "type",
    Colour.MACHINE: "machine",
    Colour.COMMIT: "commit",
}
MOST_SUGGESTIONS = 200
NO_MATCH = "no match"


def labelled_select(label: str, *, component_id: str, is_wide: bool = False, is_searchable: bool = False) -> Component:
    """Build an empty selector with its label above."""
    select: Component = dmc.Select(
        id=component_id, label=label, data=[], allowDeselect=False, size="xs",
        className="axis wide" if is_wide else "axis", searchable=is_searchable, limit=MOST_SUGGESTIONS,
        nothingFoundMessage=NO_MATCH, withCheckIcon=False,
        comboboxProps={"width": "max-content", "position": "bottom-start"},
    )  # fmt: skip
    return select


def card_select(*, component_id: str, label: str, is_wide: bool) -> Component:
    """Build an empty searchable selector for a card's title line; its label is for screen readers only."""
    select: Component = dmc.Select(
        id=component_id, data=[], allowDeselect=False, size="xs", searchable=True, limit=MOST_SUGGESTIONS,
        className="in-title wide" if is_wide else "in-title", nothingFoundMessage=NO_MATCH,
        comboboxProps={"width": "max-content", "position": "bottom-start"}, withCheckIcon=False,
        **{"aria-label": label},
    )  # fmt: skip
    return select


def switch(name: str, *, component_id: str) -> Component:
    """Build a segmented control for the choice `name` of the page *Throughput*, or of another with the same choice."""
    return switch_of(SWITCH_LABELS[name], component_id=component_id)


def switch_of(labels: Mapping[str, str], *, component_id: str) -> Component:
    """Build a segmented control of `labels` by their values; the first is chosen."""
    data = [{"value": value, "label": label} for value, label in labels.items()]
    control: Component = dmc.SegmentedControl(id=component_id, data=data, size="xs", value=data[0]["value"])
    return control


def select_props(options: Sequence[str], value: str, *, is_always_shown: bool) -> dict[str, Any]:
    """Return a selector's properties; one with a single option is hidden unless `is_always_shown`."""
    is_shown = is_always_shown or len(options) > 1
    # Given an empty value, a selector reports that it has none, which would be answered with the same again.
    return {"data": list(options), "value": value or None, "style": {} if is_shown else {"display": "none"}}


def metric_props(names: Sequence[str], value: str, *, is_always_shown: bool) -> dict[str, Any]:
    """Return the properties of a selector of metrics, which calls them as axes do; hidden like `select_props`."""
    data = [{"value": name, "label": metric_of(name, unit="").label} for name in names]
    return {**select_props(names, value, is_always_shown=is_always_shown), "data": data}


def quantity_props(quantities: Iterable[Quantity], *, chosen: Quantity) -> dict[str, Any]:
    """Return the metric selector's properties: what was measured, and the chosen one even if it was not."""
    offered = dict.fromkeys((*quantities, chosen))
    return {"data": [{"value": one.value, "label": one.label} for one in Quantity if one in offered], "value": chosen}


def commit_props(
    commits: Iterable[CommitRow], *, chosen: str | None, latest: str, label: str = "latest measured"
) -> dict[str, Any]:
    """Return the commit selector's properties, newest first; `commits` come oldest first, None is `latest`."""
    # Of a fork and its origin both may have measured a commit, and of two options with one value none is drawn.
    rows = {row.commit: row for row in reversed(tuple(commits))}.values()
    options = [{"value": latest, "label": label}]
    options += (_commit_option(row.commit, row.date, row.subject) for row in rows)
    return {"data": options, "value": latest if chosen is None else chosen[:12]}


def colour_props(colours: Sequence[Colour], *, chosen: Colour) -> dict[str, Any]:
    """Return the properties of the selector of the axis that colours curves; hidden where there is one."""
    data = [{"value": one.value, "label": COLOUR_LABELS[one]} for one in colours]
    return {"data": data, "value": chosen, "style": {} if len(data) > 1 else {"display": "none"}}


def provider_props(contenders: Iterable[str], *, chosen: Sequence[str], by: Colour = Colour.PROVIDER) -> dict[str, Any]:
    """Return the properties of the chips, which are the legend too: one per contender, in its colour.

    by: axis that colours the curves. By another, a provider is known by its marker; over commits none is one commit's.
    """
    has_colours = by in {Colour.PROVIDER, Colour.COMMIT}
    chips = []
    for name in contenders:
        look = look_of(name)
        label = name if by is Colour.PROVIDER else f"{MARKERS.get(look.symbol, '')} {name}"
        children = [stroke(look), label] if has_colours else label
        colour = look.colour if has_colours else "gray"
        chips.append(dmc.Chip(children, value=name, size="xs", variant="outline", color=colour))
    return {"children": chips, "value": list(chosen)}


@lru_cache(maxsize=8192)  # every page offers every commit, some twice
def _commit_option(commit: str, date: datetime | None, subject: str | None) -> dict[str, str]:
    day = "" if date is None else f"{date:%Y-%m-%d}  "
    words = subject or ""
    label = f"{commit[:10]}  {day}{words if len(words) <= 60 else words[:59] + '…'}".rstrip()
    return {"value": commit[:12], "label": label}
