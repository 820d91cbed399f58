"""Pictures of charts that a page saves: who reads one alone knows what it is of, and what each mark is."""

from __future__ import annotations

import re

import pytest

from dashboard.pages import roofline
from dashboard.widgets import GRAPH_CONFIG
from tests.in_chromium import settle

pytestmark = [pytest.mark.browser, pytest.mark.slow]


@pytest.fixture
def saved(visit, tmp_path):
    """Save the first chart of a page, or of one of its cards, as SVG: the texts in it, and the file's name."""

    def save(url, graph, **options):
        page = visit(url, graph=None, **options)
        settle(page, graph=graph)
        card = page.locator(".card", has=page.locator(graph))
        with page.expect_download() as saving:
            card.get_by_role("button", name="SVG").click()
        saving.value.save_as(tmp_path / "chart.svg")
        texts = re.findall(r"<text[^>]*>(.*?)</text>", (tmp_path / "chart.svg").read_text(), re.DOTALL)
        return [re.sub("<[^>]+>", " ", one).strip() for one in texts], saving.value.suggested_filename

    return save


@pytest.fixture
def planted_squares():
    """Give a key the grey of frames that only call others, which a dark page draws darker."""
    return """() => { document.querySelector(".card:has(#profile-times-graph) .keys .square").style.backgroundColor =
      "rgb(223, 227, 232)"; }"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_marks_of_a_roofline_are_named(saved, scheme):
    texts, name = saved(f"{roofline.PAGE.path}?operation=mlp", "#roofline-graph", color_scheme=scheme)
    assert {"eager", "fused"} <= set(texts)
    assert any("larger marks are larger batches" in one for one in texts)
    assert name.startswith("fusebench-roofline-mlp-")


def test_both_sides_of_a_comparison_are_named(saved, journals):
    texts, name = saved("/compare", "#compare-graph")
    title = max(texts, key=len)
    assert all(journals.commit_hash(number)[:8] in title for number in (3, 4))
    assert any(one.startswith(journals.commit_hash(4)[:8]) for one in texts)  # the legend
    assert journals.commit_hash(3)[:8] in name


def test_parts_of_a_latency_are_named_with_the_commit(saved, journals):
    texts, _ = saved("/profile?operation=mlp&provider=fused", "#profile-times-graph")
    title = max(texts, key=len)
    assert journals.commit_hash(4)[:10] in title
    assert "Hidden dim 1024" in title
    assert "nothing" not in title
    assert "products" in texts or "floor" in texts


def test_a_small_chart_is_of_its_own_hidden_dim_alone(saved):
    texts, name = saved("/throughput?operation=mlp&hidden=1024&multiples=hidden", "#throughput-panels")
    title = max(texts, key=len)
    assert "hidden dim 256" in title
    assert "1024" not in title
    assert "1024" not in name


def test_a_small_chart_says_what_its_curves_are_relative_to_and_coloured_by_and_lists_no_other_charts_lines(
    saved, journals
):
    base = journals.commit_hash(2)[:12]
    url = f"/explore?operation=mlp&benchmark=mlp&group=batch&colour=provider&relative={base}"
    texts, _ = saved(url, "#explore-panels")
    title = max(texts, key=len)
    assert f"Relative to {base[:10]}" in title
    assert "Colour by provider" in title
    [batch] = set(re.findall(r"batch ?= ?(\d+)", " ".join(texts)))
    assert f"batch = {batch}" in title


def test_a_dark_page_saves_the_colours_of_the_areas_that_the_picture_has(visit, tmp_path, planted_squares):
    page = visit("/profile?operation=mlp&provider=fused", graph=None, color_scheme="dark")
    settle(page, graph="#profile-times-graph")
    page.evaluate(planted_squares)
    card = page.locator(".card", has=page.locator("#profile-times-graph"))
    with page.expect_download() as saving:
        card.get_by_role("button", name="SVG").click()
    saving.value.save_as(tmp_path / "chart.svg")
    assert "rgb(223, 227, 232)" in (tmp_path / "chart.svg").read_text()


def test_no_button_saves_a_chart_without_its_title():
    assert "toImage" not in str(GRAPH_CONFIG)
