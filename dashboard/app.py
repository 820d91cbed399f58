"""Dash app: the shell around the pages, and the pages over a store."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlencode

import dash_mantine_components as dmc
from dash import ClientsideFunction, Dash, Input, Output, State, dcc, html, set_props
from flask import redirect, request

from dashboard.pages import SHOWN_PROJECT, compare, explore, overview, profile, regressions, roofline, throughput
from dashboard.pages.notices import (
    UNREAD,
    empty_store,
    no_sweep,
    settings_note,
    unjudged_note,
    unknown_path,
    unreadable,
)
from dashboard.pages.regressions import DECISIONS_KEY
from dashboard.serving.faults import fault_in_words, note_fault
from dashboard.serving.hosts import LOOPBACK
from dashboard.serving.requests import handle_requests
from dashboard.views.overview import KEYS as OF_OVERVIEW
from dashboard.views.projects import PROJECT
from dashboard.views.settings import judge_by, judged_state
from dashboard.views.throughput.choice import KEYS
from dashboard.views.url import context_after
from results.errors import LockedStore, ResultsError
from results.judgement.thresholds import NO_SETTINGS
from results.queries import projects, unjudged_places

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from pathlib import Path

    from dash.development.base_component import Component
    from werkzeug.wrappers import Response

    from dashboard.pages import Page
    from dashboard.serving.authentication import Credentials
    from dashboard.serving.hosts import AllowedHosts
    from results.judgement.thresholds import Settings
    from results.store import Store

PAGES = (overview.PAGE, throughput.PAGE, profile.PAGE, roofline.PAGE, regressions.PAGE, compare.PAGE, explore.PAGE)
# URL parameters that only the page *Throughput* has; it was at `/` once, and copied URLs are kept.
MOVED = frozenset(KEYS) - {*OF_OVERVIEW}
RENAMED = {"/history": explore.PAGE.path, "/history.csv": f"{explore.PAGE.path}.csv"}

# Fonts of the machine: a page that works without any network can load none.
THEME = {
    "fontFamily": "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', sans-serif",
    "fontFamilyMonospace": "ui-monospace, SFMono-Regular, Menlo, Consolas, monospace",
    "primaryColor": "gray",
    "cursorType": "pointer",
}


def create_app(
    store: Store,
    *,
    hosts: AllowedHosts = LOOPBACK,
    credentials: Credentials | None = None,
    decisions: Path | None = None,
    settings: Settings = NO_SETTINGS,
) -> Dash:
    """Create the dashboard over `store`, which must stay open. All assets are served locally.

    `hosts`: by whose names it is called; requests for others are refused. `credentials`: without them nobody is asked.
    `decisions`: file that acknowledgements are written to; None: nothing can be acknowledged.
    `settings`: what the pages judge by; those of other apps over the same store do, too, from then on.
    """
    judge_by(settings, store=store)
    app = Dash(
        __name__,
        title="fusebench",
        update_title="",
        use_pages=False,
        serve_locally=True,
        suppress_callback_exceptions=True,
        add_log_handler=False,
        on_error=show_error,
    )
    app.layout = shell
    # Dash's footer holds scripts alone; the page has one of its own.
    app.index_string = (
        app.index_string.replace("<html>", '<html lang="en">')
        .replace("<footer>", "<div>")
        .replace("</footer>", "</div>")
    )
    handle_requests(app, store, hosts=hosts, credentials=credentials, state_now=partial(judged_state, store))
    app.server.before_request(moved_page)
    app.server.config[DECISIONS_KEY] = decisions
    for page in PAGES:
        page.register(app, store)

    @app.callback(Output("page", "children"), Input("url", "pathname"), Input("store-state", "data"))
    def show_page(pathname: str | None, state: str | None) -> Component:
        # Another key is another component: its callbacks begin anew, from the URL alone.
        return html.Div(page_or_fault(pathname or "/", store), key=state or "first")

    @app.callback(
        Output("nav", "children"),
        Output("context", "data"),
        Input("url", "pathname"),
        Input("url", "search"),
        Input("store-state", "data"),
        Input(SHOWN_PROJECT, "data"),
        State("context", "data"),
    )
    def show_links(
        pathname: str | None, search: str | None, _: str | None, project: str | None, before: str | None
    ) -> tuple[list[Component], str]:
        path = pathname or "/"
        try:
            stored = projects(store)
            swept = {row.project for row in stored if row.has_sweep}
            page = _page_at(path)
            offers_all = page is not None and page.offers_all_projects
            is_stored = any(row.project == project for row in stored)
            asked = _with_project(search or "", project, page) if project and is_stored else search or ""
            context = context_after(before or "", asked, swept=swept, offers_all=offers_all)
            return page_and_links(path, store, search=context)[1], context
        except ResultsError as error:
            note_fault(error)
            return _links(PAGES, shown=_page_at(path), search=before or "", swept=()), before or ""

    app.clientside_callback(  # type: ignore[no-untyped-call]
        ClientsideFunction(namespace="pages", function_name="title"), Input("nav", "children")
    )

    @app.callback(Output("footer", "children"), Input("store-state", "data"))
    def show_footer(_: str | None) -> list[Component | str]:
        try:
            return footer_of(store, is_kept=decisions is not None, settings=settings)
        except ResultsError as error:
            note_fault(error)
            return []

    return app


def footer_of(store: Store, *, is_kept: bool, settings: Settings = NO_SETTINGS) -> list[Component | str]:
    """Return what stands below every page. is_kept: whether the database outlives the dashboard, or is gone with it.

    settings: what the pages judge by.
    """
    return [*settings_note(settings), *(unjudged_note(unjudged_places(store)) if is_kept else [])]


def shell() -> Component:
    """Build the frame around every page: the name, links to the pages, light or dark."""
    toggle = dmc.ColorSchemeToggle(
        lightIcon="☀", darkIcon="☾", variant="subtle", color="gray", **{"aria-label": "light or dark"}
    )
    header = html.Header([html.Span("fusebench", className="brand"), html.Nav(id="nav"), toggle])
    provider: Component = dmc.MantineProvider(
        [
            html.A("Skip to the page", href="#page", className="skip"),
            dcc.Location(id="url", refresh=False),
            dcc.Store(id="context"),  # what was chosen last on any page: its links lead there
            dcc.Store(id=SHOWN_PROJECT),  # by a page whose URL may leave it open
            dcc.Store(id="store-state"),  # set by assets/refresh.js when the store has changed
            header,
            html.Div(id="stale", role="status"),  # by assets/refresh.js: why what is shown may be old
            html.Div(id="fault", role="alert"),
            html.Main(id="page", tabIndex=-1),
            html.Footer(id="footer"),
        ],
        theme=THEME,
        defaultColorScheme="auto",
    )
    return provider


def moved_page() -> Response | None:
    """Redirect a URL from before its page had this path; None for any other request."""
    path = RENAMED.get(request.path)
    if path is None and request.path == "/" and MOVED.intersection(request.args):
        path = throughput.PAGE.path
    if path is None:
        return None
    query = request.query_string.decode("latin-1")
    return redirect(f"{path}?{query}" if query else path)


def page_and_links(path: str, store: Store, *, search: str = "") -> tuple[Component, list[Component]]:
    """Build the page at `path`, or a notice in its place, and the header's links, the page's own marked.

    The links take along what their pages know of the query `search`: machine, shape, provider.
    """
    stored = projects(store)
    swept = [row.project for row in stored if row.has_sweep]
    pages = [page for page in PAGES if swept or not page.needs_sweep] if stored else []
    names = [(page.path, page.name) for page in pages]
    shown = next((page for page in pages if page.path == path), None)
    asked = _page_at(path)
    if asked is None:
        return unknown_path(path, pages=names), _links(pages, shown=None, search=search, swept=swept)
    links = _links(pages, shown=shown, search=search, swept=swept)
    if shown is not None:
        return shown.layout(), links
    return no_sweep(asked.name, names) if pages else empty_store(), links


def page_or_fault(path: str, store: Store) -> Component:
    """Build the page at `path` as `page_and_links` does, or a notice that says why it cannot be read now."""
    try:
        return page_and_links(path, store)[0]
    except ResultsError as error:
        page = _page_at(path)
        return unreadable(page.name if page else "The page", fault_in_words(error))


def show_error(error: Exception) -> None:
    """Show on the page, in words, that a callback failed; the log has the rest."""
    alert = dmc.Alert(
        fault_in_words(error),
        title="Something failed",
        color="red",
        withCloseButton=True,
        className=UNREAD if isinstance(error, LockedStore) else "",
    )
    set_props("fault", {"children": alert})


def _with_project(search: str, project: str, page: Page | None) -> str:
    """Return the query with the project that is shown, where the page is about one and the query leaves it open."""
    pairs = parse_qsl(search.removeprefix("?"), keep_blank_values=True)
    if page is None or not page.takes_any_project or page.offers_all_projects or PROJECT in dict(pairs):
        return search
    return urlencode([*pairs, (PROJECT, project)])


def _page_at(path: str) -> Page | None:
    return next((page for page in PAGES if page.path == path), None)


def _links(pages: Sequence[Page], *, shown: Page | None, search: str, swept: Collection[str]) -> list[Component]:
    return [
        dcc.Link(
            page.name,
            href=page.path if page is shown else page.address(search, swept=swept),
            className="link here" if page is shown else "link",
        )
        for page in pages
    ]
