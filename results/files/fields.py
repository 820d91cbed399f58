"""Reads typed fields out of a parsed JSON object; whatever is not as promised raises Malformed with the key."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypeGuard

if TYPE_CHECKING:
    from collections.abc import Mapping

# 2**53: beyond it float64 no longer tells neighbouring integers apart, and no count we keep is larger.
LARGEST_INTEGER = 9_007_199_254_740_992


class Malformed(Exception):
    """A field is missing or of the wrong type; the message names the key and what was found."""


def is_object(found: object) -> TypeGuard[dict[str, object]]:
    """Whether `found` is a JSON object (whose keys are always text)."""
    return isinstance(found, dict)


def shown(found: object) -> str:
    """`found` short enough for a message."""
    text = repr(found)
    return text if len(text) <= 40 else f"{text[:37]}…"


def object_at(parent: Mapping[str, object], key: str) -> dict[str, object]:
    """The object under `key`."""
    found = parent.get(key)
    if not is_object(found):
        raise Malformed(f"`{key}` is {shown(found)}, not an object")
    return found


def list_at(parent: Mapping[str, object], key: str) -> list[object]:
    """The list under `key`; null or nothing counts as an empty one."""
    found = parent.get(key)
    if found is None:
        return []
    if not isinstance(found, list):
        raise Malformed(f"`{key}` is {shown(found)}, not a list")
    return found


def text_at(parent: Mapping[str, object], key: str) -> str:
    """The non-empty text under `key`."""
    found = optional_text_at(parent, key)
    if not found:
        raise Malformed(f"`{key}` is {shown(parent.get(key))}, not a text")
    return found


def optional_text_at(parent: Mapping[str, object], key: str) -> str | None:
    """The text under `key`, or None for null or nothing."""
    found = parent.get(key)
    if found is None:
        return None
    if not isinstance(found, str) or "\0" in found:
        raise Malformed(f"`{key}` is {shown(found)}, not a text")
    return found


def integer_at(parent: Mapping[str, object], key: str) -> int:
    """The non-negative integer under `key`."""
    found = parent.get(key)
    if not isinstance(found, int) or isinstance(found, bool) or not 0 <= found <= LARGEST_INTEGER:
        raise Malformed(f"`{key}` is {shown(found)}, not a count")
    return found


def number_at(parent: Mapping[str, object], key: str) -> float | None:
    """The finite number under `key`, or None for null or nothing."""
    found = parent.get(key)
    return None if found is None else finite_number(found, named=key)


def finite_number(found: object, *, named: str) -> float:
    """`found` as a float. Raises Malformed if it is no finite number."""
    if not isinstance(found, int | float) or isinstance(found, bool):
        raise Malformed(f"`{named}` is {shown(found)}, not a number")
    try:
        number = float(found)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise Malformed(f"`{named}` is {shown(found)}, not a finite number")
    return number


def moment_at(parent: Mapping[str, object], key: str) -> datetime:
    """The ISO 8601 moment under `key`, in UTC; one without a zone is taken as UTC."""
    found = text_at(parent, key)
    try:
        moment = datetime.fromisoformat(found)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise Malformed(f"`{key}` is {shown(found)}, not an ISO 8601 moment") from error


def moment_from_milliseconds(found: object, *, named: str) -> datetime | None:
    """A JavaScript timestamp as asv writes it, in UTC; None for null."""
    if found is None:
        return None
    try:
        return datetime.fromtimestamp(finite_number(found, named=named) / 1000, tz=UTC)
    except (ValueError, OverflowError, OSError) as error:
        raise Malformed(f"`{named}` is {shown(found)}, not a JavaScript timestamp") from error
