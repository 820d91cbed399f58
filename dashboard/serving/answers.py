"""Plain answers in words, for requests that no page answers."""

from __future__ import annotations

from werkzeug.wrappers import Response


def in_words(text: str, *, status: int) -> Response:
    """Return an answer of one paragraph of plain text."""
    return Response(f"{text}\n", status=status, mimetype="text/plain")
