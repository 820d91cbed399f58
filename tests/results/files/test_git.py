"""A repository that comes with somebody's results may ask for anything; git must start nothing of it."""

from __future__ import annotations

import os
import re
import subprocess
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from results.commands.ingest import ingest
from results.commands.show import show
from results.errors import NoRepository
from results.exit_codes import ExitCode
from results.files import git
from results.files.git import run_git
from results.ingest.commit_order import _objects_among

# Every setting of git's (2.39) that names a program, and those that have one started.
PROGRAM_SETTINGS = [
    "core.alternateRefsCommand", "core.askPass", "core.editor", "core.fsmonitor", "core.gitProxy", "core.pager",
    "core.sshCommand", "credential.helper", "credential.https://example.org.helper", "diff.external",
    "diff.planted.command", "diff.planted.textconv", "difftool.planted.cmd", "filter.planted.clean",
    "filter.planted.process", "filter.planted.smudge", "gpg.openpgp.program", "gpg.program",
    "gpg.ssh.defaultKeyCommand", "gpg.ssh.program", "gpg.x509.program", "imap.tunnel", "interactive.diffFilter",
    "man.planted.cmd", "merge.planted.driver", "mergetool.planted.cmd", "pager.cat-file", "pager.for-each-ref",
    "pager.log", "pager.rev-list", "pager.rev-parse", "receive.procReceiveRefs", "remote.origin.receivepack",
    "remote.origin.uploadpack", "sendemail.sendmailCmd", "sequence.editor", "trailer.planted.cmd",
    "trailer.planted.command", "uploadpack.packObjectsHook", "web.browser",
]  # fmt: skip
SWITCHES = {
    "log.showSignature": "true",
    "commit.gpgSign": "true",
    "log.mailmap": "true",
    "diff.noprefix": "true",
    "protocol.allow": "always",
    "protocol.ext.allow": "always",
    "extensions.partialClone": "origin",
    "remote.origin.promisor": "true",
    "core.repositoryFormatVersion": "1",
}
ENVIRONMENT = [
    "GIT_ASKPASS", "GIT_EDITOR", "GIT_EXTERNAL_DIFF", "GIT_PAGER", "GIT_PROXY_COMMAND", "GIT_SEQUENCE_EDITOR",
    "GIT_SSH", "GIT_SSH_COMMAND", "PAGER", "SSH_ASKPASS",
]  # fmt: skip
HOOKS = ["fsmonitor-watchman", "post-checkout", "post-index-change", "pre-auto-gc", "reference-transaction"]
SIGNED_COMMIT = """tree {tree}
author A <a@example.org> 1700000000 +0000
committer A <a@example.org> {seconds} +0000
gpgsig -----BEGIN PGP SIGNATURE-----
 
 iQEzBAABCAAdFiEE
 -----END PGP SIGNATURE-----

{subject}
"""  # noqa: W293 - git's own format


@pytest.fixture
def plain_git(tmp_path):
    """A function: git as it comes, in a folder, without the user's settings."""

    def call(*arguments, cwd, given=None, **environ):
        settings = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull, "PATH": os.environ["PATH"]}
        done = subprocess.run(
            ["git", "-c", "init.defaultBranch=main", *arguments],
            cwd=cwd, input=given, env={**settings, **environ}, capture_output=True, check=False, text=True,
        )  # fmt: skip
        return done.stdout.strip()

    return call


@pytest.fixture
def somebodys(tmp_path, plain_git, write_asv_run, timed):
    """A checkout with asv results of its signed commit, in which nothing is planted yet; its path and the commit."""
    path = tmp_path / "somebodys"
    path.mkdir()
    plain_git("init", cwd=path)
    (path / "README").write_text("first\n")
    (path / ".gitattributes").write_text("* diff=planted filter=planted merge=planted\n")
    plain_git("add", "-A", cwd=path)
    content = SIGNED_COMMIT.format(tree=plain_git("write-tree", cwd=path), seconds=1700000000, subject="signed")
    commit = plain_git("hash-object", "-t", "commit", "-w", "--stdin", cwd=path, given=content)
    plain_git("update-ref", "refs/heads/main", commit, cwd=path)
    (path / "README").write_text("second\n")
    write_asv_run(path / "results", {"s.time_it": timed(1.0)}, commit=commit)
    return path, commit


