"""Lock that lets one sweep at a time measure on a machine; it ends with the last process that holds it."""

from __future__ import annotations

import errno
import fcntl
import os
import time
from contextlib import contextmanager, suppress
from enum import IntEnum
from typing import TYPE_CHECKING

from benchmarks.ruler.errors import InvalidSettings, MachineBusy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

_SECONDS_BETWEEN_REMINDERS = 30.0


class Hold(IntEnum):
    """How a lock is held: by one sweep alone, or together with others of one fleet that share the machine's GPUs."""

    ALONE = fcntl.LOCK_EX
    TOGETHER = fcntl.LOCK_SH


@contextmanager
def machine_lock(
    path: Path, *, say: Callable[[str], None], waits: bool = True, hold: Hold = Hold.ALONE
) -> Iterator[int]:
    """Hold the machine's lock, the file at `path`; yield its descriptor.

    A worker inherits it, so that the lock covers it, too. If another sweep holds it, say so and wait.
    Raises: MachineBusy instead if not `waits`; InvalidSettings if there can be no lock at `path`.
    """
    fd = _opened(path)
    try:
        _acquire(fd, path, say, waits=waits, hold=hold)
        with suppress(OSError):  # another user's file, which may not be written
            os.ftruncate(fd, 0)
            os.pwrite(fd, str(os.getpid()).encode(), 0)
        yield fd
    finally:
        os.close(fd)


def _opened(path: Path) -> int:
    # The folder is everybody's: nobody may lead us to a file of ours by a link, as it would be emptied.
    flags = os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        try:
            fd = os.open(path, flags | os.O_RDWR | os.O_CREAT, 0o666)
        except PermissionError:
            # Another user's: locking it needs no right to write, and some systems refuse O_CREAT there.
            return os.open(path, flags | os.O_RDONLY)
    except OSError as error:
        why = "it is a link" if error.errno == errno.ELOOP else error.strerror
        raise InvalidSettings(
            f"{path}: cannot be the machine's lock ({why}); name a file that everybody who measures here "
            "may open with FUSEBENCH_LOCK_FILE"
        ) from error
    with suppress(PermissionError):
        os.fchmod(fd, 0o666)
    return fd


def _acquire(fd: int, path: Path, say: Callable[[str], None], *, waits: bool, hold: Hold) -> None:
    said_at = -_SECONDS_BETWEEN_REMINDERS
    while True:
        try:
            fcntl.flock(fd, hold | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(fd, 32, 0).decode(errors="replace") or "unknown"
            message = f"another sweep measures on this machine (process {holder}, {path})"
            if not waits:
                raise MachineBusy(f"{message}; leave out --no-wait (FUSEBENCH_LOCK=fail) to wait for it") from None
            if time.monotonic() - said_at >= _SECONDS_BETWEEN_REMINDERS:
                say(f"{message}; waiting for it to end")
                said_at = time.monotonic()
            time.sleep(0.2)
        else:
            return
