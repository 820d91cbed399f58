from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import plotly.graph_objects as go
import pytest
from dash.exceptions import PreventUpdate

from benchmarks.ruler.plan.axes import all_groups
from benchmarks.ruler.plan.axes_files import axes_from_text
from benchmarks.ruler.plan.points import DeviceKind
from dashboard.app import create_app, page_and_links, shell
from dashboard.figures.throughput import chart_over_commits
from dashboard.pages.throughput import OUTPUTS, PICKED, asked_query, page_props
from dashboard.pages.throughput_cards import batch_card
from dashboard.quantities import FIELDS, Quantity, reading_of
from dashboard.scales import Colour, CommitSpacing
from dashboard.sweep_axes import AXES
from dashboard.views.throughput.chosen_point import chosen_point_of
from dashboard.views.throughput.drawing import throughput_drawing_of
from results.queries import throughput_by_commit
from results.store import open_store

NO_CLICK = {"batch": None, "commit": None}


def page_of(path, store):
    return page_and_links(path, store)[0]


def html_of(component):
    """The component with all its children as text."""
    return str(component)


@pytest.fixture
def store(journal_store):
    return journal_store()


def shown(store, query):
    return page_props(throughput_drawing_of(store, query=query), is_from_url=True)


def asked(store, *, query="", triggered=None, clicked=NO_CLICK, **changes):
    """What is asked for when the page shows `query` and then selectors take the values `changes`."""
    props = shown(store, query)
    picked = {name: props["axes"][name]["value"] for name in props["axes"]}
    picked |= {"commit": props["commit"]["value"], "providers": props["providers"]["value"], **props["switches"]}
    picked |= {name: props[name]["value"] for name in ("project", "quantity", "commits", "colour")}
    assert set(picked) == set(PICKED)
    trigger = triggered or f"throughput-{next(iter(changes))}"
    return asked_query(query, picked={**picked, **changes}, clicked=clicked, shown=props["shown"], triggered=trigger)


def test_the_switches_of_the_chart_over_batch_share_a_line():
    ends = [one for one in batch_card()._traverse() if getattr(one, "className", "") == "at-end"]
    switches = {one.id for end in ends for one in end._traverse() if getattr(one, "data", None)}
    assert (len(ends), switches) == (1, {"throughput-multiples", "throughput-batch_scale"})


def test_the_page_shows_every_provider_over_batch_and_over_commits(store):
    props = shown(store, "?operation=mlp&hidden=1024")
    for graph in ("batch_figure", "commits_figure"):
        names = {trace.name for trace in go.Figure(props[graph]).data}
        assert {"eager", "compiled", "fused"} <= names
    line = next(trace for trace in go.Figure(props["commits_figure"]).data if trace.name == "fused")
    assert len(line.x) == 3
    assert "Change number 2" in props["batch_note"]


@pytest.mark.parametrize("quantity", Quantity)
def test_the_curves_over_commits_need_no_metric_that_was_not_asked_for(store, quantity):
    drawing = throughput_drawing_of(store, query=f"?operation=mlp&hidden=1024&quantity={quantity}")
    (batch,) = {row.batch for row in drawing.by_commit}
    everything = throughput_by_commit(store, operation="mlp", hidden=1024, batch=batch)
    assert [row.error_rel for row in drawing.by_commit] != [row.error_rel for row in everything]
    chosen = {"quantity": quantity, "spacing": CommitSpacing.ORDER}
    assert chart_over_commits(drawing.by_commit, **chosen) == chart_over_commits(everything, **chosen)


def test_the_metric_selector_offers_what_was_measured_and_what_the_url_asks_for(store):
    offered = [one["value"] for one in shown(store, "?operation=mlp")["quantity"]["data"]]
    assert {"rows_per_s", "latency", "operators"} <= set(offered)
    assert "launches" not in offered  # the store is of a CPU
    asked_for = shown(store, "?operation=mlp&quantity=launches")
    assert "launches" in [one["value"] for one in asked_for["quantity"]["data"]]
    assert "Kernel launches was not measured" in html_of(asked_for["problems"])


@pytest.mark.parametrize("quantity", Quantity)
def test_each_quantity_has_an_axis_with_its_unit_and_reads_the_row(point, quantity):
    row = point(
        **dict.fromkeys(FIELDS.values(), 2.0), latency_s=0.5, speedup_vs_eager=2.0, tflop_per_s=2e-12, gb_per_s=2e-9,
        percent_of_floor=2.0, batch=1, rows_per_s=2.0,
    )  # fmt: skip
    reading = reading_of(row, quantity=quantity)
    assert reading.value == (0.5 if quantity is Quantity.LATENCY else pytest.approx(2.0))
    text = quantity.text(reading.value).replace("\N{NARROW NO-BREAK SPACE}", " ")
    is_count = quantity in {Quantity.LAUNCHES, Quantity.OPERATORS}
    assert text == "2" if is_count else not text[-1].isdigit()
    assert quantity.ordinate.title
    assert quantity.ordinate.better


