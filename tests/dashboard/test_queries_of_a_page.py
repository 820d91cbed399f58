"""Statements and rows that one callback needs: selectors ask for their choices, not for measured numbers."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace

import pytest
import sqlalchemy as sa

from dashboard.app import page_and_links
from dashboard.views.explore_drawing import explore_drawing_of
from dashboard.views.judged_sides import kept_of
from dashboard.views.overview import maps_view_of
from dashboard.views.throughput.drawing import throughput_drawing_of
from results.queries import commits, point_choices
from results.store import open_store


@contextmanager
def watched(store):
    """Collect the statements and count the rows fetched by each."""
    statements, rows = [], []

    def keep(_connection, _cursor, statement, *_):
        if statement != "BEGIN":
            statements.append(" ".join(statement.split()))

    def count_rows(connection, *_):
        connection.row_factory = lambda _cursor, row: (rows.append(statements[-1] if statements else ""), row)[1]

    def stop_counting(connection, *_):
        connection.row_factory = None

    listeners = (("before_cursor_execute", keep), ("checkout", count_rows), ("checkin", stop_counting))
    for event, listener in listeners:
        sa.event.listen(store.engine, event, listener)
    try:
        yield statements, rows
    finally:
        for event, listener in listeners:
            sa.event.remove(store.engine, event, listener)


@pytest.fixture(scope="module")
def stores(tmp_path_factory, journals):
    """One store with a single operation, and one with all of them on two machines as well."""
    few = journals.history(4, operations=("mlp",))
    many = [*journals.history(4), *journals.history(4, machine="bench-02")]
    opened = []
    for sweeps in (few, many):
        folder = tmp_path_factory.mktemp("counted")
        journals.write_journals(folder, sweeps)
        store = open_store(str(folder / "fusebench.db"))
        store.ingest([folder])
        store.fingerprint()  # keeps a connection to itself, as once a dashboard has begun
        opened.append(store)
    yield opened
    for store in opened:
        store.close()


def throughput(store):
    return throughput_drawing_of(store, query="?operation=mlp&machine=bench-01")


def explore(store):
    return explore_drawing_of(store, query="?benchmark=mlp&machine=bench-01")


def maps(store):
    return maps_view_of(store, query="?machine=bench-01")


@pytest.mark.parametrize(("page", "most"), [(throughput, 15), (explore, 18), (maps, 5)])
def test_a_callback_needs_few_statements_and_asks_for_no_commits_that_it_knows(stores, page, most):
    page(stores[1])  # what is cached between callbacks is cached now
    with watched(stores[1]) as (statements, _):
        page(stores[1])
    assert len(statements) <= most
    assert not [one for one in statements if "commits.subject" in one and "value" not in one]


def test_what_is_known_is_asked_anew_once_the_store_has_grown(tmp_path, journals):
    older, newer = journals.history(2, operations=("mlp",))
    with open_store(str(tmp_path / "grows.db")) as store:
        for n_known, sweep in enumerate((older, replace(newer, batches=(1, 4, 64))), start=1):
            journals.write_journals(tmp_path / "data", [sweep])
            store.ingest([tmp_path / "data"])
            assert len(commits(store)) == n_known
        assert {point.batch for point in point_choices(store)} == {1, 4, 64}
        commits(store).clear()
        assert len(commits(store)) == 2


# Explore judges two commits as the gate does: by eager at all three operations, of its own machine.
@pytest.mark.parametrize(
    ("page", "table", "n_judged_operations"),
    [(throughput, "value", 1), (explore, "value", 3), (explore, "parameter", 3)],
)
def test_a_callback_reads_the_values_and_lines_it_shows_whatever_else_is_stored(
    stores, page, table, n_judged_operations
):
    def n_rows(store):
        kept_of(store).clear()
        with watched(store) as (_, rows):
            page(store)
        return len([one for one in rows if f"FROM {table}" in one or f"JOIN {table}" in one])

    few, many = map(n_rows, stores)
    assert 0 < few <= many <= n_judged_operations * few


def test_the_frame_around_the_pages_needs_one_statement_and_a_row_per_project(stores):
    with watched(stores[1]) as (statements, rows):
        page_and_links("/", stores[1])
    assert (len(statements), len(rows)) == (1, 1)
