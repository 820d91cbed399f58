"""Lines about a chosen point: its commit, the way to its profile, and the commands that measure it again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from dash import dcc, html

from results.units import THIN_SPACE

if TYPE_CHECKING:
    from datetime import datetime

    from dash.development.base_component import Component

PROFILE_PATH = "/profile"


def chosen_point_lines(  # noqa: PLR0913 - each a part of what is shown
    *,
    batch: int,
    commit: str,
    date: datetime | None,
    subject: str | None,
    profile_query: str,
    commands: tuple[str, ...],
) -> list[Component]:
    """Build the lines: what is chosen, a link to the profile, and the commands, to be copied."""
    rows = f"{batch:,}".replace(",", THIN_SPACE)
    day = "no date" if date is None else f"{date:%Y-%m-%d %H:%M}"
    text = "\n".join(commands)
    # Where it scrolls, a keyboard must reach it.
    named = cast("dict[str, Any]", {"aria-label": "Commands"})
    return [
        html.P([
            html.Strong(f"{rows}{THIN_SPACE}{'row' if batch == 1 else 'rows'} at {commit[:10]}"),
            f" · {day}{f' · {subject}' if subject else ''} · ",
            dcc.Link("what one call does there", href=f"{PROFILE_PATH}{profile_query}", className="inline"),
        ], className="note"),
        html.P("Measure it again, in a checkout on that machine:", className="detail"),
        html.Div([
            html.Pre(html.Code(text), className="commands scrolls", tabIndex=0, role="group", **named),
            dcc.Clipboard(content=text, title="Copy the commands", className="copy"),
        ], className="command-box"),
    ]  # fmt: skip
