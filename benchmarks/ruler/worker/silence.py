"""A worker that says nothing: whether it was stopped, and what people are told of it."""

from __future__ import annotations

from pathlib import Path

LONG_SILENCE_S = 30.0


def is_stopped(pid: int) -> bool:
    """Return whether a signal, as of Ctrl-Z or a debugger, has stopped the process; False if it cannot be read."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return status.rpartition(") ")[2][:1] in {"T", "t"}


def silence_in_words(pid: int, *, limit_s: float) -> str:
    """Return that a worker which has just been started is silent for long, until when it may be, and why it is."""
    why = f"it is stopped, and kill -CONT {pid} lets it go on" if is_stopped(pid) else "it imports torch"
    return f"the worker, process {pid}, has said nothing for {LONG_SILENCE_S:g} s of at most {limit_s:g} s: {why}"
