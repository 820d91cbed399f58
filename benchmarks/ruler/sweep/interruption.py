"""Signals that end a run from outside, as one exception: Ctrl-C, `kill`, a closed terminal, a dead parent."""

from __future__ import annotations

import os
import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING

from benchmarks.ruler.worker.parent_death import signal_at_parent_death

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupted(BaseException):
    """Raised by a signal that asks this process to end; exit_code: 128 and the signal's number, as shells expect."""

    def __init__(self, signum: int) -> None:
        super().__init__(signal.Signals(signum).name)
        self.exit_code = 128 + signum


@contextmanager
def interruptible(*, parent: int | None = None) -> Iterator[None]:
    """Raise Interrupted at the first signal that asks this process to end, and ignore further ones.

    parent: the process that started this one, whose death counts as SIGTERM. Signals that were ignored before, as
    `nohup` does with SIGHUP, stay ignored.
    """

    def interrupt(signum: int, _: FrameType | None) -> None:
        for each in _SIGNALS:
            # What is left to do takes seconds, and must not be left half done.
            signal.signal(each, signal.SIG_IGN)
        raise Interrupted(signum)

    before = {signum: signal.getsignal(signum) for signum in _SIGNALS}
    for signum, handler in before.items():
        if handler is not signal.SIG_IGN:
            signal.signal(signum, interrupt)
    try:
        # `fusebench run` starts us with them blocked, so that none meets a half imported program.
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
        if parent is not None:
            signal_at_parent_death(signal.SIGTERM)
            if os.getppid() != parent:
                raise Interrupted(signal.SIGTERM)
        yield
    finally:
        for signum, handler in before.items():
            signal.signal(signum, handler)
