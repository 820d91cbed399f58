"""Git repositories that give commits their order: where they are, and what they answer."""

from __future__ import annotations

import os.path
from pathlib import Path
from typing import TYPE_CHECKING

from results.errors import NoRepository
from results.files.git import run_git

if TYPE_CHECKING:
    from results.files.git import GitCommand


def repository_around(path: Path) -> Path | None:
    """Return the git checkout that contains `path`, if any."""
    folder = Path(os.path.realpath(path))
    return next((parent for parent in (folder, *folder.parents) if os.path.exists(parent / ".git")), None)  # noqa: PTH110 - an unreadable parent is no reason to stop


def ask_git(
    repository: Path, command: GitCommand, *arguments: str, may_fail: bool = False, given: str | None = None
) -> str:
    """Return what git answers about a repository. may_fail: to an empty answer. Raises: NoRepository."""
    try:
        answer = run_git(repository, command, *arguments, given=given)
    except NoRepository as error:
        raise NoRepository(f"{error.message}; commits keep their order by date") from error
    if answer.returncode and not may_fail:
        reason = " ".join(answer.stderr.split())
        raise NoRepository(f"{repository} cannot be asked for the order of commits ({reason[:300]})")
    return answer.stdout
