"""The database below the store: connect, migrate, and let one writer at a time in."""

from __future__ import annotations

import os
import sqlite3
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote
from weakref import WeakKeyDictionary

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.exc import ArgumentError, DatabaseError, DBAPIError, InternalError, OperationalError, SQLAlchemyError

from results.database.snapshot_cache import begins_with, forget
from results.errors import NewerSchema, NoStore, NotAStore, StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy.engine import URL, Connection, Engine

SCHEMA_VERSION = "0003"
VERSION_TABLE = "fusebench_version"
DEFAULT_PATH = Path("results/data/fusebench.db")

# Any number nobody else uses: the name of our lock among PostgreSQL's advisory locks.
WRITER_LOCK = 0x66757365
BUSY_TIMEOUT_S = 120
BINARY_FORMAT = 1  # of PostgreSQL's protocol
# Of PostgreSQL, in one round trip. The lock comes before the first look at anything and is held to the end: a --rebuild
# swaps before this or after it.
_BEGIN_READING = f"""BEGIN ISOLATION LEVEL REPEATABLE READ;
LOCK TABLE {VERSION_TABLE} IN ACCESS SHARE MODE;
SELECT CAST(pg_current_snapshot() AS text)"""


def url_from_text(text: str | None) -> URL:
    """The database's URL: `text`, else FUSEBENCH_DB, else the default file; a bare path means SQLite.

    Raises: StoreError if the URL names a database we do not speak.
    """
    named = text or os.environ.get("FUSEBENCH_DB") or str(DEFAULT_PATH)
    if "://" not in named:
        return sa.make_url("sqlite://").set(database=str(Path(named).expanduser()))
    try:
        url = sa.make_url(named)
    except ArgumentError as error:
        raise StoreError(f"{named} is no database URL ({error})") from error
    if url.get_backend_name() == "postgresql":
        return url.set(drivername="postgresql+psycopg")
    if url.get_backend_name() != "sqlite":
        raise StoreError(f"{named}: use an SQLite path or postgresql+psycopg://USER@HOST/DATABASE")
    return url


def connect(url: URL, *, must_exist: bool, namespace: str | None = None) -> Engine:
    """An engine on a database of the current schema, created or migrated as needed.

    `namespace`: PostgreSQL's schema to live in, which must exist; default: the first on the search path.
    Raises: NoStore, NotAStore, NewerSchema, StoreError.
    """
    is_sqlite = url.get_backend_name() == "sqlite"
    if is_sqlite:
        _check_file(url, must_exist=must_exist)
    may_only_read = is_sqlite and must_exist and not _is_writable(Path(url.database or ""))
    engine = _sqlite_engine(url, may_only_read=may_only_read) if is_sqlite else _postgresql_engine(url, namespace)
    try:
        _bring_up_to_date(engine)
        with engine.connect() as connection:
            _GENERATIONS[engine] = _generation(connection)
    except (SQLAlchemyError, sqlite3.Error, OSError) as error:
        engine.dispose()
        raise store_error_from(error, url=url) from error
    except BaseException:
        engine.dispose()
        raise
    return engine


def _check_file(url: URL, *, must_exist: bool) -> None:
    path = Path(url.database or "")
    if path.is_dir():
        raise NotAStore(f"{path} is a folder, not a database file")
    if path.exists():
        return
    if must_exist:
        raise NoStore(
            f"there is no database at {path} yet; `make bench` measures and fills it, "
            "`fusebench ingest PATH` fills it from files"
        )
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"cannot create the folder of {path} ({error.strerror}); name another --db") from error


def _is_writable(path: Path) -> bool:
    """Whether SQLite may write the file, and beside it its log, without which it reads nothing that may change."""
    return os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)


def _sqlite_engine(url: URL, *, may_only_read: bool) -> Engine:
    if may_only_read:
        engine = _immutable_sqlite_engine(url)
    else:
        engine = sa.create_engine(url, connect_args={"timeout": BUSY_TIMEOUT_S})

    @event.listens_for(engine, "connect")
    def _configure(connection: Any, _record: object) -> None:  # noqa: ANN401 - the driver's own type
        # None: the driver begins nothing by itself, so that we may begin as we need (see writing).
        connection.isolation_level = None
        cursor = connection.cursor()
        cursor.execute("PRAGMA foreign_keys = ON")
        # With WAL this loses no consistency when the machine dies, at most the last transactions; the files
        # they came from are then ingested again.
        cursor.execute("PRAGMA synchronous = NORMAL")
        cursor.execute("PRAGMA cache_size = -65536")
        # A third off every question that looks up many keys, for 256 MB of address space.
        cursor.execute("PRAGMA mmap_size = 268435456")
        cursor.execute("PRAGMA temp_store = MEMORY")
        cursor.execute("PRAGMA wal_autocheckpoint = 4000")
        cursor.close()

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        is_writer = connection.get_execution_options().get("is_writer", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if is_writer else "BEGIN")

    return engine


