"""Device time on the page Compare: it is judged nowhere, and asked for on every GPU."""

from __future__ import annotations

import csv
import io

import pytest

from dashboard.app import create_app
from dashboard.pages.compare import page_props
from dashboard.views.compare_drawing import compare_drawing_of

BY = 1.5


@pytest.fixture
def store(journal_store, journals):
    """Two commits of a GPU; the last made mlp's fused half as slow again."""
    sweeps = journals.history(2, device="cuda", operations=("mlp",), hiddens=(256,))
    sweeps[1].slowdowns["mlp", "fused"] = BY
    return journal_store(sweeps)


def ratios_of(drawing):
    return {row.name: row.ratios[0] for row in drawing.rows}


def test_commits_are_compared_by_device_time_which_is_offered_as_a_metric(store):
    props = page_props(compare_drawing_of(store, query="?metric=device_time_s&provider=fused"), is_from_url=True)
    assert {"value": "device_time_s", "label": "device time"} in props["metric"]["data"]
    assert props["metric"]["value"] == "device_time_s"
    drawing = compare_drawing_of(store, query="?metric=device_time_s&provider=fused")
    assert drawing.problems == ()
    assert [one.ratio for one in ratios_of(drawing).values()] == pytest.approx([BY, BY])


def test_providers_are_compared_by_device_time(store):
    drawing = compare_drawing_of(store, query="?along=provider&metric=device_time_s&provider=eager&provider=fused")
    assert [one.ratio for one in ratios_of(drawing).values()] == pytest.approx([BY / 1.6] * 2)


def test_of_a_metric_without_intervals_nothing_certain_is_claimed(store):
    drawing = compare_drawing_of(store, query="?metric=device_time_s&provider=fused")
    assert {(one.word, one.is_significant) for one in ratios_of(drawing).values()} == {("noise not known", False)}
    answer = page_props(drawing, is_from_url=True)["answer"]
    assert answer.startswith("Geometric mean +50.0\N{NO-BREAK SPACE}% of 2 points, whose noise is not known: ")


def test_of_many_sides_none_is_counted_worse_or_better_without_a_known_noise(journal_store, journals):
    names = ("eager", "compiled", "fused", "ours")
    store = journal_store(journals.history(1, device="cuda", operations=("mlp",), providers=names))
    props = page_props(compare_drawing_of(store, query="?along=provider&metric=device_time_s"), is_from_url=True)
    assert props["answer"].count("(noise not known)") == 2
    assert "worse" not in props["answer"]


def test_what_a_cpu_measured_offers_no_device_time(journal_store, journals):
    drawing = compare_drawing_of(journal_store(journals.history(2, operations=("mlp",))), query="")
    assert "device_time_s" not in drawing.metrics


def test_a_csv_of_ratios_says_of_which_metric_and_where(store):
    query = "metric=device_time_s&provider=fused"
    text = create_app(store).server.test_client().get(f"/compare.csv?{query}").text
    row = next(csv.DictReader(io.StringIO(text)))
    where = ("fusebench", "bench-01", "py3.11-cuda-t2", "device_time_s")
    assert tuple(row[name] for name in ("project", "base_machine", "base_environment", "metric")) == where
    assert "dtype=bfloat16" in row["shared_parameters"]
