"""Notes of hosts about their shards, with the signs of life by which the lost ones are known."""

from __future__ import annotations

import threading
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from benchmarks.ruler.errors import InvalidShard
from benchmarks.ruler.fleet.folder import folder_time, host_folder, read_value, write_value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from benchmarks.ruler.fleet.shards import Shard


LIFE_SIGN_S = 60.0


class WorkState(StrEnum):
    """How far a host has got with a shard."""

    RUNNING = "running"
    ENDED = "ended"
    FAILED = "failed"
    UNFIT = "unfit"


@dataclass(frozen=True, kw_only=True)
class Note:
    """Note of a host about a shard. seen_at: its last sign of life. detail: what went wrong.

    Times are by the clock of the folder's file system, ISO 8601 in UTC.
    """

    shard: int
    state: WorkState
    started_at: str
    seen_at: str
    detail: str = ""


class Notebook:
    """Notes of a host about one shard."""

    def __init__(self, folder: Path, host: str, shard: Shard) -> None:
        self._path = _work_folder(folder, host) / f"{shard.name}.json"
        now = self._now()
        self._note = Note(shard=shard.number, state=WorkState.RUNNING, started_at=now, seen_at=now)

    def write(self, state: WorkState, detail: str = "") -> None:
        """Note the state of the work, now. Raises: InvalidShard."""
        self._note = replace(self._note, state=state, seen_at=self._now(), detail=detail)
        write_value(self._path, self._note)

    @contextmanager
    def work_goes_on(self) -> Iterator[None]:
        """Note the beginning of the work, and each minute that it goes on."""
        self.write(WorkState.RUNNING)
        with life_signs(lambda: self.write(self._note.state, self._note.detail)):
            yield

    def _now(self) -> str:
        return folder_time(self._path.parent).isoformat(timespec="milliseconds")


def notes_of(folder: Path, host: str) -> dict[int, Note]:
    """Return a host's notes by the number of the shard. Raises: InvalidShard."""
    paths = sorted(_work_folder(folder, host).glob("*.json"))
    mend = "remove it; its host notes anew what it does"
    found = (read_value(path, Note, mend=mend) for path in paths)
    return {note.shard: note for note in found if note is not None}


@contextmanager
def life_signs(give: Callable[[], None], *, every_s: float = LIFE_SIGN_S) -> Iterator[None]:
    """Call `give` again and again until the block ends; a sign that fails is one that is missing."""
    is_over = threading.Event()

    def live() -> None:
        while not is_over.wait(every_s):
            with suppress(OSError, InvalidShard):
                give()

    thread = threading.Thread(target=live, daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


def _work_folder(folder: Path, host: str) -> Path:
    return host_folder(folder, host) / "work"
