"""Hosts of one shared checkout build a commit's wheel at the same time: the first one's stays, nobody fails."""

from __future__ import annotations

import pytest

from benchmarks.ruler.commits import wheels
from benchmarks.ruler.record.provenance import Commit

COMMIT = Commit(hash="c" * 40, date=None, subject="shared")


def test_a_wheel_that_another_host_installed_meanwhile_is_used(monkeypatch, tmp_path):
    site = tmp_path / COMMIT.hash[:12] / "site"

    def install(source, target, commit):
        target.mkdir()
        (target / "ours").touch()
        site.mkdir()
        (site / "theirs").touch()

    monkeypatch.setattr(wheels, "_extract", lambda *_: None)
    monkeypatch.setattr(wheels, "_pip_install", install)
    assert wheels.installed_wheel(COMMIT, builds=tmp_path) == site
    assert [path.name for path in site.iterdir()] == ["theirs"]


def test_a_wheel_that_cannot_be_put_in_its_place_is_an_error(monkeypatch, tmp_path):
    monkeypatch.setattr(wheels, "_extract", lambda *_: None)
    monkeypatch.setattr(wheels, "_pip_install", lambda *_: None)
    with pytest.raises(FileNotFoundError):
        wheels.installed_wheel(COMMIT, builds=tmp_path)
