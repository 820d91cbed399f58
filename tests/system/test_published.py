"""What is published lies beside what was measured here: in the store, on the dashboard, in the picture of README."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner

pytest.importorskip("dash")

from dashboard.views.throughput.drawing import throughput_drawing_of
from results.commands.ingest import ingest
from results.commands.profile import profile
from results.store import open_store

ROOT = Path(__file__).resolve().parents[2]


def test_make_dashboard_ingests_before_it_opens():
    said = subprocess.run(["make", "-n", "dashboard"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    *_, first, second = (line for line in said.splitlines() if "fusebench" in line)
    assert first.endswith("fusebench ingest")
    assert second.endswith("fusebench dashboard")


@pytest.fixture
def clone(tmp_path, monkeypatch, journals):
    """A folder with sixteen published commits of one machine, and one commit measured later on another."""
    data = tmp_path / "results" / "data"
    sweeps = journals.history(16, machine="cpu-box", ruler_version="3", n_visits=3)
    journals.write_journals(data / "published" / "cpu-box", sweeps)
    last = sweeps[-1]
    own = replace(last, machine="mine", run_id="abc", commit_date=last.commit_date + timedelta(days=1))
    journals.write_journals(data / "local", [own])
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_published_curves_are_offered_beside_ones_own_point_and_ingesting_again_adds_nothing(clone):
    db = str(clone / "shown.db")
    for expected in (" stored from 17 files (0 unchanged", "0 values stored from 17 files (17 unchanged"):
        result = CliRunner().invoke(ingest, ["--db", db])
        assert expected in result.output
        assert result.exit_code == 0
    with open_store(db) as store:
        own = throughput_drawing_of(store, query="")
        assert own.view.choice.machine == "mine"
        assert own.view.options["machine"] == ("cpu-box", "mine")
        assert len({row.commit for row in own.by_commit}) == 1
        published = throughput_drawing_of(store, query="?machine=cpu-box")
        assert len({row.commit for row in published.by_commit}) == 16
        assert published.view.problems == ()


def history_picture(*arguments):
    command = [sys.executable, ROOT / "tools" / "history_picture.py", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_nothing_published_is_no_picture(tmp_path):
    pytest.importorskip("playwright")
    done = history_picture("--published", tmp_path, "--out", tmp_path / "picture.png")
    assert done.returncode != 0
    assert f"{tmp_path}: no journal there has a value to draw; make history" in done.stderr
    assert not (tmp_path / "picture.png").exists()


@pytest.mark.slow
@pytest.mark.browser
def test_the_picture_is_of_the_curves_over_commits(clone):
    pytest.importorskip("playwright")
    if not (shutil.which("chromium") or shutil.which("google-chrome")):
        pytest.skip("there is no chromium or google-chrome on PATH")
    picture = clone / "docs" / "picture.png"
    done = history_picture(
        "--published", clone / "results", "--query", "machine=cpu-box&hidden=1024&batch=64", "--out", picture
    )
    assert done.returncode == 0, done.stderr
    content = picture.read_bytes()
    assert content.startswith(b"\x89PNG")
    width, height = (int.from_bytes(content[at : at + 4]) for at in (16, 20))
    assert width > height > 500


def test_the_readmes_profile_is_of_one_point_that_is_published(tmp_path):
    [line] = [line for line in (ROOT / "README.md").read_text().splitlines() if line.startswith("fusebench profile ")]
    db = str(tmp_path / "published.db")
    with open_store(db) as store:
        store.ingest([ROOT / "results" / "data" / "published"])
    result = CliRunner().invoke(profile, [*shlex.split(line, comments=True)[2:], "--db", db])
    assert result.exit_code == 0, result.output
    assert "batch 16, fused, one call" in result.output
