"""Remove passwords from text about databases, whatever spelling of a URL or connection string holds them."""

from __future__ import annotations

import re
from urllib.parse import unquote_plus

HIDDEN = "***"

_IS_SECRET = re.compile(r"pass|pwd|secret|token", re.IGNORECASE)
_DONE = r"\*\*\*(?:[\s&:;,.)'\"]|$)"
_COLON = r"(?::|%3[aA])"
# Another URL begins: a password with spaces is hidden up to the last @ before it.
_NEXT_URL = r"[\s'\"(,][A-Za-z][\w+.-]*:/"
_USER_INFO = re.compile(rf"([A-Za-z][\w+.-]*:/+[^:@\s]*?){_COLON}(?:(?!{_NEXT_URL})[^\n])*@")
# Without its @ a password stands where the port belongs.
_PORT = re.compile(
    rf"([A-Za-z][\w+.-]*://[^\s:@/\[]*|\]){_COLON}(?!{re.escape(HIDDEN)}@)(?!\d*(?:[/?\s'\"),;:]|$))[^\s/?'\"]+"
)
_QUERY = re.compile(rf"([?&;]([^=&;?\s]+)=)(?!{_DONE})[^&\n]*")
_KEYWORD = re.compile(
    rf"(\b[\w-]*(?:password|passwd|passfile|passphrase|pwd)\s*=\s*)(?!{_DONE})('(?:\\.|[^'\\])*'?|[^\s&,)]+)",
    re.IGNORECASE,
)
_BARE_USER_INFO = re.compile(rf"([^\s:@'\"(]*){_COLON}(?!//)\S*@")


def redact(text: str) -> str:
    """Return `text` with every password of a database URL or connection string replaced by `***`.

    Covers user information, also malformed or percent-encoded, a password where a port belongs, query parameters
    and libpq's `password=…`. Hides too much rather than too little; applied twice it changes nothing more.
    """
    text = _USER_INFO.sub(rf"\1:{HIDDEN}@", text)
    text = _PORT.sub(rf"\1:{HIDDEN}", text)
    text = _QUERY.sub(_hide_secret_parameter, text)
    text = _KEYWORD.sub(rf"\1{HIDDEN}", text)
    return _BARE_USER_INFO.sub(rf"\1:{HIDDEN}@", text)


def _hide_secret_parameter(match: re.Match[str]) -> str:
    is_secret = _IS_SECRET.search(unquote_plus(match[2]))
    return match[1] + HIDDEN if is_secret else match[0]
