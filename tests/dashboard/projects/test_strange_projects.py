"""Projects with names that no one expects, and that go while a page is open: each page shows them or says why not."""

from __future__ import annotations

import json
from urllib.parse import urlencode

import pytest

from dashboard.app import PAGES, create_app, page_and_links
from dashboard.pages import compare, explore, overview, profile, regressions, roofline, throughput
from dashboard.views.compare_drawing import compare_drawing_of
from dashboard.views.explore_drawing import explore_drawing_of
from dashboard.views.overview import maps_view_of
from dashboard.views.profiles.drawing import profile_drawing_of
from dashboard.views.regressions_drawing import regressions_drawing_of
from dashboard.views.roofline import roofline_view_of
from dashboard.views.throughput.drawing import throughput_drawing_of
from dashboard.views.url import ALL, context_after
from results.store import open_store

OPTIONS = {"operations": ("mlp",), "batches": (1, 4), "hiddens": (256,)}
NAMES = (
    "../../etc/passwd", "C:\\temp", "a\"b'c<script>alert(1)</script>", "a&b=c;d?e#f%20g+h", "x" * 200, "a,b", "none",
    "latest", "Ünï ☃", " spaced ", "fusebench",
)  # fmt: skip
PROPS = {
    "overview": lambda store, query: overview.page_props(maps_view_of(store, query=query), is_from_url=False),
    "throughput": lambda store, query: throughput.page_props(
        throughput_drawing_of(store, query=query), is_from_url=False
    ),
    "profile": lambda store, query: profile.page_props(profile_drawing_of(store, query=query), is_from_url=False),
    "roofline": lambda store, query: roofline.page_props(roofline_view_of(store, query=query), is_from_url=False),
    "regressions": lambda store, query: regressions.page_props(
        regressions_drawing_of(store, query=query), is_from_url=False, refusal=None
    ),
    "compare": lambda store, query: compare.page_props(compare_drawing_of(store, query=query), is_from_url=False),
    "explore": lambda store, query: explore.page_props(explore_drawing_of(store, query=query), is_from_url=False),
}  # fmt: skip
HOSTILE = (
    "", "?", "'; DROP TABLE project; --", "../../etc/passwd%00", "\ud800", "x" * 20_000, "<img src=x onerror=alert(1)>",
    "fusebench\n", "FUSEBENCH", "all ", "None",
)  # fmt: skip


def write(folder, journals, *names):
    """Write two commits of each project, of a run of its own each."""
    for number, name in enumerate(names):
        journals.write_journals(folder / str(number), journals.history(2, **OPTIONS))
        for path in (folder / str(number)).rglob("*.jsonl"):
            text = path.read_text().replace('"project": "fusebench"', f'"project": {json.dumps(name)}')
            path.write_text(text)
    return folder


@pytest.fixture(scope="module")
def store(tmp_path_factory, journals):
    folder = write(tmp_path_factory.mktemp("strange"), journals, *NAMES)
    with open_store(str(folder / "fusebench.db")) as opened:
        assert opened.ingest([folder]).problems == ()
        yield opened


def selector_of(page, props):
    return props["selects"]["project"] if page in {"regressions", "explore"} else props["project"]


def values_of(selector):
    return [one["value"] if isinstance(one, dict) else one for one in selector["data"]]


@pytest.mark.parametrize("page", PROPS)
def test_every_project_is_offered_once_and_shown_by_the_url_that_the_page_writes(store, page):
    for name in NAMES:
        props = PROPS[page](store, f"?{urlencode({'project': name})}")
        selector = selector_of(page, props)
        assert selector["value"] == name
        assert set(values_of(selector)) - {ALL} == set(NAMES)
        assert len(values_of(selector)) == len(set(values_of(selector)))
        assert props["problems"] == []
        assert selector_of(page, PROPS[page](store, props["search"]))["value"] == name


@pytest.mark.parametrize("page", PROPS)
@pytest.mark.parametrize("wanted", HOSTILE)
def test_a_project_that_is_not_there_is_named_and_cut_short(store, page, wanted):
    query = f"?{urlencode({'project': wanted}, errors='surrogatepass')}"
    props = PROPS[page](store, query)
    told = str(props["problems"])
    assert "project" in told.lower()
    assert len(told) < 2_000
    assert selector_of(page, props)["value"] in {ALL, *NAMES}


@pytest.mark.parametrize("name", NAMES)
def test_the_context_takes_it_to_every_page(store, name):
    context = context_after("", f"?{urlencode({'project': name})}", swept=NAMES)
    for page, link in zip(PAGES, page_and_links("/", store, search=context)[1], strict=True):
        if page.path != "/":  # a link to the page itself stays where it is
            props = PROPS[page.path.removeprefix("/")](store, f"?{link.href.partition('?')[2]}")
            assert selector_of(page.path.removeprefix("/"), props)["value"] == name


@pytest.mark.parametrize("name", NAMES)
def test_files_of_a_project_are_served(store, name):
    client = create_app(store).server.test_client()
    for file in ("throughput.csv", "roofline.csv", "regressions.csv", "regressions.xml", "compare.csv", "explore.csv"):
        assert client.get(f"/{file}", query_string={"project": name}).status_code == 200


def test_a_project_called_all_breaks_no_selector(tmp_path, journals):
    folder = write(tmp_path, journals, "all", "fusebench")
    with open_store(str(folder / "fusebench.db")) as store:
        store.ingest([folder])
        for page, props_of in PROPS.items():
            selector = selector_of(page, props_of(store, ""))
            assert len(values_of(selector)) == len(set(values_of(selector)))
            props = props_of(store, "?project=all")
            assert (selector_of(page, props)["value"], props["problems"]) == ("all", [])
            assert selector_of(page, props_of(store, props["search"]))["value"] == "all"
            told = str(props_of(store, "?project=gone")["problems"])
            assert "project" in told.lower()
            assert "there are" not in told or "there are all, fusebench." in told


@pytest.mark.parametrize("page", PROPS)
def test_a_project_that_went_while_its_page_was_open_is_named(tmp_path, journals, page):
    """As where the database was rebuilt from files without it."""
    folder = write(tmp_path, journals, "gone", "fusebench")
    with open_store(str(folder / "fusebench.db")) as store:
        store.ingest([folder])
        search = PROPS[page](store, "?project=gone")["search"]
    with open_store(str(folder / "later.db")) as store:
        store.ingest([folder / "1"])
        props = PROPS[page](store, search)
    assert "roject gone" in str(props["problems"])
    assert selector_of(page, props)["value"] in {ALL, "fusebench"}
