"""State of the server and its store, for a supervisor, and a mark by which a page sees that the store has changed."""

from __future__ import annotations

import hashlib
import secrets
from typing import TYPE_CHECKING

from flask import jsonify

from results.errors import LockedStore, ResultsError
from results.queries import projects

if TYPE_CHECKING:
    from flask import Flask
    from werkzeug.wrappers import Response

    from results.store import Store

HEALTH_PATH, STATE_PATH = "/healthz", "/store-state"


def report_health(server: Flask, store: Store) -> None:
    """Answer at HEALTH_PATH whether the store can be read, at STATE_PATH with a mark of its state; no names, no paths.

    503 at either: it cannot be read now; at STATE_PATH with `why`, if another process has it to itself.
    """
    salt = secrets.token_bytes(16)

    def health() -> tuple[Response, int]:
        try:
            store.fingerprint()
            state = "filled" if projects(store) else "empty"
        except ResultsError:
            return jsonify(status="failing", store="unreadable"), 503
        return jsonify(status="ok", store=state), 200

    def state() -> tuple[Response, int]:
        try:
            fingerprint = repr(store.fingerprint())
            store.check_readable()
        except LockedStore:
            return jsonify(state=None, why="locked"), 503
        except ResultsError:
            return jsonify(state=None), 503
        return jsonify(state=hashlib.blake2b(fingerprint.encode(), key=salt, digest_size=12).hexdigest()), 200

    server.add_url_rule(HEALTH_PATH, view_func=health)
    server.add_url_rule(STATE_PATH, view_func=state)
