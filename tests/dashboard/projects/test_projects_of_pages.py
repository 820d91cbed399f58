"""Two projects that measured the same on one machine: each page shows one of them, and its links lead to that one."""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import parse_qs, urlsplit

import pytest

from dashboard.addresses import point_profile_address, profile_address, throughput_address
from dashboard.app import PAGES, create_app, page_and_links
from dashboard.pages import overview, profile, roofline
from dashboard.tables.winner_flips import flips_in_words, flips_table
from dashboard.views.overview import maps_view_of
from dashboard.views.profiles.drawing import profile_drawing_of
from dashboard.views.roofline import roofline_view_of
from dashboard.views.throughput.chosen_point import chosen_point_of
from dashboard.views.throughput.drawing import throughput_drawing_of
from dashboard.views.throughput.marks import change_points_over_commits
from dashboard.views.url import ALL, context_after
from dashboard.views.winner_flips import winner_flips_of
from results.judgement.changes.ranked import RankedFinding
from results.queries import latest_points, series_where
from results.store import open_store
from tests.made_findings import finding

OPTIONS = {"operations": ("mlp",), "batches": (1, 4), "hiddens": (256,)}
SWEPT = {"fusebench", "other"}


@pytest.fixture(scope="module")
def store(tmp_path_factory, journals, fill):
    """`fusebench`, three commits; `other`, five older ones of more batches and providers; `far`, elsewhere."""
    sweeps = {
        "fusebench": journals.history(8, **OPTIONS, providers=("eager", "fused"))[5:],
        "other": journals.history(5, **{**OPTIONS, "batches": (1, 4, 16, 64, 256)}),
        "far": [replace(one, machine="far-01") for one in journals.history(2, **OPTIONS)],
    }
    with open_store(fill(tmp_path_factory.mktemp("pages"), sweeps)) as opened:
        yield opened


@pytest.fixture(scope="module")
def forked(tmp_path_factory, journals, fill):
    """`fork` measured the same four commits as `fusebench`; in both another provider leads since the third one."""
    sweeps = journals.history(4, **OPTIONS)
    slower = [replace(one, slowdowns={("mlp", "fused"): 3.0}) if i > 1 else one for i, one in enumerate(sweeps)]
    of_fork = [
        replace(one, run_id=f"f{i}", slowdowns={("mlp", "compiled"): 0.2} if i > 1 else {})
        for i, one in enumerate(sweeps)
    ]
    with open_store(fill(tmp_path_factory.mktemp("forked"), {"fusebench": slower, "fork": of_fork})) as opened:
        yield opened


class OfRoofline:
    page, view_of = roofline, staticmethod(roofline_view_of)
    newest = "fusebench"  # shown where the URL names none
    asked = staticmethod(lambda props, **picked: roofline.asked_query(
        "", picked={"commit": None, **picked}, shown=props["shown"], triggered="roofline-operation"
    ))  # fmt: skip

    @staticmethod
    def projects(view):
        return {one.row.project for one in view.points}


class OfProfile:
    page, view_of = profile, staticmethod(profile_drawing_of)
    newest = "fusebench"
    asked = staticmethod(lambda props, **picked: profile.asked_query(
        "", picked=picked, shown=props["shown"], triggered="profile-operation"
    ))  # fmt: skip

    @staticmethod
    def projects(drawing):
        return {row.project for row in drawing.rivals}


class OfOverview:
    page, view_of = overview, staticmethod(maps_view_of)
    newest = ALL
    asked = staticmethod(lambda props, **picked: overview.asked_query(
        "", picked=picked, shown=props["shown"], triggered="overview-dtype"
    ))  # fmt: skip

    @staticmethod
    def projects(view):
        rankings = [cell.ranking for one in view.maps for cell in one.cells.values()]
        rows = [each.most for each in view.headlines]
        return {row.project for row in [*rows, *(one.leader for one in rankings)]}


each_page = pytest.mark.parametrize("of", [OfRoofline, OfProfile, OfOverview])


@each_page
@pytest.mark.parametrize("query", ["", "?machine=bench-01"])
def test_the_newest_project_is_shown_and_the_selector_offers_the_others(store, of, query):
    view = of.view_of(store, query=query)
    assert of.projects(view) == {"fusebench"}
    assert tuple(view.problems) == ()
    selector = of.page.page_props(view, is_from_url=True)["project"]
    assert {"far", "fusebench", "other"} <= {one["value"] if isinstance(one, dict) else one for one in selector["data"]}
    assert selector["value"] == of.newest
    assert selector.get("style", {}) == {}


