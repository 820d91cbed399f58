"""Turns of processes that measure side by side: one works at a time, all others wait without using the processor."""

from __future__ import annotations

import os
import secrets
import select
import socket
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

REST_S = 0.015
"""Until idle threads sleep, in seconds: OpenMP's used 8 to 12 ms of a processor after a turn of two (by hand)."""

_TURN = b"."
_SIGN_S = 5.0
_LOOK_S = 0.1


class Turn:
    """A process' place in the ring, from entering to leaving the block; it has the turn except while it waits.

    waits: called every few seconds of a wait, so that a process which waits is not taken for one that hangs. threads:
    that work in a turn; those of several look out for more work, each on a core, for some time after the last.
    """

    def __init__(self, ring: str, *, threads: int = 1, waits: Callable[[], None] = lambda: None) -> None:
        self._ring = ring
        self._rest_s = REST_S if threads > 1 else 0.0
        self._waits = waits
        self._socket: socket.socket | None = None

    def __enter__(self) -> Self:
        """Join at the end of the ring, and wait for the turn."""
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(_SIGN_S)
        self._socket.connect(_address(self._ring))
        self._wait(self._socket)
        return self

    def __exit__(self, *_: object) -> None:
        """Leave the ring."""
        if self._socket is not None:
            time.sleep(self._rest_s)
            self._socket.close()
            self._socket = None

    def pass_on(self) -> None:
        """Let each other process of the ring have its turn; nothing outside of the block."""
        if self._socket is not None:
            time.sleep(self._rest_s)
            self._socket.sendall(_TURN)
            self._wait(self._socket)

    def _wait(self, ring: socket.socket) -> None:
        while True:
            with suppress(TimeoutError):
                if not ring.recv(1):
                    raise ConnectionError("whoever gives out the turns is gone")
                return
            self._waits()


class Ring:
    """Giver of turns, one after the other in the order in which processes joined; `name` is what they join.

    n_first: so many must have joined an empty ring before any of them has its turn. The name is an abstract socket's:
    a path may hold 107 bytes only, and a file would outlive a ring that is killed.
    """

    def __init__(self, *, n_first: int = 1) -> None:
        self._n_first = n_first
        self._n_lost = 0
        self.name = f"fusebench-turns-{os.getpid()}-{secrets.token_hex(8)}"
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(_address(self.name))
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

    def expect_all(self) -> None:
        """Await all of the first ones when the ring is empty, whoever was lost before."""
        self._n_lost = 0

    def expect_one_less(self) -> None:
        """Do not await one of the first ones that has died: it may not have joined yet."""
        self._n_lost += 1

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
        n_first = 0 if self._members else self._n_first
        while True:
            is_awaited = len(self._members) < min(n_first, max(1, n_first - self._n_lost))
            if select.select([self._listener], [], [], _LOOK_S if is_awaited else 0)[0]:
                self._members.append(self._listener.accept()[0])
            elif not is_awaited:
                return


def _address(name: str) -> str:
    return f"\0{name}"


def _has_come_back(member: socket.socket) -> bool:
    """Give a member its turn; return whether it passed it on, and did not leave with it, or die."""
    try:
        member.sendall(_TURN)
        return bool(member.recv(1))
    except (BrokenPipeError, ConnectionResetError):
        return False
