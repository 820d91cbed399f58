"""Try each planted fault in a process of its own, forked after the tests were collected: does one of them fail?

A pytest plugin. First all tests run once, and which lines of the modules each reaches is noted; a fault is then tried
with the tests that reach its line, the quickest first.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from mutation.swapping import plant

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import FrameType

    import pytest

    from mutation.planting import Fault


class Fate(StrEnum):
    """What became of a fault."""

    KILLED = "killed"  # a test failed
    TIMED_OUT = "timed out"  # the tests did not end
    SURVIVED = "survived"
    UNREACHED = "unreached"  # no test comes by its line


LEAST_TIMEOUT_S, TIMES_AS_LONG = 20, 10


@dataclass
class Reached:
    """Lines that a test reaches, by file, and how long it takes."""

    lines: dict[str, set[int]] = field(default_factory=dict)
    seconds: float = 0.0


@dataclass(frozen=True)
class _Session:
    """What stands for the next test: only the session itself is still needed."""

    session: pytest.Session

    def listchain(self) -> list[pytest.Session]:
        """Return what is to be kept."""
        return [self.session]


class Trials:
    """Plugin that tries faults instead of running tests."""

    def __init__(self, faults: Sequence[Fault], files: dict[str, str]) -> None:
        """Take the faults, and the file of each module that they are in."""
        self.faults, self.files = faults, files
        self.fates: dict[str, Fate] = {}
        self.broken: list[str] = []
        self._failed = ""
        self._killers: dict[str, list[str]] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note whether a test failed."""
        self._failed = self._failed or (report.nodeid if report.failed else "")

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Try every fault."""
        reached = self._reached_by_each(session)
        if not self.broken:
            for number, fault in enumerate(self.faults, start=1):
                self.fates[fault.name] = fate = self._tried(fault, reached)
                if fate not in {Fate.KILLED, Fate.TIMED_OUT} or number % 100 == 0:
                    print(f"\n{number}/{len(self.faults)} {fate.value}: {fault.line}: {fault.name}", flush=True)
        return True

    def _reached_by_each(self, session: pytest.Session) -> list[tuple[pytest.Item, Reached]]:
        found = []
        for item in session.items:
            reached = Reached()
            began = time.perf_counter()
            sys.settrace(self._tracer(reached))
            try:
                is_ok = self._runs([item])
            finally:
                sys.settrace(None)
            reached.seconds = time.perf_counter() - began
            if not is_ok:
                self.broken.append(item.nodeid)
            found.append((item, reached))
        return sorted(found, key=lambda each: each[1].seconds)

    def _tracer(self, reached: Reached) -> object:
        files = set(self.files.values())

        def line(frame: FrameType, event: str, argument: object) -> object:
            del argument
            if event == "line":
                reached.lines[frame.f_code.co_filename].add(frame.f_lineno)
            return line

        def call(frame: FrameType, event: str, argument: object) -> object:
            del event, argument
            if frame.f_code.co_filename not in files:
                return None
            reached.lines.setdefault(frame.f_code.co_filename, set()).add(frame.f_code.co_firstlineno)
            return line

        return call

    def _runs(self, items: Sequence[pytest.Item]) -> bool:
        """Run the tests until one fails; whether all passed."""
        self._failed = ""
        for item in items:
            # Anything else as the next one would take down what the whole session shares, or keep too much.
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=_Session(item.session))
            if self._failed:
                return False
        return True

    def _tried(self, fault: Fault, reached: Sequence[tuple[pytest.Item, Reached]]) -> Fate:
        file = self.files[fault.module]
        is_number = "." not in fault.function and fault.function.lstrip("_").isupper()
        # A statement of several lines is traced by the first ones that its parts are on.
        near = range(fault.line - 3, fault.line + 4)
        concerned = [
            (item, each)
            for item, each in reached
            if (is_number and each.lines.get(file)) or any(line in each.lines.get(file, ()) for line in near)
        ]
        if not concerned:
            return Fate.UNREACHED
        limit_s = LEAST_TIMEOUT_S + TIMES_AS_LONG * sum(each.seconds for _, each in concerned)
        # What killed one fault of a function most often kills the next.
        killers = self._killers.setdefault(f"{fault.module}:{fault.function}", [])
        items = sorted((item for item, _ in concerned), key=lambda item: item.nodeid not in killers)
        told, tells = os.pipe()
        child = os.fork()
        if child == 0:
            self._die(fault, items, tells)
        os.close(tells)
        fate = _fate_of(child, limit_s)
        with os.fdopen(told, "rb") as answer:
            if (killer := answer.read().decode()) and killer not in killers:
                killers.append(killer)
        return fate

    def _die(self, fault: Fault, items: Sequence[pytest.Item], tells: int) -> None:
        """Run the tests with the fault in this process, tell which failed, and end it: 0 where it survives."""
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        os.dup2(quiet, 2)
        code = 1
        try:
            code = 0 if plant(fault) and self._runs(items) else 1
            os.write(tells, self._failed.encode())
        finally:
            os._exit(code)


def _fate_of(child: int, limit_s: float) -> Fate:
    ends = time.monotonic() + limit_s
    while time.monotonic() < ends:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return Fate.SURVIVED if status == 0 else Fate.KILLED
        time.sleep(0.005)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return Fate.TIMED_OUT
