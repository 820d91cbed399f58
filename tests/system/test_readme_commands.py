"""Every command of the README works as it is typed there, in order, after `make bench`."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import urllib.request
from pathlib import Path

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]

README = (Path(__file__).resolve().parents[2] / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```\w*\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
COMMANDS = [
    tuple(shlex.split(line, comments=True))
    for block in BLOCKS
    for line in block.splitlines()
    if line.startswith(("fusebench ", "asv ", "make "))
]
NOT_TYPED = {
    ("make", "bench"): "typed by the fixture, whose result is checked in test_measured_clone.py",
    ("make", "test"): "this suite",
    ("fusebench", "ab", "main", "HEAD"): "rounds of minutes, and uncertain on a busy machine; test_ab.py types it",
    ("fusebench", "ab", "--stack", "torch==2.12.0"): "downloads another torch; test_ab_stacks.py types it, smaller",
    ("fusebench", "bisect", "v1.2", "HEAD"): "minutes to hours, and needs a tag; test_bisect.py types it",
    ("fusebench", "noise", "--operation", "mlp"): "five runs of minutes; test_kept_and_judged.py types it, smaller",
    ("fusebench", "fleet", "run", "sweep"): "hours; fleet/test_engines.py types it for few points",
    (
        "fusebench",
        "fleet",
        "collect",
        "sweep",
    ): "what was not run has nothing to collect; fleet/test_engines.py types it",
    ("asv", "run", "HEAD~3..HEAD"): "an environment with PyTorch for each commit; test_plain_asv.py types it",
    ("asv", "compare", "HEAD~1", "HEAD"): "needs both commits measured by asv; test_plain_asv.py types it",
}
DASHBOARDS = [command for command in COMMANDS if command[1] == "dashboard"]
TYPED = [command for command in COMMANDS if command not in NOT_TYPED and command not in DASHBOARDS]


@pytest.fixture(scope="module")
def shell(measured_clone):
    """The measured clone, with what the README's examples name; it is left as it was."""
    shell = measured_clone.shell
    data = shell.folder / "results" / "data"
    kept = data.with_name("kept")
    shutil.copytree(data, kept, symlinks=True)
    files = {block.split()[1]: block for block in BLOCKS if re.match(r"# \w+\.py\n", block)}
    for name, source in files.items():
        (shell.folder / name).write_text(source)
    shutil.copytree(data / "local" / "asv", shell.folder / "path" / "to" / "results")
    record_previous_commit(measured_clone)
    yield shell
    shutil.rmtree(data)
    kept.rename(data)
    shutil.rmtree(shell.folder / "sweep", ignore_errors=True)
    for name in (*files, "points.parquet"):
        (shell.folder / name).unlink(missing_ok=True)
    shutil.rmtree(shell.folder / "path")


def record_previous_commit(measured_clone):
    """Store the journal of HEAD as that of HEAD~1, too: `gate` compares two commits that were measured."""
    shell = measured_clone.shell
    commit = shell.git("rev-parse", "HEAD~1")
    lines = [json.loads(line) for line in measured_clone.journal.read_text().splitlines()]
    for line in lines:
        line["run"] |= {"commit": commit, "run_id": "4ead1"}
    path = shell.folder / "before" / "journal" / lines[0]["run"]["machine"] / f"{commit[:8]}.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    stored = shell.fusebench("ingest", shell.folder / "before")
    shutil.rmtree(shell.folder / "before")
    assert stored.code == 0, stored.output


def environ_of(shell):
    """The environment of somebody who activated `.venv`."""
    return {**shell.environ, "PATH": f"{shell.bin}{os.pathsep}{shell.environ['PATH']}"}


def test_the_readme_has_commands_and_none_is_left_out_without_a_reason():
    assert {program for program, *_ in COMMANDS} == {"fusebench", "asv", "make"}
    assert set(NOT_TYPED) <= set(COMMANDS)
    assert len(TYPED) >= 10


@pytest.mark.parametrize("command", TYPED, ids=" ".join)
def test_the_command_works_as_it_is_typed(shell, command):
    done = subprocess.run(
        command, cwd=shell.folder, env=environ_of(shell), capture_output=True, text=True, check=False, timeout=1800
    )
    # A busy machine is what the doctor is there to find, and what leaves undecided what to run.
    fine = {"doctor": {0, 2}, "advise": {0, 3}}.get(command[1], {0})
    assert done.returncode in fine, f"{done.stdout}\n{done.stderr}"
    assert done.stdout.strip()
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("command", DASHBOARDS, ids=" ".join)
def test_the_dashboard_opens_and_ends(shell, command):
    # The words of the README, but for the port where one can be given.
    typed = command if command[0] == "make" else (*command, "--port", "0")
    if command[0] == "make" and is_taken(8050):
        pytest.skip("another dashboard listens at port 8050 of this machine")
    process = subprocess.Popen(
        typed,
        cwd=shell.folder,
        env=environ_of(shell),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
        # What a script's background job starts ignores SIGINT, and whoever it starts, too.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509 - no threads here
    )
    try:
        address = next(found[0] for line in process.stdout if (found := re.search(r"http://\S+", line)))
        with urllib.request.urlopen(address, timeout=120) as answer:  # noqa: S310 - our own server
            assert b"fusebench" in answer.read()
    finally:
        # Ctrl-C, which everything that was started hears.
        os.killpg(process.pid, signal.SIGINT)
        try:
            process.communicate(timeout=120)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            raise


def is_taken(port):
    with contextlib.closing(socket.socket()) as asking:
        return asking.connect_ex(("127.0.0.1", port)) == 0
