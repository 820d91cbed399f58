"""How to measure a commit fits the project that it is of; over a store of another repository nothing is advised."""

import pytest
from click.testing import CliRunner

from fusebench import cli
from results.exit_codes import ExitCode
from tests.made_repositories import git

DAY_MS = 86_400_000


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A repository with three commits, which is the current folder."""
    folder = tmp_path / "ours"
    folder.mkdir()
    git(folder, "init", "-q")
    for subject in ("one", "two", "three"):
        git(folder, "commit", "-q", "--allow-empty", "-m", subject)
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def fusebench(tmp_path, write_asv_run, timed, journals):
    """Run a command over a store of foreign projects, and of sweeps, by project, of these commits."""

    def run(*arguments, foreign=None, swept=()):
        db = tmp_path / "x.db"
        for project, commits in (foreign or {}).items():
            tree = tmp_path / project
            for number, commit in enumerate(commits):
                results = {"s.time_it": timed(1e-3)}
                write_asv_run(tree, results, commit=commit, date=1_700_000_000_000 + number * DAY_MS)
            CliRunner().invoke(cli, ["ingest", str(tree), "--project", project, "--db", str(db)])
        for commit in swept:
            journals.write_journals(tmp_path / "sweeps", [journals.Sweep(commit=commit)])
            CliRunner().invoke(cli, ["ingest", str(tmp_path / "sweeps"), "--db", str(db)])
        return CliRunner().invoke(cli, [*arguments, "--db", str(db)], standalone_mode=False)

    return run


HEADS = [("gate", "--base", "HEAD~1", "--head", "HEAD"), ("show", "HEAD"), ("store", "acknowledge", "HEAD")]


@pytest.mark.parametrize("asked", HEADS)
@pytest.mark.parametrize("has_sweep", [False, True])
def test_a_commit_of_this_repository_is_no_commit_of_a_store_of_others(repository, fusebench, asked, has_sweep):
    stored = {"swept": ("c" * 40,)} if has_sweep else {"foreign": {"scipy": ("a" * 40, "b" * 40)}}
    answer = fusebench(*asked, **stored)
    assert answer.return_value == ExitCode.NOTHING_COMPARABLE
    newest, project = ("c" * 12, "fusebench") if has_sweep else ("b" * 12, "scipy")
    assert f"git here has none of the commits that are stored, of {project}: go to the repo" in answer.stderr
    assert f"name one of them, as {newest}, the newest" in answer.stderr
    assert "asv run" not in answer.stderr
    assert "git checkout" not in answer.stderr


def test_of_several_projects_that_of_the_repository_here_says_how(repository, fusebench):
    ours, head = git(repository, "rev-parse", "HEAD~1"), git(repository, "rev-parse", "HEAD")
    assert f"asv run {head}^!" in fusebench("show", "HEAD", foreign={"numpy": (ours,)}, swept=("c" * 40,)).stderr


def test_beside_a_foreign_project_ours_is_measured_as_ever(repository, fusebench):
    ours, head = git(repository, "rev-parse", "HEAD~1"), git(repository, "rev-parse", "HEAD")
    answer = fusebench("show", "HEAD", foreign={"scipy": ("a" * 40,)}, swept=(ours,))
    assert f"git checkout {head} && {{ make bench;" in answer.stderr


def test_two_commits_of_one_project_that_do_not_compare_are_measured_as_that_project_is(
    repository, fusebench, tmp_path, write_asv_run, timed
):
    base, head = "a" * 40, "b" * 40
    write_asv_run(tmp_path / "scipy", {"s.time_it": timed(1e-3)}, commit=head, machine="server")
    answer = fusebench("gate", "--base", base, "--head", head, foreign={"scipy": (base,)}, swept=("c" * 40,))
    assert answer.return_value == ExitCode.NOTHING_COMPARABLE
    assert f"asv run {base}^!" in answer.stderr


def test_a_hash_that_git_does_not_know_may_be_of_the_stores_project(repository, fusebench):
    asked = "d" * 40
    assert f"asv run {asked}^!" in fusebench("show", asked, foreign={"scipy": ("a" * 40,)}).stderr


def test_a_shallow_clone_may_lack_what_is_stored(repository, fusebench, tmp_path, monkeypatch):
    first, head = git(repository, "rev-parse", "HEAD~2"), git(repository, "rev-parse", "HEAD")
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{repository}", "shallow")
    monkeypatch.chdir(tmp_path / "shallow")
    assert f"asv run {head}^!" in fusebench("show", "HEAD", foreign={"ours": (first,)}).stderr
