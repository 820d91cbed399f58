"""Tree of benchmarks' names, open at the chosen one: the parts before each dot are its branches."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlencode

from dash import dcc, html

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dash.development.base_component import Component


def name_tree(names: Sequence[str], *, chosen: str, kept: Mapping[str, str]) -> Component:
    """Build the tree: a branch leads to its first name, a name to its curves, with what is `kept` of the address.

    Only the branches of `chosen` are open: a suite has thousands of names, which no browser draws at once.
    """
    return html.Ul(_items(sorted(names), 0, chosen=chosen.split("."), kept=kept), className="tree")


def _items(names: Sequence[str], depth: int, *, chosen: Sequence[str], kept: Mapping[str, str]) -> list[Component]:
    branches: dict[str, list[str]] = {}
    for name in names:
        branches.setdefault(name.split(".")[depth], []).append(name)
    found: list[Component] = []
    for part, below in branches.items():
        deeper = [name for name in below if name.count(".") > depth]
        is_open = chosen[depth : depth + 1] == [part]
        link = dcc.Link(part, href=f"/explore?{urlencode({**kept, 'benchmark': below[0]})}",
                        className="here" if is_open else "")  # fmt: skip
        count = [html.Span(f" {len(below):,}", className="dimmed")] if deeper else []
        inner = _items(deeper, depth + 1, chosen=chosen, kept=kept) if deeper and is_open else []
        found.append(html.Li([link, *count, *([html.Ul(inner)] if inner else [])]))
    return found
