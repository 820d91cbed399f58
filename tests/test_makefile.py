"""The Makefile: every target is told by `make help`, and none of a file's name."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "Makefile").read_text(encoding="utf-8").replace("\\\n", " ")
TARGETS = re.findall(r"^([\w-]+):(?!=)", TEXT, re.MULTILINE)


@pytest.fixture(scope="module")
def told():
    command = ["make", "--no-print-directory", "help"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return dict(line.split(maxsplit=1) for line in done.stdout.splitlines())


def test_help_tells_every_target_in_words(told):
    assert sorted(told) == sorted(TARGETS)
    assert all(len(words) > 5 for words in told.values())


def test_no_target_is_taken_for_a_file_of_its_name():
    (phony,) = re.findall(r"^\.PHONY:(.*)", TEXT, re.MULTILINE)
    assert sorted(phony.split()) == sorted(TARGETS)
