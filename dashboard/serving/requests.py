"""What every request passes before a page sees it, and every answer on its way out, in order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dashboard.serving.answer_cache import AnswerCache, cache_answers
from dashboard.serving.authentication import require_credentials
from dashboard.serving.compression import compress_answers
from dashboard.serving.faults import answer_faults
from dashboard.serving.headers import secure_headers
from dashboard.serving.health import report_health
from dashboard.serving.hosts import refuse_foreign_hosts
from dashboard.serving.payloads import refuse_wrong_payloads
from dashboard.serving.plotly_bundle import serve_plotly_bundle

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from dash import Dash

    from dashboard.serving.authentication import Credentials
    from dashboard.serving.hosts import AllowedHosts
    from results.store import Store


def handle_requests(
    app: Dash,
    store: Store,
    *,
    hosts: AllowedHosts,
    credentials: Credentials | None,
    state_now: Callable[[], Hashable],
) -> None:
    """Have `app` answer only whom and what it should; requests pass these from the top, answers from the bottom.

    state_now: tells in what state an answer holds that is made now.
    """
    secure_headers(app)
    answer_faults(app.server)
    refuse_foreign_hosts(app.server, hosts)
    require_credentials(app.server, credentials)
    refuse_wrong_payloads(app)
    cache_answers(app.server, state_now, AnswerCache())
    compress_answers(app.server)
    report_health(app.server, store)
    serve_plotly_bundle(app.server)
