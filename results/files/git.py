"""Calls of git that run nothing a repository asks for: the results tower's only ones."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING, Literal

from results.errors import NoRepository

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

# Plumbing that reads objects and references only: no index, work tree, attributes (filters, textconv) or mailmap.
GitCommand = Literal["cat-file", "for-each-ref", "rev-list", "rev-parse"]

GIT_TIMEOUT_S = 120  # of the largest history we know, ten times; a FIFO in place of .git/config would hang for ever

# Given on the command line, so that they win over the repository's own .git/config. safe.directory is left to the
# user's and the system's configuration, the only ones in which git believes it.
SAFE_CONFIGURATION = {
    "core.alternateRefsCommand": "false",
    "core.askPass": "false",
    "core.editor": "false",
    "core.fsmonitor": "false",
    "core.gitProxy": "false",
    "core.hooksPath": os.devnull,
    "core.pager": "cat",
    "core.sshCommand": "false",
    "credential.helper": "",  # empties the list
    "credential.interactive": "false",
    "diff.external": "",
    "fetch.writeCommitGraph": "false",
    "gc.auto": "0",
    "gpg.openpgp.program": "false",
    "gpg.program": "false",
    "gpg.ssh.defaultKeyCommand": "false",
    "gpg.ssh.program": "false",
    "gpg.x509.program": "false",
    "log.mailmap": "false",
    "log.showSignature": "false",
    "maintenance.auto": "false",
    "protocol.allow": "never",
    "submodule.recurse": "false",
}
SAFE_ENVIRONMENT = {
    "LC_ALL": "C.UTF-8",
    # A commit that is not here must not be fetched because somebody asked for it.
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
}


def run_git(
    repository: Path, command: GitCommand, *arguments: str, given: str | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a git command on `repository`, which may be anybody's; `given` is its standard input.

    No program named in the repository's configuration, hooks or attributes is started, nothing is fetched or written.
    Of the caller's GIT_* variables only those that name configuration files or settings are passed on.
    Raises: NoRepository if git cannot be run or does not answer.
    """
    settings = [word for name, value in SAFE_CONFIGURATION.items() for word in ("-c", f"{name}={value}")]
    try:
        done = subprocess.run(
            ["git", "--no-pager", "-C", str(repository), *settings, command, *arguments],
            input=(given or "").encode(errors="replace"),
            capture_output=True,
            check=False,
            timeout=GIT_TIMEOUT_S,
            env=_environment(os.environ.items()),
        )
    except OSError as error:
        raise NoRepository(f"{repository}: git cannot be run ({error.strerror})") from error
    except subprocess.TimeoutExpired as error:
        raise NoRepository(f"{repository}: git did not answer within {GIT_TIMEOUT_S} s") from error
    # Decoded here: subprocess would take a carriage return within a commit's subject for the end of a line.
    texts = (answer.decode(errors="replace") for answer in (done.stdout, done.stderr))
    return subprocess.CompletedProcess(done.args, done.returncode, *texts)


def _environment(variables: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Leave out what points git elsewhere (GIT_DIR of a hook) or names programs (GIT_SSH_COMMAND)."""
    kept = {name: value for name, value in variables if not name.startswith("GIT_") or name.startswith("GIT_CONFIG_")}
    return {**kept, **SAFE_ENVIRONMENT}