@pytest.fixture
def plant(tmp_path, monkeypatch):
    """A function: have every setting, hook and variable start a program that leaves a file; that file's path."""

    def into(repository):
        ran, program = tmp_path / "ran", tmp_path / "program"
        program.write_text(f'#!/bin/sh\necho "$0 $*" >> {ran}\n')
        program.chmod(0o755)
        with (repository / ".git" / "config").open("a") as config:
            for name, value in {**dict.fromkeys(PROGRAM_SETTINGS, str(program)), **SWITCHES}.items():
                section, key = name.split(".", 1)[0], name.rsplit(".", 1)[1]
                middle = name[len(section) + 1 : -len(key) - 1]
                of = f' "{middle}"' if middle else ""
                config.write(f"[{section}{of}]\n\t{key} = {value}\n")
            config.write(f'[remote "origin"]\n\turl = ext::{program} %S\n\tfetch = +refs/heads/*:refs/remotes/o/*\n')
        hooks = repository / ".git" / "planted-hooks"
        for folder in (hooks, repository / ".git" / "hooks"):
            folder.mkdir(exist_ok=True)
            for name in HOOKS:
                (folder / name).write_text(program.read_text())
                (folder / name).chmod(0o755)
        with (repository / ".git" / "config").open("a") as config:
            config.write(f"[core]\n\thooksPath = {hooks}\n")
        (repository / ".git" / "objects" / "info").mkdir(exist_ok=True)
        (repository / ".git" / "objects" / "info" / "alternates").write_text(f"{repository.parent}/elsewhere\n")
        for name in ENVIRONMENT:
            monkeypatch.setenv(name, str(program))
        return ran

    return into


def ingested(path, database):
    return CliRunner().invoke(ingest, [str(path), "--db", database], standalone_mode=False)


def test_ingesting_a_repository_and_asking_for_its_head_runs_nothing_that_its_settings_name(
    tmp_path, somebodys, plant, monkeypatch
):
    path, _ = somebodys
    ran = plant(path)
    database = str(tmp_path / "store.db")
    answer = ingested(path, database)
    assert answer.return_value == ExitCode.FINE, answer.output
    assert "cannot be asked" not in answer.stderr
    assert not ran.exists(), ran.read_text()
    monkeypatch.chdir(path)
    assert "s.time_it" in CliRunner().invoke(show, ["HEAD", "--db", database], standalone_mode=False).output
    assert not ran.exists(), ran.read_text()


def test_what_is_planted_does_run_where_git_is_called_as_it_comes(somebodys, plant, plain_git):
    path, _ = somebodys
    ran = plant(path)
    plain_git("log", "-1", cwd=path)
    assert "program" in ran.read_text(), "log.showSignature and gpg.program"
    ran.unlink()
    plain_git("status", cwd=path)
    assert ran.exists(), "core.fsmonitor"


def test_a_commit_that_only_a_remote_has_is_not_fetched(tmp_path, somebodys, plant, write_asv_run, timed):
    path, _ = somebodys
    ran = plant(path)
    write_asv_run(path / "results", {"s.time_it": timed(1.0)}, commit="f" * 40)
    assert ingested(path, str(tmp_path / "store.db")).return_value == ExitCode.FINE
    assert not ran.exists(), ran.read_text()


def test_a_repository_of_another_user_is_refused_unless_the_user_calls_it_safe(somebodys, monkeypatch, tmp_path):
    path, commit = somebodys
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    monkeypatch.setattr(git, "SAFE_ENVIRONMENT", {**git.SAFE_ENVIRONMENT, "GIT_TEST_ASSUME_DIFFERENT_OWNER": "1"})
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
    assert "dubious ownership" in run_git(path, "rev-parse", "HEAD").stderr
    with (path / ".git" / "config").open("a") as config:
        config.write(f"[safe]\n\tdirectory = {path}\n")
    assert "dubious ownership" in run_git(path, "rev-parse", "HEAD").stderr, "its own word does not count"
    (tmp_path / "gitconfig").write_text(f"[safe]\n\tdirectory = {path}\n")
    assert run_git(path, "rev-parse", "HEAD").stdout.strip() == commit


