"""Files that survive a crash: lines appended whole, small files replaced whole."""

from __future__ import annotations

import os
import tempfile
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


def write_whole(path: Path, content: str | bytes) -> None:
    """Replace the content of `path` in one step: a reader sees the old file or the new one. Raises: OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
        file.write(content if isinstance(content, bytes) else content.encode())
        file.flush()
        os.fsync(file.fileno())
    Path(file.name).replace(path)


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
