from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import plotly.graph_objects as go
import pytest

from dashboard.figures.chart import Across
from dashboard.figures.drawing import figure_from_chart
from dashboard.figures.notes import short_hashes
from dashboard.figures.throughput import chart_over_batch, chart_over_commits
from dashboard.looks import KNOWN_LOOKS, look_of
from dashboard.quantities import Quantity, reading_of
from dashboard.scales import CommitSpacing, Scale


def draw(chart, *, scale=Scale.FIT, chosen=None):
    figure = figure_from_chart(chart, scale=scale, chosen=chosen, keeps_zoom_of="test")
    return go.Figure(figure)  # with plotly's checks, which a page does without


def over_commits(rows, *, quantity=Quantity.ROWS_PER_S, spacing=CommitSpacing.ORDER):
    return chart_over_commits(rows, quantity=quantity, spacing=spacing)


def line_of(figure, name):
    return next(trace for trace in figure.data if trace.name == name)


def test_a_rate_turns_the_interval_of_the_latency_over(point):
    reading = reading_of(point(batch=10, latency_s=1.0), quantity=Quantity.ROWS_PER_S)
    assert (reading.low, reading.value, reading.high) == pytest.approx((10 / 1.1, 10, 10 / 0.95))


def test_an_interval_of_an_older_journal_that_reaches_below_nothing_ends_there_and_bounds_no_rate(point):
    wide = point(latency_s=1.0, latency_ci_low_s=-0.5, latency_ci_high_s=2.5)
    assert not reading_of(wide, quantity=Quantity.ROWS_PER_S).has_interval
    latency = reading_of(wide, quantity=Quantity.LATENCY)
    assert (latency.low, latency.high) == (0.0, 2.5)


@pytest.mark.parametrize("quantity", [one for one in Quantity if one.metric is None])
def test_every_interval_holds_its_value(point, quantity):
    reading = reading_of(point(gb_per_s=3.0, percent_of_floor=40.0), quantity=quantity)
    assert reading.low <= reading.value <= reading.high


@pytest.mark.parametrize("quantity", Quantity)
@pytest.mark.parametrize("state", ["unavailable", "out_of_memory", "wrong", "crashed", "timed_out"])
def test_a_point_that_is_not_ok_has_no_reading(point, state, quantity):
    assert reading_of(point(state=state), quantity=quantity) is None


def test_commits_stand_evenly_in_the_order_of_history(history):
    chart = over_commits(history(3))
    assert [key for _, key in chart.positions] == [f"{i:040x}" for i in range(3)]
    figure = draw(chart)
    assert figure.layout.xaxis.type == "category"
    assert list(figure.layout.xaxis.categoryarray) == [place for place, _ in chart.positions]
    assert line_of(figure, "fused").y == pytest.approx((64e3, 64e3, 64e3))


def test_by_date_a_commit_without_one_is_left_out(history):
    rows = history(3, change=lambda i, _: {"commit_date": None} if i == 1 else {})
    assert len(over_commits(rows).positions) == 3
    chart = over_commits(rows, spacing=CommitSpacing.DATE)
    assert len(chart.positions) == 2
    assert draw(chart).layout.xaxis.type == "date"


def test_batches_stand_on_a_logarithmic_axis_with_a_tick_each(point):
    figure = draw(chart_over_batch([point(batch=batch) for batch in (64, 1, 16)], quantity=Quantity.LATENCY))
    assert figure.layout.xaxis.type == "log"
    assert list(figure.layout.xaxis.tickvals) == [1, 16, 64]
    # At 30°, as plotly would have it, 512 beside 256 is left out of a narrow chart.
    assert list(figure.layout.xaxis.autotickangles) == [0, 90]
    assert line_of(figure, "eager").x == (1, 16, 64)


def test_a_point_that_is_not_ok_breaks_the_line_and_is_listed_with_its_reason(history):
    def change(i, provider):
        return {"state": "crashed", "reason": "signal 11"} if (i, provider) == (1, "fused") else {}

    chart = over_commits(history(4, change=change))
    fused = next(curve for curve in chart.curves if curve.name == "fused")
    assert [len(piece) for piece in fused.pieces] == [1, 2]
    assert [(absence.name, absence.state) for absence in chart.absences] == [("fused", "crashed")]
    assert "signal 11" in chart.absences[0].note
    figure = draw(chart)
    assert 0 not in line_of(figure, "fused").y
    assert line_of(figure, "fused, not measured").yaxis == "y2"


