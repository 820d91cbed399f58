"""Texts of providers made such that a journal holds, a database stores and a terminal shows them. Pure."""

from __future__ import annotations

import re
from typing import Any

# Controls but line breaks and tabs, and lone surrogates, as in a file's name that is not UTF-8.
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


def printable(text: str) -> str:
    r"""Replace control characters and lone surrogates by escapes such as `\x1b`."""
    return _UNPRINTABLE.sub(_escaped, text)


def with_printable_texts(value: Any) -> Any:  # noqa: ANN401 - anything JSON holds
    """Return a value of JSON with all its texts printable; keys stay."""
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, list):
        return [with_printable_texts(each) for each in value]
    if isinstance(value, dict):
        return {name: with_printable_texts(each) for name, each in value.items()}
    return value


def _escaped(found: re.Match[str]) -> str:
    code = ord(found[0])
    if 0xDC80 <= code <= 0xDCFF:  # a byte that is not UTF-8 (PEP 383)
        code -= 0xDC00
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"
