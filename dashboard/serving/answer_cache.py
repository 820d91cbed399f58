"""Cache of callbacks' answers, compressed as they were sent, for one state of the store."""

from __future__ import annotations

import hashlib
import threading
import time
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from flask import g, request
from werkzeug.wrappers import Response

from dashboard.serving.faults import is_fault
from dashboard.serving.payloads import CALLBACK_PATH
from dashboard.serving.permissions import is_loopback
from results.errors import ResultsError

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from flask import Flask

MOST_BYTES = 64 << 20
LONGEST_KEPT_S = 600.0
LONGEST_WAIT_S = 20.0  # for another thread that makes the same answer
# Headers that belong to the answer itself; all others are made anew.
KEPT_HEADERS = ("Content-Type", "Content-Encoding", "Vary")
KEY_HEADERS = ("Accept-Encoding", "Authorization", "Host", "Origin", "Referer", "Sec-Fetch-Site")


@dataclass(frozen=True, kw_only=True)
class Answer:
    """Body of an answer, and its own headers."""

    body: bytes
    headers: tuple[tuple[str, str], ...]


class AnswerCache:
    """Answers by key, the least recently used evicted beyond `most_bytes`; all are dropped when the state changes.

    Each is forgotten LONGEST_KEPT_S after it was made, since it tells how long ago things were. Safe to share between
    threads. clock: seconds.
    """

    def __init__(self, *, most_bytes: int = MOST_BYTES, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._most_bytes = most_bytes
        self._lock = threading.Lock()
        self._state: Hashable = None
        self._answers: OrderedDict[str, tuple[Answer, float]] = OrderedDict()
        self._n_bytes = 0
        self._being_made: dict[tuple[Hashable, str], threading.Event] = {}

    def get(self, key: str, *, state: Hashable) -> Answer | None:
        """Return the answer kept under `key` for that state; None if there is none."""
        with self._lock:
            if state != self._state or key not in self._answers:
                return None
            answer, made_at = self._answers[key]
            if self._clock() - made_at > LONGEST_KEPT_S:
                return None
            self._answers.move_to_end(key)
            return answer

    def set(self, key: str, answer: Answer, *, state: Hashable) -> None:
        """Keep `answer`, made in that state of the store."""
        with self._lock:
            if state != self._state:
                self._answers.clear()
                self._state, self._n_bytes = state, 0
            if key in self._answers:
                self._n_bytes -= len(self._answers.pop(key)[0].body)
            self._answers[key] = answer, self._clock()
            self._n_bytes += len(answer.body)
            while self._n_bytes > self._most_bytes:
                self._n_bytes -= len(self._answers.popitem(last=False)[1][0].body)

    def wait_or_begin(self, key: str, *, state: Hashable) -> Answer | None:
        """Return the answer if it is kept or another thread makes it; None: the caller makes it, and calls `end`."""
        place = (state, key)
        with self._lock:
            event = self._being_made.get(place)
            if event is None:
                self._being_made[place] = threading.Event()
        if event is None:
            found = self.get(key, state=state)
            if found is not None:
                self.end(key, state=state)
            return found
        event.wait(LONGEST_WAIT_S)
        return self.get(key, state=state)

    def end(self, key: str, *, state: Hashable) -> None:
        """Let those go on who wait for the answer under `key`."""
        with self._lock:
            event = self._being_made.pop((state, key), None)
        if event is not None:
            event.set()


def cache_answers(server: Flask, state_now: Callable[[], Hashable], cache: AnswerCache) -> None:
    """Answer callbacks from `cache` while the state is the same. Call it before whatever changes answers.

    state_now: tells in what state of the store, and of what else pages depend on, an answer made now holds.

    Kept is neither what failed nor what was answered while the store changed, as by a callback that writes.
    """

    def answer() -> Response | None:
        if request.path != CALLBACK_PATH or request.method != "POST":
            return None
        state = _known(state_now)
        if state is None:
            return None  # the callback meets the same, and says so on its page
        key = _key()
        found = cache.wait_or_begin(key, state=state)
        if found is not None:
            return Response(found.body, headers=list(found.headers))
        g.answer_being_made = (key, state)
        return None

    def keep(response: Response) -> Response:
        if "answer_being_made" in g and response.status_code == 200 and not is_fault():
            key, state = g.answer_being_made
            headers = tuple((name, response.headers[name]) for name in KEPT_HEADERS if name in response.headers)
            if _known(state_now) == state:
                cache.set(key, Answer(body=response.get_data(), headers=headers), state=state)
        return response

    def let_go(_: BaseException | None) -> None:
        if "answer_being_made" in g:
            key, state = g.answer_being_made
            cache.end(key, state=state)

    server.before_request(answer)
    server.after_request(keep)
    server.teardown_request(let_go)


def _known(state_now: Callable[[], Hashable]) -> Hashable:
    """Return in what state an answer holds; None if the store fails."""
    try:
        return state_now()
    except ResultsError:
        return None


def _key() -> str:
    """Return a name of the request: its payload, how it may be answered, and what permissions depend on."""
    digest = hashlib.blake2b(request.get_data(), digest_size=20)
    for name in KEY_HEADERS:
        digest.update(f"\0{request.headers.get(name, '')}".encode())
    digest.update(b"\0near" if is_loopback(request.remote_addr or "") else b"\0far")
    return digest.hexdigest()
