"""Commands of git for tests that make repositories of their own."""

import subprocess
from pathlib import Path

AUTHOR = ("-c", "user.name=Somebody", "-c", "user.email=somebody@example.org")


def output_of_git(folder: Path, *arguments: str) -> str:
    """Return what `git` prints in `folder`, where its commits are Somebody's; a failed one raises."""
    command = ["git", "-C", str(folder), *AUTHOR, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def git(folder: Path, *arguments: str) -> str:
    """Return the same without space around it: a hash, a name."""
    return output_of_git(folder, *arguments).strip()