def test_the_chosen_point_leads_to_its_profile_and_to_the_command_that_measures_it_again(store):
    point = chosen_point_of(throughput_drawing_of(store, query="?operation=mlp&hidden=1024&batch=64"))
    assert point.commands[0] == f"git checkout {point.commit[:10]}"
    assert point.commands[-1] == "FUSEBENCH_THREADS=2 fusebench run --axes point.toml --again"
    assert throughput_drawing_of(store, query=point.profile_query).view.choice.batch == 64
    lines = html_of(shown(store, "?operation=mlp&hidden=1024&batch=64")["point"])
    assert all(command in lines for command in (point.commands[0], point.commands[-1]))
    assert "/profile?operation=mlp" in lines


def test_the_axes_of_the_chosen_point_are_its_shape_and_all_its_contenders(store):
    drawing = throughput_drawing_of(store, query="?operation=mlp&hidden=1024&batch=64")
    commands = chosen_point_of(drawing).commands
    text = "\n".join(commands[2:-2])
    axes = axes_from_text(text, path=Path("point.toml"))
    rows = [row for row in drawing.by_batch if row.batch == 64]
    for device in DeviceKind:
        [group] = all_groups(axes, operations=axes.operations, device=device)
        shape = group.shape
        assert (shape.operation, shape.pass_, shape.dtype, shape.activation) == ("mlp", "forward", "float32", "gelu")
        assert (shape.batch, shape.hidden, shape.dim, shape.cache) == (64, 1024, rows[0].dim, "warm")
        assert {str(one) for one in group.contenders} == {row.contender for row in rows}


def test_the_callback_returns_what_it_declares(store):
    assert set(shown(store, "")) == set(OUTPUTS)


def test_the_url_of_a_view_shows_the_same_view(store):
    first = shown(store, "?operation=linear&hidden=256&quantity=latency&providers=eager,fused")
    again = shown(store, first["shown"]["query"])
    assert {name: str(again[name]) for name in again} == {name: str(first[name]) for name in first}


def test_a_selector_changes_its_part_of_the_url_and_no_other(store):
    query = asked(store, query="?operation=mlp&quantity=latency&providers=eager,fused", hidden="256")
    choice = throughput_drawing_of(store, query=query).view.choice
    assert (choice.operation, choice.hidden, choice.quantity, choice.providers) == (
        "mlp", 256, "latency", ("eager", "fused"),
    )  # fmt: skip


def test_an_axis_nobody_could_choose_follows_without_a_complaint(store):
    query = asked(store, query="?hidden=1024", hidden="256")
    view = throughput_drawing_of(store, query=query).view
    assert (view.choice.hidden, view.choice.dim, view.problems) == (256, 64, ())


def test_a_commit_put_beside_another_colours_by_commit_unless_a_colour_was_chosen(store, journals):
    commit = journals.commit_hash(0)[:12]
    query = asked(store, commits=[commit])
    assert throughput_drawing_of(store, query=query).view.choice.coloured is Colour.COMMIT
    by_provider = asked(store, query=query, colour="provider")
    assert throughput_drawing_of(store, query=by_provider).view.choice.coloured is Colour.PROVIDER
    alone = asked(store, query=query, commits=[])
    assert throughput_drawing_of(store, query=alone).view.choice.coloured is Colour.PROVIDER


def test_all_providers_chosen_is_no_choice_of_providers(store):
    query = asked(store, query="?providers=eager", providers=["eager", "compiled", "fused"])
    assert "providers" not in query


def test_no_provider_chosen_is_a_choice(store):
    query = asked(store, providers=[])
    props = shown(store, query)
    assert go.Figure(props["commits_figure"]).data == ()
    assert props["problems"] == []


def test_a_click_on_a_commit_chooses_it_for_the_other_curve(store, journals):
    click = {"points": [{"customdata": journals.commit_hash(1)}]}
    query = asked(store, triggered="throughput-commits-graph", clicked={**NO_CLICK, "commit": click})
    assert "Change number 1" in shown(store, query)["batch_note"]


def test_a_click_on_a_batch_chooses_it_for_the_other_curve(store):
    click = {"points": [{"customdata": "1"}]}
    query = asked(store, triggered="throughput-batch-graph", clicked={**NO_CLICK, "batch": click})
    assert throughput_drawing_of(store, query=query).view.choice.batch == 1


