"""Commits that were made up, for a bisection."""

from __future__ import annotations

import pytest

from results.commands.measuring import bisect as module
from tests.made_bisections import World


@pytest.fixture
def world(monkeypatch, tmp_path, journals):
    made = World(journals, tmp_path / "data")
    monkeypatch.setattr(module.tower, "run_to_end", made.run)
    monkeypatch.setattr(module, "require_modules", lambda *_, **__: None)
    monkeypatch.setenv("FUSEBENCH_DATA", str(made.data))
    monkeypatch.delenv("FUSEBENCH_DB", raising=False)
    return made
