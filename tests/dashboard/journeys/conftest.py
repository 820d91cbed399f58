"""Pages that several journeys begin on."""

from __future__ import annotations

import pytest

from tests.in_chromium import settle


@pytest.fixture
def opened(browser, address):
    """Open the page Throughput; what the browser itself says of failing requests is no complaint here."""
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    page = context.new_page()
    page.goto(f"{address}/throughput?operation=mlp&hidden=1024")
    settle(page)
    yield page
    context.close()