def test_another_ruler_version_starts_another_line(history):
    chart = over_commits(history(4, change=lambda i, _: {"ruler_version": str(i // 2)}))
    assert [len(piece) for piece in chart.curves[0].pieces] == [2, 2]


def test_a_provider_that_was_never_ok_has_no_line_but_its_marks(history):
    chart = over_commits(history(2, change=lambda _, p: {"state": "unavailable"} if p == "fused" else {}))
    assert [curve.name for curve in chart.curves] == ["eager"]
    assert len(chart.absences) == 2


def test_the_band_is_closed_and_holds_the_line(history):
    figure = draw(over_commits(history(3)))
    band = line_of(figure, "fused, 95 % interval")
    assert band.fill == "toself"
    assert band.y[:3] == pytest.approx([64e3 / 0.95] * 3)
    assert band.y[3:6] == pytest.approx([64e3 / 1.1] * 3)
    assert band.hoverinfo == "skip"


def test_a_lonely_point_shows_its_interval_as_bars(history):
    figure = draw(over_commits(history(1)))
    line = line_of(figure, "fused")
    assert line.error_y.visible
    assert line.error_y.arrayminus == pytest.approx([64e3 - 64e3 / 1.1])


def test_the_card_of_a_call_that_beats_its_floor_says_so_in_place_of_the_bound(history):
    changed = {"bound_detail": "12 of 60 µs outside operators", "floor_s": 1.0}
    card = line_of(draw(over_commits(history(2, change=lambda _i, _p: changed))), "fused").hovertext[0]
    assert "ceiling not valid" in card
    assert "bound by" not in card
    assert "outside" not in card


def test_the_card_names_commit_subject_and_interval(history):
    changed = {"commit_subject": '"Tiles" <by> shape', "bound_detail": "12 of 60 µs outside operators"}
    figure = draw(over_commits(history(2, change=lambda _i, _p: changed)))
    card = line_of(figure, "fused").hovertext[0]
    for part in (
        "fused",
        '"Tiles" &lt;by&gt; shape',
        "2026-03-01",
        "[58.2, 67.4]",
        "bound by compute",
        "12 of 60 µs outs",
    ):
        assert part in card


def test_a_name_beside_the_marks_is_text_and_no_markup(history):
    chart = over_commits(history(2, change=lambda i, p: {"state": "crashed"} if (i, p) == (1, "fused") else {}))
    named = replace(chart, absences=(replace(chart.absences[0], name='<b>="x"&'),))
    assert draw(named).layout.yaxis2.ticktext == ('&lt;b&gt;="x"&amp;',)


def test_a_disturbed_point_is_drawn_hollow_and_says_why(history):
    figure = draw(over_commits(history(2, change=lambda i, _: {"disturbed": "load by others"} if i else {})))
    line = line_of(figure, "fused")
    assert line.marker.symbol == ("diamond", "diamond-open")
    assert "load by others" in line.hovertext[1]


def test_the_axes_carry_their_units(history):
    rows = history(2)
    titles = {q: draw(over_commits(rows, quantity=q)).layout.yaxis for q in Quantity}
    assert titles[Quantity.ROWS_PER_S].title.text == "Throughput, rows/s (higher is better)"
    assert titles[Quantity.LATENCY].ticksuffix == "s"
    assert titles[Quantity.FLOP_PER_S].title.text.startswith("Work rate, FLOP/s")
    assert titles[Quantity.SPEEDUP].ticksuffix == "\N{MULTIPLICATION SIGN}"


@pytest.mark.parametrize("quantity", [Quantity.LATENCY, Quantity.SPEEDUP])
def test_a_logarithmic_axis_keeps_its_units(point, quantity):
    rows = [
        point(
            batch=batch,
            latency_s=1e-5 * batch,
            speedup_vs_eager=batch,
            speedup_ci_low=0.9 * batch,
            speedup_ci_high=1.1 * batch,
        )
        for batch in (1, 10, 100)
    ]
    axis = draw(chart_over_batch(rows, quantity=quantity), scale=Scale.LOG).layout.yaxis
    assert axis.type == "log"
    label, shown = ("50µ", "50µs") if quantity is Quantity.LATENCY else ("20", "20×")
    assert axis.labelalias[label] == shown
    assert axis.tickformat  # without one, plotly's labels between decades are one small digit


def test_a_fitted_axis_does_not_blow_noise_up(history):
    rows = history(3, providers=("eager",), change=lambda i, _: {"latency_s": 1e-3 * (1 + i / 1000)})
    low, high = draw(over_commits(rows)).layout.yaxis.range
    assert high - low >= 0.19 * 64e3


def test_an_axis_from_zero_begins_there(history):
    assert draw(over_commits(history(2)), scale=Scale.ZERO).layout.yaxis.range[0] == 0


def test_a_line_marks_what_the_other_chart_shows(history):
    rows = history(3)
    figure = draw(over_commits(rows), chosen=rows[2].commit)
    assert [shape.x0 for shape in figure.layout.shapes] == [1]  # its hash reads as a number, so it is told by its rank


def test_a_click_tells_the_whole_commit(history):
    rows = history(2)
    assert line_of(draw(over_commits(rows)), "fused").customdata == (rows[0].commit, rows[2].commit)


def test_an_empty_chart_says_so():
    chart = chart_over_batch([], quantity=Quantity.ROWS_PER_S)
    assert chart.across is Across.BATCHES
    assert "nothing measured here" in draw(chart).layout.annotations[0].text


def test_hashes_are_cut_where_they_still_differ():
    names = ["a" * 9 + "b" * 31, "a" * 9 + "c" * 31]
    assert set(short_hashes(names).values()) == {"a" * 9 + "b", "a" * 9 + "c"}


def test_the_usual_providers_differ_in_colour_and_in_marker():
    for one, other in combinations([KNOWN_LOOKS[name] for name in ("eager", "compiled", "fused")], 2):
        assert one.colour != other.colour
        assert one.symbol != other.symbol


def test_a_provider_looks_the_same_whatever_else_is_shown(history):
    alone = draw(over_commits(history(2, providers=("liger",))))
    among = draw(over_commits(history(2, providers=("compiled", "eager", "fused", "liger", "onednn"))))
    assert line_of(alone, "liger").line == line_of(among, "liger").line
    assert line_of(alone, "liger").line.color == look_of("liger").colour


def test_packed_weights_keep_the_colour_and_dash_the_line():
    assert look_of("fused:packed").colour == look_of("fused").colour
    assert look_of("fused:packed").dash != look_of("fused").dash


def test_thousands_of_commits_are_drawn_as_one_line_and_one_band_a_provider(history):
    figure = draw(over_commits(history(2000)))
    assert len(figure.data) == 4
    assert line_of(figure, "fused").mode == "lines"


def test_a_commits_label_is_its_date_and_short_subject(history):
    long = "Kernels: packed gate and up projections"
    rows = history(2, change=lambda i, _: {"commit_subject": long if i else None, "commit_date": None} if i else {})
    axis = draw(over_commits(rows)).layout.xaxis
    places = list(axis.categoryarray)
    assert axis.labelalias[places[0]] == "2026-03-01<br>Commit 0"
    assert axis.labelalias[places[1]] == "no date<br>Kernels: packe…"
    by_hash = history(1, change=lambda _i, _p: {"commit_subject": None})
    assert list(draw(over_commits(by_hash)).layout.xaxis.labelalias.values()) == ["2026-03-01<br>0000000"]


def test_of_many_commits_the_labels_are_dates_alone(history):
    aliases = draw(over_commits(history(200, providers=("eager",)))).layout.xaxis.labelalias
    assert len(aliases) == 200
    assert not any("<br>" in label for label in aliases.values())


@pytest.mark.parametrize("n_commits", [1, 2, 5, 6, 18, 60])
def test_the_newest_commit_has_a_label_and_few_others(history, n_commits):
    axis = draw(over_commits(history(n_commits, providers=("eager",)))).layout.xaxis
    labelled = list(range(int(axis.tick0), n_commits, int(axis.dtick)))
    assert labelled[-1] == n_commits - 1
    assert len(labelled) <= 5
