"""Which commit is measured where nobody can ask git."""

import os
import subprocess

import pytest

from benchmarks.ruler.errors import UncommittedChanges, UnknownCommit
from benchmarks.ruler.plan.settings import settings_from_environment
from benchmarks.ruler.record import provenance
from benchmarks.ruler.record.provenance import Commit, commit_from_git, measured_commit, refuse_uncommitted_changes
from benchmarks.ruler.sweep.asv_process import _environment
from tests.made_repositories import git

HASH = "c0ffee" + 34 * "0"


@pytest.fixture(autouse=True)
def nothing_remembered():
    """No commit that an earlier test asked for."""
    provenance.measured_commit.cache_clear()
    yield
    provenance.measured_commit.cache_clear()


@pytest.fixture
def no_git(monkeypatch, tmp_path):
    """A machine without git on its path, and a checkout whose files are measured."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(provenance, "is_editable", lambda: True)


def test_without_git_the_commit_is_what_the_environment_says(no_git):
    settings = settings_from_environment({"FUSEBENCH_COMMIT": HASH})
    refuse_uncommitted_changes(settings)
    assert measured_commit(settings) == Commit(hash=HASH, date=None, subject=None)


@pytest.mark.parametrize("said", [{}, {"FUSEBENCH_COMMIT": "main"}, {"FUSEBENCH_COMMIT": HASH[:8]}], ids=str)
def test_without_git_and_without_a_whole_hash_nothing_is_measured_and_the_error_says_what_to_do(no_git, said):
    with pytest.raises(UnknownCommit, match="FUSEBENCH_COMMIT=<40 hex digits>"):
        measured_commit(settings_from_environment(said))


def test_where_git_knows_better_a_hash_that_is_not_head_is_refused(monkeypatch):
    monkeypatch.setattr(provenance, "is_editable", lambda: True)
    with pytest.raises(UncommittedChanges, match=r"HEAD moved from c0ffee00.*; or FUSEBENCH_COMMIT was set by hand"):
        measured_commit(settings_from_environment({"FUSEBENCH_COMMIT": HASH}))


@pytest.mark.parametrize("said", ["main", HASH[:8], "zzz"])
def test_where_git_knows_better_a_commit_that_is_no_hash_is_not_told_as_a_head_that_moved(monkeypatch, said):
    monkeypatch.setattr(provenance, "is_editable", lambda: True)
    with pytest.raises(UnknownCommit, match=f"FUSEBENCH_COMMIT={said} is no commit: a full hash of 40 hex digits"):
        measured_commit(settings_from_environment({"FUSEBENCH_COMMIT": said}))


@pytest.mark.parametrize("begun", [None, "c0ffee00" + 32 * "0", "facade00" + 32 * "0"])
def test_an_installed_commit_that_is_not_the_one_the_run_began_with_is_not_filed_under_it(monkeypatch, begun):
    # A process of asv's runs in another folder, where a relative PYTHONPATH finds other kernels.
    installed = "c0ffee00" + 32 * "0"
    monkeypatch.setattr(provenance, "is_editable", lambda: False)
    monkeypatch.setattr(provenance, "_installed_hash", lambda: installed)
    monkeypatch.setattr(provenance, "git_output", lambda *_: None)
    settings = settings_from_environment({"FUSEBENCH_COMMIT": begun} if begun else {})
    if begun in {None, installed}:
        assert measured_commit(settings).hash == installed
        return
    with pytest.raises(UncommittedChanges, match=r"finds the fused_mlp of c0ffee00, and facade00 is being measured"):
        measured_commit(settings)


def test_why_git_will_not_read_a_checkout_is_told_in_its_words(monkeypatch, tmp_path):
    # In a container the checkout is often another user's.
    git = tmp_path / "git"
    git.write_text("#!/bin/sh\necho \"fatal: detected dubious ownership in repository at '/x'\" >&2\nexit 128\n")
    git.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    with pytest.raises(UnknownCommit, match=r"git says: fatal: detected dubious ownership in repository at '/x'; "):
        commit_from_git("HEAD")


def test_a_repository_without_a_commit_is_told_to_make_one(monkeypatch, tmp_path):
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    monkeypatch.setattr(provenance, "ROOT", tmp_path)
    with pytest.raises(UnknownCommit, match="this repository has no commit yet: make one, `git commit`"):
        commit_from_git("HEAD")


@pytest.fixture
def of_a_hook(monkeypatch, tmp_path):
    """The environment of a hook of another repository, which points git there; its first commit."""
    folder = tmp_path / "other"
    author = ["-c", "user.name=a", "-c", "user.email=a@localhost"]
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    subprocess.run(["git", *author, "-C", str(folder), "commit", "-q", "--allow-empty", "-m", "other"], check=True)
    monkeypatch.setenv("GIT_DIR", str(folder / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(folder / ".git" / "index"))
    return provenance.git_output("-C", str(folder), "rev-parse", "HEAD").strip()


def test_what_is_measured_in_a_hook_of_another_repository_is_not_filed_under_a_commit_of_that(of_a_hook):
    assert commit_from_git("HEAD").subject != "other"
    environ = _environment(os.environ)
    assert {"GIT_DIR", "GIT_INDEX_FILE"}.isdisjoint(environ), "asv asks git, too"


def test_a_checkout_without_a_repository_of_its_own_is_told_by_the_environment_where_it_is(
    of_a_hook, monkeypatch, tmp_path
):
    monkeypatch.setattr(provenance, "ROOT", tmp_path)
    assert commit_from_git("HEAD") == commit_from_git(of_a_hook)
    assert commit_from_git("HEAD").subject == "other"


@pytest.mark.parametrize(
    ("files", "words"),
    [
        (["a.py"], "a.py differs from HEAD"),
        (["a.py", "b.py"], "a.py, b.py differ from HEAD"),
        (["a.py", "b.py", "c.py", "d.py"], "a.py, b.py, c.py and 1 more differ from HEAD"),
    ],
)
def test_what_differs_is_named_in_a_sentence(files, words):
    assert provenance.differing(files) == words


def test_what_a_shallow_clone_lacks_is_told_with_how_to_fetch_it(monkeypatch, tmp_path):
    whole, shallow = tmp_path / "whole", tmp_path / "shallow"
    whole.mkdir()
    git(whole, "init", "-b", "main")
    for subject in ("one", "two"):
        git(whole, "commit", "--allow-empty", "-m", subject)
    git(tmp_path, "clone", "--depth", "1", f"file://{whole}", str(shallow))
    for folder, way in ((shallow, "`git fetch --unshallow`"), (whole, "`git fetch` brings others")):
        monkeypatch.setattr(provenance, "ROOT", folder)
        with pytest.raises(UnknownCommit, match=way):
            commit_from_git("HEAD~5")
