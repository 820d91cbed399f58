"""Wheels of commits: each commit's own build, installed into a folder of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.ruler.errors import WheelFailed
from benchmarks.ruler.plan.settings import ROOT
from benchmarks.ruler.record.provenance import without_foreign_repository

if TYPE_CHECKING:
    from benchmarks.ruler.record.provenance import Commit

BUILDS = ROOT / "build" / "history"
_LINES_SHOWN = 5


def installed_wheel(commit: Commit, *, builds: Path = BUILDS) -> Path:
    """Build the wheel of `commit` and return the folder it is installed in; built once, its dependencies are ours.

    Raises: WheelFailed, with what pip printed last.
    """
    folder = builds / commit.hash[:12]
    site = folder / "site"
    if site.exists():
        return site
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as name:
        source, target = Path(name, "source"), Path(name, "site")
        _extract(commit, source)
        _pip_install(source, target, commit)
        # In one step: a folder that is there is whole, whichever host of a shared checkout was first.
        try:
            target.rename(site)
        except OSError:
            if not site.exists():
                raise
    return site


def _extract(commit: Commit, folder: Path) -> None:
    archive = folder.with_suffix(".tar")
    done = subprocess.run(
        ["git", "-C", str(ROOT), "archive", "--format=tar", "-o", str(archive), commit.hash],
        env=without_foreign_repository(os.environ),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise WheelFailed(f"git gives no files of {commit.hash[:12]}: {done.stderr.strip()}", commit=commit.hash)
    with tarfile.open(archive) as files:
        files.extractall(folder, filter="data")


def _pip_install(source: Path, target: Path, commit: Commit) -> None:
    # An archive has no git: the version, by which the ruler knows the commit, is told.
    environ = {**os.environ, "SETUPTOOLS_SCM_PRETEND_VERSION": f"0.0.0+g{commit.hash}"}
    options = ["-q", "--disable-pip-version-check", "--no-deps", "--no-compile", "--target", str(target)]
    done = subprocess.run(
        [sys.executable, "-m", "pip", "install", *options, str(source)],
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        said = "\n".join(done.stderr.strip().splitlines()[-_LINES_SHOWN:])
        raise WheelFailed(
            f"no wheel could be made of {commit.hash[:12]} ({commit.subject}):\n{said}", commit=commit.hash
        )
