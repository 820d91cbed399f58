"""Faults: a stack for the log, and for the user words without paths or content of the store."""

from __future__ import annotations

import logging
import secrets
from typing import TYPE_CHECKING

from dash.exceptions import DependencyException, InvalidResourceError
from flask import g
from werkzeug.exceptions import HTTPException

from dashboard.serving.answers import in_words
from results.errors import LockedStore, NoStore, ResultsError

if TYPE_CHECKING:
    from flask import Flask
    from werkzeug.wrappers import Response

LOCKED = (
    "Another program has the database to itself just now, so that nobody else can read it. Wait until it is done, or "
    "end it if it hangs."
)

GONE = (
    "The database is gone, or holds nothing. Put it back, or make it anew: `fusebench ingest PATH` fills it from files."
)


def fault_in_words(error: Exception) -> str:
    """Log `error` with its stack, and return what a user reads of it: where the rest stands, and what to do.

    A failure of the database is one line of the log, since its message says all.
    """
    where = f"The dashboard's log has the details as fault {note_fault(error)}."
    if isinstance(error, LockedStore):
        return f"{LOCKED} {where} The page is drawn anew as soon as that is over."
    if isinstance(error, NoStore):
        return f"{GONE} {where} Then reload the page."
    if isinstance(error, ResultsError):
        return f"The database could not be read just now. {where} Reload the page to try again."
    return f"This could not be shown, by a fault of ours. {where} Reload the page, or choose something else."


def note_fault(error: Exception) -> str:
    """Log `error` and return its number there; the answer being made is not kept for others."""
    g.is_fault = True
    number, log = secrets.token_hex(4), logging.getLogger("dashboard")
    if isinstance(error, LockedStore):
        log.warning("fault %s: %s", number, error.message)
    elif isinstance(error, ResultsError):
        log.error("fault %s: %s", number, error.message)
    else:
        log.error("fault %s", number, exc_info=error)
    return number


def answer_faults(server: Flask) -> None:
    """Answer 500 or, if the database fails, 503, in words; a refusal keeps its status."""

    def answer(error: Exception) -> Response | HTTPException:
        if isinstance(error, HTTPException):
            return error
        if isinstance(error, (DependencyException, InvalidResourceError)):
            return in_words("There is no such script.", status=404)
        return in_words(fault_in_words(error), status=503 if isinstance(error, ResultsError) else 500)

    server.register_error_handler(Exception, answer)


def is_fault() -> bool:
    """Return whether a fault was shown in the answer being made."""
    return bool(g.get("is_fault", False))