def _immutable_sqlite_engine(url: URL) -> Engine:
    """For a file that we may not write: it is taken as it lies, without a lock.

    Raises: StoreError if its newest transactions are in a log beside it, which cannot be read that way.
    """
    path = Path(url.database or "").absolute()
    log = path.with_name(path.name + "-wal")
    if log.exists() and log.stat().st_size:
        raise StoreError(
            f"{path} may not be written, and its newest content is in {log.name} beside it; nothing was changed. "
            "Copy both to a folder of yours and name that --db"
        )
    if not os.access(path, os.R_OK):
        raise StoreError(f"{path} may not be read by this user; nothing was changed. Mend its permissions")
    name = f"file:{quote(str(path))}?mode=ro&immutable=1"
    return sa.create_engine(url, creator=lambda: sqlite3.connect(name, uri=True, check_same_thread=False))


def _postgresql_engine(url: URL, namespace: str | None) -> Engine:
    # Compiling a plan, or sharing it out among processes, takes longer than any of our questions; and a plan that
    # serves lists of keys of any length serves none of them well.
    options = "-c timezone=UTC -c jit=off -c plan_cache_mode=force_custom_plan -c max_parallel_workers_per_gather=0"
    options += f" -c search_path={namespace}" if namespace else ""
    try:
        engine = sa.create_engine(url, connect_args={"options": options})
    except ModuleNotFoundError as error:
        raise StoreError(f"PostgreSQL needs {error.name}: pip install 'fusebench[postgres]'") from error

    @event.listens_for(engine, "before_cursor_execute")
    def _choose_format(
        _connection: Connection,
        cursor: Any,  # noqa: ANN401 - the driver's own type
        _statement: str,
        _parameters: object,
        context: Any,  # noqa: ANN401
        _is_many: bool,  # noqa: FBT001
    ) -> None:
        if context is not None and context.execution_options.get("is_binary", False):
            cursor.format = BINARY_FORMAT

    @event.listens_for(engine, "after_cursor_execute")
    def _note_snapshot(
        connection: Connection,
        cursor: Any,  # noqa: ANN401
        statement: str,
        _parameters: object,
        _context: object,
        _is_many: bool,  # noqa: FBT001
    ) -> None:
        if statement is _BEGIN_READING:
            while cursor.nextset():
                pass
            begins_with(connection, cursor.fetchone()[0])

    return engine


@contextmanager
def writing(engine: Engine) -> Iterator[Connection]:
    """A transaction during which nobody else writes; readers go on. It is kept whole or not at all.

    Raises: StoreError if another process has swapped the database since it was opened: what this one remembers
    of it then no longer holds.
    """
    with engine.connect().execution_options(is_writer=True) as connection, connection.begin():
        forget(connection)
        if engine.dialect.name == "postgresql":
            connection.execute(sa.text("SELECT pg_advisory_xact_lock(:key)"), {"key": WRITER_LOCK})
        if engine in _GENERATIONS and _generation(connection) != _GENERATIONS[engine]:
            raise StoreError(
                f"{_shown(engine.url)} was rebuilt by another process meanwhile. It is whole; run this again to bring "
                "it up to date"
            )
        yield connection


# What an engine's database was when it was opened; another one after somebody's --rebuild.
_GENERATIONS: WeakKeyDictionary[Engine, object] = WeakKeyDictionary()


def _generation(connection: Connection) -> object:
    """Differs from one database to the next that is swapped into its place."""
    if connection.dialect.name == "postgresql":
        return connection.execute(sa.text("SELECT to_regclass(:name)::oid"), {"name": VERSION_TABLE}).scalar()
    try:
        stat = Path(connection.engine.url.database or "").stat()
    except OSError:
        return None  # removed under our feet
    return stat.st_dev, stat.st_ino, connection.exec_driver_sql("PRAGMA user_version").scalar()


@contextmanager
def reading(engine: Engine) -> Iterator[Connection]:
    """A transaction that sees one state of the database throughout."""
    if engine.dialect.name == "sqlite":
        options, first = {}, None
    elif engine in _GENERATIONS:
        # The driver then begins nothing by itself, and ends all the same what was begun.
        options, first = {"isolation_level": "AUTOCOMMIT"}, _BEGIN_READING
    else:
        options, first = {"isolation_level": "REPEATABLE READ"}, None
    with engine.connect().execution_options(**options) as connection, connection.begin():
        if first is not None:
            connection.exec_driver_sql(first)
        yield connection


