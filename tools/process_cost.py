"""Measure a command's CPU time, wall time and memory as the kernel counts them."""

from __future__ import annotations

import os
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from results.redaction import redact

if TYPE_CHECKING:
    from collections.abc import Iterator

SAMPLING_S = 0.05


@dataclass(frozen=True)
class Cost:
    """Resources used by a process and its children; `peak_bytes`: resident, of the largest one of them."""

    cpu_s: float
    wall_s: float
    peak_bytes: int

    def __str__(self) -> str:
        """Return the cost for a table's cell."""
        return f"CPU {self.cpu_s:.1f} s, wall {self.wall_s:.1f} s, {self.peak_bytes / 1e6:.0f} MB"


@dataclass
class Together:
    """Peak memory of a process and its descendants together; pages they share count once (PSS)."""

    peak_bytes: int = 0


def cost_of(command: list[str], *, together: Together | None = None) -> Cost:
    """Run `command` silently and count what it used. Raises: SystemExit with its output if it fails.

    `together` is filled in; that takes some CPU time of this process, and none of the command's.
    """
    with tempfile.TemporaryFile() as output:
        started = time.perf_counter()
        pid = os.posix_spawnp(
            command[0],
            command,
            os.environ,
            file_actions=[(os.POSIX_SPAWN_DUP2, output.fileno(), 1), (os.POSIX_SPAWN_DUP2, output.fileno(), 2)],
        )
        with _watched(pid, together):
            _, status, used = os.wait4(pid, 0)
        wall_s = time.perf_counter() - started
        if os.waitstatus_to_exitcode(status) != 0:
            output.seek(0)
            sys.exit(redact(f"{' '.join(command)}\n{output.read().decode()}"))
    return Cost(used.ru_utime + used.ru_stime, wall_s, used.ru_maxrss * 1024)


@contextmanager
def _watched(pid: int, together: Together | None) -> Iterator[None]:
    if together is None:
        yield
        return
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(SAMPLING_S):
            together.peak_bytes = max(together.peak_bytes, sum(map(_pss_bytes, _with_descendants(pid))))

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _with_descendants(pid: int) -> Iterator[int]:
    yield pid
    for listed in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children = listed.read_text().split()
        except OSError:
            continue  # it has ended
        for child in children:
            yield from _with_descendants(int(child))


def _pss_bytes(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0  # it has ended
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))
