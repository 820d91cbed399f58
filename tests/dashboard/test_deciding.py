"""What the page Regressions offers to decide of a finding, and what it says before findings are known."""

from __future__ import annotations

import pytest

from dashboard.pages import overview, regressions
from dashboard.pages.acknowledging import decision_form
from results.judgement.changes.ranked import RankedFinding
from results.judgement.findings import Turn
from tests.made_explanations import finding


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
