"""The main line of a repository, and histories that are judged along it alone."""

from __future__ import annotations

import json
import random

import pytest
import sqlalchemy as sa
from click.testing import CliRunner

from results.commands.judging.changes import changes
from results.database.schema import Commit, Source
from results.database.transactions import writing
from results.ingest.main_line import main_line_tips
from results.queries import history_tables, ranked_changes, unjudged_places
from results.rows import beside_main_line
from results.store import open_store
from results.upkeep.judged_series import judge_unjudged
from tests.results.ingest.test_commit_order import NOON, Repository

N, N_SIDE = 90, 8
FIRST_BAD = {f"s{i}.time_it": 60 - 3 * i for i in range(9)}  # s8's has a commit of the branch before it


@pytest.fixture
def repository(tmp_path):
    path = tmp_path / "repository"
    path.mkdir()
    made = Repository(path)
    made.git("init", "-q")
    return made


@pytest.fixture
def measure(tmp_path, write_asv_run, timed):
    """Write values for commits, of main 8 % slower from a commit on that each benchmark has of its own; the tree."""

    def write(commits, *, side=()):
        noise = random.Random(18)
        for number, commit in enumerate((*commits, *side)):
            suite = {}
            for name, first_bad in FIRST_BAD.items():
                factor = 1.5 if commit in side else 1.08 if number >= first_bad else 1.0
                suite[name] = timed(1e-3 * factor * (1 + noise.gauss(0, 0.005)))
            write_asv_run(tmp_path / "tree", suite, commit=commit, date=(NOON + number) * 1000)
        return tmp_path / "tree"

    return write


def interleaved(repository):
    """Make N commits of main and N_SIDE of a branch, dated between those; (main's, the branch's)."""
    main = [repository.commit("start")]
    repository.git("branch", "side")
    side = []
    for i in range(1, N):
        main.append(repository.commit(f"main {i}", at=NOON + 100 * i))
        if i % 10 == 5 and len(side) < N_SIDE:
            repository.git("checkout", "-q", "side")
            side.append(repository.commit(f"side {i}", at=NOON + 100 * i + 50))
            repository.git("checkout", "-q", "main")
    return main, side


def flags(store):
    with store.reading() as connection:
        return {row.hash: row.is_on_main_line for row in connection.execute(sa.select(Commit.__table__))}


def found_in(store):
    findings = [one.finding for one in ranked_changes(store).findings]
    return {(one.benchmark, one.first_bad, one.last_good) for one in findings}


def test_commits_of_a_side_branch_do_not_hide_what_happened_on_the_main_one(opened, repository, measure):
    main, side = interleaved(repository)
    opened.ingest([measure(main, side=side)], repository=repository.path)
    assert len(side) == N_SIDE
    assert flags(opened) == {**dict.fromkeys(main, True), **dict.fromkeys(side, False)}
    [table] = history_tables(opened)
    assert ([run.commit for run in table.runs], len(table.beside)) == (main, N_SIDE)
    assert {one.finding.n_unmeasured for one in ranked_changes(opened).findings} == {0}, "the branch's are measured"
    assert found_in(opened) == {(name, main[at], main[at - 1]) for name, at in FIRST_BAD.items()}


def test_a_branch_that_was_deleted_stays_beside_the_line(opened, repository, measure):
    main, side = interleaved(repository)
    tree = measure(main, side=side)
    opened.ingest([tree], repository=repository.path)
    repository.git("branch", "-D", "side")
    opened.ingest([tree], repository=repository.path)
    assert {flags(opened)[commit] for commit in side} == {False}


def test_a_branch_that_main_is_moved_to_is_judged_from_then_on(opened, repository, measure):
    main, side = interleaved(repository)
    tree = measure(main, side=side)
    opened.ingest([tree], repository=repository.path)
    judge_unjudged(opened)
    repository.git("checkout", "-q", "-b", "former", "main")
    repository.git("branch", "-f", "main", "side")
    opened.ingest([tree], repository=repository.path)
    assert {commit for commit, is_on in flags(opened).items() if is_on} == {main[0], *side}
    [place] = unjudged_places(opened)
    assert place.runs.n_runs == 1 + N_SIDE
    judge_unjudged(opened)
    assert unjudged_places(opened) == []


def test_what_a_merge_brought_stays_beside_the_line_of_first_parents(opened, repository, measure):
    main, side = interleaved(repository)
    repository.git("merge", "-q", "--no-ff", "--allow-unrelated-histories", "-m", "merge", "side", at=NOON + 10**5)
    merge = repository.git("rev-parse", "HEAD")
    opened.ingest([measure([*main, merge], side=side)], repository=repository.path)
    assert {flags(opened)[commit] for commit in side} == {False}
    assert flags(opened)[merge] is True


def test_a_history_measured_only_beside_the_line_is_judged_whole(opened, repository, measure):
    main, side = interleaved(repository)
    tree = measure(main[:1], side=side)
    opened.ingest([tree], repository=repository.path)
    [table] = history_tables(opened)
    assert (len(table.runs), table.beside) == (1 + N_SIDE, ())
    assert [place.runs.n_runs for place in unjudged_places(opened)] == [1 + N_SIDE]


