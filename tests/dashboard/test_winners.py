from __future__ import annotations

import json

import pytest

from dashboard.tables.winners import absences_list, winners_table
from dashboard.views.throughput_drawing import winners_by_batch


def text_of(component):
    return json.dumps(component.to_plotly_json(), default=lambda child: child.to_plotly_json(), ensure_ascii=False)


def test_the_fastest_wins_at_each_batch(point):
    rows = [
        point(batch=1, provider="eager", latency_s=2e-5),
        point(batch=1, provider="fused", latency_s=1e-5),
        point(batch=64, provider="eager", latency_s=1e-3),
        point(batch=64, provider="fused", latency_s=2e-3),
    ]
    winners = winners_by_batch(rows)
    assert [(batch, winner.winner.provider) for batch, winner in winners] == [(1, "fused"), (64, "eager")]
    assert winners[0][1].margin == pytest.approx(2.0)
    assert winners[0][1].is_clear


def test_overlapping_intervals_are_a_tie(point):
    rows = [point(provider="eager", latency_s=1.0e-3), point(provider="fused", latency_s=1.05e-3)]
    assert not winners_by_batch(rows)[0][1].is_clear


def test_a_point_that_is_not_ok_never_wins(point):
    [(_, winner)] = winners_by_batch([point(provider="fused", state="crashed"), point()])
    assert winner.winner.provider == "eager"
    assert winner.runner_up is None


def test_a_batch_where_nothing_is_ok_has_no_winner(point):
    winners = winners_by_batch([point(state="timed_out")])
    assert winners == ((64, None),)
    assert "no provider is ok here" in text_of(winners_table(winners))


def test_the_table_tells_latency_interval_speedup_and_bound(point):
    row = point(provider="fused", latency_s=1e-3, speedup_vs_eager=1.5, bound="memory", percent_of_floor=61.0)
    told = text_of(winners_table(winners_by_batch([row]))).replace("\N{NARROW NO-BREAK SPACE}", " ")
    for part in (
        "fused",
        "1.00 ms",
        "[0.95, 1.10]",
        "64.0 k",
        "1.50\N{MULTIPLICATION SIGN}",
        "3 operators",
        "memory",
        "61 %",
    ):
        assert part in told


def test_what_has_no_number_is_listed_once_per_reason(point):
    rows = [point(provider="fused", state="unavailable", reason="needs g++", batch=batch) for batch in (64, 1)]
    told = text_of(absences_list([*rows, point()]))
    assert told.count("needs g++") == 1
    assert "batch 1, 64" in told
    assert absences_list([point()]) is None


def test_a_call_that_beats_its_floor_shows_that_the_ceilings_are_not_valid(point):
    row = point(provider="fused", latency_s=1e-3, bound="memory", percent_of_floor=2090.0)
    shown = text_of(winners_table(winners_by_batch([row])))
    assert "ceilings are not valid" in shown
    assert "2090" not in shown
    assert "memory" not in shown
