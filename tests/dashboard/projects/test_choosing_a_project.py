"""Choosing a project on one page: what was chosen of the one before and is not of it goes, and the rest travels."""

from __future__ import annotations

import re
from dataclasses import replace
from urllib.parse import parse_qs

import pytest

from dashboard.app import PAGES, create_app, page_and_links
from dashboard.pages import compare, explore, overview, profile, regressions, roofline, throughput
from dashboard.views.compare_drawing import compare_drawing_of
from dashboard.views.overview import maps_view_of
from dashboard.views.profiles.drawing import profile_drawing_of
from dashboard.views.projects import query_in_project
from dashboard.views.roofline import roofline_view_of
from dashboard.views.throughput.drawing import throughput_drawing_of
from dashboard.views.url import ALL, context_after
from results.queries import point_choices
from results.store import open_store

OPTIONS = {"operations": ("mlp",), "batches": (1, 4), "hiddens": (256, 512)}
OF_SWEEP = {"throughput": throughput_drawing_of, "profile": profile_drawing_of, "roofline": roofline_view_of}
LAYOUTS = {
    "throughput": throughput.layout, "profile": profile.layout, "roofline": roofline.layout,
    "overview": overview.layout, "regressions": regressions.layout, "compare": compare.layout,
    "explore": explore.layout,
}  # fmt: skip


@pytest.fixture(scope="module")
def store(tmp_path_factory, journals, fill, write_asv_tree):
    """`aaa`, older, on a machine of its own and in one hidden dim; `fusebench`; and `suite` without a sweep."""
    folder = tmp_path_factory.mktemp("chosen")
    older = [replace(one, machine="far-01") for one in journals.history(2, **{**OPTIONS, "hiddens": (256,)})]
    path = fill(folder, {"aaa": older, "fusebench": journals.history(5, **OPTIONS)[2:]})
    with open_store(path) as opened:
        opened.ingest([write_asv_tree(folder / "asv", times=[(0.1, 0.2), (0.2, 0.4)])], project="suite")
        yield opened


def view_of(drawing):
    return getattr(drawing, "view", drawing)


def problems_of(drawing):
    return list(getattr(drawing, "problems", view_of(drawing).problems))


@pytest.mark.parametrize("page", OF_SWEEP)
def test_what_the_chosen_project_measured_as_well_stays_and_the_rest_goes(store, journals, page):
    commit = journals.commit_hash(3)[:12]
    before = f"?operation=mlp&machine=bench-01&hidden=512&batch=4&commit={commit}&project=aaa"
    query = query_in_project(before, points=point_choices(store))
    assert parse_qs(query.removeprefix("?")) == {"operation": ["mlp"], "batch": ["4"], "project": ["aaa"]}
    wanted = query if page != "roofline" else query.replace("&batch=4", "")
    assert problems_of(OF_SWEEP[page](store, query=wanted)) == []


@pytest.mark.parametrize("page", OF_SWEEP)
def test_axes_offer_what_the_project_measured(store, page):
    for project, machine in (("aaa", "far-01"), ("fusebench", "bench-01")):
        options = view_of(OF_SWEEP[page](store, query=f"?project={project}")).options
        assert options["machine"] == (machine,)
        assert options["project"] == ("aaa", "fusebench")  # of those with a sweep


def test_the_maps_are_of_the_chosen_project_and_there_are_none_without_a_sweep(store):
    assert maps_view_of(store, query="?project=aaa").chosen["machine"] == "far-01"
    assert maps_view_of(store, query="").mapped == ("fusebench",)
    view = maps_view_of(store, query="?project=suite")
    assert (view.project, view.maps, view.problems) == ("suite", (), ())
    assert overview.page_props(view, is_from_url=True)["sweep"] == {"display": "none"}


def test_another_project_on_the_overview_begins_with_its_own_machine(store):
    picked = {"project": "aaa", "machine": "bench-01", "dtype": "float32"}
    assert overview.asked_query("", picked=picked, shown="", triggered="overview-project") == "?project=aaa"
    query = overview.asked_query("", picked=picked, shown="", triggered="overview-dtype")
    assert parse_qs(query.removeprefix("?")) == {name: [value] for name, value in picked.items()}
    picked["project"] = ALL
    assert overview.asked_query("", picked=picked, shown="", triggered="overview-project") == ""


def test_cards_are_drawn_again_only_where_the_project_is_another(store):
    view = maps_view_of(store, query="?project=aaa")
    assert overview.page_props(view, is_from_url=True, about=ALL)["about"] == "aaa"
    assert overview.page_props(view, is_from_url=True, about="aaa")["about"] is not view.project


def test_a_project_without_a_sweep_takes_no_machine_to_the_pages_of_the_sweep(store):
    context = context_after("", "?project=suite&machine=box&benchmark=ops.time_sort", swept=("aaa", "fusebench"))
    for page, link in zip(PAGES, page_and_links("/none", store, search=context)[1], strict=True):
        asked = parse_qs(link.href.partition("?")[2])
        if page.path in {"/throughput", "/profile", "/roofline"}:
            assert asked == {}
        else:
            assert asked["project"] == ["suite"]


def test_a_page_of_all_projects_takes_the_project_out_of_the_context():
    context = context_after("", "?project=aaa&machine=far-01", swept=("aaa",))
    assert "project" not in context_after(context, "?turn=better", swept=("aaa",), offers_all=True)
    assert "project=aaa" in context_after(context, "?turn=better", swept=("aaa",))
    assert "project=aaa" in context_after(context, "?project=aaa", swept=("aaa",), offers_all=True)
    assert {page.path for page in PAGES if page.offers_all_projects} == {"/", "/regressions"}


def test_another_project_takes_machine_and_environment_out_of_the_context():
    context = context_after("", "?project=aaa&machine=far-01&environment=e", swept=("aaa",))
    assert context_after(context, "?project=suite", swept=("aaa",)) == "project=suite"


def test_compare_begins_with_the_project_that_was_measured_last(store):
    assert compare_drawing_of(store, query="").choice.project == "suite"


@pytest.mark.parametrize("page", LAYOUTS)
def test_the_project_is_the_first_of_the_controls(page):
    ids = [one.id for one in LAYOUTS[page]()._traverse() if re.search(r"Select|Input|Segmented", type(one).__name__)]
    assert ids[0] == f"{page}-project"


def test_every_page_takes_the_project():
    assert all("project" in page.takes for page in PAGES)


@pytest.mark.parametrize("path", ["/throughput.csv", "/roofline.csv", "/compare.csv", "/regressions.csv"])
def test_files_are_of_the_chosen_project(store, path):
    client = create_app(store).server.test_client()
    texts = {name: client.get(path, query_string={"project": name}).get_data(as_text=True) for name in ("aaa", "suite")}
    assert ("far-01" in texts["aaa"]) is (path != "/regressions.csv")  # in which nothing changed
    assert "bench-01" not in texts["aaa"]
    assert "far-01" not in texts["suite"]