def test_the_url_we_wrote_ourselves_draws_nothing_again(store):
    with pytest.raises(PreventUpdate):
        asked(store, query=shown(store, "")["shown"]["query"], triggered="throughput-url")


def test_a_wrong_value_in_the_url_is_said_on_the_page(store):
    props = shown(store, "?hidden=7777&commit=0000000")
    assert "7777" in html_of(props["problems"])
    assert "no measured commit begins" in html_of(props["problems"])


def test_an_unavailable_provider_is_listed_with_its_reason_and_never_drawn(journal_store, journals):
    store = journal_store(journals.history(2, states={("mlp", "compiled"): "unavailable"}))
    props = shown(store, "?operation=mlp")
    assert "compiled is unavailable in this test" in html_of(props["winners"])
    assert "compiled" not in {trace.name for trace in go.Figure(props["batch_figure"]).data}
    assert "compiled, not measured" in {trace.name for trace in go.Figure(props["batch_figure"]).data}


def test_a_machine_has_its_own_types_and_environments(journal_store, journals):
    store = journal_store([*journals.history(2), *journals.history(2, machine="gpu-01", device="cuda")])
    view = throughput_drawing_of(store, query="?machine=gpu-01").view
    assert (view.choice.dtype, view.choice.environment) == ("bfloat16", "py3.11-cuda-t2")
    assert view.options["machine"] == ("bench-01", "gpu-01")


def test_an_axis_with_one_value_needs_no_selector_and_is_told_in_words(store):
    props = shown(store, "")
    assert props["axes"]["dtype"]["style"] == {"display": "none"}
    assert "float32" in props["facts"]
    assert props["axes"]["hidden"]["style"] == {}


def test_an_empty_database_says_what_to_do(tmp_path):
    with open_store(str(tmp_path / "empty.db")) as store:
        said = html_of(page_of("/", store))
    assert "make bench" in said
    assert "fusebench ingest PATH" in said


def test_a_path_without_a_page_lists_the_pages(store):
    said = html_of(page_of("/nowhere", store))
    assert "There is no page /nowhere" in said
    assert "Throughput" in said


def test_every_selector_is_on_the_page(store):
    page = html_of(page_of("/throughput", store))
    for name in (*(axis.name for axis in AXES), "commit", "providers"):
        assert f"'throughput-{name}'" in page


def test_points_that_were_disturbed_are_not_recommended_without_a_word(store, point):
    drawing = throughput_drawing_of(store, query="?operation=mlp")
    rows = (point(disturbed="load by others"), point(provider="fused"))
    props = page_props(replace(drawing, by_batch=rows), is_from_url=True)
    assert "1 of 2 points were disturbed" in props["winners_note"]
    assert "open marks: disturbed" in props["batch_note"]
    assert "disturbed" not in page_props(drawing, is_from_url=True)["winners_note"]


def test_the_app_asks_no_other_host_for_anything(store):
    app = create_app(store)
    page = app.server.test_client().get("/").get_data(as_text=True)
    assert "https://" not in page
    assert "http://" not in page
    assert html_of(shell())


def test_the_page_begins_with_what_to_run_at_the_chosen_batch(store):
    head = shown(store, "?operation=mlp&hidden=1024&batch=64")["answer"][0]
    assert "Run fused at 64" in str(head.children[-1]).replace("\N{NARROW NO-BREAK SPACE}", " ")
    assert "certain" in head.children[-1]


def test_a_single_commit_has_no_chart_over_commits(journal_store, journals):
    assert shown(journal_store(journals.history(1)), "")["commits_card"] == {"display": "none"}
    assert shown(journal_store(journals.history(2)), "")["commits_card"] == {}


def test_two_batches_are_bars_without_a_scale_and_more_are_curves(journal_store, journals):
    few = shown(journal_store(journals.history(1)), "")
    assert {trace.type for trace in go.Figure(few["batch_figure"]).data} == {"bar"}
    assert few["batch_scales"] == {"display": "none"}
    more = shown(journal_store(journals.history(1, batches=(1, 4, 16))), "")
    assert {trace.type for trace in go.Figure(more["batch_figure"]).data} == {"scatter"}
    assert more["batch_scales"] == {}


def test_the_notes_say_in_words_what_the_charts_show(journal_store, journals):
    before, after = journals.history(2, batches=(1, 4, 64))
    store = journal_store([before, replace(after, slowdowns={("mlp", "fused"): 1.1})])
    props = shown(store, "?operation=mlp&providers=eager,fused")
    assert "least time of 3 batches: fused at 3" in props["batch_note"]
    assert "eager 0.0 %, fused +10.0 %" in props["commits_note"]
