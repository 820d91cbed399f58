"""Bytes → a JSON object, with the NaN and Infinity that asv writes and JSON forbids."""

from __future__ import annotations

import json
import math

import orjson

from results.errors import UnreadableFile
from results.files.fields import is_object, shown

NOT_FINITE = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}  # as `parsed_json` quotes them


def parsed_json(content: bytes, *, path: str) -> dict[str, object]:
    """The JSON object in `content`, with the NaN and Infinity that asv writes and JSON forbids.

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
