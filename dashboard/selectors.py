"""The selectors of a page: what they are, how they show a view, and what query their values ask for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import dash_mantine_components as dmc
from dash import html

from dashboard.figures.looks import look_of
from dashboard.quantities import Quantity
from dashboard.views.filters import AXES, LATEST, Axis, CommitSpacing, Scale, text_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dash.development.base_component import Component

    from dashboard.figures.looks import Look
    from dashboard.views.filters import View
    from results.rows import CommitRow

SWITCH_LABELS: dict[str, dict[str, str]] = {
    "quantity": {member.value: member.label for member in Quantity},
    "spacing": {CommitSpacing.ORDER: "even", CommitSpacing.DATE: "by date"},
    "commits_scale": {Scale.FIT: "fit", Scale.ZERO: "from 0", Scale.LOG: "log"},
    "batch_scale": {Scale.LOG: "log", Scale.FIT: "fit", Scale.ZERO: "from 0"},
}
MOST_SUGGESTIONS = 200


def labelled_select(label: str, *, component_id: str, is_wide: bool = False, is_searchable: bool = False) -> Component:
    """An empty selector, its label above."""
    select: Component = dmc.Select(
        id=component_id, label=label, data=[], allowDeselect=False, size="xs",
        className="axis wide" if is_wide else "axis", searchable=is_searchable, limit=MOST_SUGGESTIONS,
        nothingFoundMessage="none like that", withCheckIcon=False,
        comboboxProps={"width": "max-content", "position": "bottom-start"},
    )  # fmt: skip
    return select


def card_select(*, component_id: str, label: str, is_wide: bool) -> Component:
    """An empty selector inside a card's title line, searchable, its label for screen readers only."""
    select: Component = dmc.Select(
        id=component_id, data=[], allowDeselect=False, size="xs", searchable=True, limit=MOST_SUGGESTIONS,
        className="in-title wide" if is_wide else "in-title", nothingFoundMessage="none like that",
        comboboxProps={"width": "max-content", "position": "bottom-start"}, withCheckIcon=False,
        **{"aria-label": label},
    )  # fmt: skip
    return select


def switch(name: str, *, component_id: str) -> Component:
    """A segmented control for the choice `name`."""
    data = [{"value": value, "label": label} for value, label in SWITCH_LABELS[name].items()]
    control: Component = dmc.SegmentedControl(id=component_id, data=data, size="xs", value=data[0]["value"])
    return control


def axis_props(view: View, axis: Axis) -> dict[str, Any]:
    """What the selector of `axis` shows; with a single value there is nothing to select and it hides."""
    options = view.options[axis.name]
    is_needed = len(options) > 1 or axis.name in {"operation", "hidden", "machine", "batch"}
    return {
        "data": [text_of(option) for option in options],
        "value": text_of(getattr(view.choice, axis.column)),
        "style": {} if is_needed else {"display": "none"},
    }


def commit_props(view: View, commits: Sequence[CommitRow]) -> dict[str, Any]:
    """What the commit selector shows, newest first."""
    options = [{"value": LATEST, "label": "latest measured"}]
    options += map(option_of_commit, reversed(commits))
    return {"data": options, "value": LATEST if view.choice.commit is None else view.choice.commit[:12]}


def provider_props(view: View) -> dict[str, Any]:
    """The chips, which are the legend too: one per provider, in its colour."""
    chips = [
        dmc.Chip([swatch(name), name], value=name, size="xs", variant="outline", color=look_of(name).colour)
        for name in view.providers
    ]
    return {"children": chips, "value": [name for name in view.providers if view.choice.shows(name)]}


def swatch(contender: str) -> Component:
    """A short stroke in the contender's colour and dash, as on the charts."""
    return stroke(look_of(contender))


def stroke(look: Look) -> Component:
    """A short stroke in the look's colour and dash."""
    return html.Span(className=f"swatch {look.dash}", style={"color": look.colour})


def facts(view: View) -> str:
    """The values that need no selector, in words."""
    single = [axis for axis in AXES if axis_props(view, axis)["style"]]
    words = {
        "cache": "cache",
        "threads": "threads",
        "dim": "model dim",
        "batch": "batch",
    }
    values = [(axis.name, text_of(getattr(view.choice, axis.column))) for axis in single]
    return " · ".join(_fact(name, value, words.get(name)) for name, value in values)


def query_from_values(values: Mapping[str, str | None], *, providers: Sequence[str], known: Sequence[str]) -> str:
    """The query the selectors' values ask for. All of the `known` providers is the same as no choice."""
    pairs = [(name, value) for name, value in values.items() if value is not None]
    if set(providers) != set(known):
        pairs.append(("providers", ",".join(providers)))
    return "?" + urlencode(pairs, safe=",")


def option_of_commit(row: CommitRow) -> dict[str, str]:
    """A commit as a selector offers it: hash, date and subject, the hash's beginning as its value."""
    date = "" if row.date is None else f"{row.date:%Y-%m-%d}  "
    subject = row.subject or "no subject"
    label = f"{row.commit[:10]}  {date}{subject if len(subject) <= 60 else subject[:59] + '…'}"
    return {"value": row.commit[:12], "label": label}


def _fact(name: str, value: str, word: str | None) -> str:
    if word is None:
        return "no activation" if (name, value) == ("activation", "none") else value
    return f"{word} {value}" if name in {"dim", "batch"} else f"{value} {word}"
