from __future__ import annotations

import gzip
import re
from pathlib import Path

import pytest
from plotly.offline import get_plotlyjs_version

from dashboard.app import create_app
from dashboard.serving import plotly_bundle
from dashboard.serving.plotly_bundle import BUNDLE, TRACES, WHOLE_PATH, bundle_version

FIGURES = Path(__file__).parents[3] / "dashboard"


def test_the_bundle_is_of_the_plotly_that_is_installed():
    assert bundle_version(BUNDLE.read_bytes()) == get_plotlyjs_version()


def test_the_bundle_draws_every_trace_of_our_figures():
    used = {name.lower() for path in FIGURES.rglob("*.py") for name in re.findall(r"\bgo\.(\w+)\(", path.read_text())}
    assert {"scatter", "bar"} <= used - {"figure", "layout"} <= TRACES


def test_the_bundle_is_sent_in_place_of_the_whole_and_kept_for_a_year(journal_store):
    client = create_app(journal_store()).server.test_client()
    answer = client.get(WHOLE_PATH, headers={"Accept-Encoding": "gzip"}, follow_redirects=True)
    assert gzip.decompress(answer.data) == BUNDLE.read_bytes()
    assert "max-age=31536000" in answer.headers["Cache-Control"]


@pytest.mark.parametrize("version", ["3.9.9", "99.0.0"])
def test_another_major_version_is_sent_whole(journal_store, monkeypatch, version):
    monkeypatch.setattr(plotly_bundle, "get_plotlyjs_version", lambda: version)
    answer = create_app(journal_store()).server.test_client().get(WHOLE_PATH)
    assert answer.status_code == 200
    assert len(answer.data) > 2 * BUNDLE.stat().st_size