@pytest.mark.parametrize("name", ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY"])
def test_a_variable_that_points_git_elsewhere_has_no_effect(somebodys, monkeypatch, tmp_path, name):
    path, commit = somebodys
    monkeypatch.setenv(name, str(tmp_path / "elsewhere"))
    assert run_git(path, "rev-parse", "HEAD").stdout.strip() == commit


def test_a_repository_that_makes_git_hang_is_given_up(somebodys, monkeypatch, tmp_path):
    path, _ = somebodys
    (path / ".git" / "config").unlink()
    os.mkfifo(path / ".git" / "config")
    monkeypatch.setattr(git, "GIT_TIMEOUT_S", 0.5)
    with pytest.raises(NoRepository, match="did not answer"):
        run_git(path, "rev-parse", "HEAD")
    started = time.monotonic()
    answer = ingested(path, str(tmp_path / "store.db"))
    assert "1 value stored" in answer.stdout
    assert "did not answer" in answer.stderr
    assert time.monotonic() - started < 60


def test_a_commit_dated_beyond_the_year_9999_is_named_and_the_rest_is_ordered(
    tmp_path, somebodys, plain_git, write_asv_run, timed
):
    path, first = somebodys
    tree = plain_git("rev-parse", f"{first}^{{tree}}", cwd=path)
    late = f"tree {tree}\nparent {first}\nauthor A <a@b.c> 1 +0000\ncommitter A <a@b.c> 999999999999 +0000\n\nlate\n"
    late = plain_git("hash-object", "-t", "commit", "-w", "--stdin", cwd=path, given=late)
    plain_git("update-ref", "refs/heads/main", late, cwd=path)
    write_asv_run(path / "results", {"s.time_it": timed(2.0)}, commit=late)
    answer = ingested(path, str(tmp_path / "store.db"))
    assert answer.exception is None
    assert answer.return_value == ExitCode.FINE
    assert f"commit {late[:12]} is dated" in answer.stderr


def test_a_carriage_return_within_a_subject_ends_no_line(tmp_path, somebodys, plain_git):
    path, first = somebodys
    content = SIGNED_COMMIT.format(
        tree=plain_git("rev-parse", f"{first}^{{tree}}", cwd=path), seconds=1700000000, subject="one\rline"
    )
    (tmp_path / "commit").write_bytes(content.encode())
    commit = plain_git("hash-object", "-t", "commit", "-w", str(tmp_path / "commit"), cwd=path)
    plain_git("update-ref", "refs/heads/main", commit, cwd=path)
    assert run_git(path, "rev-list", "--no-commit-header", "--format=%s", "HEAD").stdout == "one\rline\n"
    answer = ingested(path, str(tmp_path / "store.db"))
    assert (answer.exception, answer.return_value) == (None, ExitCode.FINE)


def test_a_repository_whose_name_is_not_utf8_gives_its_order(somebodys, tmp_path):
    path, _ = somebodys
    odd = path.rename(os.fsdecode(os.fsencode(path) + b"\xff"))
    for _ in range(2):
        answer = ingested(odd, str(tmp_path / "store.db"))
        assert (answer.exception, answer.return_value, answer.stderr) == (None, ExitCode.FINE, "")


def test_a_commit_is_looked_up_as_a_hash_and_never_as_a_revision(somebodys, write_asv_run, timed, tmp_path):
    path, commit = somebodys
    assert _objects_among(path, [commit, "f" * 40]) == {commit}
    assert _objects_among(path, ["HEAD", ":/signed", f"main\n{commit}"]) == frozenset()


def test_no_other_module_of_the_results_tower_starts_programs():
    root = Path(git.__file__).parents[1]
    starting = {
        path.name for path in root.rglob("*.py") if re.search(r"subprocess|os\.(system|popen)|Popen", path.read_text())
    }
    # tower.py starts this checkout's own modules, by the interpreter that runs it.
    assert starting == {"git.py", "tower.py"}