@each_page
def test_the_url_chooses_the_project_which_stays_when_a_selector_changes(store, of):
    view = of.view_of(store, query="?machine=bench-01&project=other")
    assert of.projects(view) == {"other"}
    assert view.problems == ()
    props = of.page.page_props(view, is_from_url=True)
    picked = {axis: props["axes"][axis]["value"] for axis in props["axes"]} | {"project": props["project"]["value"]}
    assert picked["project"] == "other"
    query = of.asked(props, **picked, **_providers(props))
    assert parse_qs(query.removeprefix("?"))["project"] == ["other"]
    assert of.projects(of.view_of(store, query=query)) == {"other"}


def _providers(props):
    return {"providers": props["shown"]["providers"]} if "providers" in props["shown"] else {}


@each_page
def test_what_the_url_leaves_open_is_what_its_project_or_else_the_newest_measured(store, of):
    assert of.projects(of.view_of(store, query="?project=far")) == {"far"}
    assert of.view_of(store, query="?project=far").problems == ()
    assert profile_drawing_of(store, query="").view.choice.batch == 4
    assert profile_drawing_of(store, query="?project=other").view.choice.batch == 16


def test_what_the_url_leaves_open_is_what_the_project_of_its_commit_measured(store, journals):
    commit = journals.commit_hash(1)
    drawing = profile_drawing_of(store, query=f"?commit={commit[:12]}")
    assert (drawing.view.choice.project.name, drawing.view.choice.batch) == ("other", 16)
    assert {(row.commit, row.batch) for row in drawing.rivals} == {(commit, 16)}


@pytest.mark.parametrize("view_of", [throughput_drawing_of, profile_drawing_of])
def test_what_is_offered_is_what_the_project_measured(store, view_of):
    for project, providers in (("fusebench", ("eager", "fused")), ("other", ("eager", "compiled", "fused"))):
        view = view_of(store, query=f"?machine=bench-01&batch=4&project={project}").view
        assert set(view.providers) == set(providers)


def test_a_commit_of_another_machine_chooses_no_project(tmp_path, journals, fill):
    *older, elsewhere = journals.history(5, **OPTIONS)
    sweeps = {
        "fusebench": journals.history(8, **OPTIONS)[5:], "other": [*older, replace(elsewhere, machine="bench-02")],
    }  # fmt: skip
    with open_store(fill(tmp_path, sweeps)) as store:
        drawing = profile_drawing_of(store, query=f"?machine=bench-01&commit={elsewhere.commit}")
    assert {row.project for row in drawing.rivals} == {"fusebench"}
    assert "no measured commit begins with that" in drawing.problems[0]


def test_a_change_of_another_project_at_the_same_commit_is_marked_on_no_curve(forked, journals):
    commit = journals.commit_hash(2)
    for project, n_marks in (("fusebench", 1), ("fork", 0)):
        series = series_where(forked, project=project, benchmark="mlp", metric="latency_s")
        one = replace(finding(), first_bad=commit, points=tuple(row.parameters for row in series))
        place = {"project": project, "machine": series[0].machine, "environment": series[0].environment}
        found = [
            RankedFinding(
                finding=replace(one, surface=one.surface._replace(**place)), weight=1.0, uid="x", series=series[0],
                commits=(commit,), course=(1.0,), last_good=None, first_bad=None,
            )
        ]  # fmt: skip
        choice = throughput_drawing_of(forked, query="?project=fusebench").view.choice
        marks = change_points_over_commits(forked, found, sides=[choice], positions={commit: "c2"})
        assert len(marks) == n_marks


@each_page
def test_a_project_that_is_not_there_is_named_and_so_is_what_the_chosen_one_did_not_measure(store, of):
    view = of.view_of(store, query="?project=scipy")
    assert of.projects(view) == {"fusebench"}
    assert "roject scipy" in view.problems[0]
    assert "far, fusebench, other" in view.problems[0]
    view = of.view_of(store, query="?machine=bench-01&project=far")
    assert of.projects(view) == {"far"}
    assert view.problems[0].startswith("Machine bench-01 was not measured with the rest of this choice; showing far-01")


@pytest.mark.parametrize("view_of", [roofline_view_of, profile_drawing_of])
def test_a_commit_chooses_the_project_that_measured_it(store, journals, view_of):
    commit = journals.commit_hash(1)
    view = view_of(store, query=f"?machine=bench-01&commit={commit[:12]}")
    rows = view.rivals if view_of is profile_drawing_of else [one.row for one in view.points]
    assert {(row.project, row.commit) for row in rows} == {("other", commit)}
    assert view.problems == ()
    assert {row.commit for row in view.commits} == {journals.commit_hash(i) for i in range(5)}
    of_other = view_of(store, query=f"?machine=bench-01&project=fusebench&commit={commit[:12]}")
    assert f"The URL asks for commit {commit[:12]}, but no measured commit begins" in of_other.problems[0]


def test_commits_on_throughput_choose_their_project(store, journals):
    named = ",".join(journals.commit_hash(i)[:12] for i in (0, 1))
    drawing = throughput_drawing_of(store, query=f"?machine=bench-01&commits={named}")
    assert {row.project for row in (*drawing.by_batch, *drawing.beside)} == {"other"}
    assert drawing.view.problems == ()


