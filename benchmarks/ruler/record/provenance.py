"""Commit, machine and environment of a measurement."""

from __future__ import annotations

import importlib.util
import json
import os
import platform
import re
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.ruler.errors import UncommittedChanges, UnknownCommit
from benchmarks.ruler.plan.points import Allocator, DeviceKind
from benchmarks.ruler.plan.printable import printable
from benchmarks.ruler.plan.settings import ROOT

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from benchmarks.ruler.plan.settings import Settings

RULER_VERSION = "5"  # docs/adr/0004 says what raises it
PROJECT = "fusebench"
_HASH = re.compile(r"[0-9a-f]{40}")
# What git sets for its hooks, of `git rev-parse --local-env-vars`, that names a repository or a part of one.
_POINTERS = frozenset(
    f"GIT_{name}"
    for name in (
        *("DIR", "COMMON_DIR", "WORK_TREE", "IMPLICIT_WORK_TREE", "INDEX_FILE", "PREFIX"),
        *("OBJECT_DIRECTORY", "ALTERNATE_OBJECT_DIRECTORIES", "SHALLOW_FILE", "GRAFT_FILE"),
    )
)

if importlib.util.find_spec("fused_mlp") is None:
    # A machine on which nothing was installed, for want of a network: what is measured is this checkout.
    sys.path.append(str(ROOT / "kernels"))


@dataclass(frozen=True, kw_only=True)
class Commit:
    """Commit as the journal names it. date: ISO 8601; date and subject are None where git does not know it."""

    hash: str
    date: str | None
    subject: str | None


