"""Payloads of callbacks: what a page of ours cannot have sent is refused with 400 before any callback sees it."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from flask import request
from werkzeug.exceptions import BadRequest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dash import Dash

MOST_BYTES = 1 << 20  # a page of ours sends a few thousand
LONGEST_TEXT = 20_000
MOST_ITEMS = 500
CALLBACK_PATH = "/_dash-update-component"
# Selectors of several values; the value of any other is one text.
MULTIPLE = frozenset(
    {
        "throughput-providers",
        "throughput-commits",
        "explore-lines",
        *(f"explore-parameter-{number}" for number in range(6)),
        "compare-commit",
        "compare-machine",
        "compare-environment",
        "compare-provider",
        "roofline-providers",
    }
)
# What the pages keep in the browser, by the component: keys, and whether each is a list.
KEPT = {
    "throughput-shown": {"query": False, "providers": True, "settled": True, "colour": False, "marked": False},
    "explore-shown": {"query": False, "marked": False},
    "profile-shown": {"query": False, "settled": True},
    "roofline-shown": {"query": False, "providers": True, "settled": True},
}


def refuse_wrong_payloads(app: Dash) -> None:
    """Answer 413 to bodies of more than MOST_BYTES, and 400 to callbacks that no page of `app` asks for."""
    app.server.config["MAX_CONTENT_LENGTH"] = MOST_BYTES

    def refuse() -> None:
        if request.path != CALLBACK_PATH or request.method != "POST":
            return
        try:
            body = request.get_json(silent=True)
        except RecursionError:  # brackets in brackets in brackets …
            body = None
        problem = problem_of(body, callbacks=app.callback_map)
        if problem is not None:
            logging.getLogger(__name__).warning("refused a callback: %s", problem)
            raise BadRequest(problem)

    app.server.before_request(refuse)


def problem_of(body: object, *, callbacks: Mapping[str, Mapping[str, object]]) -> str | None:
    """Return what is wrong with a callback's payload; None if a page may have sent it."""
    if not isinstance(body, dict):
        return "the body is no JSON object"
    name = body.get("output")
    # One without a function here runs in the browser.
    if not isinstance(name, str) or name not in callbacks or "callback" not in callbacks[name]:
        return "there is no such callback"
    if not _is_list_of_texts(body.get("changedPropIds", [])) or not _has_outputs(body.get("outputs"), name):
        return "the outputs or the changed properties are not the callback's"
    parts = (("inputs", callbacks[name]["inputs"]), ("state", callbacks[name]["state"]))
    problems = (_problem_of_part(part, body.get(part, []), expected) for part, expected in parts)
    return next((problem for problem in problems if problem is not None), None)


def _problem_of_part(part: str, given: object, expected: object) -> str | None:
    wanted = [_place(one) for one in expected] if isinstance(expected, list) else []
    if not isinstance(given, list) or [_place(one) for one in given] != wanted:
        return f"the {part} are not the callback's"
    wrong = (
        f"{component}.{prop} has a value that no page sends"
        for one in given
        for component, prop in [_place(one) or ("", "")]
        if not _is_valid(component, prop, one.get("value"))
    )
    return next(wrong, None)


def _has_outputs(outputs: object, name: str) -> bool:
    places = [_place(one) for one in (outputs if isinstance(outputs, list) else [outputs])]
    names = name.removeprefix("..").removesuffix("..").split("...")
    # An output that several callbacks fill carries a hash, which not every version of Dash sends.
    found = [f"{place[0]}.{place[1]}".partition("@")[0] for place in places if place]
    return found == [one.partition("@")[0] for one in names]


def _place(one: object) -> tuple[str, str] | None:
    if not isinstance(one, dict):
        return None
    component, prop = one.get("id"), one.get("property")
    return (component, prop) if isinstance(component, str) and isinstance(prop, str) else None


def _is_valid(component: str, prop: str, value: object) -> bool:
    if component in MULTIPLE:
        return value is None or _is_list_of_texts(value)
    if component in KEPT:
        return value is None or _is_kept(value, keys=KEPT[component])
    return value is None or VALID.get(prop, _is_text)(value)


def _is_text(value: object) -> bool:
    """Tell whether `value` is a text that a database and a URL can take: not endless, no NUL, no half character."""
    if not isinstance(value, str) or len(value) > LONGEST_TEXT or "\0" in value:
        return False
    return not any("\ud800" <= character <= "\udfff" for character in value)


def _is_list_of_texts(value: object) -> bool:
    return isinstance(value, list) and len(value) <= MOST_ITEMS and all(map(_is_text, value))


def _is_kept(value: object, *, keys: Mapping[str, bool]) -> bool:
    if not isinstance(value, dict) or set(value) != set(keys):
        return False
    return all((_is_list_of_texts if is_list else _is_text)(value[key]) for key, is_list in keys.items())


def _is_click(value: object) -> bool:
    points = value.get("points") if isinstance(value, dict) else None
    if not isinstance(points, list) or not points or not isinstance(points[0], dict):
        return False
    key = points[0].get("customdata")
    return key is None or _is_text(key)


VALID: dict[str, Callable[[object], bool]] = {"clickData": _is_click}
