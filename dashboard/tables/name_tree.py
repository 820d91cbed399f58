"""Tree of benchmarks' names: the parts before each dot are its branches."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlencode

from dash import dcc, html

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dash.development.base_component import Component

Branch = dict[str, "Branch"]


def name_tree(names: Sequence[str], *, kept: Mapping[str, str]) -> Component:
    """Build a tree that opens branch by branch; a name leads to its curves, with what is `kept` of the address."""
    root: Branch = {}
    for name in names:
        branch = root
        for part in name.split("."):
            branch = branch.setdefault(part, {})
    return html.Ul(_items(root, "", frozenset(names), kept), className="tree")


def n_below(branch: Branch) -> int:
    """Return the number of names that end in a branch or below it."""
    return sum(n_below(each) for each in branch.values()) or 1


def _items(branch: Branch, before: str, names: frozenset[str], kept: Mapping[str, str]) -> list[Component]:
    found: list[Component] = []
    for part, below in sorted(branch.items()):
        name = f"{before}{part}"
        link = dcc.Link(part, href=f"/explore?{urlencode({**kept, 'benchmark': name})}") if name in names else None
        if not below:
            found.append(html.Li(link))
            continue
        summary = html.Summary([part, html.Span(f" {n_below(below):,}", className="dimmed")])
        own = [html.Li(link)] if link is not None else []
        found.append(html.Li(html.Details([summary, html.Ul([*own, *_items(below, f"{name}.", names, kept)])])))
    return found
