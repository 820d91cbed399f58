"""Pages in the browser, one module each: a layout and its callbacks.

Imports dashboard.views, figures, tables and below; imported by dashboard.app.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlencode

from dash import set_props
from werkzeug.wrappers import Response

from dashboard.selectors import select_props
from dashboard.sweep_axes import text_of
from dashboard.views.projects import PROJECT
from dashboard.views.url import LATEST
from results.errors import ResultsError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from dash import Dash
    from dash.development.base_component import Component

    from dashboard.sweep_axes import AxisValue
    from dashboard.views.projects import ShownProject
    from results.store import Store


SHOWN_PROJECT = "shown-project"  # the shell's component that holds it
OF_PROJECT = (PROJECT, "machine", "environment", "commit")  # URL parameters that another project may not know
ANY_PROJECT = "any project"  # on a selector


@dataclass(frozen=True, kw_only=True)
class Page:
    """Page of the dashboard: its path, its name in the header, its layout, and the registration of its callbacks.

    `needs_sweep`: it is empty unless sweep points are stored. `takes`: URL parameters that travel here from another
    page. `takes_any_project`: also one without a sweep, of which the other pages know nothing. `offers_all_projects`:
    it shows all of them where its URL names none.
    """

    path: str
    name: str
    layout: Callable[[], Component]
    register: Callable[[Dash, Store], None]
    needs_sweep: bool = True
    takes: tuple[str, ...] = ()
    takes_any_project: bool = False
    offers_all_projects: bool = False

    def address(self, search: str, *, swept: Collection[str]) -> str:
        """Return the page's address with what it takes of the query `search` of other pages.

        `swept`: projects with a sweep.
        """
        asked = parse_qsl(search.removeprefix("?"))
        # The newest commit is where every page begins.
        left_out = {("commit", LATEST)}
        if not self.takes_any_project and dict(asked).get(PROJECT, "") not in {"", *swept}:
            left_out |= {(name, value) for name, value in asked if name in OF_PROJECT}
        pairs = [(name, value) for name, value in asked if name in self.takes and (name, value) not in left_out]
        return f"{self.path}?{urlencode(pairs, safe=':,')}" if pairs else self.path


@contextmanager
def kept_in_url(component_id: str, *, query: str, search: str | None) -> Iterator[None]:
    """Write `query`, which draws what was chosen, into the URL if the store cannot be read now.

    The page is drawn from its URL later. component_id: of the page's location, whose query is `search`.
    """
    try:
        yield
    except ResultsError:
        if query != search:
            set_props(component_id, {"search": query})
        raise


def hand_on(project: str, options: Collection[str]) -> None:
    """Let the links to other pages name the project that is shown, of `options`, where the URL leaves it open."""
    if len(options) > 1:
        set_props(SHOWN_PROJECT, {"data": project})


def project_props(project: ShownProject, options: Sequence[AxisValue]) -> dict[str, Any]:
    """Return the properties of a page's selector of the project, of `options`; hidden where the store has one."""
    names = [text_of(option) for option in options]
    return select_props(names, project.name, is_always_shown=project.is_one_of_several)


def csv_response(text: str, *, name: str) -> Response:
    """Return an answer that a browser saves as `name`.csv."""
    disposition = f'attachment; filename="{name}.csv"'
    return Response(text, mimetype="text/csv", headers={"Content-Disposition": disposition})
