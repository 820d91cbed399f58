"""Why a verdict is as it is, in words."""

from __future__ import annotations

import pytest

from tests.made_findings import judgement as made_judgement


@pytest.mark.parametrize("reason", ["", "pays for accuracy", None])
def test_why_is_the_reason_or_what_the_evidence_says(reason):
    [with_evidence, *_] = (one for one in made_judgement().verdicts if one.evidence is not None)
    words = with_evidence.evidence.words
    assert words
    assert with_evidence._replace(reason=reason).why == (words if reason is None else reason)
    assert with_evidence._replace(reason=reason, evidence=None).why == (reason or "")