def test_a_run_beside_the_line_leaves_a_place_judged(opened, repository, measure):
    main, side = interleaved(repository)
    opened.ingest([measure(main)], repository=repository.path)
    judge_unjudged(opened)
    opened.ingest([measure([], side=side)], repository=repository.path)
    assert unjudged_places(opened) == []
    opened.ingest([measure([repository.commit("new", at=NOON + 10**5)])], repository=repository.path)
    assert len(unjudged_places(opened)) == 1


def test_commits_that_git_does_not_know_are_judged_as_before(opened, repository, measure):
    main, _ = interleaved(repository)
    foreign = "f" * 40
    opened.ingest([measure([*main[:5], foreign])], repository=repository.path)
    assert flags(opened)[foreign] is None
    [table] = history_tables(opened)
    assert foreign in {run.commit for run in table.runs}
    assert table.beside == ()


def test_without_a_repository_no_commit_has_a_line(opened, measure):
    opened.ingest([measure(["a" * 40, "b" * 40])])
    assert set(flags(opened).values()) == {None}


def test_the_command_says_how_many_are_left_out(tmp_path, repository, measure):
    main, side = interleaved(repository)
    db = str(tmp_path / "store.db")
    with open_store(db) as store:
        store.ingest([measure(main, side=side)], repository=repository.path)

    def said(*arguments):
        return CliRunner().invoke(changes, [*arguments, "--db", db], standalone_mode=False).stdout

    assert f"{N_SIDE} measured commits of other branches are left out" in " ".join(said().split())
    assert f"{N_SIDE} measured commits of other branches are left out" in said("--format", "markdown")
    assert json.loads(said("--format", "json"))["places"][0]["n_beside"] == N_SIDE


def test_a_clone_knows_the_line_by_its_remote_whatever_is_checked_out_and_behind(opened, repository, measure, tmp_path):
    main, side = interleaved(repository)
    repository.git("branch", "-m", "main", "trunk")
    repository.git("checkout", "-q", "trunk")
    repository.git("clone", "-q", str(repository.path), str(tmp_path / "clone"))
    clone = Repository(tmp_path / "clone")
    clone.git("checkout", "-q", "side")
    clone.git("branch", "-f", "trunk", main[10])
    clone.git("branch", "main", "side")
    opened.ingest([measure(main, side=side)], repository=clone.path)
    assert flags(opened) == {**dict.fromkeys(main, True), **dict.fromkeys(side, False)}


def test_a_store_from_before_learns_the_line_by_the_next_ingest(opened, repository, measure):
    main, side = interleaved(repository)
    tree = measure(main, side=side)
    opened.ingest([tree], repository=repository.path)
    with writing(opened.engine) as connection:
        connection.execute(sa.update(Commit).values(is_on_main_line=None))
        connection.execute(sa.update(Source).where(Source.kind == "repository").values(signature=f"{'0' * 32}:99"))
    opened.ingest([tree], repository=repository.path)
    assert {flags(opened)[commit] for commit in side} == {False}
    assert len(unjudged_places(opened)) == 1


HERE, THERE, ELSE = "a" * 40, "b" * 40, "c" * 40


@pytest.mark.parametrize(
    ("references", "default", "named", "tips"),
    [
        ({"refs/heads/main": HERE, "refs/remotes/origin/main": THERE}, "main", None, (HERE, THERE)),
        ({"refs/heads/main": HERE, "refs/heads/trunk": THERE}, "trunk", None, (THERE,)),
        ({"refs/heads/main": HERE, "refs/heads/develop": THERE}, None, "develop", (THERE,)),
        ({"refs/heads/main": HERE, "refs/heads/develop": THERE}, None, None, (HERE,)),
        ({"refs/remotes/origin/master": HERE, "refs/heads/x": THERE}, None, None, (HERE,)),
        ({"refs/heads/x/main": HERE, "refs/heads/y": THERE}, "gone", "gone, too", (ELSE,)),
        ({"refs/heads/main": HERE, "refs/remotes/origin/x/main": THERE}, None, None, (HERE,)),
        ({"refs/tags/main": HERE}, None, None, (ELSE,)),
    ],
    ids=["here and there", "origin's head", "asv's", "main", "master", "head", "a branch below", "a tag"],
)
def test_the_main_branch_is_the_remotes_own_else_asvs_else_main_else_what_is_checked_out(
    references, default, named, tips
):
    assert main_line_tips(references, default=default, named=named, head=ELSE) == tips
    assert main_line_tips({}, default=default, named=named, head=None) == ()


def test_what_is_left_out_is_what_stands_beside_if_two_do_not():
    assert beside_main_line({"a": True, "b": None, "c": False}) == {"c"}
    assert beside_main_line({"a": True, "c": False}) == frozenset()
    assert beside_main_line({}) == frozenset()


def test_asvs_configuration_names_the_branch(opened, repository, measure):
    repository.git("checkout", "-q", "-b", "trunk")
    commits = [repository.commit("one"), repository.commit("two")]
    repository.git("branch", "main", commits[0])
    (repository.path / "asv.conf.json").write_text('{\n  // ours\n  "branches": ["trunk"],\n}\n')
    opened.ingest([measure(commits)], repository=repository.path)
    assert set(flags(opened).values()) == {True}
