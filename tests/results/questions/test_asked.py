"""No question is kept that nobody can ask."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

from results import queries

ROOT = Path(__file__).parents[3]
QUESTIONS = [name for name in queries.__all__ if inspect.isfunction(getattr(queries, name))]


def test_every_question_is_asked_by_a_command_or_a_page():
    modules = [
        ROOT / "results" / "explanations.py",
        *ROOT.glob("results/commands/**/*.py"),
        *ROOT.glob("results/output/*.py"),
        *ROOT.glob("dashboard/**/*.py"),
    ]
    asked = " ".join(module.read_text() for module in modules)
    unasked = [name for name in QUESTIONS if not re.search(rf"\b{name}\(", asked)]
    assert unasked == []


def test_every_question_is_in_the_documentation():
    documented = (ROOT / "docs" / "schema.md").read_text()
    assert [name for name in QUESTIONS if f"`{name}`" not in documented] == []
