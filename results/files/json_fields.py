"""JSON objects as asv writes them, and typed fields read out of them."""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypeGuard

import orjson

from results.errors import UnreadableFile

if TYPE_CHECKING:
    from collections.abc import Mapping


NOT_FINITE = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}  # as `parsed_json` quotes them


class Malformed(Exception):
    """Raised when a field is missing or of the wrong type; the message names the key and what was found."""


def is_object(found: object) -> TypeGuard[dict[str, object]]:
    """Return whether `found` is a JSON object (whose keys are always text)."""
    return isinstance(found, dict)


def shown(found: object) -> str:
    """Shorten `found` for a message."""
    try:
        text = repr(found)
    except RecursionError:
        return "something nested too deeply"
    return text if len(text) <= 40 else f"{text[:37]}…"


def parsed_json(content: bytes, *, path: str) -> dict[str, object]:
    """Parse the JSON object in `content`, with the NaN and Infinity that asv writes and JSON forbids.

    Not-a-number comes back as float NaN or as the text "NaN" (see NOT_FINITE).
    Raises: UnreadableFile.
    """
    # orjson is several times faster than json but refuses NaN. In quotes it takes it; inside a text the quotes
    # would end the text and leave a bare NaN behind, which never parses, so json then reads the original.
    quoted = content.replace(b"NaN", b'"NaN"')
    if b"Infinity" in content:
        quoted = (
            quoted.replace(b"-Infinity", b'"-Infinity"')
            .replace(b" Infinity", b' "Infinity"')
            .replace(b"[Infinity", b'["Infinity"')
            .replace(b",Infinity", b',"Infinity"')
        )
    try:
        found: object = orjson.loads(quoted)
    except orjson.JSONDecodeError as error:
        if len(quoted) == len(content):
            raise UnreadableFile(path, _reason_not_json(content, error)) from error
        try:
            found = json.loads(content)
        except (ValueError, RecursionError) as json_error:
            raise UnreadableFile(path, _reason_not_json(content, json_error)) from json_error
    if not is_object(found):
        raise UnreadableFile(path, f"holds {shown(found)}, not a JSON object")
    return found


def _reason_not_json(content: bytes, error: Exception) -> str:
    if not content.strip():
        return "is empty"
    if content[:12].startswith(b"version http"):
        return "is a git-lfs pointer, not the file itself; run `git lfs pull`"
    begins, ends = content.lstrip().startswith(b"{"), content.rstrip().endswith(b"}")
    cut = ", cut off" if begins and not ends else ""
    return f"not JSON{cut} ({error})"


def as_text(found: object, *, named: str) -> str:
    """Return any JSON value as text, nothing for null. Raises: Malformed if it is nested too deeply."""
    try:
        return "" if found is None else str(found)
    except RecursionError as error:
        raise Malformed(f"`{named}` is nested too deeply") from error


def object_at(parent: Mapping[str, object], key: str) -> dict[str, object]:
    """Return the object under `key`."""
    found = parent.get(key)
    if not is_object(found):
        raise Malformed(f"`{key}` is {shown(found)}, not an object")
    return found


def list_at(parent: Mapping[str, object], key: str) -> list[object]:
    """Return the list under `key`; null or nothing counts as an empty one."""
    found = parent.get(key)
    if found is None:
        return []
    if not isinstance(found, list):
        raise Malformed(f"`{key}` is {shown(found)}, not a list")
    return found


def text_at(parent: Mapping[str, object], key: str) -> str:
    """Return the non-empty text under `key`."""
    found = optional_text_at(parent, key)
    if not found:
        raise Malformed(f"`{key}` is {shown(parent.get(key))}, not a text")
    return found


def optional_text_at(parent: Mapping[str, object], key: str) -> str | None:
    """Return the text under `key`, or None for null or nothing."""
    found = parent.get(key)
    if found is None:
        return None
    if not isinstance(found, str) or "\0" in found:
        raise Malformed(f"`{key}` is {shown(found)}, not a text")
    return found


def number_at(parent: Mapping[str, object], key: str) -> float | None:
    """Return the finite number under `key`, or None for null or nothing."""
    found = parent.get(key)
    return None if found is None else finite_number(found, named=key)


def finite_number(found: object, *, named: str) -> float:
    """Convert `found` to a float. Raises: Malformed if it is no finite number."""
    if not isinstance(found, int | float) or isinstance(found, bool):
        raise Malformed(f"`{named}` is {shown(found)}, not a number")
    try:
        number = float(found)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise Malformed(f"`{named}` is {shown(found)}, not a finite number")
    return number


def moment_from_milliseconds(found: object, *, named: str) -> datetime | None:
    """Convert a JavaScript timestamp as asv writes it to UTC; None for null."""
    if found is None:
        return None
    try:
        return datetime.fromtimestamp(finite_number(found, named=named) / 1000, tz=UTC)
    except (ValueError, OverflowError, OSError) as error:
        raise Malformed(f"`{named}` is {shown(found)}, not a JavaScript timestamp") from error
