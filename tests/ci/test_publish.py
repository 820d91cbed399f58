"""The step that publishes results, on a bare repository of this test's own: with pushes that come first."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.made_repositories import git, output_of_git

ROOT = Path(__file__).parents[2]
RACE = """#!/bin/sh
# Before the first {n} pushes somebody else's come.
count=$(cat {count} 2>/dev/null || echo 0)
[ "$count" -ge {n} ] && exit 0
echo $((count + 1)) > {count}
unset GIT_DIR GIT_INDEX_FILE GIT_WORK_TREE GIT_PREFIX
cd {other} && git fetch -q origin && git checkout -q --force -B results origin/results
mkdir -p journal && echo "other $count" >> journal/shared.jsonl && echo "$count" > "other-$count.json"
git add -A && git commit -qm "Somebody else's $count" && git push -q origin results
"""


@pytest.fixture
def repository(tmp_path):
    """A bare repository with a main branch, a clone that publishes, and somebody else's."""
    bare, checkout, other = (tmp_path / name for name in ("bare.git", "checkout", "other"))
    git(tmp_path, "init", "-q", "--bare", "--initial-branch=main", str(bare))
    git(tmp_path, "clone", "-q", str(bare), str(other))
    (other / "code.py").write_text("pass\n")
    for arguments in (["add", "-A"], ["commit", "-qm", "Start"], ["push", "-q", "origin", "HEAD:main"]):
        git(other, *arguments)
    git(other, "config", "user.name", "other")
    git(other, "config", "user.email", "other@localhost")
    git(tmp_path, "clone", "-q", str(bare), str(checkout))
    return bare, checkout, other


@pytest.fixture
def published(repository, tmp_path):
    """Publish a folder; the process that ended."""
    _, checkout, _ = repository

    def run(*, files=None, source=None):
        source = source or tmp_path / "measured"
        for name, content in (files or {}).items():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).write_text(content)
        source.mkdir(exist_ok=True)
        options = ["--source", str(source), "--checkout", str(checkout), "--branch", "results"]
        environ = {**os.environ, "PYTHONPATH": str(ROOT / "tools")}
        return subprocess.run(
            [sys.executable, "-m", "ci.publish", *options],
            env=environ,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )

    return run


def of_branch(bare, path):
    return output_of_git(bare, "show", f"results:{path}")


def test_a_branch_that_is_not_there_is_made_without_the_code(repository, published):
    bare, *_ = repository
    done = published(files={"journal/m/a.jsonl": "line 1\n"})
    assert done.returncode == 0, done.stderr
    assert git(bare, "ls-tree", "-r", "--name-only", "results").split() == ["journal/m/a.jsonl"]
    assert git(bare, "rev-list", "--count", "results") == "1"


def test_publishing_the_same_again_pushes_nothing(repository, published):
    bare, *_ = repository
    published(files={"journal/m/a.jsonl": "line 1\n"})
    before = git(bare, "rev-parse", "results")
    done = published()
    assert done.returncode == 0
    assert "holds all of it already" in done.stdout
    assert git(bare, "rev-parse", "results") == before


def test_lines_of_a_journal_are_added_and_other_files_replaced(repository, published, tmp_path):
    bare, *_ = repository
    published(files={"a.jsonl": "1\n2\n", "machine.json": "old"})
    published(files={"a.jsonl": "2\n3\n", "machine.json": "new"}, source=tmp_path / "second")
    assert of_branch(bare, "a.jsonl") == "1\n2\n3\n"
    assert of_branch(bare, "machine.json") == "new"


def test_a_line_that_a_killed_run_cut_off_is_not_left_between_whole_ones(repository, published, tmp_path):
    bare, *_ = repository
    published(files={"a.jsonl": '{"n": 1}\n{"n": 2'})
    published(files={"a.jsonl": '{"n": 1}\n{"n": 2}\n{"n": 3}'}, source=tmp_path / "second")
    published(files={"a.jsonl": '{"n": 4}\n'}, source=tmp_path / "third")
    assert of_branch(bare, "a.jsonl") == "".join(f'{{"n": {n}}}\n' for n in (1, 2, 3, 4))


@pytest.mark.parametrize("n_races", [1, 3])
def test_pushes_that_come_first_lose_nothing_and_are_lost_by_nothing(repository, published, tmp_path, n_races):
    bare, checkout, other = repository
    published(files={"journal/shared.jsonl": "ours before\n"})
    hook = checkout / ".git" / "hooks" / "pre-push"
    hook.write_text(RACE.format(n=n_races, count=tmp_path / "count", other=other))
    hook.chmod(0o755)
    done = published(files={"journal/shared.jsonl": "ours before\nours after\n", "ours.json": "1"})
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("Another push came first") == n_races
    names = git(bare, "ls-tree", "-r", "--name-only", "results").split()
    assert {"ours.json", *(f"other-{i}.json" for i in range(n_races))} <= set(names)
    lines = of_branch(bare, "journal/shared.jsonl").splitlines()
    assert sorted(lines) == sorted(["ours before", "ours after", *(f"other {i}" for i in range(n_races))])
    # Every push is there still: nothing was forced.
    assert git(bare, "rev-list", "--count", "results") == str(2 + n_races)


def test_a_push_that_is_not_allowed_is_told_and_not_tried_again(repository, published):
    bare, *_ = repository
    hook = bare / "hooks" / "pre-receive"
    hook.write_text("#!/bin/sh\necho 'permission denied' >&2\nexit 1\n")
    hook.chmod(0o755)
    done = published(files={"a.jsonl": "1\n"})
    assert done.returncode == 2
    assert "Nothing was published: git push" in done.stdout
    assert "permission denied" in done.stdout
    assert "came first" not in done.stdout


def test_nothing_measured_is_no_success(published):
    done = published()
    assert done.returncode == 64
    assert "holds no file to publish" in done.stdout
