"""Turns of processes that measure side by side: one works at a time, all others wait without using the processor."""

from __future__ import annotations

import select
import socket
import tempfile
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Self

_TURN = b"."


class Turn:
    """A process' place in the ring, from entering to leaving the block; it has the turn except while it waits."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._socket: socket.socket | None = None

    def __enter__(self) -> Self:
        """Join at the end of the ring, and wait for the turn."""
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.connect(str(self._path))
        self._wait(self._socket)
        return self

    def __exit__(self, *_: object) -> None:
        """Leave the ring."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def pass_on(self) -> None:
        """Let each other process of the ring have its turn; nothing outside of the block."""
        if self._socket is not None:
            self._socket.sendall(_TURN)
            self._wait(self._socket)

    @staticmethod
    def _wait(ring: socket.socket) -> None:
        if not ring.recv(1):
            raise ConnectionError("whoever gives out the turns is gone")


class Ring:
    """Giver of turns, one after the other in the order in which processes joined, at the path of a socket.

    n_first: so many must have joined an empty ring before any of them has its turn.
    """

    def __init__(self, *, n_first: int = 1) -> None:
        self._n_first = n_first
        self._folder = tempfile.TemporaryDirectory(prefix="fusebench-turns-")
        self.path = Path(self._folder.name) / "ring"
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(self.path))
        self._listener.listen(64)
        self._members: list[socket.socket] = []
        self._thread = threading.Thread(target=self._give_turns, daemon=True)

    def __enter__(self) -> Self:
        """Give turns from now on."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Give none any more; whoever waits for one gets an error."""
        for one in (self._listener, *self._members):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()
        self._thread.join()
        self._folder.cleanup()

    def _give_turns(self) -> None:
        with suppress(OSError, ValueError):  # of a listener that is closed
            next_one = 0
            while True:
                self._admit()
                next_one %= len(self._members)
                if _has_come_back(self._members[next_one]):
                    next_one += 1
                else:
                    self._members.pop(next_one).close()

    def _admit(self) -> None:
        """Admit whoever wants to join; wait for the first ones where the ring is empty."""
        n_awaited = 0 if self._members else self._n_first
        while len(self._members) < n_awaited or select.select([self._listener], [], [], 0)[0]:
            self._members.append(self._listener.accept()[0])


def _has_come_back(member: socket.socket) -> bool:
    """Give a member its turn; return whether it passed it on, and did not leave with it, or die."""
    try:
        member.sendall(_TURN)
        return bool(member.recv(1))
    except (BrokenPipeError, ConnectionResetError):
        return False
