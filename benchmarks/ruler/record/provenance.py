"""What is being measured, and where: commit, machine, environment, and the folders of record."""

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

from benchmarks.ruler.errors import UncommittedChanges, UnknownCommit
from benchmarks.ruler.plan.axes import DeviceKind

ROOT = Path(__file__).resolve().parents[3]
RULER_VERSION = "2"  # docs/adr/0004 says what raises it
PROJECT = "fusebench"
UNCOMMITTED = "FUSEBENCH_UNCOMMITTED"
BEGUN_AT = "FUSEBENCH_COMMIT"

if importlib.util.find_spec("fused_mlp") is None:
    # A machine on which nothing was installed, for want of a network: what is measured is this checkout.
    sys.path.append(str(ROOT / "kernels"))


@dataclass(frozen=True, kw_only=True)
class Commit:
    """A commit as the journal names it. date: ISO 8601; date and subject are None where git does not know it."""

    hash: str
    date: str | None
    subject: str | None


def data_dir() -> Path:
    """Where this machine's files of record go: FUSEBENCH_DATA, or results/data/local of the checkout."""
    return Path(os.environ.get("FUSEBENCH_DATA") or ROOT / "results" / "data" / "local")


def machine_name() -> str:
    """FUSEBENCH_MACHINE, or the name asv has for this machine, or its host name."""
    if name := os.environ.get("FUSEBENCH_MACHINE"):
        return name
    host = platform.node()
    try:
        known = json.loads((Path.home() / ".asv-machine.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return host
    names = [name for name in known if name != "version"]
    # asv takes the only machine of its file to be this one, whatever the host is called now.
    return names[0] if len(names) == 1 else host


def expected_device() -> DeviceKind:
    """FUSEBENCH_DEVICE, or cuda where the NVIDIA driver is loaded; asks no torch, which takes seconds to import."""
    if name := os.environ.get("FUSEBENCH_DEVICE"):
        return DeviceKind(name)
    return DeviceKind.CUDA if Path("/proc/driver/nvidia/version").exists() else DeviceKind.CPU


def threads() -> int:
    """FUSEBENCH_THREADS, or as many as the CPUs this process may use."""
    return int(os.environ.get("FUSEBENCH_THREADS") or len(os.sched_getaffinity(0)))


def environment_name(device: DeviceKind, *, n_threads: int) -> str:
    """Python minor version, device kind and threads; never a path."""
    return f"py{sys.version_info.major}.{sys.version_info.minor}-{device}-t{n_threads}"


def is_editable() -> bool:
    """Whether fused_mlp is imported from this checkout, so that it is whatever the files say now."""
    spec = importlib.util.find_spec("fused_mlp")
    return spec is not None and spec.origin is not None and Path(spec.origin).resolve().is_relative_to(ROOT / "kernels")


def refuse_uncommitted_changes() -> None:
    """Raise UncommittedChanges if the code under test is this checkout's and differs from its HEAD.

    FUSEBENCH_UNCOMMITTED=1 lets it pass; what is measured then is shown and never recorded in the history.
    """
    if os.environ.get(UNCOMMITTED) == "1" or not is_editable():
        return
    if changed := uncommitted_files():
        names = ", ".join(changed[:3]) + (f" and {len(changed) - 3} more" if len(changed) > 3 else "")
        raise UncommittedChanges(
            f"{names} differ from HEAD, so the measurement would be filed under a commit that does not hold them. "
            f"Commit them, or measure without recording: `fusebench run --uncommitted` ({UNCOMMITTED}=1 for asv)."
        )


def uncommitted_files() -> list[str]:
    """Tracked files under kernels/ and benchmarks/ that differ from HEAD."""
    status = _git("status", "--porcelain", "--untracked-files=no", "--", "kernels", "benchmarks")
    return [line[3:] for line in (status or "").splitlines()]


@cache
def measured_commit() -> Commit:
    """The commit of the installed fused_mlp.

    An editable install is HEAD. A wheel carries its commit in its version; ASV_COMMIT, when asv built that wheel,
    is the same commit in full. Raises: UnknownCommit; UncommittedChanges if HEAD is no longer what it was when
    `fusebench run` began.
    """
    if is_editable():
        return _head()
    installed = _installed_hash()
    asked = os.environ.get("ASV_COMMIT")
    if asked and (installed is None or asked.startswith(installed)):
        return commit_from_git(asked)
    if installed is None:
        raise UnknownCommit(
            f"the installed fusebench {_installed_version()} does not name its commit; install it from a checkout "
            "(pip install -e .), or set ASV_COMMIT to the full hash"
        )
    return commit_from_git(installed)


def _head() -> Commit:
    head, begun = commit_from_git("HEAD"), os.environ.get(BEGUN_AT)
    if begun is None or head.hash == begun:
        return head
    if os.environ.get(UNCOMMITTED) == "1":
        return commit_from_git(begun)
    raise UncommittedChanges(
        f"HEAD moved from {begun[:8]} to {head.hash[:8]} while {begun[:8]} was being measured; "
        "leave the checkout alone while measuring, and run again"
    )


def commit_from_git(revision: str) -> Commit:
    """What git knows of `revision`; a full hash that git does not know is kept without date and subject.

    Raises: UnknownCommit.
    """
    shown = _git("show", "--no-patch", "--format=%H%x00%cI%x00%s", revision)
    if shown:
        full, date, subject = shown.strip().split("\0", 2)
        return Commit(hash=full, date=date, subject=subject)
    if re.fullmatch(r"[0-9a-f]{40}", revision):
        return Commit(hash=revision, date=None, subject=None)
    raise UnknownCommit(f"git knows no commit {revision!r} in {ROOT}; measure in a git checkout of fusebench")


def _installed_hash() -> str | None:
    version = _installed_version()
    if match := re.search(r"\+g([0-9a-f]{7,40})", version):
        return match[1]
    # A version without a local part was built exactly at its tag.
    tagged = _git("rev-list", "-1", f"v{version}") or _git("rev-list", "-1", version)
    return tagged.strip() if tagged else None


def _installed_version() -> str:
    try:
        return metadata.version("fusebench")
    except metadata.PackageNotFoundError:
        return "(not installed)"


def _git(*arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "-C", str(ROOT), *arguments], capture_output=True, text=True, check=False, timeout=30
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None
