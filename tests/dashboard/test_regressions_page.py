"""Page Regressions: a planted step is listed, marked on its curve, one click from its cause, fed, and acknowledged."""

from __future__ import annotations

import re
import sqlite3
import tomllib
from xml.etree import ElementTree as ET

import pytest
from dash.exceptions import PreventUpdate

from dashboard.app import create_app
from dashboard.pages.overview import open_cards
from dashboard.pages.regressions import OUTPUTS, asked_query, page_props
from dashboard.tables.finding_card import finding_facts
from dashboard.views.judged_histories import judged_histories
from dashboard.views.regressions_choice import RegressionsChoice, query_from_regressions_choice
from dashboard.views.regressions_drawing import open_regressions_of, regressions_drawing_of
from results.judgement.findings import FindingState, Turn
from results.store import open_store

N, AT, BY = 40, 25, 1.06
ATOM = "{http://www.w3.org/2005/Atom}"
HERE = {"base_url": "http://localhost", "headers": {"Origin": "http://localhost"}}


@pytest.fixture(scope="module")
def planted(tmp_path_factory, journals):
    """A store of 40 commits in which mlp's fused is 6 % slower from the 26th on, and linear's compiled faster."""
    sweeps = journals.history(N, operations=("linear", "mlp"), batches=(1, 16, 64), hiddens=(256,))
    for number, sweep in enumerate(sweeps):
        wobble = 1 + 0.004 * ((number * 7) % 5 - 2)
        for operation in sweep.operations:
            for provider in sweep.providers:
                sweep.slowdowns[operation, provider] = wobble
        if number >= AT:
            sweep.slowdowns["mlp", "fused"] = BY * wobble
            sweep.slowdowns["linear", "compiled"] = 0.9 * wobble
    folder = tmp_path_factory.mktemp("planted")
    journals.write_journals(folder, sweeps)
    with open_store(str(folder / "fusebench.db")) as store:
        store.ingest([folder])
        yield store


@pytest.fixture
def own(tmp_path, planted):
    """A copy of the planted store, to write to."""
    path = tmp_path / "own.db"
    with sqlite3.connect(planted.engine.url.database) as source, sqlite3.connect(path) as copy:
        source.backup(copy)
    source.close()
    copy.close()
    with open_store(str(path)) as store:
        yield store


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
    figure = shown(planted)["figure"]
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


