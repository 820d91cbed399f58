"""Page *Roofline*: points where their numbers put them, roofs only where they were measured."""

from __future__ import annotations

import csv
import io
from dataclasses import replace

import pytest
from dash.exceptions import PreventUpdate

from dashboard.addresses import point_profile_address
from dashboard.app import create_app
from dashboard.figures.roofline import roofline_figure
from dashboard.pages.roofline import OUTPUTS, asked_query, links_of, page_props
from dashboard.roofs import placed, slopes_of
from dashboard.tables.rooflines import CSV_COLUMNS, columns_of, csv_rows, roofline_rows
from dashboard.views.profiles.drawing import profile_drawing_of
from dashboard.views.roofline import note_of_roofline, roofline_view_of
from dashboard.views.throughput.drawing import throughput_drawing_of
from results.rows import CeilingsRow

THIN = "\N{NARROW NO-BREAK SPACE}"
KIB = 1 << 10
PEAK = 1e11


@pytest.fixture
def ceilings():
    return CeilingsRow(
        machine="desk", environment="py3.11-cpu-t2", measured_at=None, matmul_flop_per_s={"float32": PEAK},
        bandwidth_bytes_per_s={16 * KIB: 1e11, 1024 * KIB: 2e10}, copy_bytes_per_s=1e10,
    )  # fmt: skip


@pytest.fixture
def at(point):
    """Build a point by what it moves at least, does and takes."""

    def build(n_bytes, flop, latency_s, **changes):
        rates = {"tflop_per_s": flop / latency_s / 1e12, "gb_per_s": n_bytes / latency_s / 1e9}
        return point(latency_s=latency_s, **rates, **changes)

    return build


def figure_of(points, **changes):
    return roofline_figure(points, **{"peak": PEAK, "dtype": "float32", "keeps_zoom_of": "", **changes})


def props_of(store, query="?machine=desk"):
    return page_props(roofline_view_of(store, query=query), is_from_url=True)


def said(component):
    return str(component).replace(THIN, " ").replace(r"\u202f", " ")


def test_a_point_lies_below_the_roof_of_the_level_that_its_data_live_in(at, ceilings):
    small, large, product = placed(
        [
            at(32 * KIB, 32 * KIB * 0.5, 1e-6),  # 0.5 FLOP/byte in the fast level
            at(4096 * KIB, 4096 * KIB * 0.5, 1e-3),  # the same intensity, in the slow one
            at(4096 * KIB, 4096 * KIB * 50.0, 4e-3),
        ],
        ceilings=ceilings,
    )
    assert [one.flop_per_byte for one in (small, large, product)] == pytest.approx([0.5, 0.5, 50.0])
    assert [one.roof_flop_per_s for one in (small, large, product)] == pytest.approx([5e10, 1e10, PEAK])
    assert [one.is_below_slope for one in (small, large, product)] == [True, True, False]
    assert small.share == pytest.approx(32 * KIB * 0.5 / 1e-6 / 5e10)
    assert [slope.bytes_per_s for slope in slopes_of([large, small])] == [1e11, 2e10]


def test_of_a_gpu_the_share_by_device_time_stands_beside_that_by_wall_time(at, ceilings, profiled_store):
    """Half of the peak by wall time, host-bound: the kernels take a quarter of the call, so they would be beyond it."""
    flop = 4096 * KIB * 50.0
    quarter, hidden = placed(
        [
            at(4096 * KIB, flop, 4 * flop / PEAK, device_time_s=1.6 * flop / PEAK),
            at(4096 * KIB, flop, 2 * flop / PEAK, device_time_s=0.5 * flop / PEAK),
        ],
        ceilings=ceilings,
    )
    assert (quarter.share, quarter.share_on_device) == pytest.approx((0.25, 0.625))
    assert (hidden.share, hidden.share_on_device) == (0.5, None)
    assert "percent_on_device" in {column.field for column in columns_of([quarter])}
    (plain,) = placed([at(4096 * KIB, flop, 4 * flop / PEAK)], ceilings=ceilings)
    assert "percent_on_device" not in {column.field for column in columns_of([plain])}
    answer = said(props_of(profiled_store(), "?machine=gpu-01")["answer"])
    assert "That is by wall time." in answer
    assert "Median share of the roof by device time: " in answer
    assert "device time" not in said(props_of(profiled_store(), "?machine=desk")["answer"])


def test_cold_data_live_in_memory_however_small(at, ceilings):
    (cold,) = placed([at(KIB, KIB, 1e-6, cache="cold")], ceilings=ceilings)
    assert cold.slope.bytes_per_s == 2e10


