from __future__ import annotations

import json

import pytest

from dashboard.tables.winners import absences_list, winners_table
from dashboard.views.throughput.notes import note_of_winners, rankings_by_batch
from results.judgement.winners import WHAT_DECIDES_NOTHING
from results.rows import AT_FLOOR, ERROR_OF_CEILINGS


def text_of(component):
    return json.dumps(component.to_plotly_json(), default=lambda child: child.to_plotly_json(), ensure_ascii=False)


def fused(point, speedup, **changes):
    """A point of `fused` that is `speedup` ± 1 % times as fast as eager."""
    ends = {"speedup_ci_low": 0.99 * speedup, "speedup_ci_high": 1.01 * speedup}
    return point(**{"provider": "fused", "latency_s": 1e-3 / speedup, "speedup_vs_eager": speedup, **ends, **changes})


def test_the_fastest_wins_at_each_batch(point):
    rows = [
        point(batch=1, provider="eager", latency_s=2e-5),
        fused(point, 2.0, batch=1),
        point(batch=64, provider="eager", latency_s=1e-3),
        fused(point, 0.5, batch=64),
    ]
    rankings = rankings_by_batch(rows)
    assert [(batch, ranking.winner.provider) for batch, ranking in rankings] == [(1, "fused"), (64, "eager")]
    assert rankings[0][1].margin == pytest.approx(2.0)
    assert text_of(winners_table(rankings)).count("100\N{NARROW NO-BREAK SPACE}% longer") == 2


def test_between_the_next_best_and_its_cost_a_line_may_end(point):
    table = winners_table(rankings_by_batch([point(provider="eager"), fused(point, 2.0)]))
    [cell] = [one for one in table._traverse() if getattr(one, "data-label", "").startswith("Next best")]
    assert cell.children[1] == " "


def test_overlapping_intervals_are_a_tie_and_both_are_named(point):
    [(_, ranking)] = rankings_by_batch([point(provider="eager"), fused(point, 1.01)])
    assert ranking.winner is None
    told = text_of(winners_table([(64, ranking)]))
    assert "eager" in told
    assert "fused" in told
    assert "tied" in told


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"disturbed": "the machine ran at 60 %"}, "disturbed: fused; ahead all the same, by"),
        (
            {"speedup_ci_low": 1.035, "speedup_ci_high": 1.265},
            "fused: speedup known to \u00b1 10.0\N{NARROW NO-BREAK SPACE}% only; ahead",
        ),
    ],
)
def test_where_it_is_undecided_no_winner_is_shown_and_the_reason_is(point, changes, reason):
    rows = [point(), fused(point, 1.15, **changes)]
    told = text_of(winners_table(rankings_by_batch(rows)))
    assert "undecided" in told
    assert reason in told
    assert "measure again" not in told, "once for all, beside the table"
    assert "longer" not in told
    note = note_of_winners(rows)
    assert f"1 of 1 undecided ({WHAT_DECIDES_NOTHING})" in note
    assert note.count("measure again (fusebench run --again)") == 1


def test_points_of_fewer_visits_than_planned_are_counted_with_the_run_that_completes_them(point):
    complete = point(visit_count=3, visits_planned=3)
    assert "visits" not in note_of_winners([complete, fused(point, 2.0, visit_count=3, visits_planned=1)])
    note = note_of_winners([complete, fused(point, 2.0, visit_count=1, visits_planned=3, disturbed="a neighbour")])
    assert "1 of 2 points had fewer visits than planned" in note
    assert note.endswith(": complete them (fusebench run)")


def test_a_point_that_is_not_ok_never_wins(point):
    [(_, ranking)] = rankings_by_batch([point(provider="fused", state="crashed"), point()])
    assert ranking.leader.provider == "eager"
    assert ranking.runner_up is None
    assert "no other" in text_of(winners_table([(64, ranking)]))


def test_a_batch_where_nothing_is_ok_has_no_winner(point):
    rankings = rankings_by_batch([point(state="timed_out")])
    assert rankings == ((64, None),)
    assert "no provider is ok here" in text_of(winners_table(rankings))


def test_the_table_tells_latency_interval_speedup_and_bound(point):
    row = point(provider="fused", latency_s=1e-3, speedup_vs_eager=1.5, bound="memory", percent_of_floor=61.0)
    told = text_of(winners_table(rankings_by_batch([row]))).replace("\N{NARROW NO-BREAK SPACE}", " ")
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


def test_the_evidence_for_a_bound_is_beside_it(point):
    row = point(bound="overhead", bound_detail="48 of 60 µs outside operators", percent_of_floor=20.0)
    told = text_of(winners_table(rankings_by_batch([row])))
    assert '"title": "48 of 60 µs outside operators"' in told


def test_what_has_no_number_is_listed_once_per_reason(point):
    rows = [point(provider="fused", state="unavailable", reason="needs g++", batch=batch) for batch in (64, 1)]
    told = text_of(absences_list([*rows, point()]))
    assert told.count("needs g++") == 1
    assert "batch 1, 64" in told
    assert absences_list([point()]) is None


def test_a_call_that_beats_its_floor_shows_that_the_ceilings_are_not_valid(point):
    row = point(provider="fused", latency_s=1e-3, bound="memory", floor_s=20.9e-3)
    shown = text_of(winners_table(rankings_by_batch([row])))
    assert "ceiling not valid" in shown
    assert "2090" not in shown
    assert "memory" not in shown


@pytest.mark.parametrize(
    ("percent", "shown"),
    [(107.8, AT_FLOOR), (100.0, "at 100 % of its floor's speed"), (87.4, "at 87 % of its floor's speed")],
)
def test_no_call_is_shown_to_be_faster_than_its_floor(point, percent, shown):
    rows = [point(bound="memory", percent_of_floor=percent)]
    table = winners_table(rankings_by_batch(rows))
    assert shown in text_of(table)
    assert (ERROR_OF_CEILINGS in str(table)) is (shown == AT_FLOOR)


def test_what_bounds_a_call_has_a_column_only_where_ceilings_tell_it(point):
    for bound, n_columns in ((None, 7), ("memory", 8)):
        rankings = rankings_by_batch([point(bound=bound), point(bound=bound, batch=1)])
        table = winners_table([*rankings, (7, None)]).children
        head, body = table.children
        assert ("Bound by" in text_of(head)) is (bound is not None)
        assert len(head.children.children) == n_columns
        assert [len(row.children) for row in body.children] == [n_columns, n_columns, 2]
        assert body.children[-1].children[1].colSpan == n_columns - 1
