"""Milestones: what the file of this repository promises, and what a file may not hold."""

import subprocess
from pathlib import Path

import pytest

from benchmarks.ruler.errors import InvalidMilestones
from benchmarks.ruler.history.milestones import MILESTONES, milestones_from_toml, with_revisions

ROOT = Path(__file__).parents[3]
HEAD = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


def git(*arguments):
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture(scope="module")
def ours():
    if git("rev-parse", "--is-shallow-repository") == "true":
        pytest.skip("a shallow clone has no milestones")
    return milestones_from_toml()


def test_there_are_at_least_15_milestones_in_the_order_of_git(ours):
    hashes = [each.commit.hash for each in ours]
    assert len(set(hashes)) == len(hashes) >= 15
    in_order = git("rev-list", "--topo-order", "--reverse", "HEAD").splitlines()
    assert sorted(hashes, key=in_order.index) == hashes


def test_milestones_of_the_same_kernels_have_the_same_files(ours):
    pairs = [(each.commit.hash, each.same_kernels_as) for each in ours if each.same_kernels_as]
    assert pairs
    for one, other in pairs:
        assert git("rev-parse", f"{one}:kernels/fused_mlp") == git("rev-parse", f"{other}:kernels/fused_mlp")


def test_the_known_steps_are_milestones_and_so_is_the_commit_before_each(ours):
    hashes = [each.commit.hash for each in ours]
    for step in ("9193494", "61458b2", "983de4f"):
        at = next(i for i, found in enumerate(hashes) if found.startswith(step))
        between = git("log", "--format=%h", f"{hashes[at - 1]}..{hashes[at]}~1", "--", "kernels/fused_mlp/**/cpu")
        assert between == "", f"{step}: other commits changed the CPU kernels since the milestone before it"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "a list of \\[\\[milestone\\]\\]"),
        ("[[milestone", "milestones.toml: "),
        ('[[milestone]]\ncommit = "HEAD"', "milestone 1: its keys are commit, same_kernels_as, what"),
        ('[[milestone]]\ncommit = "HEAD"\nwhat = ""\nwhy = ""', "milestone 1: its keys are"),
        ('[[milestone]]\ncommit = "no-such"\nwhat = ""', "milestone 1: git knows no commit 'no-such'"),
        (f'[[milestone]]\ncommit = "{"0" * 40}"\nwhat = ""', "in a shallow clone, git fetch --unshallow"),
        ('[[milestone]]\ncommit = "HEAD"\nwhat = ""\nsame_kernels_as = "x"', "names no earlier milestone \\(x\\)"),
    ],
)
def test_what_is_no_file_of_milestones_is_refused_by_name(tmp_path, text, said):
    path = tmp_path / "milestones.toml"
    path.write_text(text)
    with pytest.raises(InvalidMilestones, match=said):
        milestones_from_toml(path)


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(InvalidMilestones, match=r"gone\.toml: cannot be read"):
        milestones_from_toml(tmp_path / "gone.toml")


def test_further_revisions_follow_and_a_milestone_is_not_listed_twice(tmp_path):
    path = tmp_path / "milestones.toml"
    path.write_text(f'[[milestone]]\ncommit = "{HEAD}"\nwhat = "now"')
    found = with_revisions(milestones_from_toml(path), ("HEAD", "HEAD~1", "HEAD~1"))
    assert [each.commit.hash for each in found] == [HEAD, git("rev-parse", "HEAD~1")]
    with pytest.raises(InvalidMilestones, match="--commits, --also: git knows no commit 'nothing'"):
        with_revisions(found, ("nothing",))


def test_the_file_of_this_repository_is_where_the_command_looks():
    assert MILESTONES == ROOT / "benchmarks" / "milestones.toml"