def test_a_point_beyond_its_roof_has_no_share(at, ceilings):
    (one,) = placed([at(4096 * KIB, 4096 * KIB * 50.0, 1e-3)], ceilings=ceilings)
    assert one.is_beyond
    assert (one.share, one.roof_in_words) == (None, "ceiling not valid")


def test_the_figure_is_logarithmic_with_units_and_a_trace_for_each_provider_and_roof(at, ceilings):
    rows = [
        at(32 * KIB * batch, 64 * KIB * batch, 1e-5 * batch, batch=batch, provider=provider)
        for provider in ("eager", "fused")
        for batch in (1, 64)
    ]
    figure = figure_of(placed(rows, ceilings=ceilings))
    assert (figure.layout.xaxis.type, figure.layout.yaxis.type) == ("log", "log")
    assert "FLOP/byte" in figure.layout.xaxis.title.text
    assert figure.layout.yaxis.labelalias["100G"] == "100GFLOP/s"
    assert len(figure.layout.xaxis.tickvals) >= 4
    names = [trace.name for trace in figure.data]
    assert names == [
        f"data of 16 KiB in a cache: 100{THIN}GB/s", f"data of 1 MiB in memory: 20.0{THIN}GB/s",
        f"products in float32: 100{THIN}GFLOP/s", "eager", "fused",
    ]  # fmt: skip
    slope = figure.data[0]
    assert [y / x for x, y in zip(slope.x, slope.y, strict=True)] == pytest.approx([1e11] * 3)
    assert slope.y[-1] == pytest.approx(PEAK)
    assert figure.data[3].x == pytest.approx((2.0, 2.0))
    assert figure.data[3].marker.size[0] < figure.data[3].marker.size[1]


def test_of_two_roofs_near_each_other_the_lower_is_named_below_itself(at, ceilings):
    near = replace(ceilings, bandwidth_bytes_per_s={16 * KIB: 1e11, 1024 * KIB: 8e10})
    rows = [at(n_bytes, 64 * KIB, 1e-4) for n_bytes in (16 * KIB, 1024 * KIB)]
    upper, lower, *_ = figure_of(placed(rows, ceilings=near)).data
    assert (upper.textposition, lower.textposition) == ("top left", "bottom right")
    assert [next(filter(None, each.text)).replace(THIN, " ") for each in (upper, lower)] == [
        "cache, 16 KiB: 100 GB/s", "memory, 1 MiB: 80.0 GB/s",
    ]  # fmt: skip
    far = replace(ceilings, bandwidth_bytes_per_s={16 * KIB: 1e11, 1024 * KIB: 1e10})
    assert {each.textposition for each in figure_of(placed(rows, ceilings=far)).data[:2]} == {"top left"}


def test_without_ceilings_points_stay_and_no_roof_is_invented(at):
    points = placed([at(KIB, KIB, 1e-6)], ceilings=None)
    assert [trace.name for trace in figure_of(points, peak=None).data] == ["eager"]
    assert points[0].roof_in_words == "not known"


def test_without_ceilings_the_table_has_no_columns_about_roofs(at, ceilings):
    rows = [at(4096 * KIB, 4096 * KIB * 50.0, 1e-3)]
    names = [[one.heading for one in columns_of(placed(rows, ceilings=known))] for known in (None, ceilings)]
    assert [name for name in names[1] if name not in names[0]] == ["Roof", "Of the roof", "Roof is made of"]


def test_points_without_work_or_value_have_no_place(point, at):
    assert placed([point(gb_per_s=None), point(state="crashed")], ceilings=None) == ()


def test_the_page_answers_who_comes_nearest_to_its_roof(profiled_store):
    props = props_of(profiled_store())
    assert set(props) == set(OUTPUTS)
    assert said(props["answer"][0]).count("fused comes nearest to its roof: 70 % at batch 256, hidden 1024.")
    assert "Median share of the roof: fused" in said(props["answer"])
    assert "ceilings measured 2026-03-01" in props["note"]


def test_the_note_says_that_ceilings_are_of_a_slow_machine(profiled_store):
    view = roofline_view_of(profiled_store(), query="?machine=desk")
    slow = replace(view, ceilings=replace(view.ceilings, slow_rounds=12, speed=0.57))
    words = note_of_roofline(slow).replace(THIN, " ")
    assert "ceilings measured 2026-03-01 on a slow machine (at 57 % of its best speed), so they may be too low" in words
    assert "slow" not in note_of_roofline(view)