def refresh_statistics(engine: Engine) -> None:
    """Let PostgreSQL count its rows now: before autovacuum comes by, its plans take minutes.

    It also notes which pages of `value` every reader may see, without which it looks at the rows beside their index.
    SQLite plans well from the keys alone.
    """
    if engine.dialect.name == "postgresql":
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.exec_driver_sql("VACUUM value")
            connection.exec_driver_sql("ANALYZE")


def _bring_up_to_date(engine: Engine) -> None:
    with reading(engine) as connection:
        version = _schema_version(connection)
    if version == SCHEMA_VERSION:
        _log_ahead(engine)
        return
    if version is not None and version > SCHEMA_VERSION:
        raise NewerSchema(
            f"{_shown(engine.url)} has schema {version}, this fusebench knows {SCHEMA_VERSION}; "
            "nothing was changed. Upgrade fusebench, or name another --db"
        )
    _log_ahead(engine)
    with writing(engine) as connection:
        if _schema_version(connection) != SCHEMA_VERSION:  # nobody was faster
            _migrate(connection)


def _log_ahead(engine: Engine) -> None:
    """Have SQLite write ahead, so that readers and a writer do not wait for each other; kept in the file."""
    if engine.dialect.name != "sqlite":
        return
    with engine.connect() as connection:
        raw: Any = connection.connection.driver_connection
        if raw.execute("PRAGMA journal_mode").fetchone()[0] == "wal":
            return
        try:
            raw.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if "readonly" not in str(error) and "locked" not in str(error):
                raise
            # Read-only, or another process is at it: the next one that opens it sees to this, and whoever needs
            # to write is told then.


def _schema_version(connection: Connection) -> str | None:
    """The schema's version; None for an empty database. Raises: NotAStore for somebody else's."""
    tables = set(sa.inspect(connection).get_table_names())
    if VERSION_TABLE in tables:
        row = connection.execute(sa.text(f"SELECT version_num FROM {VERSION_TABLE}")).first()  # noqa: S608
        return None if row is None else str(row[0])
    is_foreign = bool(tables) if connection.dialect.name == "sqlite" else {"series", "value"} <= tables
    if is_foreign:
        raise NotAStore(
            f"{_shown(connection.engine.url)} holds tables of something else "
            f"({', '.join(sorted(tables)[:3])}); nothing was changed. Name another --db"
        )
    return None


def _migrate(connection: Connection) -> None:
    from alembic import command  # noqa: PLC0415 - a third of a second that an up-to-date store need not pay
    from alembic.config import Config  # noqa: PLC0415

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).with_name("migrations")))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    config.attributes["version_table"] = VERSION_TABLE
    command.upgrade(config, "head")


def is_data_rejection(error: Exception) -> bool:
    """Whether a database refused what it was given to store, and not to work at all."""
    if type(error) is DatabaseError or isinstance(error, InternalError):
        return False  # a damaged file
    if not isinstance(error, OperationalError):
        return True
    # PostgreSQL calls a text that is too long for an index an operational error too: class 54, program limit.
    return str(getattr(error.orig, "sqlstate", None)).startswith("54")


@contextmanager
def translate_db_errors(url: URL) -> Iterator[None]:
    """Whatever the database fails with inside leaves as a StoreError."""
    try:
        yield
    except (DBAPIError, sqlite3.Error) as error:
        raise store_error_from(error, url=url) from error


def store_error_from(error: Exception, *, url: URL) -> StoreError:
    """What went wrong with the database, what is safe, and what to do, in one message."""
    origin = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
    said = " ".join(str(origin).split())
    name = _shown(url)
    if "not a database" in said or "malformed" in said:
        return NotAStore(
            f"{name} is damaged or no database ({said}). The files it was made from are untouched: move it "
            "away and run `fusebench ingest` again"
        )
    if "readonly" in said or "read-only" in said:
        return StoreError(f"{name} is read-only ({said}); nothing was changed. Name another --db to write")
    if "unable to open" in said:
        return StoreError(
            f"{name} cannot be opened or made ({said}); nothing was changed. May this user read and write it and its "
            "folder? If not, name another --db"
        )
    if "full" in said or "No space left" in said or "disk I/O error" in said:
        return StoreError(
            f"{name} could not be written ({said}): is the disk full, or a limit reached? What was stored before is "
            "safe; free space and run it again"
        )
    if "locked" in said:
        return StoreError(
            f"{name} was locked by another process for {BUSY_TIMEOUT_S} s; what was stored before is safe, run it again"
        )
    return StoreError(f"{name}: {said}. What was stored before is safe")


def _shown(url: URL) -> str:
    if url.get_backend_name() == "sqlite":
        return str(url.database)
    return url.render_as_string(hide_password=True)
