"""Files that survive a crash: lines appended whole, small files replaced whole."""

from __future__ import annotations

import errno
import os
import uuid
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def append_durably(path: Path, content: str) -> None:
    """Append whole lines in one write and wait until they are on the disk.

    A torn last line, left when the machine lost power, is cut off first. Raises: OSError.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab+") as file:
        _cut_torn_tail(file.fileno())
        file.write(content.encode())
        file.flush()
        os.fsync(file.fileno())


def write_whole(path: Path, content: str | bytes, *, may_replace: bool = True) -> None:
    """Replace the content of `path` in one step: a reader sees the old file or the new one, and never a part.

    Raises: OSError; FileExistsError for a file that is there, unless it `may_replace` it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    partly = path.with_name(f".{path.name}.{uuid.uuid4().hex[:8]}")
    try:
        with partly.open("xb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())
            file.flush()
            os.fsync(file.fileno())
        if may_replace:
            partly.replace(path)
        else:
            _put_where_none_is(partly, path)
    finally:
        partly.unlink(missing_ok=True)


def _put_where_none_is(partly: Path, path: Path) -> None:
    try:
        path.hardlink_to(partly)
    except FileExistsError:
        raise
    except OSError:
        # A file system without hard links; it leaves a moment in which two may write.
        if path.exists():
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path)) from None
        partly.replace(path)


def _cut_torn_tail(fd: int) -> None:
    end = os.fstat(fd).st_size
    position = end
    while position > 0:
        start = max(0, position - 65536)
        found = os.pread(fd, position - start, start).rfind(b"\n")
        if found >= 0:
            position = start + found + 1
            break
        position = start
    if position < end:
        os.ftruncate(fd, position)
