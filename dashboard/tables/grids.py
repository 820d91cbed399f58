"""Tables that sort and filter in the browser, by dash-ag-grid, whose script is loaded where a page has one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import dash_ag_grid
from dash import ClientsideFunction, Input, Output, dcc, html
from dash.fingerprint import build_fingerprint

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from dash import Dash
    from dash.development.base_component import Component

ROW_HEIGHT, HEADER_HEIGHT = 30, 36
SHARE_OF_GROWING = 2
MOST_ROWS_HIGH = 14  # longer tables scroll by themselves
OPTIONS: dict[str, Any] = {
    "rowHeight": ROW_HEIGHT,
    "headerHeight": HEADER_HEIGHT,
    "suppressMovableColumns": True,
    "enableCellTextSelection": True,
    "ensureDomOrder": True,
    "tooltipShowDelay": 300,
    "suppressNoRowsOverlay": True,
    # Painted, too, where it is scrolled out of sight: a page is printed and pictured whole.
    "suppressContentVisibilityAuto": True,
    "tabToNextCell": {"function": "onwards()"},
}
SCRIPT = "dash_ag_grid.min.js"
for _script in dash_ag_grid._js_dist:  # noqa: SLF001 - where Dash itself looks for a library's scripts
    # A third of a megabyte, compressed, that pages without a grid need not wait for.
    if _script["relative_package_path"] == SCRIPT:
        _script["dynamic"] = True


@dataclass(frozen=True, kw_only=True)
class Column:
    """Column of a grid. field: of the row. unit: of numbers, shown with an SI prefix; None for texts.

    has_prefix: False for counts and ratios, which have none. is_change: a number above zero has its sign, too.
    width: least, in pixels; grows: takes more of the room. explanation: shown at the heading.
    """

    field: str
    heading: str
    unit: str | None = None
    has_prefix: bool = True
    is_change: bool = False
    width: int = 90
    grows: bool = False
    explanation: str | None = None

    @property
    def definition(self) -> dict[str, Any]:
        """Definition for the grid; numbers are sorted as numbers and shown by assets/grids.js."""
        found: dict[str, Any] = {
            "field": self.field,
            "headerName": self.heading,
            "headerTooltip": self.explanation or self.heading,
            "minWidth": self.width,
            "sortable": True,
            "resizable": True,
            # All share the room of a wide page: else its numbers stand far from what they are of.
            "flex": (SHARE_OF_GROWING if self.grows else 1) * self.width,
        }
        if self.unit is None:
            return {**found, "filter": "agTextColumnFilter", "tooltipField": self.field}
        formatter = "change" if self.is_change else "quantity" if self.has_prefix else "figure"
        return {
            **found,
            "filter": "agNumberColumnFilter",
            "type": "rightAligned",
            "valueFormatter": {"function": f"{formatter}(params.value, '{self.unit}')"},
        }


def grid_slot(grid_id: str, *, label: str) -> Component:
    """Build the place of a grid. Write what `grid` returns to `data` of `f"{grid_id}-table"` to show it.

    label: for screen readers.
    """
    return html.Div(
        [
            dcc.Store(id=f"{grid_id}-table"),
            dcc.Store(id=f"{grid_id}-script", data=script_url()),
            html.Div(id=f"{grid_id}-slot", className="scrolls grid-slot"),
        ],
        role="group",
        **cast("dict[str, Any]", {"aria-label": label}),
    )


def connect_grids(app: Dash, grid_ids: Iterable[str]) -> None:
    """Show each grid in its slot once the browser has the script (assets/grids.js)."""
    for grid_id in grid_ids:
        app.clientside_callback(  # type: ignore[no-untyped-call]
            ClientsideFunction(namespace="grids", function_name="show"),
            Output(f"{grid_id}-slot", "children"),
            Input(f"{grid_id}-table", "data"),
            Input(f"{grid_id}-script", "data"),
        )


def grid(columns: Sequence[Column], rows: Sequence[Mapping[str, object]], *, grid_id: str) -> dict[str, Any]:
    """Return a table of `rows`, sorted and filtered by its columns' headings, as its slot takes it.

    Columns in which no row has anything are left out.
    """
    shown = [column for column in columns if any(row[column.field] not in {None, ""} for row in rows)]
    height = HEADER_HEIGHT + ROW_HEIGHT * max(min(len(rows), MOST_ROWS_HIGH), 1) + 18
    table = dash_ag_grid.AgGrid(
        id=grid_id,
        columnDefs=[column.definition for column in shown],
        rowData=[dict(row) for row in rows],
        dashGridOptions=OPTIONS,
        className="grid",
        style={"height": f"{height}px", "width": "100%"},
    )
    return cast("dict[str, Any]", table.to_plotly_json())


@cache
def script_url() -> str:
    """Return the path at which Dash serves the grid's script, with the hash by which browsers keep it."""
    modified = int((Path(dash_ag_grid.__file__).parent / SCRIPT).stat().st_mtime)
    name = build_fingerprint(SCRIPT, dash_ag_grid.__version__, modified)  # type: ignore[no-untyped-call]
    return f"/_dash-component-suites/dash_ag_grid/{name}"
