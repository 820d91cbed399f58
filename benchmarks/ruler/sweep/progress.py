"""Progress of a sweep: to `fusebench run` through a file, else to the terminal, else nowhere but asv."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import IO, TYPE_CHECKING, Self

from benchmarks.ruler.record.codec import json_from_value
from benchmarks.ruler.record.outcome import State, TimingOutcome

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.ruler.record.lines import Line
    from benchmarks.ruler.sweep.sweep_plan import Sweep


class Phase(StrEnum):
    """Phase of a sweep."""

    WAITING = "waiting"
    STARTING = "starting"
    CEILINGS = "ceilings"
    TIMING = "timing"
    PROFILING = "profiling"
    FIRST_CALLS = "first calls"
    STOPPED = "stopped"
    ENDED = "ended"


@dataclass(frozen=True, kw_only=True)
class Step:
    """Event of a sweep. n_done and n_groups count groups, in the phase it is in, or in the visit; share is of all work.

    operation: that of the group at hand, else of the sweep, which may have many. visit, n_visits: 0 beside timing.

    detail: what begins, is waited for or is over. is_group_done: whether that is a group; findings: its contenders'.
    """

    phase: Phase
    operation: str
    n_done: int
    n_groups: int
    share: float
    seconds_left: float | None = None
    detail: str = ""
    is_group_done: bool = False
    visit: int = 0
    n_visits: int = 0
    findings: tuple[str, ...] = ()


def step_from_sweep(  # noqa: PLR0913 - an event has a place, a state and a text
    sweep: Sweep,
    phase: Phase,
    operation: str,
    *,
    seconds_left: float | None = None,
    visit: int = 0,
    detail: str = "",
    findings: tuple[str, ...] | None = None,
) -> Step:
    """Return the step at which `sweep` is; findings: of the group that is done, None if one begins."""
    n_groups, n_visits, untimed = len(sweep.plan.groups), sweep.plan.axes.visits, sweep.untimed()
    n_unprofiled = len(untimed) + len(sweep.unprofiled())
    n_left = len(sweep.due(visit)) if visit else n_unprofiled
    visits_left = sum(n_visits - sweep.n_visits(group) for group in untimed)
    return Step(
        phase=phase,
        operation=operation,
        n_done=n_groups - n_left,
        n_groups=n_groups,
        share=1 - (visits_left + n_unprofiled) / max((n_visits + 1) * n_groups, 1),
        seconds_left=seconds_left,
        detail=detail,
        is_group_done=findings is not None,
        visit=visit,
        n_visits=n_visits if visit else 0,
        findings=findings or (),
    )


def finding_from_line(line: Line) -> str | None:
    """Return a line's finding in words; None for a profile without one."""
    outcome, contender = line.outcome, line.head.contender
    if outcome.state is not State.OK:
        return f"{contender} {outcome.state}: {outcome.reason}"
    if isinstance(outcome, TimingOutcome):
        disturbed = " (disturbed)" if outcome.disturbed else ""
        return f"{contender} {text_from_latency(outcome.latency_s or 0.0)}{disturbed}"
    return f"{contender} unexpected: {outcome.unexpected}" if outcome.unexpected else None


class Progress:
    """Reporter of steps: to stdout a line each, because asv takes long silence for a hang, and to whoever listens.

    path: a file that `fusebench run` reads along; without one the terminal itself is written to, if there is one, since
    asv keeps for itself what a benchmark prints. listener: whoever shows the steps instead, in this process.
    """

    def __init__(self, path: Path | None, listener: Callable[[Step], None] | None = None) -> None:
        self._file: IO[str] | None = None
        self._terminal: IO[str] | None = None
        self._listener = listener
        if listener is not None:
            return
        if path is not None:
            self._file = path.open("a", encoding="utf-8")
        else:
            try:
                self._terminal = Path("/dev/tty").open("w", encoding="utf-8")  # noqa: SIM115 - closed by __exit__
            except OSError:
                self._terminal = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for out in (self._file, self._terminal):
            if out is not None:
                out.close()

    def report_waiting(self, operation: str, reason: str) -> None:
        """Report that a sweep of `operation` waits, and for what."""
        self.report(Step(phase=Phase.WAITING, operation=operation, n_done=0, n_groups=0, share=0.0, detail=reason))

    def report(self, step: Step) -> None:
        """Report `step`."""
        if self._listener is not None:
            self._listener(step)
            return
        text = " · ".join(filter(None, [text_from_step(step), step.detail, *step.findings]))
        print(text, flush=True)  # noqa: T201 - asv reads it
        if self._file is not None:
            self._file.write(json.dumps(json_from_value(step)) + "\n")
            self._file.flush()
        if self._terminal is not None:
            end = "\n" if step.phase in {Phase.ENDED, Phase.STOPPED} else ""
            self._terminal.write(f"\r\x1b[K{text[: _width(self._terminal) - 1]}{end}")
            self._terminal.flush()


def text_from_step(step: Step) -> str:
    """Return a step as `timing mlp: visit 1 of 3, 9 of 24 groups, about 2 min left`."""
    return f"{step.phase} {step.operation}: {text_from_left(step)}"


def text_from_left(step: Step) -> str:
    """Return what is left as `visit 1 of 3, 9 of 24 groups, about 2 min left`."""
    visit = f"visit {step.visit} of {step.n_visits}, " if step.visit else ""
    counted = f"{visit}{step.n_done} of {step.n_groups} groups"
    return f"{counted}, about {text_from_seconds(step.seconds_left)} left" if step.seconds_left else counted


def text_from_latency(seconds: float) -> str:
    """Return the time of a call in µs, from 1 ms on in ms, from 1 s on in s."""
    if seconds < 1e-3:
        return f"{seconds * 1e6:.1f} µs"
    return f"{seconds * 1e3:.3g} ms" if seconds < 0.9995 else f"{seconds:.3g} s"


def text_from_seconds(seconds: float) -> str:
    """Return a length of time in seconds below 100 s, in minutes below 100 min, in hours below 100 h, else in days."""
    if seconds < 100:
        return f"{max(1, round(seconds))} s"
    if seconds < 6000:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h" if seconds < 360_000 else f"{seconds / 86_400:,.0f} days"


def _width(terminal: IO[str]) -> int:
    try:
        return os.get_terminal_size(terminal.fileno()).columns or 80
    except OSError:
        return 80
