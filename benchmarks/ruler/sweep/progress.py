"""Where a sweep says how far it is: to `fusebench run` through a file, else to the terminal, else nowhere."""

from __future__ import annotations

import json
import os
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Self


@dataclass(frozen=True, kw_only=True)
class Step:
    """One thing that happened. done and total count points, timed and profiled; last is words for the terminal.

    A step that is not notable is worth a moving line, not one that stays.
    """

    operation: str
    phase: str
    done: int
    total: int
    last: str
    failed: bool = False
    notable: bool = True


class Progress:
    """Tells each step to whoever listens, and to stdout one line, because asv takes long silence for a hang.

    FUSEBENCH_PROGRESS names a file that `fusebench run` reads along; without it the terminal itself is written
    to, if there is one, since asv keeps for itself what a benchmark prints.
    """

    def __init__(self) -> None:
        self._started = time.monotonic()
        self._file: IO[str] | None = None
        self._terminal: IO[str] | None = None
        if name := os.environ.get("FUSEBENCH_PROGRESS"):
            self._file = Path(name).open("a", encoding="utf-8")  # noqa: SIM115 - closed by __exit__
        else:
            try:
                self._terminal = Path("/dev/tty").open("w", encoding="utf-8")  # noqa: SIM115 - the same
            except OSError:
                self._terminal = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for out in (self._file, self._terminal):
            if out is not None:
                out.close()

    def tell(self, step: Step) -> None:
        """Say that `step` happened."""
        line = text_from_step(step, elapsed_s=time.monotonic() - self._started)
        print(line, flush=True)  # noqa: T201 - asv reads it
        if self._file is not None:
            self._file.write(json.dumps(asdict(step)) + "\n")
            self._file.flush()
        if self._terminal is not None:
            self._terminal.write(f"\r\x1b[K{line}" + ("\n" if step.failed or step.done == step.total else ""))
            self._terminal.flush()


def text_from_step(step: Step, *, elapsed_s: float) -> str:
    """One line: done/total, time left by what the done ones took, what was last."""
    left = ""
    if 0 < step.done < step.total:
        left = f", {elapsed_s / step.done * (step.total - step.done):.0f} s left"
    return f"{step.phase} {step.operation} {step.done}/{step.total}{left} · {step.last}"