def test_without_ceilings_the_page_says_what_measures_them(profiled_store):
    props = props_of(profiled_store(has_ceilings=False))
    words = said(props["answer"])
    assert "No ceilings of desk in py3.11-cpu-t2 are stored, so no roof is drawn" in words
    assert "To see a roof now, run make bench on your own machine" in words
    assert "fusebench run" in words
    assert [trace.mode for trace in props["figure"].data] == ["markers", "markers"]
    assert {row["bound_by"] for row in props["points"]["props"]["rowData"]} == {"not known"}


def test_another_commit_and_fewer_providers_are_in_the_url_and_back(profiled_store, made_profiles):
    store = profiled_store()
    view = roofline_view_of(store, query="?machine=gpu-01&commit=a1a1&providers=fused")
    assert {one.row.commit for one in view.points} == {made_profiles.COMMITS[0]}
    assert view.shown == ("fused",)
    again = roofline_view_of(store, query=view.query)
    assert (again.points, again.problems) == (view.points, ())
    wrong = roofline_view_of(store, query="?providers=nobody&commit=ffff&x=1")
    assert len(wrong.problems) == 3


def test_a_selector_changes_the_url_and_our_own_url_draws_nothing(profiled_store):
    props = props_of(profiled_store())
    picked = {name: props["axes"][name]["value"] for name in props["axes"]}
    picked |= {"commit": "a1a1a1a1a1a1", "providers": ["fused"]}
    query = asked_query("", picked=picked, shown=props["shown"], triggered="roofline-commit")
    assert "commit=a1a1a1a1a1a1&providers=fused" in query
    with pytest.raises(PreventUpdate):
        asked_query(props["shown"]["query"], picked=picked, shown=props["shown"], triggered="roofline-url")


def test_a_point_leads_to_its_profile_and_throughput_with_its_shape_machine_and_provider(profiled_store):
    store = profiled_store()
    point = roofline_view_of(store, query="?machine=gpu-01&commit=a1a1").points[0]
    _, profile, _, throughput = links_of(point)
    assert profile.href == point_profile_address(point.row)
    drawing = profile_drawing_of(store, query=profile.href.partition("?")[2])
    assert (drawing.call.point, drawing.problems) == (point.row, ())
    view = throughput_drawing_of(store, query=throughput.href.partition("?")[2]).view
    assert (view.choice.machine, view.choice.batch, view.problems) == ("gpu-01", point.row.batch, ())


def test_the_table_and_its_csv_have_every_point_the_nearest_to_its_roof_first(profiled_store):
    store = profiled_store()
    rows = roofline_rows(roofline_view_of(store, query="?machine=desk").points)
    shares = [row["percent_of_roof"] for row in rows]
    assert shares == sorted(shares, reverse=True)
    text = create_app(store).server.test_client().get("/roofline.csv?machine=desk").get_data(as_text=True)
    read = list(csv.DictReader(io.StringIO(text)))
    assert list(read[0]) == list(CSV_COLUMNS)
    assert len(read) == len(rows) == 4


def test_the_csv_names_the_machine_and_commit_of_each_point_and_what_disturbed_it(profiled_store):
    point = roofline_view_of(profiled_store(), query="?machine=desk").points[0]
    calm, disturbed = (replace(point, row=point.row._replace(disturbed=why)) for why in (None, "busy neighbours"))
    rows = csv_rows([calm, disturbed])
    assert [row["disturbed"] for row in rows] == [None, "busy neighbours"]
    assert {(row["machine"], row["commit"]) for row in rows} == {("desk", point.row.commit)}
    assert {row["commit_subject"] for row in rows} == {point.row.commit_subject}


@pytest.mark.parametrize(("batches", "digits"), [((1, 2), {1, 2, 5}), ((1, 2048), {1, 3}), ((1, 1 << 17), {1})])
def test_labels_of_a_long_axis_across_do_not_run_into_each_other_on_a_narrow_page(at, ceilings, batches, digits):
    rows = [at(32 * KIB, 64 * KIB * batch, 1e-5 * batch, batch=batch) for batch in batches]
    labels = figure_of(placed(rows, ceilings=ceilings)).layout.xaxis.ticktext
    assert {int(label.strip("0.")[0]) for label in labels} == digits
    assert max(map(len, labels)) <= 4
    assert ("1k" in labels) is (batches[1] >= 2048)
    assert len(labels) >= 4
