"""Commits in the order git gives them: real repositories, made in a moment."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
import sqlalchemy as sa
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from results.commands.ingest import ingest
from results.database.schema import Commit, Run, Series
from results.exit_codes import ExitCode
from results.ingest import commit_order
from results.ingest.commit_order import commits_in_order
from results.queries import history_of
from results.store import open_store

if TYPE_CHECKING:
    from pathlib import Path

NOON = 1_700_000_000


@dataclass
class Repository:
    path: Path

    def git(self, *arguments, at=NOON, given=None):
        environ = {
            **os.environ, "GIT_COMMITTER_DATE": f"{at} +0000", "GIT_AUTHOR_DATE": f"{at} +0000",
            "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull,
        }  # fmt: skip
        who = ("-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main")
        answer = subprocess.run(
            ["git", *who, *arguments],
            cwd=self.path,
            env=environ,
            input=given,
            capture_output=True,
            check=True,
            text=True,
        )
        return answer.stdout.strip()

    def commit(self, subject, *, at=NOON):
        self.git("commit", "--allow-empty", "-m", subject, at=at)
        return self.git("rev-parse", "HEAD")


@pytest.fixture
def repository(tmp_path):
    path = tmp_path / "repository"
    path.mkdir()
    made = Repository(path)
    made.git("init", "-q")
    return made


@pytest.fixture
def measured(tmp_path, write_asv_run, timed):
    """Write one value for each commit given, all dated alike; the tree."""

    def write(commits, *, at=NOON):
        for number, commit in enumerate(commits):
            write_asv_run(tmp_path / "tree", {"s.time_it": timed(1e-3 * (number + 1))}, commit=commit, date=at * 1000)
        return tmp_path / "tree"

    return write


def stored_commits(store):
    with store.reading() as connection:
        return {row.hash: row for row in connection.execute(sa.select(Commit.__table__))}


def history(store):
    with store.reading() as connection:
        ids = list(connection.execute(sa.select(Series.id)).scalars())
    return [value.commit for found in history_of(store, series_ids=ids) for value in found.values]


def test_commits_of_the_same_second_are_in_gits_order(opened, repository, measured):
    commits = [repository.commit(f"Change {i}") for i in range(6)]
    tree = measured(sorted(commits))
    assert opened.ingest([tree], repository=repository.path).notes == ()
    assert history(opened) == commits
    stored = stored_commits(opened)
    assert [stored[commit].position for commit in commits] == [1, 2, 3, 4, 5, 6]
    assert [stored[commit].subject for commit in commits] == [f"Change {i}" for i in range(6)]


def test_a_clock_that_was_wrong_puts_no_commit_before_its_parent(opened, repository, measured):
    commits = [repository.commit("one", at=NOON), repository.commit("two", at=NOON - 9999), repository.commit("three")]
    opened.ingest([measured(commits)], repository=repository.path)
    assert history(opened) == commits
    assert stored_commits(opened)[commits[1]].date.timestamp() == NOON - 9999


def test_commits_between_the_measured_ones_count(opened, repository, measured):
    commits = [repository.commit(f"Change {i}") for i in range(4)]
    opened.ingest([measured([commits[0], commits[3]])], repository=repository.path)
    assert {row.position for row in stored_commits(opened).values()} == {1, 4}


def test_without_a_repository_commits_have_dates_and_no_place(opened, measured):
    opened.ingest([measured(["a" * 40])])
    (row,) = stored_commits(opened).values()
    assert (row.position, row.is_orphaned, row.date.timestamp()) == (None, None, NOON)


def test_a_run_that_comes_after_its_commit_was_placed_stands_there_too(
    opened, repository, measured, write_asv_run, timed
):
    commits = [repository.commit(f"Change {i}") for i in range(3)]
    tree = measured(commits)
    opened.ingest([tree], repository=repository.path)
    write_asv_run(tree, {"s.time_it": timed(1.0)}, commit=commits[1], machine="desktop")
    opened.ingest([tree], repository=repository.path)
    with opened.reading() as connection:
        places = connection.execute(
            sa.select(Run.position).where(Run.commit_id == Commit.id, Commit.hash == commits[1])
        )
        assert list(places.scalars()) == [2, 2]


def test_new_commits_are_placed_by_the_next_ingest_though_no_file_changed(opened, repository, measured):
    first = repository.commit("one")
    later = "f" * 40
    tree = measured([first, later], at=NOON + 5)
    opened.ingest([tree], repository=repository.path)
    assert stored_commits(opened)[later].is_orphaned is None
    repository.commit("two", at=NOON + 10)
    opened.ingest([tree], repository=repository.path)
    assert stored_commits(opened)[later].is_orphaned is True


def test_a_commit_that_a_rebase_removed_stays_marked_and_comes_back(opened, repository, measured):
    first, second = repository.commit("one"), repository.commit("two")
    tree = measured([first, second])
    opened.ingest([tree], repository=repository.path)
    repository.git("commit", "--amend", "--allow-empty", "-m", "two, better", at=NOON + 1)
    opened.ingest([tree], repository=repository.path)
    removed = stored_commits(opened)[second]
    assert (removed.is_orphaned, removed.position, removed.subject) == (True, 2, "two")
    assert history(opened) == [first, second]
    repository.git("branch", "rescued", second)
    opened.ingest([tree], repository=repository.path)
    assert (stored_commits(opened)[second].is_orphaned, stored_commits(opened)[second].position) == (False, 2)


def test_the_newest_commit_that_a_reset_removed_is_known_by_its_object(opened, repository, measured):
    first, second = repository.commit("one"), repository.commit("two", at=NOON + 10)
    repository.git("reset", "-q", "--hard", first)
    opened.ingest([measured([first, second], at=NOON + 10)], repository=repository.path)
    assert stored_commits(opened)[second].is_orphaned is True


def test_a_commit_newer_than_all_here_may_not_have_been_fetched_and_is_not_marked(opened, repository, measured):
    first = repository.commit("one")
    opened.ingest([measured([first, "e" * 40], at=NOON + 100)], repository=repository.path)
    assert stored_commits(opened)["e" * 40].is_orphaned is None


def test_the_checkout_that_holds_the_results_gives_the_order(opened, repository, write_asv_run, timed):
    commits = [repository.commit("one"), repository.commit("two")]
    for commit in commits:
        write_asv_run(repository.path / ".asv" / "results", {"s.time_it": timed(1.0)}, commit=commit)
    opened.ingest([repository.path / ".asv"])
    assert {row.position for row in stored_commits(opened).values()} == {1, 2}


def test_a_checkout_of_something_else_changes_nothing_and_says_so_only_if_asked_for(opened, repository, measured):
    repository.commit("a collection of results")
    tree = measured(["a" * 40])
    report = opened.ingest([tree], repository=repository.path)
    assert "knows none of the stored commits" in report.notes[0]
    assert stored_commits(opened)["a" * 40].is_orphaned is None


def test_a_shallow_clone_orders_nothing_and_says_what_to_do(opened, repository, measured, tmp_path):
    commits = [repository.commit(f"Change {i}") for i in range(3)]
    repository.git("clone", "-q", "--depth", "1", f"file://{repository.path}", str(tmp_path / "shallow"))
    report = opened.ingest([measured(commits)], repository=tmp_path / "shallow")
    assert "git fetch --unshallow" in report.notes[0]
    assert {row.is_orphaned for row in stored_commits(opened).values()} == {None}


def test_projects_of_one_database_are_ordered_by_their_own_repositories(opened, repository, tmp_path, measured):
    commits = [repository.commit("one"), repository.commit("two")]
    tree = measured(commits)
    opened.ingest([tree], project="theirs", repository=repository.path)
    other = Repository(tmp_path / "other")
    other.path.mkdir()
    other.git("init", "-q")
    other.commit("first of another project")
    opened.ingest([tree], project="theirs", repository=other.path)
    assert [stored_commits(opened)[commit].position for commit in commits] == [1, 2]


def test_a_folder_that_is_no_repository_is_wrong_usage(tmp_path, measured):
    tree = measured(["a" * 40])
    arguments = [str(tree), "--db", str(tmp_path / "x.db"), "--repository", str(tmp_path)]
    answer = CliRunner().invoke(ingest, arguments, standalone_mode=False)
    assert answer.exception.exit_code == ExitCode.WRONG_USAGE
    assert "cannot be asked for the order of commits" in answer.exception.message


def test_a_repository_in_which_nothing_changed_is_not_read_again(opened, repository, measured, monkeypatch):
    tree = measured([repository.commit("one")])
    opened.ingest([tree], repository=repository.path)
    monkeypatch.setattr(commit_order, "_reached_commits", lambda *_: pytest.fail("it was read again"))
    opened.ingest([tree], repository=repository.path)


def test_a_rebuilt_store_has_the_same_order(tmp_path, repository, measured):
    from results.upkeep.rebuild import rebuild_store

    commits = [repository.commit(f"Change {i}") for i in range(3)]
    tree = measured(sorted(commits))
    db = str(tmp_path / "x.db")
    with open_store(db) as store:
        store.ingest([tree], repository=repository.path)
    rebuild_store(db, [tree], project=None, repository=repository.path, may_lose=False, on_progress=None)
    with open_store(db) as store:
        assert history(store) == commits


def test_ten_thousand_commits_cost_little_more_than_git_log_itself(tmp_path, repository, measured):
    stream = "".join(
        f"commit refs/heads/main\nmark :{i}\ncommitter A <a@example.org> {NOON + i} +0000\ndata 3\nabc\n"
        + (f"from :{i - 1}\n" if i > 1 else "")
        for i in range(1, 10_001)
    )
    repository.git("fast-import", "--quiet", given=stream)
    commits = repository.git("rev-list", "--reverse", "main").split()
    with open_store(str(tmp_path / "x.db")) as store:
        tree = measured(commits[::100])
        store.ingest([tree], repository=repository.path)
        assert stored_commits(store)[commits[9900]].position == 9901
        repository.git("checkout", "-q", "main")
        took_s = []
        for n in range(3):  # a process of another test that ends meanwhile counts, too
            repository.commit(f"one more {n}", at=NOON + 20_000 + n)
            took_s.append(cpu_s(lambda: store.ingest([tree], repository=repository.path)))
    logging_s = cpu_s(lambda: repository.git("log", "--format=%H%x00%ct%x00%s", "main").splitlines())
    assert min(took_s) < 8 * logging_s


def cpu_s(call):
    """Return the CPU seconds that `call` takes, with those of the processes that it starts."""
    before = os.times()
    call()
    return sum(after - before for after, before in zip(os.times()[:4], before[:4], strict=True))


@given(seconds=st.lists(st.integers(0, 2_000_000_000), max_size=20))
def test_positions_count_up_and_moments_never_go_back(seconds):
    commits = list(commits_in_order(f"{i:040x}\0{at}\0subject\0with a NUL" for i, at in enumerate(seconds)).values())
    assert [commit.position for commit in commits] == list(range(1, len(seconds) + 1))
    moments = [commit.ordered_at for commit in commits]
    assert moments == sorted(moments)
    assert all(commit.ordered_at >= commit.date for commit in commits)
