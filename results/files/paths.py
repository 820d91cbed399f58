"""Files of anybody's: read only if they are regular, named so that any file system's names can be stored."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from urllib.parse import unquote_to_bytes

from results.errors import UnreadableFile

LARGEST_FILE = 2**30  # bytes; the largest asv result files we know have 40 MB
FILE_URI = "file://"
KINDS = {
    stat.S_IFIFO: "a FIFO",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
    stat.S_IFDIR: "a folder",
}


def read_regular_file(path: Path) -> bytes:
    """Return the content of a regular file; never wait for a writer, never read a device.

    Raises: OSError, UnreadableFile for anything else and for more than LARGEST_FILE bytes.
    """
    _refuse_odd(path, path.stat())  # before it is opened: opening alone rewinds a tape and arms a watchdog
    # It may be another file by now. Without O_NONBLOCK opening a FIFO waits until somebody writes to it.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    with open(descriptor, "rb") as file:  # noqa: PTH123 - of what was checked, not of what has its name by now
        _refuse_odd(path, os.fstat(descriptor))
        content = file.read(LARGEST_FILE + 1)
    if content is None or len(content) > LARGEST_FILE:  # files of /proc have no size; some have no end, or wait
        raise UnreadableFile(str(path), "has more than its size says")
    return content


def _refuse_odd(path: Path, found: os.stat_result) -> None:
    if not stat.S_ISREG(found.st_mode):
        kind = KINDS.get(stat.S_IFMT(found.st_mode), "something else")
        raise UnreadableFile(str(path), f"is {kind}, not a regular file")
    if found.st_size > LARGEST_FILE:
        raise UnreadableFile(str(path), f"has {found.st_size:,} bytes; at most {LARGEST_FILE:,} are read")


def text_from_path(path: Path) -> str:
    """Return a text that every database stores: the path, or its file URI where a name is not UTF-8."""
    text = str(path)
    try:
        text.encode()
    except UnicodeEncodeError:
        return path.as_uri()
    return text


def path_from_text(text: str) -> Path:
    """Return the path that `text_from_path` was given."""
    if text.startswith(FILE_URI):
        return Path(os.fsdecode(unquote_to_bytes(text.removeprefix(FILE_URI))))
    return Path(text)


def trace_path(journal: Path, name: str) -> Path | None:
    """Return the path of a journal's trace: under traces/ beside journal/. None for a name that leads out of there."""
    folders = [parent.parent for parent in journal.parents if parent.name == "journal"]
    traces = (folders[0] if folders else journal.parent) / "traces"
    path = (traces / name).resolve()
    return path if traces.resolve() in path.parents else None
