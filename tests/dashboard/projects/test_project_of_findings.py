"""Findings, failures and flips of two projects: each list is of the chosen one, or names whose each line is."""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import parse_qs, urlsplit
from xml.etree import ElementTree as ET

import pytest

from dashboard.app import create_app
from dashboard.pages import regressions
from dashboard.pages.overview import change_cards, failing_cards, open_cards
from dashboard.tables.standings import failing_from
from dashboard.views.overview import overview_of
from dashboard.views.regressions_drawing import open_regressions_of, regressions_drawing_of
from dashboard.views.url import ALL
from results.queries import failures
from results.store import open_store

N, AT = 16, 10
OPTIONS = {"operations": ("mlp",), "batches": (1, 16), "hiddens": (256,)}
TITLE = "{http://www.w3.org/2005/Atom}entry/{http://www.w3.org/2005/Atom}title"


@pytest.fixture(scope="module")
def store(tmp_path_factory, journals, fill):
    """`fork` and `fusebench`: fused is a third slower since the 11th commit, and compiled crashes; `far`: elsewhere."""
    sweeps = journals.history(N, **OPTIONS, states={("mlp", "compiled"): "crashed"})
    for number, sweep in enumerate(sweeps):
        wobble = 1 + 0.004 * ((number * 7) % 5 - 2)
        sweep.slowdowns.update({("mlp", provider): wobble for provider in sweep.providers})
        if number >= AT:
            sweep.slowdowns["mlp", "fused"] = 1.33 * wobble
    of_fork = [replace(one, run_id=f"f{i}") for i, one in enumerate(sweeps)]
    far = journals.history(1, **OPTIONS, machine="far-01")
    with open_store(fill(tmp_path_factory.mktemp("found"), {"fusebench": sweeps, "fork": of_fork, "far": far})) as one:
        yield one


def text_of(parts):
    """All text of components, and nothing of their addresses."""
    if isinstance(parts, str):
        return parts
    if isinstance(parts, (list, tuple)):
        return " ".join(map(text_of, parts))
    return text_of(getattr(parts, "children", None) or "")


def links(parts):
    return [one.href for part in parts for one in part._traverse() if hasattr(one, "href")]


def props_of(store, query):
    return regressions.page_props(regressions_drawing_of(store, query=query), is_from_url=True, refusal=None)


@pytest.mark.parametrize(("query", "is_named"), [("", True), ("?project=fork", False)])
def test_findings_of_several_projects_name_theirs(store, query, is_named):
    props = props_of(store, query)
    for part in ("findings", "facts", "answer"):
        assert ("fork" in text_of(props[part])) is is_named
    assert ("fusebench" in text_of(props["findings"])) is is_named


def test_findings_of_one_project_are_its_own(store):
    for project in ("fork", "fusebench"):
        found = regressions_drawing_of(store, query=f"?project={project}").found
        assert {one.finding.surface.project for one in found} == {project}
    assert not regressions_drawing_of(store, query="?project=far").found


def test_machines_are_offered_that_the_project_measured_on(store):
    assert regressions_drawing_of(store, query="").options["machine"] == (ALL, "bench-01", "far-01")
    drawing = regressions_drawing_of(store, query="?project=far")
    assert drawing.options["machine"] == (ALL, "far-01")
    drawing = regressions_drawing_of(store, query="?project=fork&machine=far-01")
    assert "Nothing was measured of machine far-01; there are bench-01." in drawing.problems[0]


def test_another_project_starts_at_all_of_its_machines(store):
    picked = {"project": "far", "machine": "bench-01", "turn": "worse"}
    query = regressions.asked_query("", picked=picked, shown="", triggered="regressions-project")
    assert parse_qs(query.removeprefix("?")) == {"project": ["far"], "turn": ["worse"]}


def test_commits_of_another_project_are_not_counted_where_nothing_was_found(store):
    found = regressions_drawing_of(store, query="?project=far&machine=far-01").answer
    assert found == "No finding yet: one commit has been measured on far-01"
    assert regressions_drawing_of(store, query="?project=far").n_commits == 1


@pytest.mark.parametrize(("query", "is_named"), [("", True), ("?project=fork", False)])
def test_the_feed_names_the_project_of_an_entry(store, query, is_named):
    feed = create_app(store).server.test_client().get(f"/regressions.xml{query}").get_data()
    titles = [one.text for one in ET.fromstring(feed).iterfind(TITLE)]  # noqa: S314 - our own
    assert titles
    assert all(one.endswith((" on bench-01 (fork)", " on bench-01 (fusebench)")) is is_named for one in titles)


@pytest.mark.parametrize("project", [ALL, "fork", "far"])
def test_the_overview_is_about_the_chosen_project(store, project):
    overview, found = overview_of(store, project=project), open_regressions_of(store, project=project)
    names = {ALL: {"far", "fork", "fusebench"}}.get(project, {project})
    assert {one.project for one in overview.comparisons} == {one.project for one in overview.freshness} == names
    assert {one.project for one in overview.failing} == names - {"far"}
    assert {one.finding.surface.project for one in found} == names - {"far"}
    assert len(change_cards(overview)) == len(names)
    cards = failing_cards(overview), open_cards(found, project=project, names_project=overview.names_project)
    for card in cards:
        assert ("(fork)" in text_of(card)) is (project == ALL)
    for one in links(cards[1]):
        asked = parse_qs(urlsplit(one).query)
        assert asked.get("project", [ALL]) == [project]


def test_failures_of_two_projects_are_not_added_up(store):
    found = failing_from(failures(store))
    assert [(one.project, one.benchmark, one.n) for one in found] == [("fork", "mlp", 2), ("fusebench", "mlp", 2)]
