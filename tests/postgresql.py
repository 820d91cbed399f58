"""Databases on a PostgreSQL server for tests, emptied and lent again."""

from __future__ import annotations

import os
import uuid
from contextlib import contextmanager

import pytest

POSTGRESQL = os.environ.get("FUSEBENCH_TEST_POSTGRESQL", "postgresql+psycopg://postgres@127.0.0.1:5432/test")


class PostgresqlDatabases:
    """Databases on one server, emptied and lent again: to make and to drop one costs more than most tests."""

    def __init__(self):
        self._sa = pytest.importorskip("sqlalchemy")
        pytest.importorskip("psycopg")
        self._server = self._engine(POSTGRESQL)
        self._free, self._made = [], []

    def _engine(self, url):
        return self._sa.create_engine(url, isolation_level="AUTOCOMMIT", connect_args={"connect_timeout": 2})

    def lend(self):
        """Return the URL of an empty database; skip the test where there is no server."""
        if self._free:
            return self._free.pop()
        name = f"fusebench_{uuid.uuid4().hex[:12]}"
        try:
            with self._server.connect() as connection:
                connection.exec_driver_sql(f"CREATE DATABASE {name}")
                # Nothing here must outlive a crash of the server.
                connection.exec_driver_sql(f"ALTER DATABASE {name} SET synchronous_commit TO off")
        except self._sa.exc.OperationalError:
            pytest.skip("no PostgreSQL at FUSEBENCH_TEST_POSTGRESQL or on this machine")
        self._made.append(name)
        return self._sa.make_url(POSTGRESQL).set(database=name).render_as_string(hide_password=False)

    def give_back(self, url):
        """Empty a database for the next test, whoever is still connected to it."""
        engine = self._engine(url)
        with engine.connect() as connection:
            connection.exec_driver_sql(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
            schemas = connection.exec_driver_sql(
                "SELECT nspname FROM pg_namespace WHERE nspname !~ '^pg_' AND nspname <> 'information_schema'"
            )
            for schema in schemas.scalars().all():
                connection.exec_driver_sql(f'DROP SCHEMA "{schema}" CASCADE')
            connection.exec_driver_sql("CREATE SCHEMA public")
        engine.dispose()
        self._free.append(url)

    def close(self):
        """Drop all that were made."""
        if self._made:
            with self._server.connect() as connection:
                for name in self._made:
                    connection.exec_driver_sql(f"DROP DATABASE {name} WITH (FORCE)")
        self._server.dispose()


@contextmanager
def locked(store, table):
    """Have another session hold a table of the store to itself, so that nobody else reads it."""
    with store.engine.connect() as other, other.begin():
        other.exec_driver_sql(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE")
        yield
