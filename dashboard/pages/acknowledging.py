"""Acknowledging a finding and taking that back: the form on the page, and where it is sent."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from dash import dcc, html
from flask import g, redirect, request
from werkzeug.wrappers import Response

from dashboard.serving.faults import is_fault
from dashboard.serving.permissions import may_write
from dashboard.views.regressions_drawing import finding_of
from results.errors import ResultsError, StoreError
from results.judgement.findings import FindingState, Turn
from results.queries import taken_back_of
from results.upkeep.decisions import acknowledge_finding, take_back_finding

if TYPE_CHECKING:
    from collections.abc import Sized
    from pathlib import Path

    from dash import Dash
    from dash.development.base_component import Component
    from werkzeug.datastructures import ImmutableMultiDict

    from results.judgement.changes.ranked import RankedFinding
    from results.store import Store

PATH = "/regressions/decide"
TAKE_BACK = "take_back"
TO_FIX = "to_fix"
DECISIONS = (("accepted", "Accept it"), (TO_FIX, "To be fixed"), ("false_alarm", "False alarm"))
LONGEST = 500  # characters of a name or a reason
# How a browser sends a form; it sends other kinds of body without having seen this page, too.
FORM_TYPES = frozenset({"application/x-www-form-urlencoded", "multipart/form-data"})
LOGGED_BEFORE = frozenset({401, 421})  # refused where hosts and passwords are looked at
NO_FILE = (
    "what is shown comes from files without a database of its own, so nothing can be acknowledged here; "
    "start the dashboard over the database"
)


def register_decisions(app: Dash, store: Store, *, file: Path | None) -> None:
    """Take the form: write the decision to `file` and the store, and show the finding again. None: nothing is taken.

    A form that was sent before, or that shows a finding as it is no longer, is refused; each refusal is a line of log.
    """
    one_at_a_time = threading.Lock()

    def decide() -> Response:
        if request.method != "POST":  # without this, Dash would answer any GET with a page
            refused = _in_words("A decision is sent by the form of the page Regressions.", status=405)
            refused.headers["Allow"] = "POST"
            return refused
        if (refusal := refusal_of(file)) is not None:
            return _in_words(refusal, status=403)
        if request.mimetype not in FORM_TYPES:
            return _in_words("A decision is sent by the form of the page Regressions.", status=415)
        with one_at_a_time:
            return _answer_to_form(store, file=file)

    app.server.add_url_rule(PATH, view_func=decide, methods=["GET", "POST"])
    app.server.after_request(_log_refusal)


def _answer_to_form(store: Store, *, file: Path | None) -> Response:
    found = finding_of(store, request.form.get("finding", ""))
    if found is None or file is None:
        return _in_words("There is no such finding any more; go back and reload the page.", status=404)
    if request.form.get("seen") != _mark_of(found, taken_back=taken_back_of(store, found.finding)):
        return _in_words("This finding was decided about since that page was loaded; reload it.", status=409)
    try:
        written = _decided(store, found, request.form, file=file)
    except (ResultsError, OSError) as error:
        g.why_refused = f"a decision was not written: {error}"
        return _in_words(_why_not(error, file=file), status=400)
    logging.getLogger(__name__).warning("%s", written)
    project = found.finding.surface.project
    # Only the finding's own: nothing that a form holds is written into an address.
    chosen = {"project": project} if request.form.get("project") == project else {}
    shown = urlencode({**chosen, "turn": "all", "state": "all", "class": "all", "finding": found.uid})
    return redirect(f"/regressions?{shown}", code=303)


def _log_refusal(response: Response) -> Response:
    """Log in a line what was refused of a request for a decision; a fault is in the log already."""
    status = response.status_code
    is_new = status not in LOGGED_BEFORE or (status == 401 and "Authorization" not in request.headers)
    if request.path == PATH and status >= 400 and is_new and not is_fault():
        why = g.get("why_refused") or f"refused a decision from {request.remote_addr}: {response.status}"
        logging.getLogger(__name__).warning("%.400s", why)
    return response


def refusal_of(file: Path | None) -> str | None:
    """Return why the request that is being answered may not decide anything; None if it may."""
    return NO_FILE if file is None else may_write(request)


def decision_form(
    found: RankedFinding, *, refusal: str | None, taken_back: Sized = (), is_project_chosen: bool = False
) -> Component:
    """Build the form that acknowledges a finding, or takes that back; in its place `refusal`, in words.

    taken_back: acknowledgements of it that hold no longer. is_project_chosen: whether its project is the only one that
    is shown, and is to stay so.
    """
    if refusal is not None:
        return html.P(f"Acknowledging: {refusal}.", className="detail")
    is_known = found.finding.state is FindingState.ACKNOWLEDGED
    choices = ((TAKE_BACK, "Take the acknowledgement back"),) if is_known else _decisions_on(found)
    fields = [
        html.Label([text, dcc.Input(name=name, id=f"decision-{name}", required=True, maxLength=LONGEST, type="text",
                                    autoComplete="name" if name == "by" else "off", className="field")])
        for name, text in (("by", "Your name"), ("note", "Reason"))
    ]  # fmt: skip
    buttons = [html.Button(label, type="submit", name="decision", value=value) for value, label in choices]
    return html.Form(
        [
            html.Span("Take back" if is_known else "Acknowledge", className="legend"),
            *fields,
            dcc.Input(name="finding", type="hidden", value=found.uid),
            dcc.Input(name="seen", type="hidden", value=_mark_of(found, taken_back=taken_back)),
            *(
                [dcc.Input(name="project", type="hidden", value=found.finding.surface.project)]
                if is_project_chosen
                else []
            ),
            *buttons,
        ],
        action=PATH,
        method="POST",
        className="decision",
    )


def _mark_of(found: RankedFinding, *, taken_back: Sized) -> str:
    """Return a mark of what was decided of a finding so far: a form is of the finding as it was shown."""
    return f"{found.finding.state.value}-{len(taken_back)}"


def _decisions_on(found: RankedFinding) -> tuple[tuple[str, str], ...]:
    """Return the decisions that make sense of a finding: an improvement is not to be fixed."""
    is_gain = found.finding.turn in {Turn.FASTER, Turn.FIXED}
    return tuple(one for one in DECISIONS if not (is_gain and one[0] == TO_FIX))


def _decided(store: Store, found: RankedFinding, form: ImmutableMultiDict[str, str], *, file: Path) -> str:
    by, note, decision = (form.get(name, "") for name in ("by", "note", "decision"))
    if max(map(len, (by, note))) > LONGEST:
        raise ResultsError(f"a name or a reason has {LONGEST} characters at most; nothing was written")
    what = f"{found.finding.benchmark} at {found.finding.first_bad[:8]}"
    if decision == TAKE_BACK:
        n = take_back_finding(store, found.finding, by=by, note=note, file=file)
        return f"{by} took back {n} acknowledgements of {what}: {note}"
    if decision == TO_FIX and TO_FIX not in dict(_decisions_on(found)):
        raise ResultsError("an improvement is not to be fixed; it can be accepted, or be a false alarm")
    n = acknowledge_finding(store, found.finding, decision=decision, by=by, note=note, file=file)
    return f"{by} acknowledged {what} ({decision}, {n} series): {note}"


def _why_not(error: ResultsError | OSError, *, file: Path) -> str:
    """Write what the user can mend; of the file or the database, whose faults' words name paths, that it failed."""
    if type(error) is ResultsError:
        return f"{error.message[:1].upper()}{error.message[1:]}. Go back to mend it."
    what = "The database" if isinstance(error, StoreError) else file.name
    return f"{what} could not be changed; the dashboard's log says why. Have that mended, then go back and try again."


def _in_words(text: str, *, status: int) -> Response:
    return Response(f"{text}\n", status=status, mimetype="text/plain")
