"""The command that takes pictures: here of the states that a page may be in; nothing sticks out, nothing complains."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def test_the_states_of_a_page_are_pictured(browser, tmp_path):
    del browser  # there is one
    command = [sys.executable, str(ROOT / "tools" / "screenshots.py"), "--states", "--width", "400", "--scheme", "dark"]
    done = subprocess.run([*command, "--out", tmp_path], capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
    names = {f"{state}-400-dark.png" for state in ("acknowledging", "empty", "failing")}
    assert {path.name for path in tmp_path.iterdir()} == names
