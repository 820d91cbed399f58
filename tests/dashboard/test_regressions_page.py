"""Page Regressions: a planted step is listed, marked on its curve, one click from its cause, fed, and acknowledged."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree as ET

import plotly.graph_objects as go
import pytest
from dash.exceptions import PreventUpdate

from dashboard.app import create_app
from dashboard.pages.overview import open_cards
from dashboard.pages.regressions import OUTPUTS, asked_query, page_props
from dashboard.tables.finding_card import finding_facts
from dashboard.views.judged_histories import judged_histories
from dashboard.views.regressions_choice import RegressionsChoice, query_from_regressions_choice
from dashboard.views.regressions_drawing import open_regressions_of, regressions_drawing_of
from dashboard.views.url import ALL
from results.judgement.findings import FindingState, Turn
from results.store import open_store

N, AT, BY = 40, 25, 1.06
ATOM = "{http://www.w3.org/2005/Atom}"
HERE = {"base_url": "http://localhost", "headers": {"Origin": "http://localhost"}}


def shown(store, query="", **given):
    props = page_props(regressions_drawing_of(store, query=query), is_from_url=False, refusal=None, **given)
    assert props.keys() == OUTPUTS.keys()
    return props


def links(component):
    """All addresses that a component leads to."""
    return [part.href for part in component._traverse() if hasattr(part, "href")]


def test_a_planted_step_is_the_first_of_the_list_with_its_range_and_size(planted, journals):
    drawing = regressions_drawing_of(planted, query="")
    first = drawing.found[0].finding
    assert (first.benchmark, first.turn, first.state) == ("mlp", Turn.SLOWER, FindingState.CONFIRMED)
    assert first.ratio == pytest.approx(BY, rel=0.01)
    assert (first.last_good, first.first_bad) == (journals.commit_hash(AT - 1), journals.commit_hash(AT))
    assert {one.finding.benchmark for one in drawing.found} == {"mlp"}
    assert "open regression" in drawing.answer
    assert "mlp · fused" in drawing.answer


def test_the_step_is_marked_on_its_curve_where_it_begins(planted, journals):
    figure = go.Figure(shown(planted)["figure"])
    [mark] = [shape for shape in figure.layout.shapes if (shape.name or "").startswith("change point")]
    assert journals.commit_hash(AT).startswith(mark.x0)
    [text] = [one.text for one in figure.layout.annotations]
    assert text.startswith("+")
    assert text.endswith(" %")
    assert float(text[1:-2]) == pytest.approx(6, abs=1)


def test_one_click_leads_to_the_profiles_before_and_after_and_to_the_curves(planted, journals):
    found = links(shown(planted)["facts"][-1])
    profile = next(address for address in found if address.startswith("/profile"))
    assert f"commit={journals.commit_hash(AT)[:12]}" in profile
    assert f"base={journals.commit_hash(AT - 1)[:12]}" in profile
    assert "provider=fused" in profile
    assert "operation=mlp" in profile
    curve = next(address for address in found if address.startswith("/explore"))
    assert "benchmark=mlp" in curve
    sides = "&".join(f"commit={journals.commit_hash(number)[:12]}" for number in (AT - 1, AT))
    [ratios] = [address for address in found if address.startswith("/compare")]
    assert f"/compare?project=fusebench&{sides}" in ratios
    assert "metric=latency_s" in ratios


def test_what_got_faster_is_another_list_a_click_away(planted):
    lists = {link.children: link.href for link in shown(planted)["lists"]}
    better = next(href for text, href in lists.items() if "better" in text)
    drawing = regressions_drawing_of(planted, query=better.partition("?")[2])
    assert {one.finding.benchmark for one in drawing.found} == {"linear"}
    assert all(one.finding.turn is Turn.FASTER for one in drawing.found)


def test_the_url_of_a_view_shows_the_same_view(planted):
    uid = judged_histories(planted)[-1].uid
    first = shown(planted, f"?turn=all&class=all&contains=linear&machine=bench-01&finding={uid}")
    assert first["problems"] == []
    again = shown(planted, first["shown"])
    assert {name: str(again[name]) for name in again} == {name: str(first[name]) for name in first}
    assert query_from_regressions_choice(RegressionsChoice()) == ""


def test_wrong_values_in_the_url_are_named(planted):
    problems = str(shown(planted, "?turn=up&colour=red&machine=moon&finding=nothing")["problems"])
    for part in ("turn is up", "colour", "machine moon", "no finding nothing"):
        assert part in problems


def test_nothing_that_matches_is_said(planted):
    props = shown(planted, "?contains=no such benchmark")
    assert props["answer"] == "No finding matches this choice."
    assert props["chosen"] == {"display": "none"}


@pytest.mark.parametrize(
    ("n", "answer"),
    [
        (0, "No open regression"),
        (1, "No open regression; of 1 finding nobody said which way is worse"),
        (12, "No open regression; of 12 findings nobody said which way is worse"),
    ],
)
def test_without_a_regression_the_answer_counts_what_may_be_one(planted, n, answer):
    drawing = regressions_drawing_of(planted, query="")
    labels = [label for label, _, _ in drawing.lists]
    assert "direction unknown" in labels
    lists = tuple((label, "?", n if label == "direction unknown" else 7) for label in labels)
    assert replace(drawing, found=(), lists=lists).answer == answer


def test_a_place_without_a_regression_is_named_and_that_its_history_is_short(journal_store, journals):
    sweeps = [*journals.history(4, operations=("mlp",)), *journals.history(9, operations=("mlp",), machine="bench-02")]
    store = journal_store(sweeps)
    answers = [regressions_drawing_of(store, query=f"?machine={name}").answer for name in ("bench-01", "bench-02")]
    assert answers == [
        "No open regression on bench-01; 4 commits are too few to find a change of a time in: Overview compares two",
        "No open regression on bench-02",
    ]
    assert regressions_drawing_of(store, query="?machine=bench-01&state=all").answer == "No finding matches this choice"


def test_a_selector_changes_the_list_and_forgets_the_finding(planted):
    picked = {
        "project": ALL,
        "machine": ALL,
        "turn": "better",
        "state": "open",
        "class": "relevant",
        "contains": "",
    }
    query = asked_query("?finding=abc", picked=picked, shown="?finding=abc", triggered="regressions-turn")
    assert "turn=better" in query
    assert "finding" not in query
    with pytest.raises(PreventUpdate):
        asked_query("?a=b", picked=picked, shown="?a=b", triggered="regressions-url")


def test_histories_are_judged_once_for_one_state_of_the_store(own, tmp_path):
    first = judged_histories(own)
    assert judged_histories(own) is first
    file = tmp_path / "decisions.toml"
    finding = first[0].finding
    file.write_text(
        f'format = 1\n[[acknowledgement]]\nproject = "{finding.surface.project}"\ncommit = "{finding.first_bad}"\n'
        'decision = "accepted"\n'
    )
    own.ingest([file])
    assert judged_histories(own) is not first


def test_the_feed_is_atom_with_absolute_links_and_ids_that_stay(planted):
    client = create_app(planted).server.test_client()
    answers = [client.get("/regressions.xml", base_url=base) for base in ("http://127.0.0.1:82", "http://localhost:81")]
    assert {answer.mimetype for answer in answers} == {"application/atom+xml"}
    feeds = [
        ET.fromstring(answer.data)  # noqa: S314 - our own
        for answer in answers
    ]
    for feed, base in zip(feeds, ("http://127.0.0.1:82/", "http://localhost:81/"), strict=True):
        assert feed.tag == f"{ATOM}feed"
        for name in ("title", "id", "updated"):
            assert feed.find(f"{ATOM}{name}").text
        assert feed.find(f"{ATOM}author/{ATOM}name").text
        for entry in feed.findall(f"{ATOM}entry"):
            assert entry.find(f"{ATOM}link").get("href").startswith(f"{base}regressions?finding=")
            assert entry.find(f"{ATOM}updated").text.endswith("+00:00")
    ids = [[entry.find(f"{ATOM}id").text for entry in feed.findall(f"{ATOM}entry")] for feed in feeds]
    assert ids[0] == ids[1]
    assert len(set(ids[0])) == len(ids[0]) > 0
    assert all(one.startswith("urn:uuid:") for one in ids[0])
    assert "+6" in feeds[0].find(f"{ATOM}entry/{ATOM}title").text


def test_the_list_is_saved_as_csv(planted):
    text = create_app(planted).server.test_client().get("/regressions.csv?turn=all&class=all").text
    heading, *lines = text.splitlines()
    assert heading.startswith("project,machine,environment,benchmark,metric")
    assert len(lines) == len(regressions_drawing_of(planted, query="?turn=all&class=all").found)


def test_the_overview_lists_it_too_one_click_from_its_finding(planted):
    [found] = open_regressions_of(planted)
    assert f"/regressions?finding={found.uid}" in links(open_cards(open_regressions_of(planted))[0])
    assert open_cards([]) == []


def test_why_it_is_is_told_where_it_is_known(planted):
    said = "one more kernel: copy_"
    facts = str(finding_facts(judged_histories(planted)[0], explanation=said)[2])
    assert said in facts
    assert "The cause is not known" not in facts


@pytest.mark.parametrize("missing", [range(10, 13), ()])
def test_where_the_worst_point_has_no_value_before_its_step_its_own_range_is_told(tmp_path, write_asv_run, missing):
    for i in range(24):
        low, high = (1e-3 * (1 + 0.002 * (i * 7 % 5 - 2)) * (by if i >= 13 else 1) for by in (1.3, 1.6))
        values = [low, None if i in missing else high]
        row = {"result": values, "params": [["1", "2"]], "version": "v1"}
        write_asv_run(tmp_path, {"ops.time_x": row}, commit=f"{i + 16:x}" * 20, date=(1_700_000 + i * 86) * 1_000_000)
    with open_store(str(tmp_path / "gap.db")) as store:
        store.ingest([tmp_path])
        drawing = regressions_drawing_of(store, query="")
    assert drawing.chosen.finding.last_good == "1c" * 20
    assert len(drawing.chosen.finding.points) == 2
    own = "The range is that of other points: the one drawn has no value between, its own range is 19191919..1d1d1d1d"
    assert drawing.left_out == (own if missing else "")
