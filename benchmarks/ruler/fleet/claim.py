"""Claims on a fleet's folder: who alone starts its shards, and who alone measures as one of its hosts.

The system's lock tells a living process from a dead one, but a folder that several machines share may not show the
locks of others. So whoever holds a claim gives signs of life as well, by the clock of that folder.
"""

from __future__ import annotations

import fcntl
import json
import os
import platform
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.ruler.errors import FolderTaken
from benchmarks.ruler.fleet.folder import folder_time, named_if_unwritable
from benchmarks.ruler.fleet.notes import life_signs
from benchmarks.ruler.record.codec import json_from_value, value_from_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SIGN_EVERY_S, DEAD_AFTER_S = 30.0, 180.0
_LOOK_EVERY_S = 2.0
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


@dataclass(frozen=True, kw_only=True)
class Holder:
    """Process that holds a claim. boot: of its machine, which no other machine shares, nor this one started anew."""

    node: str
    pid: int
    boot: str
    since: str

    def __str__(self) -> str:
        return f"process {self.pid} on {self.node}, since {self.since}"


@contextmanager
def claimed(
    path: Path, *, refusal: Callable[[str], str], say: Callable[[str], None], dead_after_s: float = DEAD_AFTER_S
) -> Iterator[None]:
    """Hold the claim at `path`, alone among all machines that see it, until the block ends.

    A claim of another machine is watched until it gives a sign of life, or none for `dead_after_s`; one of a dead
    process of this machine is taken at once. refusal: what to say of a living holder, given in words.
    Raises: FolderTaken; InvalidShard if nothing can be written at `path`.
    """
    fd = _opened(path)
    try:
        if not _is_locked(fd) or _lives_elsewhere(fd, path, say, dead_after_s):
            raise FolderTaken(refusal(str(_holder(fd) or "a process")))
        with named_if_unwritable(path):
            os.ftruncate(fd, 0)
            os.pwrite(fd, json.dumps(json_from_value(_this_process(path))).encode(), 0)
        try:
            with life_signs(lambda: os.utime(fd), every_s=SIGN_EVERY_S):
                yield
        finally:
            os.ftruncate(fd, 0)
    finally:
        os.close(fd)


def _opened(path: Path) -> int:
    with named_if_unwritable(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)


def _is_locked(fd: int) -> bool:
    """Return whether no process that this machine knows of holds the lock, which is ours now where there are locks."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True  # a file system without locks: signs of life alone count
    return True


def _lives_elsewhere(fd: int, path: Path, say: Callable[[str], None], dead_after_s: float) -> bool:
    """Return whether a process of another machine holds the claim, and lives."""
    found = _holder(fd)
    if found is None or found.boot == _boot():
        return False
    first, was_said = os.fstat(fd).st_mtime, False
    while (sign := path.stat().st_mtime) == first:
        if folder_time(path.parent).timestamp() - sign > dead_after_s:
            return False
        if not was_said:
            say(f"{path}: held by {found}; looking for at most {dead_after_s:.0f} s whether it gives a sign of life")
            was_said = True
        time.sleep(_LOOK_EVERY_S)
    return _holder(fd) is not None


def _holder(fd: int) -> Holder | None:
    """Return who holds the claim; None if it was given back."""
    try:
        return value_from_json(Holder, json.loads(os.pread(fd, 4096, 0)))
    except (ValueError, TypeError):
        return None


def _this_process(path: Path) -> Holder:
    since = folder_time(path.parent).isoformat(timespec="seconds")
    return Holder(node=platform.node(), pid=os.getpid(), boot=_boot(), since=since)


def _boot() -> str:
    return _BOOT_ID.read_text(encoding="ascii").strip() if _BOOT_ID.exists() else platform.node()
