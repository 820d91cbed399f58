from __future__ import annotations

import copy

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dashboard.serving.payloads import MOST_BYTES, problem_of

PATH = "/_dash-update-component"
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats(allow_nan=False) | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)


CALLBACKS = ("page", "overview-changes", "overview-maps", "throughput-answer", "explore-changes")


@pytest.mark.parametrize("component", CALLBACKS)
def test_what_a_page_sends_is_answered(client, payload, component):
    assert client.post(PATH, json=payload(component)).status_code == 200


@pytest.mark.parametrize("component", CALLBACKS)
@settings(max_examples=15)
@given(data=st.data())
def test_no_value_of_any_type_is_a_fault(client, payload, component, data):
    sent = copy.deepcopy(payload(component))
    parts = [part for part in ("inputs", "state") if sent[part]]
    one = data.draw(st.sampled_from(sent[data.draw(st.sampled_from(parts))]))
    one["value"] = data.draw(JSON)
    assert client.post(PATH, json=sent).status_code in {200, 204, 400}


@settings(max_examples=40)
@given(body=JSON)
def test_no_body_is_a_fault(client, body):
    assert client.post(PATH, json=body).status_code == 400


@pytest.mark.parametrize("key", ["output", "outputs", "inputs", "state", "changedPropIds"])
@settings(max_examples=10)
@given(data=st.data())
def test_no_part_of_a_body_is_a_fault(client, payload, key, data):
    sent = payload("throughput-answer") | {key: data.draw(JSON)}
    assert client.post(PATH, json=sent).status_code in {200, 204, 400}


@pytest.mark.parametrize(
    ("component", "place", "value"),
    [
        ("throughput-answer", "throughput-hidden", ["256"]),
        ("throughput-answer", "throughput-providers", "eager"),
        ("throughput-answer", "throughput-url", "?operation=\0"),
        ("throughput-answer", "throughput-url", "?operation=\ud800"),
        ("throughput-answer", "throughput-url", "?operation=" + "x" * 30_000),
        ("throughput-answer", "throughput-batch-graph", {"points": []}),
        ("throughput-answer", "throughput-batch-graph", {"points": [{"customdata": {"a": 1}}]}),
        ("throughput-answer", "throughput-shown", {"query": ""}),
        ("explore-changes", "explore-lines", {"a": 1}),
        ("explore-changes", "explore-lines", ["x"] * 1_000),
    ],
)
def test_what_no_page_sends_is_refused_by_name(app, client, payload, component, place, value):
    sent = payload(component)
    for one in [*sent["inputs"], *sent["state"]]:
        if one["id"] == place:
            one["value"] = value
    assert problem_of(sent, callbacks=app.callback_map).startswith(f"{place}.")
    assert client.post(PATH, json=sent).status_code == 400


def test_a_body_without_end_is_not_read(client):
    assert client.post(PATH, data=b"[" * (MOST_BYTES + 1), content_type="application/json").status_code == 413


def test_a_refusal_is_one_line_of_the_log(client, caplog):
    client.post(PATH, json={"output": "nothing.of.the.kind"})
    assert [record.getMessage() for record in caplog.records] == ["refused a callback: there is no such callback"]


@pytest.mark.parametrize("query", ["%ED%A0%80", "operation=%00", "hidden=" + "9" * 5000, "=&&=;", "batch=1e999"])
@pytest.mark.parametrize("path", ["/", "/throughput", "/explore", "/throughput.csv", "/explore.csv"])
def test_no_query_string_is_a_fault(client, path, query):
    assert client.get(f"{path}?{query}").status_code in {200, 302}


def test_an_output_that_several_callbacks_fill_is_known_with_its_hash(app):
    name = next(name for name in app.callback_map if "explore-graph.figure@" in name)
    places = [one.rpartition(".") for one in name.strip(".").split("...")]
    sent = {
        "output": name,
        "outputs": [{"id": component, "property": prop} for component, _, prop in places],
        "inputs": [{**one, "value": None} for one in app.callback_map[name]["inputs"]],
        "state": [],
        "changedPropIds": [],
    }
    assert "@" in sent["outputs"][0]["property"]
    assert problem_of(sent, callbacks=app.callback_map) is None
