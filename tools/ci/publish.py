"""Merge measured files into a branch of a repository and push it; another push meanwhile loses nothing.

Run as `python -m ci.publish --source results/data/local --checkout results-branch --branch results`, where `checkout`
is a clone that may push. Refused by a push that came first, it starts again from what that one left, and adds its own:
lines of journals are united, other files are replaced. Git's own merge would stop at two journals of one name.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from ci.workflow import message

if TYPE_CHECKING:
    from collections.abc import Sequence

ATTEMPTS = 8
PAUSE_S = 1.0
JOURNAL = ".jsonl"
FAILED, WRONG_USAGE = 2, 64


class GitFailed(Exception):
    """Raised where git ends with a failure; the message is the command's and what it said."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Publish; 0 if the branch holds everything, 2 if it could not be pushed."""
    parser = argparse.ArgumentParser(prog="ci.publish", description=__doc__)
    parser.add_argument("--source", type=Path, required=True, help="folder of measured files")
    parser.add_argument("--checkout", type=Path, required=True, help="clone whose branch is pushed")
    parser.add_argument("--branch", required=True, help="branch, made if it is not there")
    parser.add_argument("--folder", default=".", help="folder of the branch that they go to")
    parser.add_argument("--message", default="Measured", help="of the commit")
    asked = parser.parse_args(arguments)
    files = [path for path in sorted(asked.source.rglob("*")) if path.is_file() and not path.is_symlink()]
    if not files:
        message("error", f"{asked.source} holds no file to publish: was anything measured?")
        return WRONG_USAGE
    try:
        return _pushed(asked, files)
    except GitFailed as error:
        message("error", f"Nothing was published: {error}")
        return FAILED


def _pushed(asked: argparse.Namespace, files: Sequence[Path]) -> int:
    for attempt in range(1, ATTEMPTS + 1):
        _start_from_newest(asked.checkout, asked.branch)
        for path in files:
            _merge(path, asked.checkout / asked.folder / path.relative_to(asked.source))
        _git(asked.checkout, "add", "--all", "--", asked.folder)
        if not _git(asked.checkout, "status", "--porcelain", "--", asked.folder):
            print(f"{asked.branch} holds all of it already.")
            return 0
        _git(asked.checkout, "commit", "--quiet", "--message", asked.message)
        done = _run(asked.checkout, "push", "--quiet", "origin", f"HEAD:refs/heads/{asked.branch}")
        if done.returncode == 0:
            print(f"{len(files)} files published on {asked.branch}, at attempt {attempt}.")
            return 0
        if not _is_overtaken(done.stderr):
            raise GitFailed(f"git push: {done.stderr.strip()}")
        print(f"Another push came first ({attempt}); starting again from it.", flush=True)
        time.sleep(PAUSE_S * attempt * random.random())  # noqa: S311 - so that two do not keep meeting
    raise GitFailed(f"{ATTEMPTS} times another push to {asked.branch} came first")


def _start_from_newest(checkout: Path, branch: str) -> None:
    """Put the checkout at the branch as the server has it, or at an empty one if it has none."""
    if _run(checkout, "ls-remote", "--exit-code", "origin", f"refs/heads/{branch}").returncode == 0:
        _git(checkout, "fetch", "--quiet", "origin", f"+refs/heads/{branch}:refs/remotes/origin/{branch}")
        _git(checkout, "checkout", "--quiet", "--force", "--detach", f"origin/{branch}")
        return
    if _run(checkout, "rev-parse", "--verify", "--quiet", "HEAD").returncode == 0:
        _git(checkout, "checkout", "--quiet", "--force", "--detach")
    _run(checkout, "branch", "--quiet", "-D", "fusebench-empty")
    _git(checkout, "checkout", "--quiet", "--orphan", "fusebench-empty")
    _git(checkout, "rm", "--quiet", "-r", "--force", "--ignore-unmatch", ".")


def _merge(source: Path, target: Path) -> None:
    """Write a file as the source has it; a journal that is there keeps its lines and gets those that it lacks."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if target.suffix != JOURNAL:
        shutil.copyfile(source, target)
        return
    kept = _whole_lines(target.read_bytes()) if target.is_file() else []
    have = set(kept)
    new = [line for line in _whole_lines(source.read_bytes()) if line not in have]
    target.write_bytes(b"".join(line + b"\n" for line in (*kept, *new)))


def _whole_lines(journal: bytes) -> list[bytes]:
    """Return the lines of a journal without one that was cut off: with others behind it nothing could be read."""
    *lines, last = journal.split(b"\n")
    try:
        json.loads(last)
    except ValueError:
        return lines
    return [*lines, last]


def _is_overtaken(said: str) -> bool:
    return any(word in said for word in ("fetch first", "non-fast-forward", "cannot lock ref", "stale info"))


def _git(checkout: Path, *arguments: str) -> str:
    done = _run(checkout, *arguments)
    if done.returncode:
        raise GitFailed(f"git {arguments[0]}: {done.stderr.strip()}")
    return done.stdout


def _run(checkout: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = ["git", "-C", str(checkout), "-c", "user.name=fusebench", "-c", "user.email=fusebench@localhost"]
    return subprocess.run([*command, *arguments], capture_output=True, text=True, check=False)


if __name__ == "__main__":
    sys.exit(main())
