"""Scripts of the pages: what several need stands in one of them."""

from __future__ import annotations

from pathlib import Path

import dashboard

SCRIPTS = sorted((Path(dashboard.__file__).parent / "assets").glob("*.js"))


def test_one_script_watches_the_whole_page_and_tells_the_others():
    watching = [path.name for path in SCRIPTS if "observe(document.body" in path.read_text(encoding="utf-8")]
    assert watching == ["drawn.js"]