def test_a_profile_is_compared_within_its_project(forked, journals):
    first, last = (journals.commit_hash(i)[:12] for i in (0, 3))
    query = f"?project=fork&provider=compiled&commit={last}&against=compiled&base={first}"
    drawing = profile_drawing_of(forked, query=query)
    assert (drawing.call.point.project, drawing.base.point.project) == ("fork", "fork")
    assert drawing.problems == ()


@pytest.mark.parametrize("project", ["fusebench", "fork"])
def test_links_to_a_point_open_the_point_of_its_project(forked, project):
    for point in latest_points(forked, project=project):
        drawing = profile_drawing_of(forked, query=urlsplit(point_profile_address(point)).query)
        assert drawing.call.point == point
        assert drawing.problems == ()
        for is_newest in (True, False):
            address = throughput_address(point, is_newest=is_newest)
            throughput = throughput_drawing_of(forked, query=urlsplit(address).query)
            assert point in throughput.by_batch
            assert throughput.view.problems == ()
        chosen = profile_drawing_of(forked, query=chosen_point_of(throughput).profile_query)
        assert chosen.call.point.project == project
    view = maps_view_of(forked, query=f"?project={project}")
    links = [cell.link for one in view.maps for cell in one.cells.values()]
    assert {parse_qs(urlsplit(link).query)["project"][0] for link in links} == {project}


def test_a_finding_leads_to_the_profile_of_its_project():
    one = finding()
    other = replace(one, surface=one.surface._replace(project="other"))
    assert "&project=other&" in profile_address(other)


@pytest.mark.parametrize(("project", "leader"), [("fusebench", "compiled"), ("fork", "compiled")])
def test_flips_are_of_one_project_each_and_lead_to_it(forked, journals, project, leader):
    flips = winner_flips_of(forked)
    own = [one for one in flips if one.since.project == project]
    assert len(own) == 2
    assert {(one.since.commit, one.since.contender) for one in own} == {(journals.commit_hash(2), leader)}
    assert {one.before.project for one in own} == {project}
    assert f"leads at 2 shapes of mlp on bench-01 ({project}) since" in " ".join(flips_in_words(flips))
    assert str(flips_table(flips)).count(f"&project={project}'") == 2
    assert f"on bench-01 ({project}) since" in flips_in_words(own)[0]  # who leads in the other one is on the maps


def test_tables_and_traces_of_a_project_are_its_own(store):
    client = create_app(store).server.test_client()
    text = client.get("/roofline.csv?machine=bench-01&project=other").get_data(as_text=True)
    assert "\n" in text.strip()
    assert client.get("/?machine=bench-01&project=other").status_code == 200
    drawing = profile_drawing_of(store, query="?project=other")
    assert drawing.view.choice.batch == 16  # which no other project measured
    props = profile.page_props(drawing, is_from_url=True)
    assert "project=other" in props["grids"]["operators"]["csv"]
    view = roofline_view_of(store, query="?machine=bench-01&project=other")
    assert "project=other" in roofline.page_props(view, is_from_url=True)["csv"]


@each_page
def test_one_project_needs_no_choice(journal_store, journals, of):
    view = of.view_of(journal_store(journals.history(2)), query="?project=fusebench")
    assert view.problems == ()
    props = of.page.page_props(view, is_from_url=True)
    shown = props["shown"]
    assert "project" not in (shown if isinstance(shown, str) else shown["query"])
    assert props.get("bar", props["project"].get("style")) == {"display": "none"}


def test_the_project_travels_between_pages_of_the_sweep(store):
    def links(context):
        return {link.children: link.href for link in page_and_links("/compare", store, search=context)[1]}

    context = context_after("", "?operation=mlp&machine=bench-01&project=other&batch=4", swept=SWEPT)
    found = links(context)
    for name in ("Overview", "Throughput", "Profile", "Roofline", "Explore"):
        assert "project=other" in found[name]
    assert "scipy" not in str(links("project=scipy&machine=bench-01")["Throughput"])
    assert "scipy" in str(links("project=scipy&machine=bench-01")["Explore"])
    assert {page.path for page in PAGES if page.takes_any_project} == {"/", "/regressions", "/compare", "/explore"}


def test_another_machine_or_project_takes_its_project_and_commit_out_of_the_context():
    context = context_after("", "?operation=mlp&machine=bench-01&project=other&commit=abc", swept=SWEPT)
    assert "project" not in context_after(context, "?machine=far-01", swept=SWEPT)
    assert "project=other" in context_after(context, "?machine=bench-01", swept=SWEPT)
    assert "commit" not in context_after(context, "?operation=mlp&project=fusebench", swept=SWEPT)
    assert "commit=abc" in context_after(context, "?operation=mlp&project=other", swept=SWEPT)
