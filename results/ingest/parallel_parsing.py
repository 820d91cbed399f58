"""Parsing of result files in other processes while this one writes, for large trees.

Parsing is a quarter of an ingest, writing the rest, and only one process may write; handing a parsed file over costs
a third of parsing it. So this saves time where a core is idle, and costs some CPU time everywhere.
"""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import signal
import sys
from collections import deque
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from results.errors import UnreadableFile
from results.files.asv_results import asv_run_from_bytes
from results.files.discovery import content_hash_of
from results.files.paths import read_regular_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path
    from types import TracebackType

    from results.files.records import AsvRunRecord

LEAST_BYTES = 32_000_000  # of files to read: less is done before the other processes have started
CORES_TO_SPARE = 4  # so many usable ones make this the default
MOST_PROCESSES = 2  # more only wait: two parse faster than one writes
PR_SET_PDEATHSIG = 1


@dataclass(frozen=True, kw_only=True)
class Request:
    """Result file to parse. `machine`: the name in machine.json beside it; `context`: see content_hash_of.

    `known_hash`: of what is stored; a file that still has it is not parsed.
    """

    path: Path
    machine: str | None
    context: str
    known_hash: str | None


@dataclass(frozen=True, kw_only=True)
class Parsed:
    """Parsed result file. `record` is None if the file is as stored, or cannot be read for `reason`."""

    content_hash: str
    n_bytes: int
    record: AsvRunRecord | None
    reason: str | None


def parse_result(request: Request) -> Parsed:
    """Read and parse one file. Raises: OSError."""
    try:
        content = read_regular_file(request.path)
    except UnreadableFile as error:
        return Parsed(content_hash="", n_bytes=0, record=None, reason=error.reason)
    content_hash = content_hash_of(content, context=request.context)
    record, reason = None, None
    if content_hash != request.known_hash:
        try:
            record = asv_run_from_bytes(content, path=str(request.path), machine=request.machine)
        except UnreadableFile as error:
            reason = error.reason
    return Parsed(content_hash=content_hash, n_bytes=len(content), record=record, reason=reason)


def default_processes(n_bytes: int) -> int:
    """Return how many processes should parse `n_bytes` of files; 0: this one alone does everything."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return MOST_PROCESSES if usable >= CORES_TO_SPARE and n_bytes >= LEAST_BYTES else 0


class ParallelParser:
    """Pool of `n_processes` that parses the files of `requests` a few ahead of their use, in their order."""

    def __init__(self, requests: Iterable[Request], *, n_processes: int) -> None:
        self._requests: Iterator[Request] = iter(requests)
        self._pool = ProcessPoolExecutor(
            n_processes,
            # Not forked: a copy of an open database connection must never exist.
            mp_context=multiprocessing.get_context("spawn"),
            initializer=_end_with_parent,
            initargs=(os.getpid(),),
        )
        self._waiting: deque[tuple[Path, Future[Parsed]]] = deque()
        # Few, because each may hold tens of megabytes.
        self._submit(n_processes + 1)

    def parsed(self, request: Request) -> Parsed:
        """Return the file of `request` once it is parsed. Raises: OSError."""
        while self._waiting and self._waiting[0][0] != request.path:
            self._waiting.popleft()  # asked for ahead, and left out since
            self._submit(1)
        if not self._waiting:
            return parse_result(request)
        _, future = self._waiting.popleft()
        self._submit(1)
        try:
            return future.result()
        except BrokenProcessPool:
            return parse_result(request)  # it ended, perhaps for want of memory: what it would have said is the same

    def _submit(self, n_files: int) -> None:
        for _ in range(n_files):
            request = next(self._requests, None)
            if request is not None:
                try:
                    self._waiting.append((request.path, self._pool.submit(parse_result, request)))
                except BrokenProcessPool:
                    return

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)


def _end_with_parent(parent: int) -> None:
    """Ignore Ctrl-C, which is for the process that writes, and die with it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)
