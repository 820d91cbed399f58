"""Figure of ratios on Compare: how many points it has, and what its axes say."""

import math
from dataclasses import replace
from itertools import pairwise

import pytest

from dashboard.figures.ratios import MOST_POINTS, RatioMark, RatioSide, scatter_of_ratios, thinned
from dashboard.quantities import MetricFormat


def marks(n, *, significant=0):
    return tuple(RatioMark(value=1.0, ratio=1.0 + i / n, note=str(i), is_significant=i < significant) for i in range(n))


@pytest.mark.parametrize(
    ("sizes", "significant", "kept"),
    [
        ((7000,), 100, [100]),
        ((5569,), 71, [71]),
        ((4000, 4000, 4000), 10, [10, 10, 10]),
        ((6000, 6000), 6000, [2500, 2500]),
        ((100, 7000), 7000, [100, 4900]),
    ],
)
def test_a_figure_has_as_many_points_as_are_allowed_and_what_changed_stays(sizes, significant, kept):
    sides = [RatioSide(name=f"s{i}", marks=marks(n, significant=significant)) for i, n in enumerate(sizes)]
    thin, n_left_out = thinned(sides)
    n = sum(len(side.marks) for side in thin)
    assert MOST_POINTS - len(sizes) < n <= MOST_POINTS
    assert n + n_left_out == sum(sizes)
    assert [sum(mark.is_significant for mark in side.marks) for side in thin] == kept
    assert thinned([RatioSide(name="s", marks=marks(10))])[1] == 0


def test_of_too_many_certain_changes_the_largest_stay():
    gone = replace(marks(1)[0], ratio=0.0, note="to nothing", is_significant=True)
    (side,), _ = thinned([RatioSide(name="s", marks=(*marks(40, significant=40), gone))], most=5)
    assert [mark.note for mark in side.marks] == ["to nothing", "39", "38", "37", "36"]


def test_the_axes_carry_what_they_show_with_its_unit():
    ordinate = MetricFormat(metric="latency_s", unit="s").ordinate
    figure = scatter_of_ratios(
        [RatioSide(name="b", marks=marks(3, significant=1))], ordinate=ordinate, base="a", are_providers=False
    )
    assert figure.layout.xaxis.title.text == "Latency at a"
    assert figure.layout.xaxis.ticksuffix == "s"
    assert figure.layout.yaxis.title.text == "Ratio to the first side (lower is better)"
    assert {figure.layout.xaxis.type, figure.layout.yaxis.type} == {"log"}
    assert [symbol.endswith("-open") for symbol in figure.data[0].marker.symbol] == [False, True, True]


@pytest.mark.parametrize(
    ("ratios", "labels"),
    [((0.93, 1.08), ["0.9×", "0.95×", "1×", "1.05×", "1.1×"]), ((0.3, 20.0), ["0.5×", "1×", "2×", "5×", "10×", "20×"])],
)
def test_ratios_near_to_one_have_fine_labels(ratios, labels):
    side = RatioSide(name="b", marks=tuple(replace(marks(1)[0], ratio=ratio) for ratio in ratios))
    figure = scatter_of_ratios(
        [side], ordinate=MetricFormat(metric="latency_s", unit="s").ordinate, base="a", are_providers=False
    )
    assert list(figure.layout.yaxis.ticktext) == labels


@pytest.mark.parametrize("ratios", [(1.0,), (1.0, 1.0), (1.001, 1.0), (0.93, 1.08), (0.3, 20.0), (0.0, 1.0)])
def test_the_axis_is_no_longer_than_its_labels_have_room_for(ratios):
    side = RatioSide(name="b", marks=tuple(replace(marks(1)[0], ratio=ratio) for ratio in ratios))
    axis = scatter_of_ratios(
        [side], ordinate=MetricFormat(metric="latency_s", unit="s").ordinate, base="a", are_providers=False
    ).layout.yaxis
    low, high = axis.range
    assert all(low < math.log10(ratio) < high for ratio in ratios if ratio)
    places = [math.log10(tick) for tick in axis.tickvals]
    assert len(places) >= 2
    assert min(b - a for a, b in pairwise(places)) > 0.05 * (high - low)
