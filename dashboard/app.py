"""The app: the shell around the pages, and the pages over a store."""

from __future__ import annotations

from typing import TYPE_CHECKING

import dash_mantine_components as dmc
from dash import Dash, Input, Output, dcc, html, set_props

from dashboard.pages import history, throughput
from dashboard.pages.nothing import nothing_at, nothing_to_show
from results.errors import ResultsError
from results.queries import commits, sweep_choices

if TYPE_CHECKING:
    from dash.development.base_component import Component

    from dashboard.pages import Page
    from results.store import Store

PAGES = (throughput.PAGE, history.PAGE)

# Fonts the machine has: a page that works without any network can load none.
THEME = {
    "fontFamily": "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', sans-serif",
    "fontFamilyMonospace": "ui-monospace, SFMono-Regular, Menlo, Consolas, monospace",
    "primaryColor": "gray",
    "cursorType": "pointer",
}


def create_app(store: Store) -> Dash:
    """The dashboard over `store`, which stays open as long as the app runs. Nothing comes from elsewhere."""
    app = Dash(
        __name__,
        title="fusebench",
        update_title="",
        use_pages=False,
        serve_locally=True,
        suppress_callback_exceptions=True,
        add_log_handler=False,
        on_error=tell,
    )
    app.layout = shell
    for page in PAGES:
        page.register(app, store)

    @app.callback(Output("page", "children"), Output("nav", "children"), Input("url", "pathname"))
    def show_page(pathname: str | None) -> tuple[Component, list[Component]]:
        return page_at(pathname or "/", store), links_at(pathname or "/", store)

    return app


def shell() -> Component:
    """What stands around every page: the name, the pages, light or dark."""
    toggle = dmc.ColorSchemeToggle(
        lightIcon="☀", darkIcon="☾", variant="subtle", color="gray", **{"aria-label": "light or dark"}
    )
    header = html.Header([html.Span("fusebench", className="brand"), html.Nav(id="nav"), toggle])
    provider: Component = dmc.MantineProvider(
        [dcc.Location(id="url", refresh=False), header, html.Div(id="fault"), html.Main(id="page")],
        theme=THEME,
        defaultColorScheme="auto",
    )
    return provider


def page_at(path: str, store: Store) -> Component:
    """The page at `path`; before anything was measured, what to do about it."""
    if path not in {page.path for page in PAGES}:
        return nothing_at(path, pages=[(page.path, page.name) for page in pages_for(store)])
    page = _page(path, store)
    return page.layout() if page else nothing_to_show()


def links_at(path: str, store: Store) -> list[Component]:
    """The header's links: the pages there is something on, the one at `path` marked."""
    here = _page(path, store)
    return [
        dcc.Link(page.name, href=page.path, className="link here" if page is here else "link")
        for page in pages_for(store)
    ]


def pages_for(store: Store) -> tuple[Page, ...]:
    """The pages that have something to show: without a sweep only those that need none."""
    has_sweep = bool(sweep_choices(store).operations)
    return tuple(page for page in PAGES if has_sweep or not page.needs_sweep) if commits(store) else ()


def _page(path: str, store: Store) -> Page | None:
    """The page at `path`; where there is no sweep to draw, the first that can do without."""
    found = pages_for(store)
    return next((page for page in found if page.path == path), found[0] if found else None)


def tell(error: Exception) -> None:
    """Say on the page what the store could not answer; a fault of ours is raised on, into the log."""
    if not isinstance(error, ResultsError):
        raise error
    set_props("fault", {"children": dmc.Alert(error.message, title="The database did not answer", color="red")})
