"""Display of a running sweep: one moving line on a terminal, plain lines elsewhere; within 80 columns."""

from __future__ import annotations

import json
import re
import textwrap
import time
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING

from rich.progress import BarColumn, TextColumn
from rich.progress import Progress as Bar

from benchmarks.ruler.record.codec import value_from_json
from benchmarks.ruler.sweep.progress import Phase, Step, text_from_left, text_from_step

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from rich.console import Console

_WIDTH = 80
# A number and its unit stay in one line.
_BEFORE_UNIT = re.compile(r"(?<=\d) (?=(?:µs|ms|s|min|h|%|°C|MHz|GHz|W|GFLOP/s|cores|points|groups|graphs)(?!\w))")
_NO_BREAK = "\N{NO-BREAK SPACE}"
# What a person has to know, beside how far a sweep is.
_SAID = {Phase.WAITING, Phase.CEILINGS, Phase.FIRST_CALLS, Phase.STOPPED}


class Display:
    """Display of steps on a console."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._has_stopped = False
        self._bar = Bar(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=16),
            TextColumn("{task.fields[left]}", markup=False),
            console=console,
            disable=not console.is_terminal,
        )
        self._task = self._bar.add_task("starting", total=1.0, left="")

    def follow(self, process: subprocess.Popen[bytes], steps: Path) -> None:
        """Show the steps that the suites' processes append to `steps`, until `process` ends."""
        with steps.open(encoding="utf-8") as lines, self._bar:
            while True:
                has_ended = process.poll() is not None
                for line in _whole_lines(lines):
                    self.show(value_from_json(Step, json.loads(line)))
                if has_ended:
                    return
                time.sleep(0.1)

    @contextmanager
    def listening(self) -> Iterator[Callable[[Step], None]]:
        """Yield what shows a step, for a sweep of this process."""
        with self._bar:
            yield self.show

    def show(self, step: Step) -> None:
        """Show `step`: move the bar, or print what is new."""
        if step.phase is Phase.STOPPED:
            if self._has_stopped:
                # Each of asv's suites reports it.
                return
            self._has_stopped = True
        if self._console.is_terminal:
            description = f"{step.phase} {step.operation}"
            self._bar.update(self._task, completed=step.share, description=description, left=text_from_left(step))
            if step.phase in _SAID:
                self._print(step.detail)
            return
        if step.phase in _SAID:
            self._print(f"{step.phase}: {step.detail}")
        elif step.is_group_done:
            self._print(text_from_step(step))
            if step.findings:
                self._print(f"{step.detail}: {' · '.join(step.findings)}", indent="    ")

    def _print(self, text: str, *, indent: str = "") -> None:
        held = _BEFORE_UNIT.sub(_NO_BREAK, text)
        wrapped = textwrap.fill(held, _WIDTH, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False)
        self._console.print(wrapped.replace(_NO_BREAK, " "), markup=False, soft_wrap=True)


def _whole_lines(lines: IO[str]) -> Iterator[str]:
    """Yield the lines that are complete; a torn one is read again later."""
    while True:
        start = lines.tell()
        line = lines.readline()
        if not line.endswith("\n"):
            lines.seek(start)
            return
        yield line
