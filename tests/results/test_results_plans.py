"""The questions reach the rows they need by key: no scan of the large tables."""

from __future__ import annotations

import pytest
import sqlalchemy as sa

from results.generated import fill_with_sweeps
from results.queries import (
    commits,
    history_of,
    latest_points,
    profile_of,
    throughput_by_batch,
    throughput_by_commit,
    values_at,
    winners_by_shape,
)
from results.schema import Series
from results.store import open_store

LARGE = ("value", "measurement", "profile", "profile_operator", "profile_kernel", "execution")


@pytest.fixture(scope="module")
def generated(tmp_path_factory):
    with open_store(str(tmp_path_factory.mktemp("plans") / "x.db")) as store:
        fill_with_sweeps(store, n_commits=20)
        yield store


@pytest.fixture
def scans(generated):
    """Ask a question and list the large tables that SQLite would read from end to end for it."""

    def ask(question):
        statements = []

        def listen(connection, _cursor, statement, parameters, *_rest):
            statements.append((statement, parameters))

        sa.event.listen(generated.engine, "before_cursor_execute", listen)
        question(generated)
        sa.event.remove(generated.engine, "before_cursor_execute", listen)
        with generated.reading() as connection:
            plans = [
                row[3]
                for statement, parameters in statements
                if statement.lstrip().upper().startswith(("SELECT", "WITH"))
                for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters)
            ]
        assert plans
        return [plan for plan in plans if plan.startswith("SCAN ") and plan.split()[1] in LARGE]

    return ask


@pytest.mark.parametrize(
    "question",
    [
        lambda store: history_of(store, series_ids=[1, 2]),
        latest_points,
        winners_by_shape,
        lambda store: latest_points(store, revision=commits(store)[3].commit, operation="mlp"),
        lambda store: throughput_by_commit(store, operation="mlp", hidden=1024, batch=64),
        lambda store: throughput_by_batch(store, operation="mlp", hidden=1024),
        lambda store: values_at(store, commit=commits(store)[0].commit),
        lambda store: profile_of(store, point=latest_points(store, operation="mlp", batch=1)[0]),
    ],
    ids=["history", "latest", "winners", "at a revision", "by commit", "by batch", "values", "profile"],
)
def test_a_question_scans_no_large_table(scans, question):
    assert scans(question) == []


def test_the_generated_store_is_the_size_it_claims(generated):
    with generated.reading() as connection:
        assert connection.execute(sa.select(sa.func.count()).select_from(Series)).scalar() == 1200
    assert len(latest_points(generated)) == 300
    assert len(winners_by_shape(generated)) == 75


def test_a_winner_is_the_fastest_and_clear_only_where_intervals_are_apart(journal_store, journals):
    rows = winners_by_shape(journal_store([journals.Sweep()]))
    assert {row.winner.provider for row in rows} == {"fused"}
    assert {row.runner_up.provider for row in rows} == {"compiled"}
    assert all(row.is_clear and row.margin == pytest.approx(1.28) for row in rows)
    noisy = winners_by_shape(journal_store([journals.Sweep(noise=2.0)]))
    assert not any(row.is_clear for row in noisy)
