"""Generate a git repository and asv results for every commit of it, for measuring where no real ones are at hand.

Seeded, so that they are the same every time; values are constant, step and drift as real ones do.
"""

from __future__ import annotations

import json
import random
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

START_S = 1_600_000_000
DAY_S = 86_400
MACHINE = "made"
ENVIRONMENT = "virtualenv-py3.11"
N_BENCHMARKS = 40
AXES = {"n": ["10", "100", "1000", "10000", "100000"], "dtype": ["'float32'", "'float64'", "'int64'", "'int8'", "None"]}
COLUMNS = [
    "result", "params", "version", "started_at", "duration", "stats_ci_99_a", "stats_ci_99_b", "stats_q_25",
    "stats_q_75", "stats_number", "stats_repeat", "samples", "profile",
]  # fmt: skip


@dataclass(frozen=True)
class MadeHistory:
    """Git repository, and an asv results folder for its commits."""

    repository: Path
    tree: Path


def make_history(folder: Path, *, n_commits: int) -> MadeHistory:
    """Make `n_commits` commits a day apart and 1,000 values for each below `folder`."""
    made = MadeHistory(folder / "repository", folder / "results")
    hashes = _make_commits(made.repository, n_commits)
    _write_tree(made.tree, hashes)
    return made


def _make_commits(repository: Path, n_commits: int) -> list[str]:
    stream = []
    for number in range(n_commits):
        when = f"Nobody <nobody@example.org> {START_S + number * DAY_S} +0000"
        subject = f"Change {number}"
        stream += ["commit refs/heads/main", f"committer {when}", f"data {len(subject)}", subject]
        content = str(number)
        stream += ["M 100644 inline number.txt", f"data {len(content)}", content]
    repository.mkdir(parents=True)
    _git(repository, "init", "-q", "-b", "main")
    _git(repository, "fast-import", "--quiet", given="\n".join(stream) + "\n")
    return _git(repository, "log", "--reverse", "--format=%H", "main").split()


def _git(repository: Path, *arguments: str, given: str | None = None) -> str:
    command = ["git", "-C", str(repository), *arguments]
    return subprocess.run(command, input=given, capture_output=True, text=True, check=True).stdout


def _write_tree(tree: Path, hashes: list[str]) -> None:
    machine = {"machine": MACHINE, "arch": "x86_64", "cpu": "none", "num_cpu": "1", "os": "none", "ram": "0"}
    (tree / MACHINE).mkdir(parents=True)
    _write_json(tree / MACHINE / "machine.json", {**machine, "version": 1})
    names = [f"suite{i % 5}.Made.time_{i}" for i in range(N_BENCHMARKS)]
    _write_json(tree / "benchmarks.json", {**{name: _described(name) for name in names}, "version": 2})
    chance = random.Random("made")  # noqa: S311 - nothing here is secret
    n_points = len(AXES["n"]) * len(AXES["dtype"])
    levels = {name: [10 ** chance.uniform(-6, -1) for _ in range(n_points)] for name in names}
    for number, commit in enumerate(hashes):
        if chance.random() < 0.05:
            name = chance.choice(names)
            factor = chance.choice([0.8, 0.9, 1.1, 1.3])
            levels[name] = [level * factor for level in levels[name]]
        when_ms = (START_S + number * DAY_S) * 1000
        results = {name: _row(name, levels[name], chance, when_ms) for name in names}
        content = {
            "commit_hash": commit, "env_name": ENVIRONMENT, "date": when_ms, "params": {**machine, "python": "3.11"},
            "python": "3.11", "requirements": {}, "env_vars": {}, "result_columns": COLUMNS, "results": results,
            "durations": {}, "version": 2,
        }  # fmt: skip
        _write_json(tree / MACHINE / f"{commit[:8]}-{ENVIRONMENT}.json", content)


def _row(name: str, levels: list[float], chance: random.Random, when_ms: int) -> list[object]:
    values = [level * chance.gauss(1, 0.01) for level in levels]
    spread = [[value * factor for value in values] for factor in (0.98, 1.02, 0.99, 1.01)]
    return [values, list(AXES.values()), name, when_ms, 1.0, *spread, [1] * len(values), [10] * len(values)]


def _described(name: str) -> dict[str, object]:
    return {
        "code": f"def {name.rsplit('.', 1)[-1]}(n, dtype): ...", "name": name, "type": "time", "unit": "seconds",
        "version": name, "param_names": list(AXES), "params": list(AXES.values()), "timeout": 60.0, "number": 0,
        "rounds": 2, "repeat": 0, "sample_time": 0.01, "warmup_time": -1, "min_run_count": 2,
    }  # fmt: skip


def _write_json(path: Path, content: object) -> None:
    path.write_text(json.dumps(content))
