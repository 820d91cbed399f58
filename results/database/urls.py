"""Database URLs: parse what a person names, refuse what cannot be opened, display without a password."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import sqlalchemy as sa
from sqlalchemy.exc import ArgumentError

from results.data_folder import database_of_environment
from results.errors import InvalidDatabaseUrl
from results.redaction import redact

if TYPE_CHECKING:
    from sqlalchemy.engine import URL

DEFAULT_PATH = Path("results/data/fusebench.db")
ACCEPTED = "an SQLite file (results/data/fusebench.db) or postgresql://USER@HOST/DATABASE"
LOG, SHARED_MEMORY = "-wal", "-shm"
"""What SQLite appends to a database's name for the files it keeps beside it: the write-ahead log, and its index."""
_LARGEST_PORT = 65535
# libpq's keyword=value form; as a path it would become a file named after the password.
_IS_KEYWORD_FORM = re.compile(r"^\s*(host|hostaddr|user|password|dbname|port|service|passfile)\s*=", re.IGNORECASE)
_IS_BARE_USER_INFO = re.compile(r"^(//|[A-Za-z][\w+.-]*:/?)?[^/\s]*:.*@")


def url_from_text(text: str | None) -> URL:
    """Return the URL of the database `text` names, else FUSEBENCH_DB, else FUSEBENCH_DATA's, else the default file.

    A bare path means SQLite; postgres:// and postgresql:// mean PostgreSQL by psycopg.
    Raises: InvalidDatabaseUrl, whose message holds no password.
    """
    named = text or database_of_environment() or str(DEFAULT_PATH)
    if ":memory:" in named:
        raise _invalid(named, "is a database in memory, which ends with the command that fills it")
    if "://" in named:
        return _url_from_url(named)
    if _IS_KEYWORD_FORM.match(named) or _IS_BARE_USER_INFO.match(named):
        raise _invalid(named, "is neither a file nor a URL")
    try:
        path = Path(named).expanduser()
    except RuntimeError:
        raise _invalid(named, "is below the home folder of a user who is not known here") from None
    return sa.make_url("sqlite://").set(database=str(path))


def displayed(url: URL) -> str:
    """Return `url` as a person would type it after --db, without a password: for SQLite the path."""
    is_sqlite = url.get_backend_name() == "sqlite"
    return redact(str(url.database) if is_sqlite else url.render_as_string(hide_password=True))


def _url_from_url(named: str) -> URL:
    try:
        url = sa.make_url(named)
    except ArgumentError:
        raise _invalid(named, "is no database URL") from None
    except ValueError:  # it repeats what it took for the port, often a password
        raise _invalid(named, "has a port that is no number") from None
    match url.drivername.lower().partition("+")[0]:
        case "postgresql" | "postgres":
            return _checked_postgresql(named, url)
        case "sqlite":
            return _checked_sqlite(named, url)
        case scheme:
            raise _invalid(named, f"has the scheme {scheme}, which is not supported")


def _checked_postgresql(named: str, url: URL) -> URL:
    if "@" in named.partition("@")[2]:
        raise _invalid(named, "holds more than one at sign; write %40 for one in a name or password")
    ports = [str(url.port)] if url.port is not None else []
    given = url.query.get("port", ())
    ports += given.split(",") if isinstance(given, str) else given
    for port in filter(None, ports):
        if not (port.isascii() and port.isdigit() and 0 < int(port) <= _LARGEST_PORT):
            raise _invalid(named, f"has a port that is no number from 1 to {_LARGEST_PORT}")
    return url.set(drivername="postgresql+psycopg")


def _checked_sqlite(named: str, url: URL) -> URL:
    if url.host or url.username or url.password or url.port:
        raise _invalid(named, "names a host, and SQLite is a file; three slashes begin its path: sqlite:///PATH")
    if not url.database or "memory" in url.query.get("mode", ()):
        raise _invalid(named, "names no file; a database in memory would end with the command that fills it")
    if "mode" in url.query:
        raise _invalid(named, "has an option `mode`; a file that may not be written is opened read-only without it")
    url = url.set(drivername="sqlite")
    try:
        url.get_dialect()().create_connect_args(url)
    except ValueError:
        raise _invalid(named, "has an option whose value SQLite does not take") from None
    return url


def _invalid(named: str, reason: str) -> InvalidDatabaseUrl:
    return InvalidDatabaseUrl(f"{redact(named)} {reason}. Name {ACCEPTED}")
