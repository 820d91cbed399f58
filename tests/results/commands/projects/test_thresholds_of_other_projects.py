"""Thresholds of a project that a command does not judge have their use; one that is misspelt has none, and is told."""

import pytest
from click.testing import CliRunner

from fusebench import cli

A, B = "a" * 40, "b" * 40


@pytest.fixture
def fusebench(tmp_path, monkeypatch, write_asv_run, timed):
    """Two projects in one store, `core` with two commits and `plots` with two others; runs a command there."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FUSEBENCH_DB", str(tmp_path / "x.db"))

    def run(*arguments):
        return CliRunner().invoke(cli, [*arguments], standalone_mode=False)

    for project, commits, benchmark in (
        ("core", (A, B), "sums.time_it"),
        ("plots", ("c" * 40, "d" * 40), "lines.time_it"),
    ):
        for i, commit in enumerate(commits):
            suite = {benchmark: timed(1e-3), f"{benchmark[:-2]}all": timed(1e-3)}
            write_asv_run(tmp_path / project, suite, commit=commit, date=1_700_000_000_000 + 100_000 * i)
        run("ingest", project, "--project", project)
    return run


def thresholds(*patterns):
    return "".join(f"[[tool.fusebench.threshold]]\n{pattern}\nleast_change = 0.2\n" for pattern in patterns)


COMMANDS = [
    ("gate", "--base", A, "--head", B),
    ("gate", "--base", A, "--head", B, "--where", "project=core"),
    ("changes", "--where", "project=core"),
]


@pytest.mark.parametrize("asked", COMMANDS)
@pytest.mark.parametrize("pattern", ["project = 'plots'", "project = 'plo*'", "benchmark = 'lines.*'"])
def test_a_threshold_of_a_stored_project_that_is_not_judged_is_not_told(fusebench, tmp_path, asked, pattern):
    (tmp_path / "pyproject.toml").write_text(thresholds(pattern))
    assert "matches no series" not in fusebench(*asked).stderr


@pytest.mark.parametrize("asked", COMMANDS)
@pytest.mark.parametrize(
    "pattern",
    [
        "project = 'polts'",
        "project = 'plots'\nbenchmark = 'sums.*'",
        "metric = 'tiem'",
        "project = 'core'\nbenchmark = 'lines.*'",
    ],
)
def test_one_that_matches_nothing_of_any_project_is_told(fusebench, tmp_path, asked, pattern):
    (tmp_path / "pyproject.toml").write_text(thresholds("project = 'plots'", pattern))
    told = fusebench(*asked).stderr
    assert "threshold 2 (" in told
    assert "matches no series here" in told
    assert "threshold 1" not in told
