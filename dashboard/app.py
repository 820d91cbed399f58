"""The app: the shell around the pages, and the pages over a store."""

from __future__ import annotations

from typing import TYPE_CHECKING

import dash_mantine_components as dmc
from dash import Dash, Input, Output, dcc, html, set_props

from dashboard.pages import throughput
from dashboard.pages.nothing import nothing_at, nothing_to_show
from results.errors import ResultsError
from results.queries import commits, sweep_choices

if TYPE_CHECKING:
    from dash.development.base_component import Component

    from results.store import Store

PAGES = (throughput.PAGE,)

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

    @app.callback(Output("page", "children"), Input("url", "pathname"))
    def show_page(pathname: str | None) -> Component:
        return page_at(pathname or "/", store)

    return app


def shell() -> Component:
    """What stands around every page: the name, the pages, light or dark."""
    links = [dcc.Link(page.name, href=page.path, className="link") for page in PAGES]
    toggle = dmc.ColorSchemeToggle(
        lightIcon="☀", darkIcon="☾", variant="subtle", color="gray", **{"aria-label": "light or dark"}
    )
    header = html.Header([html.Span("fusebench", className="brand"), html.Nav(links), toggle])
    provider: Component = dmc.MantineProvider(
        [dcc.Location(id="url", refresh=False), header, html.Div(id="fault"), html.Main(id="page")],
        theme=THEME,
        defaultColorScheme="auto",
    )
    return provider


def page_at(path: str, store: Store) -> Component:
    """The page at `path`; before anything was measured, what to do about it."""
    page = next((page for page in PAGES if page.path == path), None)
    if page is None:
        return nothing_at(path, pages=[(page.path, page.name) for page in PAGES])
    if not sweep_choices(store).operations:
        return nothing_to_show(commits(store))
    return page.layout()


def tell(error: Exception) -> None:
    """Say on the page what the store could not answer; a fault of ours is raised on, into the log."""
    if not isinstance(error, ResultsError):
        raise error
    set_props("fault", {"children": dmc.Alert(error.message, title="The database did not answer", color="red")})
