"""Requests that a page of the dashboard makes: its callbacks' payloads, and clients that send them."""

from __future__ import annotations

import http.client
import json
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Mapping

CALLBACK_PATH = "/_dash-update-component"
ENCODINGS = "br, gzip"
FIRST_VALUES = {"search": "", "pathname": "/"}


@dataclass(frozen=True, kw_only=True)
class Reply:
    """Answer to one request: HTTP status, bytes as they crossed the network, and the seconds until the last of them."""

    status: int
    n_bytes: int
    wall_s: float


class Client:
    """Browser's part of the conversation, over one connection that is kept."""

    def __init__(self, address: str) -> None:
        parts = urlsplit(address)
        self._connection = http.client.HTTPConnection(parts.hostname or "", parts.port or 80, timeout=120)

    def get(self, path: str) -> Reply:
        """Ask for `path`."""
        return self._ask("GET", path, None)

    def call(self, payload: Mapping[str, Any]) -> Reply:
        """Call a callback."""
        return self._ask("POST", CALLBACK_PATH, json.dumps(payload))

    def dependencies(self) -> list[dict[str, Any]]:
        """Return the callbacks of all pages."""
        self._connection.request("GET", "/_dash-dependencies")
        found: list[dict[str, Any]] = json.loads(self._connection.getresponse().read())
        return found

    def _ask(self, method: str, path: str, body: str | None) -> Reply:
        started = time.perf_counter()
        headers = {"Accept-Encoding": ENCODINGS, "Content-Type": "application/json"}
        self._connection.request(method, path, body=body, headers=headers)
        answer = self._connection.getresponse()
        n_bytes = len(answer.read())
        return Reply(status=answer.status, n_bytes=n_bytes, wall_s=time.perf_counter() - started)


def payload_of(dependency: Mapping[str, Any], *, search: str) -> dict[str, Any]:
    """Return the payload that a page sends when it is opened with the query `search`."""
    name = str(dependency["output"])
    places = [one.partition("@")[0].rpartition(".") for one in name.strip(".").split("...")]
    outputs = [{"id": component, "property": prop} for component, _, prop in places]
    inputs = [
        {**_named(one), "value": search if one["property"] == "search" else _first_value(one)}
        for one in dependency["inputs"]
    ]
    return {
        "output": name,
        "outputs": outputs if name.startswith("..") else outputs[0],
        "inputs": inputs,
        "state": [{**_named(one), "value": None} for one in dependency.get("state", [])],
        "changedPropIds": [],
    }


def dependency_of(dependencies: list[dict[str, Any]], component: str) -> dict[str, Any]:
    """Return the callback that fills `component`."""
    return next(one for one in dependencies if f"{component}." in one["output"])


def _named(one: Mapping[str, Any]) -> dict[str, Any]:
    return {"id": one["id"], "property": one["property"]}


def _first_value(one: Mapping[str, Any]) -> object:
    return [] if one["id"] == "throughput-providers" else FIRST_VALUES.get(one["property"])
