"""Pages as axe-core judges them, and what it does not judge: one heading, targets to hit, the keyboard."""

from __future__ import annotations

import pytest

from dashboard.app import PAGES
from tests.in_chromium import choose_by_typing

pytestmark = [pytest.mark.browser, pytest.mark.slow]

# Beside axe's own choice: targets of 24 px, which WCAG 2.2 asks for at level AA.
OPTIONS = {"rules": {"target-size": {"enabled": True}}}
GRAVE = {"serious", "critical"}
PATHS = [page.path for page in PAGES]


def faults_of(page):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")
    found = axe.Axe().run(page, options=OPTIONS).response["violations"]
    return [
        f"{one['id']}: {node['target']} {node['failureSummary'].splitlines()[-1].strip()}"
        for one in found
        if one["impact"] in GRAVE
        for node in one["nodes"]
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("path", PATHS)
def test_axe_finds_no_serious_fault(visit, path, scheme):
    page = visit(path, graph=None, color_scheme=scheme)
    assert faults_of(page) == []


def test_axe_finds_none_on_a_narrow_page(visit):
    page = visit("/throughput", viewport={"width": 400, "height": 900})
    assert faults_of(page) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_none_where_a_provider_is_not_shown(visit, scheme):
    page = visit("/throughput?operation=mlp&providers=fused", color_scheme=scheme)
    assert faults_of(page) == []


@pytest.mark.parametrize("path", PATHS)
def test_a_page_says_its_language_and_has_one_heading(visit, path):
    page = visit(path, graph=None)
    page.wait_for_selector("#page h1")
    assert page.evaluate("() => document.documentElement.lang") == "en"
    assert page.locator("h1").count() == 1


def test_the_buttons_of_a_chart_are_targets_of_24_px(visit):
    page = visit("/throughput?operation=mlp")
    sizes = [one.bounding_box() for one in page.locator(".modebar-btn").all()]
    assert sizes
    assert min(min(one["width"], one["height"]) for one in sizes if one) >= 24


def test_the_keyboard_alone_chooses_a_commit(visit, journals):
    page = visit("/throughput?operation=mlp")
    for _ in range(80):
        page.keyboard.press("Tab")
        if page.evaluate("() => document.activeElement.id") == "throughput-commit":
            break
    else:
        pytest.fail("Tab does not reach the selector of commits")
    choose_by_typing(page, journals.commit_hash(1)[:10])
    page.wait_for_url(f"**commit={journals.commit_hash(1)[:12]}**")
