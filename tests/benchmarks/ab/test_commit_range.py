"""Range of a bisection in a repository that was made up: first parents, what cannot matter, what is refused."""

from __future__ import annotations

import json
import sys

import pytest

from benchmarks.ruler.ab import commit_range as module
from benchmarks.ruler.ab import range_command
from benchmarks.ruler.ab.commit_range import commit_range
from benchmarks.ruler.errors import UnknownCommit, UnknownRange
from benchmarks.ruler.exit_codes import ExitCode
from benchmarks.ruler.record import provenance
from benchmarks.ruler.sweep.interruption import run_command
from tests.made_repositories import git


class Repository:
    """Repository with kernels that `commit` changes, or with `kernels=False` something else."""

    def __init__(self, folder):
        self.folder, self.n = folder, 0
        self.git("init", "-q", "-b", "main")
        (folder / "kernels").mkdir()

    def git(self, *arguments):
        return git(self.folder, *arguments)

    def commit(self, subject, *, kernels=True):
        self.n += 1
        name = f"kernels/a{self.n}.py" if kernels else f"README{self.n}"
        (self.folder / name).write_text(subject)
        self.git("add", "-A")
        self.git("commit", "-qm", subject)
        return self.git("rev-parse", "HEAD")

    def merge(self, branch, subject):
        self.git("merge", "-q", "--no-ff", "-m", subject, branch)
        return self.git("rev-parse", "HEAD")


@pytest.fixture
def repository(tmp_path, monkeypatch):
    made = Repository(tmp_path)
    monkeypatch.setattr(provenance, "ROOT", tmp_path)
    return made


def test_commits_that_leave_the_kernels_alone_are_counted_and_not_searched(repository):
    good = repository.commit("good")
    first = repository.commit("first")
    repository.commit("words", kernels=False)
    last = repository.commit("last")
    bad = repository.commit("more words", kernels=False)
    found = commit_range(good, "main")
    assert [one.hash for one in found.candidates] == [first, last]
    assert (found.good.hash, found.bad.hash, found.n_equal, found.n_merges) == (good, bad, 2, 0)
    assert [one.subject for one in found.candidates] == ["first", "last"]
    assert found.candidates[0].parent == good
    assert found.candidates[0].author_date[:2] == "20"


def test_a_merge_stands_for_what_it_merged(repository):
    good = repository.commit("good")
    repository.git("checkout", "-qb", "side")
    aside = {repository.commit("one aside"), repository.commit("two aside")}
    repository.git("checkout", "-q", "main")
    middle = repository.commit("middle")
    merge = repository.merge("side", "Merge side")
    found = commit_range(good, "HEAD")
    assert [one.hash for one in found.candidates] == [middle, merge]
    assert aside.isdisjoint(one.hash for one in found.candidates)
    assert [one.is_merge for one in found.candidates] == [False, True]
    assert found.n_merges == 1


def test_what_main_had_before_the_good_end_was_merged_is_no_suspect(repository):
    repository.commit("root")
    repository.git("checkout", "-qb", "side")
    good = repository.commit("good, aside")
    repository.git("checkout", "-q", "main")
    repository.commit("older on main")
    merge = repository.merge("side", "Merge side")
    last = repository.commit("last")
    found = commit_range(good, "HEAD")
    assert [one.hash for one in found.candidates] == [merge, last]
    assert found.is_good_beside


@pytest.mark.parametrize("is_words", [False, True])
def test_a_good_end_among_the_first_parents_is_beside_nothing(repository, is_words):
    good = repository.commit("good")
    if is_words:
        repository.commit("words", kernels=False)
    repository.git("checkout", "-qb", "side")
    repository.commit("aside")
    repository.git("checkout", "-q", "main")
    repository.merge("side", "Merge side")
    assert not commit_range(good, "HEAD").is_good_beside


