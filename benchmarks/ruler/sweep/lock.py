"""Lock that lets one sweep at a time measure on a machine; it ends with the last process that holds it."""

from __future__ import annotations

import fcntl
import os
import tempfile
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.ruler.errors import MachineBusy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_SECONDS_BETWEEN_REMINDERS = 30.0


def lock_path() -> Path:
    """Return the machine's lock file; the same for every user and checkout."""
    return Path(tempfile.gettempdir()) / "fusebench-measuring.lock"


@contextmanager
def machine_lock(*, say: Callable[[str], None], waits: bool = True, path: Path | None = None) -> Iterator[int]:
    """Hold the machine's lock; yield its descriptor, which a worker inherits so that the lock covers it, too.

    If another sweep holds it, say so and wait. Raises: MachineBusy instead if not `waits`.
    """
    path = path or lock_path()
    fd = _opened(path)
    try:
        _acquire(fd, path, say, waits=waits)
        with suppress(OSError):  # another user's file, which may not be written
            os.ftruncate(fd, 0)
            os.pwrite(fd, str(os.getpid()).encode(), 0)
        yield fd
    finally:
        os.close(fd)


def _opened(path: Path) -> int:
    try:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except PermissionError:
        # Another user's: locking it needs no right to write, and some systems refuse O_CREAT there.
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    with suppress(PermissionError):
        os.fchmod(fd, 0o666)
    return fd


def _acquire(fd: int, path: Path, say: Callable[[str], None], *, waits: bool) -> None:
    said_at = -_SECONDS_BETWEEN_REMINDERS
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(fd, 32, 0).decode(errors="replace") or "unknown"
            message = f"another sweep measures on this machine (process {holder}, {path})"
            if not waits:
                raise MachineBusy(f"{message}; leave out --no-wait (FUSEBENCH_LOCK=fail) to wait for it") from None
            if time.monotonic() - said_at >= _SECONDS_BETWEEN_REMINDERS:
                say(message)
                said_at = time.monotonic()
            time.sleep(0.2)
        else:
            return
