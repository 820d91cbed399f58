"""Garbage collection of a server: while nobody waits for an answer, not in the middle of one."""

from __future__ import annotations

import gc
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

LOOK_S = 0.25
SILENCE_S = 1.0
LONGEST_S = 30.0
FEWEST_NEW = 20_000


class CollectedInSilence:
    """WSGI application with Python's cyclic garbage collector paused, and run once nobody has asked for a while.

    Of what an answer of thousands of points makes nearly nothing is garbage of that kind, and looking through all of it
    makes the answer late. So it is collected SILENCE_S after the last answer, and where there is no such
    silence LONGEST_S after there was enough to look through. collect, n_new, clock: as of gc and time; n_new tells how
    many objects came since.
    """

    def __init__(
        self,
        application: WSGIApplication,
        *,
        collect: Callable[[], object] = gc.collect,
        n_new: Callable[[], int] = lambda: gc.get_count()[0],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._application = application
        self._collect, self._n_new, self._clock = collect, n_new, clock
        self._lock = threading.Lock()
        self._n_asked = 0
        self._asked_at = clock()
        self._wanted_at: float | None = None

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Answer a request."""
        self._count(1)
        try:
            return self._application(environ, start_response)
        finally:
            self._count(-1)

    def _count(self, change: int) -> None:
        with self._lock:
            self._n_asked += change
            self._asked_at = self._clock()

    def collect_if_due(self) -> None:
        """Collect if there is something to look through, and nobody waits or too many have for too long."""
        if self._n_new() < FEWEST_NEW:
            self._wanted_at = None
            return
        now = self._clock()
        if self._wanted_at is None:
            self._wanted_at = now
        is_silent = not self._n_asked and now - self._asked_at >= SILENCE_S
        if is_silent or now - self._wanted_at >= LONGEST_S:
            self._collect()
            self._wanted_at = None

    @contextmanager
    def collecting(self) -> Iterator[None]:
        """Pause Python's collector, and look in a thread beside whether collecting is due."""
        ended = threading.Event()

        def look() -> None:
            while not ended.wait(LOOK_S):
                self.collect_if_due()

        looking = threading.Thread(target=look, name="garbage", daemon=True)
        gc.disable()
        looking.start()
        try:
            yield
        finally:
            ended.set()
            looking.join()
            gc.enable()
