"""Speedups over eager on the page Overview: their ends, what was disturbed, and which of many are in sight."""

from __future__ import annotations

import pytest

from dashboard.pages.overview import page_props
from dashboard.tables.map_drawing import headlines_table
from dashboard.tables.winner_map import headlines_of, winner_maps_of
from dashboard.views.overview import maps_view_of


def test_headline_speedups_have_their_ends_and_intervals(journal_store, journals):
    view = maps_view_of(journal_store(journals.history(2)), query="")
    fused = next(each for each in view.headlines if (each.title, each.contender) == ("mlp · gelu", "fused"))
    assert fused.n == 4
    assert (fused.least.speedup_vs_eager, fused.middle, fused.most.speedup_vs_eager) == pytest.approx((1.6, 1.6, 1.6))
    assert "eager" not in {each.contender for each in view.headlines}
    shown = str(page_props(view, is_from_url=True)["headlines"])
    assert "[1.59, 1.61]" in shown


def test_of_many_headlines_the_first_of_each_operation_are_in_sight(point):
    rows = [
        point(provider=f"p{number}", operation=operation, speedup_vs_eager=1.0 + number)
        for number in range(5) for operation in ("mlp", "linear")
    ]  # fmt: skip
    maps = winner_maps_of(rows, order={"a" * 40: 0})
    headlines = headlines_of(rows, maps, order={"a" * 40: 0})
    shown, rest = headlines_table(headlines).children
    providers = [f"p{number}" for number in range(5)]
    assert [name for name in providers if f"'{name}'" in str(shown)] == ["p3", "p4"]
    assert [name for name in providers if f"'{name}'" in str(rest)] == ["p0", "p1", "p2"]
    assert rest.children[0].children == "6 more, behind these in their operation"
    assert "Details(" not in str(headlines_table(headlines[:4]))


def test_disturbed_points_of_a_headline_are_counted(point):
    rows = [point(provider="fused", speedup_vs_eager=2.0, batch=batch, disturbed="x") for batch in (1, 2)]
    maps = winner_maps_of(rows, order={"a" * 40: 0})
    [headline] = headlines_of(rows, maps, order={"a" * 40: 0})
    assert (headline.n, headline.n_disturbed) == (2, 2)


def test_medians_over_less_than_half_as_many_shapes_come_last(point):
    """The two that tuned takes longest to compile are no match for what was measured everywhere."""
    rows = [point(provider="eager", batch=batch) for batch in (1, 8, 64, 512)]
    rows += [point(provider="fused", batch=batch, speedup_vs_eager=1.1) for batch in (1, 8, 64, 512)]
    rows += [point(provider="compiled", batch=batch, speedup_vs_eager=1.2) for batch in (1, 8)]
    rows += [point(provider="tuned", batch=1, speedup_vs_eager=1.5)]
    order = {rows[0].commit: 0}
    found = headlines_of(rows, winner_maps_of(rows, order=order), order=order)
    assert [one.contender for one in found] == ["compiled", "fused", "tuned"]
