"""Experiments with plain asv in a repository of their own: what it does with numbers, kills, neighbours and damage."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

BENCHMARKS = """
import time

class WithSetup:
    def setup(self):
        self.items = list(range(10))
    def time_sum(self):
        sum(self.items)

def time_bare():
    sum(range(10))

def time_slow():
    time.sleep(0.5)
time_slow.number = 1
time_slow.repeat = 4
time_slow.rounds = 1
time_slow.warmup_time = 0

def track_speed():
    return 20.0 if NEW else 10.0
track_speed.unit = "rows/s"
"""
CONFIG = {
    "version": 1, "project": "tried", "repo": ".", "branches": ["HEAD"], "environment_type": "existing",
    "benchmark_dir": "benchmarks", "results_dir": "results", "html_dir": "html", "env_dir": "env",
}  # fmt: skip
LIMIT_S = 300
_MOST_TRIALS = 5
TRIES = 3


class Suite:
    """A repository with a few benchmarks and asv's configuration, in `folder`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environ = {**os.environ, "HOME": str(folder), "PYTHONWARNINGS": "ignore"}
        (folder / "asv.conf.json").write_text(json.dumps(CONFIG))
        self.git("init", "--quiet")
        self.commit(is_new=False)
        self.asv("machine", "--yes", "--machine", "desk")

    def git(self, *words: str) -> str:
        """Run git and return what it printed."""
        named = ["-c", "user.name=nobody", "-c", "user.email=nobody@localhost"]
        done = subprocess.run(
            ["git", *named, *words], cwd=self.folder, env=self.environ, capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    def commit(self, *, is_new: bool) -> str:
        """Commit the benchmarks, with a tracked value twice as high if `is_new`; return the commit."""
        (self.folder / "benchmarks").mkdir(exist_ok=True)
        (self.folder / "benchmarks" / "__init__.py").touch()
        (self.folder / "benchmarks" / "tried.py").write_text(f"NEW = {is_new}\n{BENCHMARKS}")
        self.git("add", "benchmarks", "asv.conf.json")
        self.git("commit", "--quiet", "--allow-empty", "-m", "benchmarks")
        return self.git("rev-parse", "HEAD")

    def start(self, *words: str) -> subprocess.Popen[str]:
        """Start asv in a process group of its own."""
        return subprocess.Popen(
            [sys.executable, "-m", "asv", *words],
            cwd=self.folder, env=self.environ, text=True, start_new_session=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip

    def asv(self, *words: str) -> tuple[int, str]:
        """Run asv to its end; its exit code and output."""
        process = self.start(*words)
        output, _ = process.communicate(timeout=LIMIT_S)
        return process.returncode, output

    def run_of(self, pattern: str, *more: str) -> list[str]:
        """Return the words that measure and save the benchmarks called `pattern` at HEAD."""
        at = ["--set-commit-hash", self.git("rev-parse", "HEAD")]
        return ["run", "--python=same", "--machine", "desk", "-b", pattern, *at, *more]

    def recorded(self) -> dict[str, list[object]]:
        """Return the saved values of HEAD by benchmark; empty if there is no file."""
        commit = self.git("rev-parse", "HEAD")[:8]
        found = list((self.folder / "results" / "desk").glob(f"{commit}-*.json"))
        content = json.loads(found[0].read_text()) if found else {"results": {}, "result_columns": []}
        self.columns: list[str] = content["result_columns"]
        return {name: values for name, values in content["results"].items() if values and values[0]}


@contextlib.contextmanager
def suite() -> Iterator[Suite]:
    """Yield a suite in a folder that is removed afterwards."""
    with tempfile.TemporaryDirectory() as name:
        yield Suite(Path(name))


def calls_per_sample() -> tuple[bool, str]:
    """Count the calls in a sample of asv's, with and without a setup."""
    with suite() as tried:
        tried.asv(*tried.run_of("tried.*(time_sum|time_bare)"))
        found = tried.recorded()
        position = tried.columns.index("stats_number")
        with_setup, bare = (found[name][position][0] for name in ("tried.WithSetup.time_sum", "tried.time_bare"))
    return with_setup == 1 < bare, f"calls a sample: {with_setup} with a setup, {bare} without"


def _kept_by_killed(signum: signal.Signals) -> int | None:
    """Return how many benchmarks a run keeps that is killed after its first; None if it had ended by itself."""
    with suite() as tried:
        with tried.start(*tried.run_of("tried.time_(bare|slow)")) as process:
            # The first benchmark is done when its line has a time in it.
            for line in process.stdout or ():
                if "time_bare" in line and "±" in line:
                    break
            time.sleep(0.2)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signum)
            has_ended = process.wait(LIMIT_S) == 0
        return None if has_ended else len(tried.recorded())


def killed_run() -> tuple[bool, str]:
    """Kill a run of two benchmarks once the first is done, by each signal, and count what is kept."""
    left: dict[str, int] = {}
    for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
        # On a machine that stalls, both may be done before the signal comes: then nothing was killed.
        kept = next((kept for kept in (_kept_by_killed(signum) for _ in range(_MOST_TRIALS)) if kept is not None), None)
        if kept is None:
            raise TimeoutError(f"the run ended before {signum.name} could meet it, {_MOST_TRIALS} times")
        left[signum.name] = kept
    return not any(left.values()), ", ".join(f"{name}: {count} of 1 finished kept" for name, count in left.items())


def two_runs() -> tuple[bool, str]:
    """Start two runs of one commit at once, and count what is kept; again where one trips over the other's files."""
    for _ in range(TRIES):
        with suite() as tried:
            processes = [tried.start(*tried.run_of(name)) for name in ("tried.time_slow", "tried.time_bare")]
            for process in processes:
                process.communicate(timeout=LIMIT_S)
            codes = [process.returncode for process in processes]
            kept = sorted(tried.recorded())
        is_so = codes == [0, 0] and len(kept) == 1
        if is_so:
            break
    return is_so, f"exit codes {codes[0]} and {codes[1]}, {len(kept)} of 2 benchmarks kept"


def truncated_index() -> tuple[bool, str]:
    """Publish, damage benchmarks.json, publish again, and look for the site."""
    with suite() as tried:
        tried.asv(*tried.run_of("tried.time_bare"))
        tried.asv("publish")
        page = tried.folder / "html" / "index.html"
        was_there = page.exists()
        index = tried.folder / "results" / "benchmarks.json"
        index.write_text(index.read_text()[:100])
        code, _ = tried.asv("publish")
        is_there = page.exists()
    there = {True: "there", False: "gone"}
    words = f"the site is {there[was_there]} before, and {there[is_there]} after publishing from a truncated file"
    return was_there and not is_there, f"{words}, exit code {code}"


def higher_is_worse() -> tuple[bool, str]:
    """Compare two commits of which the second tracks twice the speed."""
    with suite() as tried:
        before = tried.git("rev-parse", "HEAD")
        tried.asv(*tried.run_of("tried.track_speed"))
        after = tried.commit(is_new=True)
        tried.asv(*tried.run_of("tried.track_speed"))
        _, output = tried.asv("compare", before, after, "--machine", "desk")
    (line,) = (line for line in output.splitlines() if "track_speed" in line)
    mark = line.strip("| ").split()[0]
    return mark == "+", f"rows/s from 10 to 20 is marked {mark!r}, as a slower time is"


def same_python() -> tuple[bool, str]:
    """Run with --python=same alone, and count what is kept."""
    with suite() as tried:
        code, _ = tried.asv("run", "--python=same", "--machine", "desk", "-b", "tried.time_bare")
        kept = len(tried.recorded())
    return code == 0 and kept == 0, f"exit code {code}, {kept} values kept"
