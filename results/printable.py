"""Text from outside (file names, texts in files) as it may be shown on a terminal."""

from __future__ import annotations

# Bytes of a file name that are not UTF-8 are these code points in Python (PEP 383).
FIRST_ESCAPED_BYTE, LAST_ESCAPED_BYTE = 0xDC80, 0xDCFF


def printable(text: str) -> str:
    r"""Escape control characters, unprintable ones and bytes that are no UTF-8, as \n, \x1b and \xff."""
    return text if text.isprintable() else "".join(map(_printable_character, text))


def _printable_character(character: str) -> str:
    if character.isprintable():
        return character
    code = ord(character)
    if FIRST_ESCAPED_BYTE <= code <= LAST_ESCAPED_BYTE:
        return f"\\x{code - 0xDC00:02x}"
    return character.encode("unicode_escape", "surrogatepass").decode("ascii")
