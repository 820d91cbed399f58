"""The pages, one module each: a layout and its callbacks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from dash import Dash
    from dash.development.base_component import Component

    from results.store import Store


@dataclass(frozen=True, kw_only=True)
class Page:
    """One page: where it lies, what the header calls it, what it looks like and what it does.

    `needs_sweep`: there is nothing on it where only other projects' benchmarks are stored.
    """

    path: str
    name: str
    layout: Callable[[], Component]
    register: Callable[[Dash, Store], None]
    needs_sweep: bool = True
