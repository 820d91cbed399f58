"""Judgements of single series that were made before: the findings are those that a new judgement gives."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from results.files.settings import Threshold
from results.judgement.changes import judged
from results.judgement.changes.from_histories import changes_of_place
from tests.results.judgement.test_changes_of_place import commit, series, table, times

N = 90


def history(seed, *, n=N, with_controls=False):
    """Return a place of steps, strays, gaps and a series that ended; the values in seconds."""
    rng = np.random.default_rng(seed)
    values = times(12, n=n, seed=seed, slow=range(int(rng.integers(0, 6))), by=1.1, since=60)
    values[rng.random(values.shape) < 0.02] *= 2
    values[rng.random(values.shape) < 0.1] = np.nan
    values[-1, 40:] = np.nan
    rows = [
        series(i, provider="eager" if with_controls and i >= 6 else "fused", batch=i)
        for i in range(12)
    ]  # fmt: skip
    return table(rows, values)


def grown(place, *, rows):
    """Return the place with another commit, at which only `rows` were measured."""
    values = np.full((len(place.series), 1), np.nan)
    values[rows] = 1.5 * np.nanmedian(place.values, axis=1, keepdims=True)[rows]
    return table(place.series, np.hstack([place.values, values]))


def judge(place, earlier=(), **how):
    return changes_of_place(place, earlier={one.digest: one for one in earlier}, **how)


@given(st.integers(0, 10_000), st.booleans(), st.sets(st.integers(0, 11)), st.sampled_from([0.02, 0.03, 0.2]))
def test_earlier_judgements_change_no_finding(seed, with_controls, rows, least_change):
    place = history(seed, with_controls=with_controls)
    before = judge(place)
    assert judge(place, before.judged) == replace(before, judged=())
    later = grown(place, rows=sorted(rows))
    found = judge(later, before.judged[::2], least_change=least_change).findings
    assert found == judge(later, least_change=least_change).findings


def test_only_series_that_grew_are_judged_again():
    place = history(1)
    later = judge(grown(place, rows=[2, 5]), judge(place).judged)
    assert {one.series_id for one in later.judged if one.series_id not in floors_asked(later)} <= {2, 5}
    assert {2, 5} <= {one.series_id for one in later.judged}


def floors_asked(place):
    """Return the series of which a floor alone was new: the worst points of findings."""
    return {next(p.value for p in one.points[0] if p.name == "batch") for one in place.findings if one.points}


def test_one_other_value_is_judged_again():
    place = history(2)
    before = judge(place)
    values = place.values.copy()
    values[3, 10] *= 1 + 1e-15
    assert [one.series_id for one in judge(table(place.series, values), before.judged).judged] == [3]


def test_what_controls_take_out_belongs_to_what_was_judged():
    place = history(3, with_controls=True)
    before = judge(place)
    values = place.values.copy()
    values[6:, 50] *= 1.3  # the controls alone
    after = judge(table(place.series, values), before.judged)
    assert {one.series_id for one in after.judged} == {0, 1, 2, 3, 4, 5}
    assert after.findings == judge(table(place.series, values)).findings


def test_another_detector_judges_anew(monkeypatch):
    place = history(4)
    before = judge(place)
    monkeypatch.setattr(judged.np, "__version__", "0")
    judged._of_detector.cache_clear()
    try:
        assert len(judge(place, before.judged).judged) == len(place.series)
    finally:
        monkeypatch.undo()
        judged._of_detector.cache_clear()


def test_a_change_of_this_package_is_another_detector(tmp_path, monkeypatch):
    monkeypatch.setattr(judged, "files", lambda _: tmp_path)
    found = set()
    for code in ("PENALTY = 16.0", "PENALTY = 17.0"):
        (tmp_path / "segments.py").write_text(code)
        judged._of_detector.cache_clear()
        found.add(judged._of_detector().digest())
    judged._of_detector.cache_clear()
    assert len(found) == 2


@pytest.mark.parametrize("limit", [0.05, 0.15])
def test_a_threshold_counts_as_without_earlier_judgements(limit):
    place = history(5)
    how = {"thresholds": [Threshold(provider="fused", least_change=limit)]}
    assert judge(place, judge(place).judged, **how).findings == judge(place, **how).findings
    known = judge(place, **how)
    assert judge(place, known.judged).findings == judge(place).findings


def test_a_series_that_was_not_measured_lately_keeps_its_judgement():
    place = history(6)
    before = judge(place)
    for _ in range(3):
        place = grown(place, rows=[])
    assert judge(place, before.judged).judged == ()
    assert judge(place, before.judged).findings == judge(place).findings
    assert place.runs[-1].commit == commit(N + 2)
