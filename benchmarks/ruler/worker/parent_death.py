"""Processes that end when the process that started them does (Linux)."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_PR_SET_NAME = 15
_PR_SET_CHILD_SUBREAPER = 36
PROCESS_NAME = "fusebench"
_libc = ctypes.CDLL(None, use_errno=True)


def signal_at_parent_death(signum: int) -> None:
    """Have the kernel send `signum` to this process when its parent ends, however it ends.

    Holds on across exec, and not for children. Only async-signal-safe calls: it may run between fork and exec.
    """
    _libc.prctl(_PR_SET_PDEATHSIG, signum)


def die_with_parent() -> None:
    """End this process when its parent does; call it `fusebench` where the system lists processes."""
    _libc.prctl(_PR_SET_NAME, PROCESS_NAME.encode())
    signal_at_parent_death(signal.SIGKILL)


def end_with_parent() -> None:
    """End this process when its parent does; for `preexec_fn`, where no thread is running yet."""
    signal_at_parent_death(signal.SIGKILL)


def adopt_orphans() -> None:
    """Have the kernel hand orphaned descendants to this process, instead of to process 1."""
    _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1)


def end_children() -> None:
    """End every child of this process, and whatever it adopts meanwhile, until none is left."""
    while True:
        for pid in _children():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def _children() -> list[int]:
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            # The name, in parentheses, may hold anything; the state and the parent follow it.
            parent = path.read_bytes().rpartition(b")")[2].split()[1]
            if int(parent) == os.getpid():
                found.append(int(path.parent.name))
    return found


def die_with_asv() -> None:
    """End this process, one of asv's, when asv does; at once if asv is gone already."""
    die_with_parent()
    # An orphan is handed to process 1, which in a container may be asv itself.
    if os.getppid() == 1 and b"asv" not in Path("/proc/1/cmdline").read_bytes():
        os._exit(1)