def test_a_selector_changes_the_list_and_forgets_the_finding(planted):
    picked = {
        "project": "all",
        "machine": "all",
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


def decide(store, file, *, given=None, **changes):
    uid = regressions_drawing_of(store, query="").found[0].uid if given is None else given
    form = {"finding": uid, "by": "Ada", "note": "pays for accuracy", "decision": "accepted", **changes}
    return create_app(store, decisions=file).server.test_client().post("/regressions/decide", data=form, **HERE)


def test_a_finding_is_acknowledged_with_a_name_and_a_reason_and_taken_back(own, tmp_path):
    file = tmp_path / "decisions.toml"
    uid = regressions_drawing_of(own, query="").found[0].uid
    answer = decide(own, file)
    assert answer.status_code == 303
    assert answer.location.endswith(f"finding={uid}")
    [written] = tomllib.loads(file.read_text())["acknowledgement"]
    assert (written["by"], written["note"], written["decision"]) == ("Ada", "pays for accuracy", "accepted")
    assert (written["benchmark"], written["parameters"]["provider"]) == ("mlp", "fused")
    known = {one.uid: one.finding for one in judged_histories(own)}
    assert known[uid].state is FindingState.ACKNOWLEDGED
    assert "pays for accuracy" in known[uid].why
    assert uid not in {one.uid for one in regressions_drawing_of(own, query="").found}
    assert decide(own, file, given=uid, decision="take_back", by="Eve", note="it was not").status_code == 303
    assert "acknowledgement" not in tomllib.loads(file.read_text())
    assert uid in {one.uid for one in regressions_drawing_of(own, query="").found}


def test_who_took_an_acknowledgement_back_and_why_is_kept_and_shown_at_its_finding_alone(own, tmp_path):
    file = tmp_path / "decisions.toml"
    [uid, other] = [one.uid for one in regressions_drawing_of(own, query="?turn=all").found][:2]
    decide(own, file, given=uid)
    assert "taken back" not in str(shown(own, f"?turn=all&state=all&finding={uid}")["facts"])
    decide(own, file, given=uid, decision="take_back", by="Eve", note="it was not")
    [written] = tomllib.loads(file.read_text())["withdrawal"]
    assert (written["by"], written["withdrawn_by"], written["withdrawn_note"]) == ("Ada", "Eve", "it was not")
    facts = str(shown(own, f"?turn=all&finding={uid}")["facts"])
    assert re.search(
        r"Accepted by Ada on [\d-]{10}: pays for accuracy; taken back by Eve on [\d-]{10}: it was not\.", facts
    )
    assert "taken back" not in str(shown(own, f"?turn=all&finding={other}")["facts"])


@pytest.mark.parametrize(
    ("changes", "words"),
    [({"by": " "}, "needs a name"), ({"note": ""}, "needs a reason"), ({"decision": "drop"}, "not one of accepted"),
     ({"decision": "take_back"}, "no acknowledgement"), ({"note": "a\0b"}, "needs a reason")],
)  # fmt: skip
def test_a_wrong_decision_is_refused_in_words_and_nothing_is_written(own, tmp_path, changes, words):
    answer = decide(own, tmp_path / "decisions.toml", **changes)
    assert (answer.status_code, words in answer.text) == (400, True), answer.text
    assert not (tmp_path / "decisions.toml").exists()


def test_a_file_that_cannot_be_changed_is_named_without_its_folder(own, tmp_path):
    file = tmp_path / "decisions.toml"
    file.write_text("this is [ no toml")
    answer = decide(own, file)
    assert answer.status_code == 400
    assert "decisions.toml could not be changed" in answer.text
    assert str(tmp_path) not in answer.text


def test_the_only_finding_known_leaves_no_open_regression(own, tmp_path):
    [found] = open_regressions_of(own)
    assert decide(own, tmp_path / "decisions.toml").status_code == 303
    drawing = regressions_drawing_of(own, query=f"?finding={found.uid}")
    assert (drawing.chosen.uid, drawing.answer) == (found.uid, "No open regression")


@pytest.mark.parametrize(
    "request_of",
    [
        {"base_url": "http://localhost", "headers": {"Origin": "http://evil.example"}},
        {"base_url": "http://localhost"},
        {**HERE, "environ_overrides": {"REMOTE_ADDR": "192.168.1.9"}},
    ],
)
def test_nobody_else_may_decide(own, tmp_path, request_of):
    file = tmp_path / "decisions.toml"
    uid = judged_histories(own)[0].uid
    form = {"finding": uid, "by": "Eve", "note": "mine", "decision": "accepted"}
    answer = create_app(own, decisions=file).server.test_client().post("/regressions/decide", data=form, **request_of)
    assert answer.status_code == 403
    assert not file.exists()


def test_without_a_file_for_decisions_the_page_says_what_to_do(planted):
    uid = judged_histories(planted)[0].uid
    answer = create_app(planted).server.test_client().post("/regressions/decide", data={"finding": uid}, **HERE)
    assert answer.status_code == 403
    assert "start the dashboard over the database" in answer.text


def test_a_finding_that_is_gone_is_said(own, tmp_path):
    assert decide(own, tmp_path / "decisions.toml", given="0" * 16).status_code == 404


def test_the_overview_lists_it_too_one_click_from_its_finding(planted):
    [found] = open_regressions_of(planted)
    assert f"/regressions?finding={found.uid}" in links(open_cards(open_regressions_of(planted))[0])
    assert open_cards([]) == []


def test_why_it_is_is_told_where_it_is_known(planted):
    said = "one more kernel: copy_"
    facts = str(finding_facts(judged_histories(planted)[0], explanation=said)[2])
    assert said in facts
    assert "The cause is not known" not in facts
