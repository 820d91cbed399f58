from __future__ import annotations

import pytest

from dashboard.figures.bars import bars_from_chart, height_of_bars
from dashboard.figures.throughput import chart_over_batch
from dashboard.quantities import Quantity


@pytest.fixture
def rows(point):
    return [
        point(batch=batch, provider=provider, latency_s=latency_s)
        for batch in (1, 64)
        for provider, latency_s in (("eager", 2e-3), ("fused", 1e-3), ("compiled", 3e-3))
    ]


def bars(rows, quantity=Quantity.ROWS_PER_S):
    return bars_from_chart(chart_over_batch(rows, quantity=quantity))


def test_one_batch_or_two_are_bars_and_three_are_curves(point):
    charts = [
        chart_over_batch([point(batch=batch) for batch in range(1, n + 1)], quantity=Quantity.LATENCY)
        for n in (1, 2, 3)
    ]
    assert [chart.are_few for chart in charts] == [True, True, False]


@pytest.mark.parametrize(("quantity", "best"), [(Quantity.ROWS_PER_S, "fused"), (Quantity.LATENCY, "fused")])
def test_the_best_of_each_batch_is_its_uppermost_bar(rows, quantity, best):
    from_top = list(bars(rows, quantity).layout.yaxis.categoryarray)[::-1]
    assert from_top == [f"{name} · {batch}" for batch in ("1 row", "64 rows") for name in (best, "eager", "compiled")]


def test_a_single_batch_needs_no_mention_at_each_bar(point):
    figure = bars([point(), point(provider="fused", latency_s=1e-4)])
    assert set(figure.layout.yaxis.categoryarray) == {"eager", "fused"}


def test_bars_begin_at_zero_and_carry_their_value_interval_and_unit(rows):
    figure = bars(rows, Quantity.LATENCY)
    assert figure.layout.xaxis.rangemode == "tozero"
    assert figure.layout.xaxis.title.text == "Latency of one call (lower is better)"
    assert figure.layout.xaxis.ticksuffix == "s"
    [fused] = [trace for trace in figure.data if trace.name == "fused"]
    assert fused.x == (1e-3, 1e-3)
    assert fused.text[0].replace("\N{NARROW NO-BREAK SPACE}", " ") == "1.00 ms"
    assert fused.error_x.array == pytest.approx((1e-4, 1e-4))
    assert fused.error_x.arrayminus == pytest.approx((0.5e-4, 0.5e-4))
    assert fused.customdata == ("1", "64")


def test_what_has_no_value_keeps_its_line_with_its_state(point):
    figure = bars([point(), point(provider="fused", state="out_of_memory")])
    [absent] = [trace for trace in figure.data if trace.name == "fused, not measured"]
    assert (absent.y, absent.x, absent.text) == (("fused",), (0,), ("out of memory",))


def test_every_bar_has_a_place_of_its_own(rows, point):
    n = len(rows) + 1
    chart = chart_over_batch([*rows, point(provider="liger", batch=1, state="crashed")], quantity=Quantity.LATENCY)
    labels = bars_from_chart(chart).layout.yaxis.categoryarray
    assert len(set(labels)) == len(labels) == n
    assert height_of_bars(chart) > height_of_bars(chart_over_batch(rows, quantity=Quantity.LATENCY))


def test_no_point_at_all_is_said():
    assert "nothing measured here" in bars([]).layout.annotations[0].text


def test_an_axis_without_any_value_has_no_numbers(point, rows):
    failed = [point(batch=1, provider=provider, state="crashed") for provider in ("eager", "fused")]
    assert bars(failed).layout.xaxis.showticklabels is False
    assert bars(rows).layout.xaxis.showticklabels is True
