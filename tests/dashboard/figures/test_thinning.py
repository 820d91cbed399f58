from __future__ import annotations

from operator import itemgetter

from hypothesis import given
from hypothesis import strategies as st

from dashboard.figures.thinning import MOST_POINTS, POINTS_PER_MARK, thinned

VALUES = st.lists(st.none() | st.floats(1, 2), min_size=1, max_size=50)


def thin(rows, **options):
    return thinned(rows, curve=itemgetter(0), value=itemgetter(1), **options)


def curves(n_curves, n_rows, value):
    return [(str(curve), value(curve, i), i) for i in range(n_rows) for curve in range(n_curves)]


def test_few_points_all_stay():
    rows = curves(4, 100, lambda _, i: float(i))
    assert thin(rows) == tuple(rows)


def test_many_become_few_enough_and_keep_their_order_and_ends():
    rows = curves(4, 3_000, lambda _, i: float(i * 7919 % 101))
    found = thin(rows)
    assert POINTS_PER_MARK * len(found) <= MOST_POINTS
    assert sorted(found, key=itemgetter(2)) == list(found)
    assert {rows[0], rows[-1]} <= set(found)


def test_a_single_peak_survives():
    rows = curves(2, 5_000, lambda curve, i: 9.0 if (curve, i) == (1, 3_333) else 1.0 + i % 7 / 100)
    assert ("1", 9.0, 3_333) in thin(rows)


def test_what_has_no_value_and_what_is_asked_for_stays():
    rows = curves(1, 9_000, lambda _, i: None if i == 4_321 else 1.0)
    kept = thin(rows, keep=[rows[1_234]])
    assert rows[4_321] in kept
    assert rows[1_234] in kept


@given(VALUES)
def test_nothing_is_invented(values):
    rows = [("a", value, i) for i, value in enumerate(values * 200)]
    found = thin(rows)
    assert set(found) <= set(rows)
    assert len(found) == len(set(found))
