"""Two projects that measured one shape on one machine: each has curves of its own."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dashboard.pages import profile, roofline
from dashboard.pages.throughput import PICKED, asked_query, page_props
from dashboard.scales import Colour
from dashboard.views.profiles.drawing import profile_drawing_of
from dashboard.views.roofline import roofline_view_of
from dashboard.views.throughput.choice import query_from_choice
from dashboard.views.throughput.drawing import throughput_drawing_of
from results.store import open_store

OPTIONS = {"operations": ("mlp",), "batches": (1, 4), "hiddens": (256,)}
SHAPE = "?operation=mlp&hidden=256&batch=4"


PROPS_OF = {
    "profile": lambda store: profile.page_props(profile_drawing_of(store, query=""), is_from_url=True)["selects"],
    "roofline": lambda store: roofline.page_props(roofline_view_of(store, query=""), is_from_url=True),
    "throughput": lambda store: page_props(throughput_drawing_of(store, query=""), is_from_url=True),
}


@pytest.fixture(scope="module")
def store(tmp_path_factory, journals, fill):
    """`fusebench`, three commits, and `other`, five older ones."""
    sweeps = {"fusebench": journals.history(8, **OPTIONS)[5:], "other": journals.history(5, **OPTIONS)}
    with open_store(fill(tmp_path_factory.mktemp("projects"), sweeps)) as opened:
        yield opened


def projects_of(drawing):
    return {row.project for row in (*drawing.by_batch, *drawing.by_commit, *drawing.beside)}


def test_the_newest_project_is_shown_and_the_selector_offers_the_other(store):
    drawing = throughput_drawing_of(store, query=SHAPE)
    assert projects_of(drawing) == {"fusebench"}
    assert {row.project for row in drawing.commits} == {"fusebench"}
    assert drawing.view.problems == ()
    selector = page_props(drawing, is_from_url=True)["project"]
    assert selector == {"data": ["fusebench", "other"], "value": "fusebench", "style": {}}


def test_the_url_chooses_the_project_which_stays_when_a_selector_changes(store):
    drawing = throughput_drawing_of(store, query=f"{SHAPE}&project=other")
    assert projects_of(drawing) == {"other"}
    assert len({row.commit for row in drawing.by_commit}) == 5
    assert drawing.view.problems == ()
    assert "project=other" in query_from_choice(drawing.view.choice)
    props = page_props(drawing, is_from_url=True)
    assert props["project"]["value"] == "other"
    assert "project=other" in props["csv"][0]
    picked = dict.fromkeys(PICKED) | {"project": "other", "commits": [], "providers": [], "batch": "1"}
    query = asked_query("", picked=picked, clicked={}, shown=props["shown"], triggered="throughput-batch")
    assert "project=other" in query


@pytest.mark.parametrize("path", ["profile", "roofline", "throughput"])
def test_a_commit_that_two_projects_measured_as_of_a_fork_is_offered_once(tmp_path, journals, fill, path):
    """Of two options with one value the browser draws neither, nor the rest of the page."""
    sweeps = journals.history(2, operations=("mlp",), batches=(1, 4), hiddens=(256,))
    forked = [replace(one, run_id=f"f{i}") for i, one in enumerate(sweeps)]
    with open_store(fill(tmp_path, {"fusebench": sweeps, "fork": forked})) as store:
        values = [one["value"] for one in PROPS_OF[path](store)["commit"]["data"]]
    assert len(values) == len(set(values)) == 3  # the latest measured, and two commits


def test_a_project_that_is_not_there_is_named(store):
    drawing = throughput_drawing_of(store, query=f"{SHAPE}&project=scipy")
    assert projects_of(drawing) == {"fusebench"}
    assert drawing.view.problems == (
        "Project scipy was not measured with the rest of this choice; showing fusebench. Measured: fusebench, other.",
    )


def test_one_project_needs_no_choice(journal_store, journals):
    drawing = throughput_drawing_of(journal_store(journals.history(2)), query="?operation=mlp")
    assert drawing.view.problems == ()
    assert page_props(drawing, is_from_url=True)["project"]["style"] == {"display": "none"}
    assert "project" not in query_from_choice(drawing.view.choice)


def test_what_only_another_project_measured_has_no_colour_and_no_chart(tmp_path, journals, fill):
    here = journals.history(2, **{**OPTIONS, "hiddens": (256, 512)})
    others = journals.history(2, **{**OPTIONS, "hiddens": (256, 512, 1024)}, machine="bench-02")
    others += [replace(one, machine="bench-01", run_id=f"o{i}") for i, one in enumerate(others)]
    with open_store(fill(tmp_path, {"fusebench": here, "other": others})) as store:
        drawing = throughput_drawing_of(store, query="?machine=bench-01&project=fusebench&multiples=hidden")
        assert set(drawing.panels) == {256, 512}
        assert Colour.MACHINE not in drawing.view.colours
        drawing = throughput_drawing_of(store, query="?machine=bench-01&project=other&multiples=hidden")
        assert set(drawing.panels) == {256, 512, 1024}
        assert Colour.MACHINE in drawing.view.colours


def test_curves_of_several_machines_are_of_one_project(tmp_path, journals, fill):
    there = [replace(one, machine="bench-02") for one in journals.history(3, **OPTIONS)]
    here = journals.history(3, **OPTIONS)
    sweeps = {"fusebench": [*here, *there], "other": [replace(one, run_id=f"o{i}") for i, one in enumerate(there)]}
    with open_store(fill(tmp_path, sweeps)) as store:
        drawing = throughput_drawing_of(store, query="?machine=bench-01&colour=machine")
        assert {row.machine for row in drawing.by_commit} == {"bench-01", "bench-02"}
        assert {row.project for row in (*drawing.by_commit, *drawing.beside)} == {"fusebench"}
