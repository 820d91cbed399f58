"""Text from files and databases made safe for a terminal."""

from __future__ import annotations

import re

# C0 and C1 controls, marks that reorder text, line separators, lone surrogates and the two other characters that XML
# forbids; line breaks and tabs stay.
CONTROLS = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)
LINE_CONTROLS = re.compile(rf"[\t\n]|{CONTROLS.pattern}")


def printable(text: str) -> str:
    r"""Replace control characters by escapes such as `\x1b`; line breaks and tabs stay."""
    return CONTROLS.sub(_escaped, text)


def printable_line(text: str) -> str:
    r"""Replace control characters, line breaks and tabs by escapes such as `\x0a`."""
    return LINE_CONTROLS.sub(_escaped, text)


def json_for_terminal(text: str) -> str:
    r"""Escape the control characters that JSON allows unescaped in a string as `\u009b`; its value stays the same."""
    return CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _escaped(found: re.Match[str]) -> str:
    code = ord(found[0])
    if 0xDC80 <= code <= 0xDCFF:  # a byte of a file name that is not UTF-8 (PEP 383)
        code -= 0xDC00
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"