def test_subjects_may_hold_anything(repository):
    good = repository.commit("good")
    repository.commit('tab\t"quotes" | bars; ünïcode \\')
    assert commit_range(good, "HEAD").candidates[0].subject == 'tab\t"quotes" | bars; ünïcode \\'


def test_what_is_no_range_is_refused_with_words(repository):
    good = repository.commit("good")
    repository.git("checkout", "-qb", "side")
    aside = repository.commit("aside")
    repository.git("checkout", "-q", "main")
    bad = repository.commit("bad")
    words = repository.commit("words", kernels=False)
    for ends, said in (
        ((good, good), "are one commit"),
        ((bad, good), "is later than BAD"),
        ((aside, bad), f"parted at {good[:12]}"),
        ((bad, words), "the only commit from"),
        ((good, "f" * 40), "git has no commit ffffffffffff here"),
    ):
        with pytest.raises(UnknownRange, match=said):
            commit_range(*ends)
    with pytest.raises(UnknownCommit, match="git knows no commit 'nothing'"):
        commit_range(good, "nothing")


@pytest.fixture
def asked(repository, monkeypatch, tmp_path):
    """Call the command; return the exit code and what it wrote."""
    out = tmp_path / ".git" / "plan.json"
    monkeypatch.setenv("FUSEBENCH_THREADS", "1")

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["bisect", *arguments, "--out", str(out)])
        try:
            run_command(range_command.main, name="fusebench bisect")
        except SystemExit as ended:
            return ended.code, None
        return 0, json.loads(out.read_text())

    return call


def test_the_question_and_the_options_of_its_trials_are_handed_on(repository, asked):
    good, bad = repository.commit("good"), repository.commit("bad")
    code, plan = asked("HEAD~1", "HEAD", "--batch", "16", "--operation", "mlp", "--again")
    assert code == 0
    assert (plan["question"]["good"], plan["question"]["bad"]) == (good, bad)
    assert "batch 16" in plan["question"]["filters"]
    assert plan["options"] == ["--axes", "quick", "--batch", "16", "--operation", "mlp"]
    assert plan["again"] is True
    assert len(plan["range"]["candidates"]) == 1


def test_mistakes_are_named_before_anything_is_measured(repository, asked, capsys, monkeypatch):
    repository.commit("good")
    repository.commit("bad")
    for arguments, said in (
        (("HEAD~1", "HEAD", "--operation", "nlp"), "did you mean mlp?"),
        (("HEAD~1", "HEAD", "--batch", "17"), "no point has batch '17'"),
        (("HEAD~1",), "Missing argument 'BAD'"),
        (("HEAD", "HEAD~1"), "give the older commit first"),
    ):
        assert asked(*arguments)[0] == ExitCode.WRONG_USAGE
        assert said in capsys.readouterr().err
    (repository.folder / "kernels" / "a1.py").write_text("another")
    assert asked("HEAD~1", "HEAD")[0] == ExitCode.WRONG_USAGE
    assert "kernels/a1.py differs from HEAD" in capsys.readouterr().err


def test_a_repository_that_holds_no_kernels_is_searched_as_a_whole(repository, monkeypatch):
    good, bad = repository.commit("good"), repository.commit("bad")
    monkeypatch.setattr(module, "_kernels", lambda _: None)
    assert [one.hash for one in commit_range(good, bad).candidates] == [bad]


def test_an_annotated_tag_names_its_commit_and_what_is_no_commit_is_refused(repository):
    good, bad = repository.commit("good"), repository.commit("bad")
    repository.git("tag", "-a", "v1", "-m", "of a release\n\nwith more to say", good)
    found = commit_range("v1", "main")
    assert (found.good.hash, found.bad.hash, found.good.subject) == (good, bad, "good")
    assert provenance.commit_from_git("v1").hash == good
    for revision in (f"{good}..{bad}", "main:kernels", "main:kernels/a1.py", "nothing"):
        with pytest.raises(UnknownCommit, match="`git log` lists"):
            provenance.commit_from_git(revision)
