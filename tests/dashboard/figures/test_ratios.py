"""Figure of ratios on Compare: how many points it has, and what its axes say."""

import json
import math
from dataclasses import replace
from itertools import pairwise

import plotly.graph_objects as go
import pytest

from dashboard.figures.ratios import MOST_POINTS, RatioMark, RatioSide, scatter_of_ratios, thinned
from dashboard.pages.compare import MADE_OF_PROCESSES, page_props
from dashboard.quantities import MetricFormat
from dashboard.tables.comparison import answer_of, means_table
from dashboard.tables.ratios import key_of, mean_of, rows_from_judgements, rows_from_values
from dashboard.views.compare_drawing import compare_drawing_of
from results.judgement.verdicts import judge
from results.store import open_store
from tests.made_values import A, B, failed, row


def marks(n, *, significant=0):
    return tuple(
        RatioMark(value=1.0, ratio=1.0 + i / n, name=str(i), word="", is_significant=i < significant) for i in range(n)
    )


@pytest.mark.parametrize(
    ("sizes", "significant", "kept"),
    [
        ((7000,), 100, [100]),
        ((5569,), 71, [71]),
        ((4000, 4000, 4000), 10, [10, 10, 10]),
        ((6000, 6000), 6000, [1250, 1250]),
        ((100, 7000), 7000, [100, 2400]),
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
    gone = marks(1)[0]._replace(ratio=0.0, name="to nothing", is_significant=True)
    (side,), _ = thinned([RatioSide(name="s", marks=(*marks(40, significant=40), gone))], most=5)
    assert [mark.name for mark in side.marks] == ["to nothing", "39", "38", "37", "36"]


def test_the_axes_carry_what_they_show_with_its_unit():
    ordinate = MetricFormat(metric="latency_s", unit="s").ordinate
    sides = [RatioSide(name="b", marks=marks(3, significant=1))]
    figure = go.Figure(scatter_of_ratios(sides, ordinate=ordinate, base="a", are_providers=False))
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
    side = RatioSide(name="b", marks=tuple(marks(1)[0]._replace(ratio=ratio) for ratio in ratios))
    ordinate = MetricFormat(metric="latency_s", unit="s").ordinate
    figure = go.Figure(scatter_of_ratios([side], ordinate=ordinate, base="a", are_providers=False))
    assert list(figure.layout.yaxis.ticktext) == labels


@pytest.mark.parametrize("ratios", [(1.0,), (1.0, 1.0), (1.001, 1.0), (0.93, 1.08), (0.3, 20.0), (0.0, 1.0)])
def test_the_axis_is_no_longer_than_its_labels_have_room_for(ratios):
    side = RatioSide(name="b", marks=tuple(marks(1)[0]._replace(ratio=ratio) for ratio in ratios))
    ordinate = MetricFormat(metric="latency_s", unit="s").ordinate
    axis = go.Figure(scatter_of_ratios([side], ordinate=ordinate, base="a", are_providers=False)).layout.yaxis
    low, high = axis.range
    assert all(low < math.log10(ratio) < high for ratio in ratios if ratio)
    places = [math.log10(tick) for tick in axis.tickvals]
    assert len(places) >= 2
    assert min(b - a for a, b in pairwise(places)) > 0.05 * (high - low)


def test_changes_that_are_no_ratio_of_two_stored_values_are_told_so(journal_store, journals):
    """Everything took twice as long in a second run of the last commit: the machine did that."""
    sweeps = journals.history(3, operations=("mlp",), batches=(16,), hiddens=(256,))
    slow = {("mlp", provider): 2.0 for provider in sweeps[-1].providers}
    again = journals.replace(sweeps[-1], run_id="again", slowdowns=slow)
    props = [
        page_props(compare_drawing_of(journal_store(stored), query=""), is_from_url=False)
        for stored in (sweeps, [*sweeps, again])
    ]
    assert [MADE_OF_PROCESSES in one["note"] for one in props] == [False, True]


def test_what_changed_without_a_known_direction_is_counted_in_the_answer():
    """Rates of other projects: nobody said whether more is better, and they fell by 30 %."""
    base = {number: row(100.0 + number, batch=number, metric="track")._replace(unit="rows/s") for number in range(3)}
    head = {number: one._replace(value=0.7 * one.value, ci_low=0.69 * one.value, ci_high=0.71 * one.value)
            for number, one in base.items()}  # fmt: skip
    base = {number: one._replace(ci_low=0.99 * one.value, ci_high=1.01 * one.value) for number, one in base.items()}
    mean = mean_of(rows_from_values([base, head]), 0, n_only=0)
    assert (mean.n_worse, mean.n_better, mean.n_changed) == (0, 0, 3)
    assert answer_of(["one", "two"], [mean]) == (
        "3 changed beyond the noise, better direction unknown, of 3 points, geometric mean -30.0 %: two against one"
    )
    [box] = means_table(["one", "two"], [mean], [None], are_providers=False)
    cells = {
        one.to_plotly_json()["props"]["data-label"]: one.children
        for one in box.children.children[1].children[0].children
    }
    assert {name: cells[name] for name in ("Worse", "Better", "Changed")} == {
        "Worse": "0",
        "Better": "0",
        "Changed": "3",
    }
    [box] = means_table(["one", "two"], [replace(mean, n_changed=0)], [None], are_providers=False)
    assert "Changed" not in str(box)
    both = answer_of(["one", "two"], [replace(mean, n_worse=1)])
    assert both.startswith("1 worse, 0 better and 3 changed beyond the noise, better direction unknown, of 3 points")
    assert "(0 worse, 0 better, 3 changed beyond the noise)" in answer_of(["one", "a", "b", "c"], [mean] * 3)


def test_what_is_undecided_for_want_of_a_ratio_is_one_of_the_points_that_are_told():
    pairs = [(1.0, 1.0), (-5.0, -4.0)]
    base, head = ([row(pair[i], commit=at, batch=n, metric="track") for n, pair in enumerate(pairs)]
                  for i, at in enumerate((A, B)))  # fmt: skip
    sides = [{key_of(each): each} | {key_of(other): other} for each, other in (base, head)]
    mean = mean_of(rows_from_judgements([judge(base, head, base_commit=A, head_commit=B)], sides), 0, n_only=0)
    assert (mean.n, mean.n_undecided) == (1, 1)
    assert "1 undecided, of 2 points, geometric mean 0.0 % of the 1 with a ratio" in answer_of(["one", "two"], [mean])


@pytest.mark.parametrize(
    ("other", "title"), [("rows/s", "Value, rows/s at "), ("mW", "Value at "), ("unit", "Value at ")]
)
def test_values_of_several_units_stand_on_an_axis_without_one(tmp_path, write_asv_run, other, title):
    described = {
        name: {"name": name, "type": "track", "unit": unit, "params": [], "param_names": [], "version": "v", "code": ""}
        for name, unit in (("one", "rows/s"), ("two", other))
    }
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "benchmarks.json").write_text(json.dumps({**described, "version": 2}))
    for i in range(2):
        results = {name: {"result": [3.0 + i], "params": [], "version": "v"} for name in described}
        write_asv_run(tmp_path / "results", results, commit="ab"[i] * 40, date=1_700_000_000_000 + i)
    with open_store(str(tmp_path / "units.db")) as store:
        store.ingest([tmp_path / "results"])
        props = page_props(compare_drawing_of(store, query=""), is_from_url=True)
    assert props["figure"]["layout"]["xaxis"]["title"]["text"].startswith(title)
    cells = [str(one.children) for part in props["rows"] for one in part._traverse() if hasattr(one, "children")]
    assert ("3" in cells) is (other == "unit")  # asv calls it so where there is none


def test_what_looks_changed_and_is_not_known_is_counted_in_the_answer(journal_store, journals):
    sweeps = journals.history(2, operations=("mlp",), batches=(16,), hiddens=(256,))
    sweeps[1] = journals.replace(sweeps[1], slowdowns={("mlp", "fused"): 1.5}, disturbed="somebody else")
    drawing = compare_drawing_of(journal_store(sweeps), query="")
    [mean] = drawing.means
    assert mean.n_undecided == 1
    assert answer_of(drawing.names, drawing.means).startswith(
        "0 worse and 0 better beyond the noise, 1 undecided, of 3 points, geometric mean +14.5 %: "
    )


def test_the_largest_changes_are_drawn_whether_or_not_they_are_certain():
    ratios = [1.0 + 0.001 * (i % 7) for i in range(9000)]
    extremes = {1234: 5.0, 4321: 0.1, 8999: 4.0}
    made = [RatioMark(value=1.0, ratio=extremes.get(i, ratio), name="", word="", is_significant=False)
            for i, ratio in enumerate(ratios)]  # fmt: skip
    (side,), n_left_out = thinned([RatioSide(name="x", marks=tuple(made))])
    assert {5.0, 0.1, 4.0} < {mark.ratio for mark in side.marks}
    assert {1.0, 1.001} < {mark.ratio for mark in side.marks}  # and of the smallest some, so that none is a gap
    assert (len(side.marks), n_left_out) == (MOST_POINTS, 9000 - MOST_POINTS)


def by_gate(base, head):
    sides = [{key_of(each): each} for each in (base, head)]
    return rows_from_judgements([judge([base], [head], base_commit=A, head_commit=B)], sides)[0].ratios[0]


def test_a_quotient_of_disturbed_values_has_no_interval_of_another_ratio():
    processes = [[1.0, 1.01, 1.02], [0.94, 0.95, 0.96]]
    base, head = (row(each, commit=at) for each, at in zip(processes, (A, B), strict=True))
    told = by_gate(base, head)
    assert told.low < told.ratio < told.high
    head = head._replace(value=0.7, reason="stolen",
                   processes=tuple(each._replace(disturbed="stolen") for each in head.processes))  # fmt: skip
    told = by_gate(base, head)
    assert told.ratio == pytest.approx(0.7 / 1.01)
    assert (told.low, told.high) == (None, None)


def test_what_fails_now_comes_before_every_change_and_what_failed_before_after_all():
    numbers = range(80)
    base, head = ([row(100.0 * factor, batch=n, commit=at) for n in numbers] for at, factor in ((A, 1.0), (B, 2.0)))
    head[70] = failed(batch=70, commit=B)
    base[71], head[71] = (failed(batch=71, commit=at) for at in (A, B))
    rows = rows_from_judgements(
        [judge(base, head, base_commit=A, head_commit=B)], [{key_of(one): one for one in side} for side in (base, head)]
    )
    ends = (rows[0].base, rows[-1].base)
    assert [one.parameters[1].value for one in ends] == [70, 71]
    assert (rows[0].is_significant, rows[0].has_ratio, rows[1].has_ratio) == (True, False, True)
