"""What was chosen on one page is there on the next ones, however many pages lie between."""

from __future__ import annotations

from urllib.parse import parse_qs

import pytest

from dashboard.app import PAGES, page_and_links
from dashboard.views.explore_choice import explore_view_of
from dashboard.views.regressions_drawing import regressions_drawing_of
from dashboard.views.url import context_after

SWEPT = {"fusebench"}
SHAPE = "operation=mlp&machine=gpu-01&pass=forward&hidden=1024&dim=256&batch=16"


def links(store, context):
    return {link.children: link.href for link in page_and_links("/", store, search=context)[1]}


def visited(*searches):
    context = ""
    for search in searches:
        context = context_after(context, search, swept=SWEPT)
    return context


def test_a_shape_a_machine_a_provider_and_a_commit_survive_pages_that_have_none(profiled_store):
    store = profiled_store()
    context = visited(f"?{SHAPE}&provider=fused&commit=a1a1a1a1", "?machine=gpu-01&contains=x", "?turn=better", "")
    found = links(store, context)
    assert set(found) == {page.name for page in PAGES}
    for name in ("Throughput", "Profile", "Explore"):
        assert parse_qs(found[name].partition("?")[2])["batch"] == ["16"]
    for name in ("Profile", "Compare", "Explore"):
        assert "provider=fused" in found[name]
    for name in ("Throughput", "Profile", "Roofline", "Compare", "Explore"):
        assert "commit=a1a1a1a1" in found[name]
    for name in found.keys() - {"Overview"}:
        assert "machine=gpu-01" in found[name]


def test_no_page_calls_what_travels_to_it_unknown(profiled_store):
    store = profiled_store()
    for href in links(store, visited(f"?{SHAPE}&provider=fused&commit=a1a1a1a1")).values():
        path, _, query = href.partition("?")
        page = next(page for page in PAGES if page.path == path)
        assert set(parse_qs(query)) <= set(page.takes)


def test_the_newest_commit_and_all_providers_are_no_context():
    chosen = visited(f"?{SHAPE}&providers=eager,fused&commit=a1a1a1a1")
    assert "providers=eager,fused" in chosen
    again = context_after(chosen, f"?{SHAPE}&commit=latest", swept=SWEPT)
    assert "providers" not in again
    assert "commit" not in PAGES[1].address(again, swept=SWEPT)


def test_lines_of_explore_lead_to_their_point():
    context = visited(
        "?project=fusebench&benchmark=mlp&where=batch=16&where=provider=fused&where=weights=packed"
        "&where=hidden=256&where=hidden=1024"
    )
    assert parse_qs(context) == {
        "project": ["fusebench"], "operation": ["mlp"], "batch": ["16"], "provider": ["fused:packed"],
    }  # fmt: skip
    assert "operation" not in visited("?project=scipy&benchmark=ops.time_sort")


def test_explore_shows_the_lines_of_a_point_that_comes_with_a_link(profiled_store):
    view = explore_view_of(profiled_store(), query="?operation=mlp&machine=gpu-01&batch=16&dtype=float32")
    assert view.choice.benchmark == "mlp"
    assert view.problems == ()
    assert view.chosen_lines
    assert all("batch=16" in line.name for line in view.chosen_lines)
    assert len(view.chosen_lines) < len(view.lines)


def test_a_measured_machine_without_findings_can_be_chosen_on_regressions(profiled_store):
    drawing = regressions_drawing_of(profiled_store(), query="?machine=gpu-01")
    assert (drawing.choice.machine, drawing.problems) == ("gpu-01", ())
    assert "nowhere" in regressions_drawing_of(profiled_store(), query="?machine=nowhere").problems[0]


@pytest.mark.parametrize("before", ["", "&&&=", "operation=%ff", "no=such&batch=16"])
def test_a_context_that_no_page_wrote_does_no_harm(before):
    assert "no=" not in context_after(before, f"?{SHAPE}", swept=SWEPT)
