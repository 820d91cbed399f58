"""`make bench-dashboard` on little: it measures everything and says what it leaves out; its aims are not judged."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.exhaustive]

ROOT = Path(__file__).resolve().parents[2]


def test_each_figure_is_printed_with_its_aim_and_what_is_not_measured_with_the_reason(tmp_path):
    if not (os.environ.get("FUSEBENCH_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")):
        pytest.skip("there is no chromium or google-chrome on PATH")
    command = [
        sys.executable,
        ROOT / "tools" / "bench_dashboard.py",
        tmp_path / "none",
        "--commits",
        "3",
        "--seconds",
        "1",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert f"{tmp_path / 'none'} does not exist" in done.stderr
    judged = [line for line in done.stdout.splitlines() if line.endswith(("pass", "FAIL"))]
    for name in (
        "callbacks, p50",
        "callbacks, p95",
        "its curves",
        "first load",
        "to curve",
        "readers, p95",
        "requests",
        "memory",
    ):
        assert any(name in line for line in judged), (name, done.stdout, done.stderr)
    beside = [line for line in done.stdout.splitlines() if "beside asv's page" in line]
    if shutil.which("npm"):
        for name in ("to curve, first", "to curve, warm", "bytes of the first load", "lines drawn"):
            assert any(name in line for line in beside), (name, done.stdout, done.stderr)
    else:
        assert any("not measured: asv's page needs jquery" in line for line in beside), done.stdout
    assert done.returncode == sum(line.endswith("FAIL") for line in judged)