def machine_name(settings: Settings) -> str:
    """Return the machine's name: as the settings say, else as asv knows it, else the host's."""
    if settings.machine:
        return settings.machine
    host = platform.node()
    try:
        known = json.loads((Path.home() / ".asv-machine.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return host
    names = [name for name in known if name != "version"]
    # asv takes the only machine of its file to be this one, whatever the host is called now.
    return names[0] if len(names) == 1 else host


def expected_device(settings: Settings) -> DeviceKind:
    """Return the device to measure on: as the settings say, else cuda where the NVIDIA driver is loaded.

    Does not ask torch, which takes seconds to import.
    """
    if settings.device:
        return settings.device
    return DeviceKind.CUDA if Path("/proc/driver/nvidia/version").exists() else DeviceKind.CPU


def environment_name(device: DeviceKind, settings: Settings) -> str:
    """Return the environment's name: Python minor version, device kind, threads, another allocator; never a path."""
    name = f"py{sys.version_info.major}.{sys.version_info.minor}-{device}-t{settings.threads}"
    return name if settings.allocator is Allocator.RETAINING else f"{name}-{settings.allocator}"


def is_editable() -> bool:
    """Return whether fused_mlp is imported from this checkout, so that its files are what is measured."""
    spec = importlib.util.find_spec("fused_mlp")
    return spec is not None and spec.origin is not None and Path(spec.origin).resolve().is_relative_to(ROOT / "kernels")


def refuse_uncommitted_changes(settings: Settings) -> None:
    """Refuse to measure a checkout whose code differs from HEAD, unless the settings allow it.

    Raises: UncommittedChanges, naming the files.
    """
    if settings.is_uncommitted or not is_editable():
        return
    if changed := uncommitted_files():
        raise UncommittedChanges(
            f"{differing(changed)}, so the measurement would be filed under a commit that does not hold them. "
            "Commit them, or measure without recording: `fusebench run --uncommitted` (asv: FUSEBENCH_UNCOMMITTED=1)."
        )


def uncommitted_files() -> list[str]:
    """Return the tracked files under kernels/ and benchmarks/ that differ from HEAD."""
    status = git_output("status", "--porcelain", "--untracked-files=no", "--", "kernels", "benchmarks")
    return [line[3:] for line in (status or "").splitlines()]


def differing(files: Sequence[str]) -> str:
    """Return in words that these files, one at least, differ from HEAD."""
    names = ", ".join(files[:3]) + (f" and {len(files) - 3} more" if len(files) > 3 else "")
    return f"{names} {'differs' if len(files) == 1 else 'differ'} from HEAD"


@cache
def measured_commit(settings: Settings) -> Commit:
    """Return the commit of the installed fused_mlp.

    An editable install is HEAD. A wheel carries its commit in its version; ASV_COMMIT, when asv built that wheel,
    is the same commit in full. Raises: UnknownCommit; UncommittedChanges if HEAD, or what is installed, is no longer
    what it was when `fusebench run` began (settings.commit).
    """
    if is_editable():
        return _head(settings)
    installed = _installed_hash()
    asked = settings.asv_commit
    if asked and (installed is None or asked.startswith(installed)):
        return _as_begun(commit_from_git(asked), settings)
    if installed is None:
        raise UnknownCommit(
            f"the installed fusebench {_installed_version()} does not name its commit; install it from a checkout "
            "(pip install -e .), or set ASV_COMMIT to the full hash"
        )
    return _as_begun(commit_from_git(installed), settings)


def _as_begun(installed: Commit, settings: Settings) -> Commit:
    begun = settings.commit
    if begun is None or installed.hash == begun or settings.is_uncommitted:
        return installed
    raise UncommittedChanges(
        f"this process finds the fused_mlp of {installed.hash[:8]}, and {begun[:8]} is being measured; leave what is "
        "installed alone while measuring, and name the folders on PYTHONPATH by their whole paths"
    )


def _head(settings: Settings) -> Commit:
    begun = settings.commit
    if begun is not None and _HASH.fullmatch(begun) and git_output("rev-parse", "HEAD") is None:
        # A machine without git, or files carried there without their history: whoever carried them says what they are.
        return Commit(hash=begun, date=None, subject=None)
    head = commit_from_git("HEAD")
    if begun is None or head.hash == begun:
        return head
    if not _HASH.fullmatch(begun):
        raise UnknownCommit(f"FUSEBENCH_COMMIT={printable(begun)} is no commit: a full hash of 40 hex digits is needed")
    if settings.is_uncommitted:
        return commit_from_git(begun)
    raise UncommittedChanges(
        f"HEAD moved from {begun[:8]} to {head.hash[:8]} while {begun[:8]} was being measured; "
        "leave the checkout alone while measuring, and run again; or FUSEBENCH_COMMIT was set by hand to another commit"
    )


def commit_from_git(revision: str) -> Commit:
    """Return the commit that git calls `revision`; a full hash unknown to git is kept without date and subject.

    An annotated tag stands for its commit. Raises: UnknownCommit.
    """
    named = git_output("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    shown = git_output("show", "--no-patch", "--format=%H%x00%cI%x00%s", named.strip()) if named else None
    if shown:
        full, date, subject = shown.strip().split("\0", 2)
        return Commit(hash=full, date=date, subject=subject)
    if _HASH.fullmatch(revision):
        return Commit(hash=revision, date=None, subject=None)
    if git_output("rev-list", "--max-count=1", "--all") == "":
        way = "this repository has no commit yet: make one, `git commit`"
    elif (git_output("rev-parse", "--is-shallow-repository") or "").strip() == "true":
        way = "this is a shallow clone: `git fetch --unshallow` brings the commits that it lacks"
    elif git_output("rev-parse", "--git-dir"):
        way = "`git log` lists those that it has; `git fetch` brings others"
    else:
        way = (
            "measure in a git checkout of fusebench, or say by FUSEBENCH_COMMIT=<40 hex digits> which commit these "
            "files are"
        )
    said = _complaint_of_git()
    raise UnknownCommit(f"git knows no commit {revision!r} in {ROOT}; {f'git says: {said}; ' if said else ''}{way}")


def _complaint_of_git() -> str | None:
    """Return the first line with which git refuses to read this checkout, which may be one all the same."""
    try:
        done = _run_git("rev-parse", "--git-dir")
    except (OSError, subprocess.TimeoutExpired):
        return None
    return next(iter(done.stderr.strip().splitlines()), None) if done.returncode else None


def _installed_hash() -> str | None:
    version = _installed_version()
    if match := re.search(r"\+g([0-9a-f]{7,40})", version):
        return match[1]
    # A version without a local part was built exactly at its tag.
    tagged = git_output("rev-list", "-1", f"v{version}") or git_output("rev-list", "-1", version)
    return tagged.strip() if tagged else None


def _installed_version() -> str:
    try:
        return metadata.version("fusebench")
    except metadata.PackageNotFoundError:
        return "(not installed)"


def git_output(*arguments: str) -> str | None:
    """Return what git prints in this checkout; None if it fails or is missing."""
    try:
        done = _run_git(*arguments)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None


def without_foreign_repository(environ: Mapping[str, str]) -> dict[str, str]:
    """Return `environ` without what points git elsewhere than to this checkout, as a hook of another repository does.

    A checkout without a repository of its own is told by these where it is.
    """
    pointers = _POINTERS if (ROOT / ".git").exists() else frozenset()
    return {name: value for name, value in environ.items() if name not in pointers}


def _run_git(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["git", "-C", str(ROOT), *arguments],
        env=without_foreign_repository(os.environ),
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
        timeout=30,
    )
