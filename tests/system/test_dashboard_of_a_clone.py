"""`fusebench dashboard` on what `make bench` measured, in headless Chromium."""

from __future__ import annotations

import shutil
import signal
import subprocess
from urllib.parse import urlsplit

import pytest

from tests.in_chromium import FLAGS, figure, settle

pytestmark = [pytest.mark.slow, pytest.mark.browser, pytest.mark.timeout(3600)]

SIZE = {"width": 1440, "height": 900}
# Of each step of a page, on a machine that does something else besides.
PATIENCE_S = 180


@pytest.fixture(scope="module")
def address(measured_clone):
    """Where the clone's own `fusebench dashboard` answers."""
    shell = measured_clone.shell
    command = [shell.bin / "fusebench", "dashboard", "--port", "0"]
    with subprocess.Popen(command, cwd=shell.folder, env=shell.environ, stdout=subprocess.PIPE, text=True) as process:
        try:
            first = process.stdout.readline()
            assert "http://127.0.0.1:" in first, first
            yield next(word for word in first.split() if word.startswith("http")).rstrip("/")
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(timeout=PATIENCE_S)
    assert process.returncode == 0


@pytest.fixture
def visit(address):
    """Open a fresh page; at the end no page may have complained, nor have asked another host."""
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = shutil.which("chromium") or shutil.which("google-chrome")
    if path is None:
        pytest.skip("there is no chromium or google-chrome on PATH")
    asked, complaints = [], []

    def open_page(url):
        page = browser.new_context(viewport=SIZE).new_page()
        page.set_default_timeout(1000 * PATIENCE_S)
        page.on("request", lambda request: asked.append(request.url))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(url)
        settle(page)
        return page

    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(FLAGS))
        yield open_page
        browser.close()
    hosts = {urlsplit(url).netloc for url in asked if urlsplit(url).scheme.startswith(("http", "ws"))}
    assert hosts == {urlsplit(address).netloc}
    assert complaints == []


def curves(page):
    return {name: figure(page, name) for name in ("batch", "commits")}


def choose(page, selector, value):
    page.click(f"#throughput-{selector}")
    before = page.url
    page.get_by_role("option", name=value, exact=True).click()
    page.wait_for_function("before => location.href !== before", arg=before)
    settle(page)


def test_a_copied_url_shows_the_same_measured_curves(measured_clone, visit, address, tmp_path):
    page = visit(f"{address}/throughput")
    at_first = curves(page)
    page.screenshot(path=tmp_path / "at-first.png", full_page=True)
    choose(page, "operation", "linear")
    choose(page, "hidden", "256")
    chosen = curves(page)
    assert chosen != at_first
    measured = [
        point
        for point in measured_clone.shell.points()
        if (point["operation"], point["hidden"], point["provider"]) == ("linear", 256, "fused")
    ]
    # The quick sweep has two batches, which are bars: a label and a value each.
    bars = next(trace for trace in chosen["batch"] if trace["name"] == "fused")
    assert dict(zip(bars["y"], bars["x"], strict=True)) == {
        f"fused · {point['batch']} rows": pytest.approx(point["rows_per_s"]) for point in measured
    }
    page.screenshot(path=tmp_path / "chosen.png")
    assert curves(visit(page.url)) == chosen
