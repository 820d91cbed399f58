"""Visits with the kernels of a commit, each in a process of its own that finds the commit's wheel."""

from __future__ import annotations

import hashlib
import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.ruler.commits.stacks import PRESENT, Stack
from benchmarks.ruler.commits.wheels import installed_wheel
from benchmarks.ruler.errors import VisitFailed
from benchmarks.ruler.plan.settings import ROOT, environment_from_settings
from benchmarks.ruler.record.durable import write_whole

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.ruler.plan.settings import Settings
    from benchmarks.ruler.record.provenance import Commit


def checked_wheel(
    commit: Commit, settings: Settings, *, label: str, stack: Stack = PRESENT, only: Path | None = None
) -> str:
    """Install the wheel of `commit` and check its results at every point, unless that was done before.

    The commit's C++ library is compiled here, so that no visit waits for it. only: file with the shapes to check, all
    without it. Return what was found, in words: what is not right is listed below the first line, and looked at again
    the next time. Raises: CommitFailed.
    """
    site = installed_wheel(commit)
    shapes = "" if only is None else f"-{hashlib.sha256(only.read_bytes()).hexdigest()[:8]}"
    marker = site.with_name(f"checked-{Path(settings.axes).stem}-{settings.threads}{shapes}{stack.suffix}.txt")
    said = marker.read_text(encoding="utf-8") if marker.exists() else ""
    if not said:
        options = ["--check", *([] if only is None else ["--only", str(only)])]
        said = made_visit(commit, settings, n_visits=1, label=label, options=options, stack=stack).strip()
        if "\n" not in said:
            write_whole(marker, said)
    return said


def made_visit(  # noqa: PLR0913 - what is visited, and how
    commit: Commit,
    settings: Settings,
    *,
    n_visits: int,
    label: str,
    options: Sequence[str] = (),
    stack: Stack = PRESENT,
) -> str:
    """Run one visit in a process that imports the commit's kernels; return what it printed. Raises: CommitFailed."""
    paths = [str(installed_wheel(commit)), str(ROOT)]
    done = subprocess.run(
        [
            *(str(stack.python), "-m", "benchmarks.ruler.commits.visit", commit.hash),
            *("--visits", str(n_visits), *options),
        ],
        cwd=ROOT,
        env={**environment_from_settings(settings), "PYTHONPATH": os.pathsep.join(paths)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        # A Ctrl-C reaches this process alone, which then ends the visit.
        start_new_session=True,
    )
    if done.returncode:
        lines = done.stderr.strip().splitlines()
        raise VisitFailed(f"{label}: {lines[-1] if lines else f'ended with {done.returncode}'}", commit=commit.hash)
    return done.stdout
