"""How small a change would be seen, and of how many series that is known: nothing is told beyond them."""

from __future__ import annotations

import json
import re

import pytest

from results.judgement.comparison.moderation import Prior
from results.judgement.exact_only import exact_only
from results.judgement.verdicts import judge
from results.output.report import ReportFormat, rendered
from tests.made_values import A, B, failed, row

CALM = [1.0, 1.002, 0.998]
UNKNOWN = "How small a change would be seen is known of none of "


def judged(*pairs, **options):
    """Judge made-up series, each at base and head."""
    base, head = ([pair[i] for pair in pairs] for i in (0, 1))
    return judge(base, head, base_commit=A, head_commit=B, **options)


def known(batch, factor=1.0, **changes):
    return row(CALM, batch=batch), row([factor * one for one in CALM], batch=batch, commit=B, **changes)


def single(batch, factor=1.0):
    """A number of which its suite told no interval."""
    return tuple(
        row(value, batch=batch, metric="time", commit=commit)._replace(ci_low=None, ci_high=None)
        for value, commit in ((1.0, A), (factor, B))
    )


def lines_of(judgement):
    text = rendered(judgement, report_format=ReportFormat.TEXT)
    return [line for line in text.split("\n\n") if "invisible in" in line or line.startswith("How small")]


def test_the_floor_is_the_median_of_those_that_are_known():
    found = judged(*map(known, range(3)), *(single(b, 1.0 + 0.1 * b) for b in range(4, 9)))
    floors = sorted(one.floor for one in found.verdicts if one.head.metric == "latency_s")
    assert (found.floor, found.n_with_floor, found.n_noisy) == (floors[1], 3, 8)
    size = f"{100 * floors[1]:.1f}\N{NARROW NO-BREAK SPACE}%"
    told = f"Changes under {size} are invisible in half of the 3 series of which that is known, of 8."
    assert lines_of(found) == [told]


def test_a_floor_that_is_a_multiple_is_told_as_a_factor():
    """With two degrees of freedom of 30 % of noise it is a number of 22 digits."""
    base, head = zip(*(known(batch, 1.5) for batch in range(2)), strict=True)
    spread = {one.series_id: Prior(sd=0.3, dof=2.0) for one in head}
    found = judge(base, head, base_commit=A, head_commit=B, spreads=spread)
    assert min(one.floor for one in found.verdicts) > 10
    for report_format in (ReportFormat.TEXT, ReportFormat.MARKDOWN):
        text = rendered(found, report_format=report_format)
        assert re.search(r"Changes under × [0-9.,e+]+ are invisible", text)
        assert re.search(r"(<|&lt;) × [0-9.,e+]+ ", text)
        assert not re.search(r"\d{5}", text)


def test_one_series_has_no_half():
    assert lines_of(judged(known(1)))[0].endswith(" are invisible in the series.")
    assert lines_of(judged(known(1), single(2)))[0].endswith("invisible in the 1 series of which that is known, of 2.")


def test_where_all_are_known_nothing_more_is_said():
    found = judged(*map(known, range(3)), (row(3, metric="operator_count"), row(3, metric="operator_count", commit=B)))
    assert lines_of(found)[0].endswith(" are invisible in half of the series.")


@pytest.mark.parametrize(
    ("pairs", "told"),
    [
        ([single(1)], ["1 noisy number."]),
        ([single(1), single(2)], ["2 noisy numbers."]),
        ([known(1, disturbed="stolen time")], ["1 noisy number."]),
        ([(row(CALM), failed(commit=B))], []),
        ([(row(3, metric="operator_count"), row(3, metric="operator_count", commit=B))], []),
        ([(row(0.0), row(0.0, commit=B))], ["1 noisy number."]),
    ],
)
def test_where_none_is_known_no_number_is_told(pairs, told):
    found = judged(*pairs)
    assert (found.floor, found.n_with_floor, lines_of(found)) == (None, 0, [UNKNOWN + each for each in told])


@pytest.mark.parametrize("factor", [1.0, 1.5])
@pytest.mark.parametrize(
    ("changes", "options"),
    [
        ({"disturbed": "stolen time"}, {}),  # nothing is found of it, however large
        ({"ci_low": 0.8, "ci_high": 1.4}, {}),  # known too badly to decide
        ({}, {"is_paired": True}),  # one round alone
    ],
)
def test_what_decides_nothing_has_no_floor_in_any_format(factor, changes, options):
    head = row(factor, commit=B, disturbed=changes.get("disturbed"))._replace(ci_low=factor, ci_high=factor)
    head = head._replace(**{name: value for name, value in changes.items() if name != "disturbed"})
    found = judged((row(1.0), head), **options)
    [verdict] = found.verdicts
    assert (verdict.floor, found.floor, verdict.evidence is None) == (None, None, False)
    document = json.loads(rendered(found, report_format=ReportFormat.JSON))
    assert (document["floor"], document["with_floor"], document["noisy"]) == (None, 0, 1)
    assert {one["floor"] for one in document["changes"]} <= {None}
    assert "< " not in rendered(found, report_format=ReportFormat.TEXT)


def test_where_control_series_moved_nothing_would_be_seen():
    eager = [(row(CALM, provider="eager", batch=b), row([2 * one for one in CALM], provider="eager", batch=b, commit=B))
             for b in range(8)]  # fmt: skip
    found = judged(*eager, known(1))
    assert found.is_control_moved
    assert (found.floor, found.n_with_floor, found.n_noisy) == (None, 0, 9)


def test_a_history_tells_the_noise_of_a_single_number():
    pair = single(1, 1.5)
    found = judged(pair, spreads={pair[1].series_id: Prior(sd=0.01, dof=20)})
    assert 0.01 < found.floor < 0.2
    assert (found.n_with_floor, found.n_noisy) == (1, 1)


def test_a_floor_of_more_than_twice_is_told_as_how_many_times():
    wild = [1.0, 30.0, 0.1]
    found = judged((row(wild), row(wild, commit=B)))
    assert found.floor > 2
    assert lines_of(found)[0].startswith("Changes under × ")


def test_exact_metrics_alone_have_none():
    found = exact_only(judged(known(1), (row(3, metric="operator_count"), row(3, metric="operator_count", commit=B))))
    assert (found.floor, found.n_with_floor, found.n_noisy, lines_of(found)) == (None, 0, 0, [])


def test_exact_judgements_say_nothing_of_all_that_the_base_measured():
    """A gone time is judged, those that are still there are not: most of what the base measured is there."""
    base = [row(CALM, batch=batch) for batch in range(4)] + [row(CALM, batch=1, provider="compiled")]
    head = [row(CALM, batch=batch, commit=B) for batch in range(4)] + [
        row(CALM, batch=2, provider="compiled", commit=B)
    ]
    found = exact_only(judge(base, head, base_commit=A, head_commit=B))
    assert (found.n_gone, found.n_compared) == (1, 0)
    text = rendered(found, report_format=ReportFormat.TEXT)
    assert "0 compared of 1 that --exact judges: 1 failed" in text
    assert "Most of what" not in text
