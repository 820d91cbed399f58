"""The questions reach the rows they need by key: no scan of the large tables."""

from __future__ import annotations

import time

import pytest
import sqlalchemy as sa

from results.database.transactions import refresh_statistics
from results.queries import (
    benchmark_names,
    benchmarks,
    commits,
    failures,
    freshness,
    history_of,
    known_changes,
    latest_points,
    places,
    point_choices,
    profile_of,
    projects,
    series_where,
    stacks_of,
    throughput_by_batch,
    throughput_by_commit,
    values_at,
)
from results.rows import Between
from results.store import open_store
from results.upkeep.generated import fill_with_sweeps

LARGE = {
    "value", "measurement", "profile", "profile_operator", "profile_kernel", "execution", "run", "series", "parameter",
}  # fmt: skip


@pytest.fixture(scope="module")
def generated(shared_database):
    with open_store(shared_database) as store:
        fill_with_sweeps(store, n_commits=20)
        yield store


@pytest.fixture(scope="module")
def suite(shared_database, generated, tmp_path_factory, write_asv_run, timed):
    """The same store with an asv suite of 400 series beside the sweep."""
    tree = tmp_path_factory.mktemp("suite")
    params = [[str(i) for i in range(40)], [repr(f"x{i}") for i in range(10)]]
    grid = {"result": [1.0] * 399 + [None], "params": params, "version": "g"}
    for number in range(20):
        results = {"s.track_grid": grid, "s.time_it": timed(1e-3)}
        write_asv_run(tree, results, commit=f"{number:08x}" * 5, date=1_700_000_000_000 + number * 86_400_000)
    generated.ingest([tree], project="suite")
    refresh_statistics(generated.engine)
    return generated


@pytest.fixture
def selects_of(suite):
    """Ask a question and list what it selected: each statement and its parameters."""

    def ask(question):
        statements = []

        def listen(connection, _cursor, statement, parameters, *_rest):
            statements.append((statement, parameters))

        sa.event.listen(suite.engine, "before_cursor_execute", listen)
        question(suite)
        sa.event.remove(suite.engine, "before_cursor_execute", listen)
        selects = [asked for asked in statements if asked[0].lstrip().upper().startswith(("SELECT", "WITH"))]
        assert selects
        return selects

    return ask


@pytest.fixture
def scans(suite, selects_of):
    """Ask a question and list the large tables that the database would read from end to end for it."""

    def ask(question):
        selects = selects_of(question)
        with suite.reading() as connection:
            return [table for asked in selects for table in scanned(connection, *asked)]

    return ask


def scanned(connection, statement, parameters):
    """The large tables that a statement's plan reads from end to end."""
    if connection.dialect.name == "sqlite":
        plans = [row[3] for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters)]
        names = [plan.split()[1] for plan in plans if plan.startswith("SCAN ")]
        return [name for name in names if name in LARGE]
    # A table of a few pages is read whole whatever its indexes: what is asked here is whether an index would serve.
    for kind in ("seqscan", "hashjoin", "mergejoin"):
        connection.exec_driver_sql(f"SET LOCAL enable_{kind} = off")
    plan = connection.exec_driver_sql(f"EXPLAIN (FORMAT JSON) {statement}", parameters).scalar()
    return [name for name in nodes_of(plan[0]["Plan"]) if name in LARGE]


def nodes_of(node):
    """The tables that a plan of PostgreSQL reads from end to end: themselves, or an index without a condition."""
    is_whole_index = node["Node Type"] in {"Index Scan", "Index Only Scan"} and "Index Cond" not in node
    if node["Node Type"] == "Seq Scan" or is_whole_index:
        yield node["Relation Name"]
    for child in node.get("Plans", ()):
        yield from nodes_of(child)


QUESTIONS = {
    "history": lambda store: history_of(store, series_ids=[1, 2]),
    "latest": latest_points,
    "latest at a revision": lambda store: latest_points(
        store, revision=commits(store, project="generated")[3].commit, operation="mlp"
    ),
    "throughput by commit": lambda store: throughput_by_commit(store, operation="mlp", hidden=1024, batch=64),
    "throughput by batch": lambda store: throughput_by_batch(store, operation="mlp", hidden=1024),
    "values of a commit": lambda store: values_at(store, commit=f"{3:08x}" * 5),
    "values by parameter": lambda store: values_at(store, commit=f"{3:08x}" * 5, parameters={"param1": Between(3, 5)}),
    "series by parameter": lambda store: series_where(store, project="suite", parameters={"param1": 3}),
    "profile": lambda store: profile_of(store, point=latest_points(store, operation="mlp", batch=1)[0]),
    "stacks": lambda store: stacks_of(store, point=latest_points(store, operation="mlp", batch=1)[0]),
    "points to choose": point_choices,
    "freshness": freshness,
    "failures": failures,
    "known_changes": lambda store: known_changes(store, benchmark="mlp"),
}
# What counts everything reads everything: there the plan must at least keep to an index of the largest tables.
LISTS = {"projects": projects, "places": places, "commits": commits, "benchmarks": benchmarks, "names": benchmark_names}
# A plan that lists what all series, runs or parameters have reads those; never what every value or point has.
LISTED = {"run", "series", "parameter"}


@pytest.mark.parametrize("question", QUESTIONS.values(), ids=QUESTIONS)
def test_a_question_scans_no_large_table(scans, question):
    assert set(scans(question)) - LISTED == set()


@pytest.mark.parametrize("question", LISTS.values(), ids=LISTS)
def test_an_inventory_never_reads_the_values(scans, question):
    assert set(scans(question)) - LISTED - {"measurement"} == set()


@pytest.mark.parametrize("name", ["history", "throughput by commit", "profile", "stacks"])
def test_a_question_about_one_thing_scans_nothing_at_all(scans, name):
    assert scans(QUESTIONS[name]) == []


def test_a_history_on_postgresql_reads_its_values_from_an_index_alone(suite, selects_of):
    if suite.engine.dialect.name != "postgresql":
        pytest.skip("SQLite keeps rows and their key together")
    asked, _ = (asked for asked in selects_of(QUESTIONS["history"]) if "value.median" in asked[0])

    def plan():
        # A page is only known to be visible to all once no older transaction of the server is left.
        with suite.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.exec_driver_sql("VACUUM value")
        with suite.reading() as connection:
            connection.exec_driver_sql("SET LOCAL enable_seqscan = off")
            connection.exec_driver_sql("SET LOCAL enable_bitmapscan = off")
            return connection.exec_driver_sql(f"EXPLAIN (ANALYZE, FORMAT JSON) {asked[0]}", asked[1]).scalar()[0][
                "Plan"
            ]

    deadline = time.monotonic() + 60
    while (found := plan())["Heap Fetches"] and time.monotonic() < deadline:
        time.sleep(0.5)
    assert (found["Node Type"], found["Actual Rows"], found["Heap Fetches"]) == ("Index Only Scan", 20, 0)


def test_the_generated_store_is_the_size_it_claims(generated):
    assert len(series_where(generated, project="generated")) == 1200
    assert len(commits(generated, project="generated")) == 20
    assert len(latest_points(generated)) == 300


def test_a_history_asks_a_server_no_more_often_than_it_must(suite, selects_of):
    """Which series, and its values, a round trip each: the runs are remembered, and no reason is asked for in vain."""
    selects_of(lambda store: history_of(store, series_ids=[1]))
    assert len(selects_of(lambda store: history_of(store, series_ids=[2]))) == 2
