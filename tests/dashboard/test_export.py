from __future__ import annotations

import csv
import io

import pytest

from dashboard.app import create_app
from dashboard.quantities import FIELDS, Quantity, reading_of
from dashboard.tables.export import csv_of_points
from results.store import open_store


def read(text):
    return list(csv.DictReader(io.StringIO(text)))


@pytest.fixture
def client(journal_store, journals):
    return create_app(journal_store(journals.history(3))).server.test_client()


def test_the_points_of_the_page_are_a_csv_with_units_in_its_names(client, journals):
    answer = client.get("/throughput.csv?operation=mlp&hidden=1024&batch=64&providers=eager,fused")
    assert answer.mimetype == "text/csv"
    assert 'filename="throughput.csv"' in answer.headers["Content-Disposition"]
    rows = read(answer.text)
    sweep = journals.history(3)[-1]
    [newest] = [row for row in rows if (row["commit"], row["contender"], row["batch"]) == (sweep.commit, "fused", "64")]
    assert float(newest["latency_s"]) == pytest.approx(journals.latency_s(sweep, "mlp", "fused", 64, 1024))
    assert {row["contender"] for row in rows} == {"eager", "fused"}
    # Both charts: two batches at the newest commit, and the other commits at the chosen batch.
    assert len(rows) == 2 * (2 + 2)


def test_the_values_of_the_lines_are_a_csv(client):
    rows = read(client.get("/explore.csv?benchmark=mlp&metric=latency_s").text)
    assert len(rows) == 3
    assert {row["unit"] for row in rows} == {"s"}
    assert all(float(row["ci_low"]) < float(row["value"]) < float(row["ci_high"]) for row in rows)


def test_the_level_of_the_intervals_is_in_the_csv(client, tmp_path, write_asv_tree):
    assert {row["interval_level"] for row in read(client.get("/explore.csv?benchmark=mlp").text)} == {"0.95"}
    with open_store(str(tmp_path / "asv.db")) as store:
        store.ingest([write_asv_tree(tmp_path / "results", times=[[1e-3, 2e-3]])])
        rows = read(create_app(store).server.test_client().get("/explore.csv?benchmark=ops.time_sort").text)
    assert {row["interval_level"] for row in rows} == {"0.99"}


def test_compared_commits_are_in_the_csv_with_their_whole_hashes(client, journals):
    rows = read(client.get("/compare.csv").text)
    assert {(row["base_commit"], row["side_commit"]) for row in rows} == {
        (journals.commit_hash(1), journals.commit_hash(2))
    }
    rows = read(client.get("/compare.csv?along=provider").text)
    assert rows
    assert {(row["base_commit"], row["side_commit"]) for row in rows} == {(journals.commit_hash(2), "")}


def test_no_text_is_taken_for_a_formula(point):
    [row] = read(csv_of_points([point(commit_subject='=HYPERLINK("x")', activation=None)]))
    assert row["commit_subject"] == """'=HYPERLINK("x")"""
    assert row["activation"] == ""


@pytest.mark.parametrize("begin", ["=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20"])
def test_whatever_a_spreadsheet_takes_for_a_formula_begins_with_a_quote(point, begin):
    subject = f'{begin}cmd, "a"\nb; c'
    [row] = read(csv_of_points([point(commit_subject=subject)]))
    assert row["commit_subject"] == f"'{subject}"


@pytest.mark.parametrize("quantity", Quantity)
def test_whatever_the_chart_shows_is_in_the_csv(point, quantity):
    known = dict.fromkeys((*FIELDS.values(), "percent_of_floor"), 7.0)
    row = point(**known, gb_per_s=7e-9)
    shown = reading_of(row, quantity=quantity).value
    [written] = read(csv_of_points([row]))
    scales = {Quantity.FLOP_PER_S: ("tflop_per_s", 1e12), Quantity.BYTES_PER_S: ("gb_per_s", 1e9),
              Quantity.LATENCY: ("latency_s", 1), Quantity.SPEEDUP: ("speedup_vs_eager", 1)}  # fmt: skip
    name, scale = scales.get(quantity, (FIELDS.get(quantity, quantity.value), 1))
    assert scale * float(written[name]) == pytest.approx(shown)


@pytest.mark.parametrize("path", ["/throughput.csv", "/explore.csv"])
def test_an_empty_store_has_no_csv(tmp_path, path):
    with open_store(str(tmp_path / "empty.db")) as store:
        assert create_app(store).server.test_client().get(path).status_code == 404


def test_points_that_work_at_neither_commit_are_saved_with_their_states(journal_store, journals):
    states = {("mlp", "fused"): "unavailable", ("linear", "compiled"): "timed_out"}
    store = journal_store(journals.history(2, operations=("mlp", "linear"), states=states))
    lines = read(create_app(store).server.test_client().get("/compare.csv").text)
    told = {line["point"].partition("[")[2].partition(",")[0]: line["outcome"] for line in lines if not line["ratio"]}
    assert told == {"provider=fused": "unavailable", "provider=compiled": "timed out"}
