"""What the page Regressions offers to decide of a finding, and what it says before findings are known."""

from __future__ import annotations

import re
import tomllib

import pytest

from dashboard.app import create_app
from dashboard.pages import overview, regressions
from dashboard.pages.acknowledging import decision_form
from dashboard.pages.regressions import OUTPUTS, page_props
from dashboard.views.judged_histories import judged_histories
from dashboard.views.regressions_drawing import open_regressions_of, regressions_drawing_of
from results.judgement.changes.ranked import RankedFinding
from results.judgement.findings import FindingState, Turn
from tests.made_explanations import finding

HERE = {"base_url": "http://localhost", "headers": {"Origin": "http://localhost"}}


@pytest.mark.parametrize(
    ("turn", "has_fix"),
    [(Turn.FAILED, True), (Turn.SLOWER, True), (Turn.CHANGED, True), (Turn.FASTER, False), (Turn.FIXED, False)],
)
def test_an_improvement_is_not_offered_to_be_fixed(turn, has_fix):
    nothing = {"series": None, "commits": (), "course": (), "last_good": None, "first_bad": None}
    found = RankedFinding(finding=finding(turn=turn), weight=1.0, uid="x", **nothing)
    form = str(decision_form(found, refusal=None))
    assert ("To be fixed" in form) is has_fix
    assert "Accept it" in form
    assert "False alarm" in form


def test_until_all_histories_are_judged_the_pages_say_so():
    for page in (regressions.PAGE, overview.PAGE):
        assert "the first visit judges them anew" in str(page.layout())
    assert regressions.OUTPUTS["lists"].component_id == "regressions-lists"  # what is found takes its place


def shown(store, query="", **given):
    props = page_props(regressions_drawing_of(store, query=query), is_from_url=False, refusal=None, **given)
    assert props.keys() == OUTPUTS.keys()
    return props


def decide(store, file, *, given=None, **changes):
    query = "" if given is None else f"?finding={given}"
    drawing = regressions_drawing_of(store, query=query)
    uid = drawing.found[0].uid if given is None else given
    seen = f"{drawing.chosen.finding.state.value}-{len(drawing.taken_back)}"  # what the page's form sends, too
    form = {"finding": uid, "seen": seen, "by": "Ada", "note": "pays for accuracy", "decision": "accepted", **changes}
    return create_app(store, decisions=file).server.test_client().post("/regressions/decide", data=form, **HERE)


@pytest.mark.parametrize("is_project_chosen", [False, True])
def test_a_chosen_project_stays_chosen(own, tmp_path, is_project_chosen):
    found = regressions_drawing_of(own, query="").found[0]
    project = found.finding.surface.project
    form = str(decision_form(found, refusal=None, is_project_chosen=is_project_chosen))
    assert ("name='project'" in form) is is_project_chosen
    given = {"project": project} if is_project_chosen else {}
    answer = decide(own, tmp_path / "decisions.toml", **given)
    assert (f"project={project}&" in answer.location) is is_project_chosen


def test_no_other_name_gets_into_the_address(own, tmp_path):
    answer = decide(own, tmp_path / "decisions.toml", project="x&finding=y\r\nSet-Cookie: a")
    assert answer.status_code == 303
    assert "project" not in answer.location
    assert "Cookie" not in str(answer.headers)


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


def test_an_improvement_that_is_to_be_fixed_is_refused_in_words_and_nothing_is_written(own, tmp_path):
    file = tmp_path / "decisions.toml"
    [gain, *_] = [one.uid for one in regressions_drawing_of(own, query="?turn=better").found]
    answer = decide(own, file, given=gain, decision="to_fix")
    assert (answer.status_code, answer.text) == (
        400, "An improvement is not to be fixed; it can be accepted, or be a false alarm. Go back to mend it.\n"
    )  # fmt: skip
    assert not file.exists()
    assert decide(own, file, given=gain).status_code == 303


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
