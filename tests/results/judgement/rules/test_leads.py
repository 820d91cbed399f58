"""Since when a contender is the fastest at a shape."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from results.judgement.leads import lead_of
from results.judgement.winners import ranking_of
from tests.made_points import points


def at(number, *, disturbed=None, **speedups):
    return [row._replace(commit=f"{number:040x}") for row in points(64, disturbed=disturbed, **speedups)]


def fused_wins(number):
    return at(number, fused=2.0, compiled=1.5)


def compiled_wins(number):
    return at(number, fused=1.5, compiled=2.0)


def undecided(number):
    return at(number, disturbed="a neighbour", fused=2.0, compiled=1.5)


def tied(number):
    return at(number, fused=2.0, compiled=2.001)


def number_of(point):
    return int(point.commit, 16)


def test_a_lead_begins_where_another_one_ended():
    lead = lead_of([fused_wins(0), fused_wins(1), compiled_wins(2), compiled_wins(3)][::-1])
    assert (lead.contender, number_of(lead.since), number_of(lead.newest)) == ("compiled", 2, 3)
    assert (lead.before.contender, number_of(lead.before)) == ("fused", 1)
    assert (lead.n_decided, lead.n_undecided, lead.is_new) == (2, 0, False)


def test_a_flip_far_back_is_dated():
    lead = lead_of([fused_wins(0), *(compiled_wins(n) for n in range(1, 40))][::-1])
    assert number_of(lead.since) == 1


def test_what_decides_nothing_ends_no_lead_and_begins_none():
    lead = lead_of(
        [compiled_wins(0), undecided(1), fused_wins(2), tied(3), undecided(4), fused_wins(5), undecided(6)][::-1]
    )
    assert (lead.contender, number_of(lead.since), number_of(lead.newest)) == ("fused", 2, 5)
    assert (lead.n_decided, lead.n_undecided) == (2, 3)


def test_who_led_from_the_first_on_took_it_from_nobody():
    assert lead_of([fused_wins(0), fused_wins(1)][::-1]).before is None


def test_who_was_not_measured_before_may_have_been_as_fast():
    assert lead_of([at(0, fused=1.5), compiled_wins(1)][::-1]).is_new


def test_what_was_before_the_lead_is_not_looked_at():
    newest_first = iter([fused_wins(3), compiled_wins(2), compiled_wins(1), fused_wins(0)])
    assert number_of(lead_of(newest_first).before) == 2
    assert len(list(newest_first)) == 2


def test_where_nothing_is_decided_nobody_leads():
    assert lead_of([]) is None
    assert lead_of([undecided(0), tied(1), []][::-1]) is None


@given(st.lists(st.sampled_from([fused_wins, compiled_wins, undecided, tied])))
def test_the_leader_is_who_won_last_and_won_ever_since(kinds):
    commits = [kind(i) for i, kind in enumerate(kinds)]
    lead = lead_of(commits[::-1])
    winners = {i: winner.contender for i, rows in enumerate(commits) if (winner := ranking_of(rows).winner)}
    assert (lead is None) == (not winners)
    if lead is not None:
        first, last = number_of(lead.since), number_of(lead.newest)
        assert last == max(winners)
        assert {name for i, name in winners.items() if i >= first} == {lead.contender}
        assert lead.n_decided == sum(i >= first for i in winners)
        assert lead.n_decided + lead.n_undecided == len(commits) - first
        assert (lead.before is None) == (first == min(winners))


def by_ruler(version, rows):
    return [row._replace(ruler_version=version) for row in rows]


def test_another_leader_by_another_ruler_is_no_flip_at_a_commit():
    older = [by_ruler("4", fused_wins(0)), by_ruler("4", fused_wins(1))]
    lead = lead_of([*older, by_ruler("5", compiled_wins(2)), by_ruler("5", compiled_wins(3))][::-1])
    assert (lead.contender, number_of(lead.since), lead.before, lead.n_decided) == ("compiled", 2, None, 2)
    assert (lead.by_other_ruler.contender, number_of(lead.by_other_ruler)) == ("fused", 1)
    lead = lead_of([*older, by_ruler("5", compiled_wins(2)), by_ruler("5", fused_wins(3))][::-1])
    assert (number_of(lead.since), lead.before.contender) == (3, "compiled")
    assert lead.by_other_ruler is None


def test_a_leader_by_both_rulers_goes_on():
    lead = lead_of([compiled_wins(0), by_ruler("4", fused_wins(1)), by_ruler("5", fused_wins(2))][::-1])
    assert (number_of(lead.since), lead.n_decided) == (1, 2)
