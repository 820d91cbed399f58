"""Announcement and summary of a sweep, for people."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rich.markup import escape

from benchmarks.ruler.record.outcome import FAILURES, State
from benchmarks.ruler.sweep.estimate import Estimate
from benchmarks.ruler.sweep.machine_file import kept_ceilings
from benchmarks.ruler.sweep.measure import is_time_up
from benchmarks.ruler.sweep.progress import text_from_seconds

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console

    from benchmarks.ruler.plan.settings import Settings
    from benchmarks.ruler.sweep.asv_process import AsvEnd
    from benchmarks.ruler.sweep.sweep_plan import Sweep

FINE, FAILED = 0, 2
# For the estimate alone: the start of a worker, asv's replay of an operation, and a first call in a worker of its own.
_WORKER_S, _REPLAY_S, _FIRST_CALL_S = 5.0, 2.0, 6.0


def announce(console: Console, sweep: Sweep, settings: Settings) -> None:
    """Print what will be measured and about how long it takes. Raises: JournalError, for a file of ceilings."""
    plan, points, missing = sweep.plan, sweep.points(), sweep.missing()
    ceilings = kept_ceilings(settings.data_dir, machine=plan.run.machine, environment=plan.run.environment)
    seconds = Estimate(lambda: ceilings).seconds_left(sweep) + plan.axes.visits * _WORKER_S
    seconds += len({shape.operation for shape, _ in points}) * _REPLAY_S
    if settings.times_first_calls:
        seconds += len(points) * _FIRST_CALL_S
    console.print(f"commit   {plan.run.commit[:8]} {plan.run.commit_subject or ''}", soft_wrap=True, markup=False)
    console.print(f"machine  {plan.run.machine}, {plan.run.environment}", soft_wrap=True, markup=False)
    n_recorded = len(points) - len(missing)
    recorded = f", {n_recorded} recorded already" if n_recorded else ""
    estimate = f"; about {text_from_seconds(seconds)}" if missing else ""
    console.print(
        f"points   {len(points)} in {len(plan.groups)} groups of the {plan.axes.name} axes{recorded}{estimate}",
        soft_wrap=True,
        markup=False,
    )


def sum_up(console: Console, sweep: Sweep, end: AsvEnd, settings: Settings) -> int:
    """Print what failed, what was unavailable and why, and what is missing; return the exit code.

    Interference is shown next to each number, by `fusebench show`.
    """
    timings = sweep.recorded.timings
    outcomes = [
        (f"{contender}, {shape.label()}", timings[shape, contender].outcome)
        for shape, contender in sweep.points()
        if (shape, contender) in timings
    ]
    failed = [(name, outcome) for name, outcome in outcomes if outcome.state in FAILURES]
    absent = {outcome.reason for _, outcome in outcomes if outcome.state is State.UNAVAILABLE}
    n_missing = sum(len(group.contenders) for group in sweep.untimed())
    for reason in sorted(filter(None, absent)):
        console.print(f"[yellow]unavailable:[/yellow] {escape(reason)}", soft_wrap=True)
    for text in _unexpected(sweep):
        console.print(f"[yellow]unexpected:[/yellow] {escape(text)}", soft_wrap=True)
    for name, outcome in failed:
        console.print(f"[red]{outcome.state}:[/red] {name}: {escape(str(outcome.reason))}", soft_wrap=True)
    if n_missing and is_time_up(settings) and not end.status:
        console.print(f"[yellow]the time is up:[/yellow] {n_missing} points are left for the next run", soft_wrap=True)
        return FAILED if failed else FINE
    if n_missing or end.status:
        # With every point in the journal, what failed is asv's own record of them.
        lacking = f"{n_missing} points were not measured, or by fewer than {sweep.plan.axes.visits} visits"
        problem = lacking if n_missing else "asv did not keep its record"
        console.print(f"[red]{problem}[/red]; asv printed ({end.log}):", soft_wrap=True)
        console.print("\n".join(_lines_about_failures(end.log)), markup=False, soft_wrap=True)
    return FAILED if failed or n_missing or end.status else FINE


def _unexpected(sweep: Sweep) -> list[str]:
    """Return what ran otherwise than declared: one line per provider, operation and pass, with the first shape."""
    first: dict[tuple[str, str, str], str] = {}
    planned = set(sweep.points())
    for (shape, contender), line in sweep.recorded.profiles.items():
        if line.outcome.unexpected is not None and (shape, contender) in planned:
            text = f"{contender}, {shape.label()}: {line.outcome.unexpected}"
            first.setdefault((str(contender), shape.operation, shape.pass_), text)
    return list(first.values())


def _lines_about_failures(log: Path) -> list[str]:
    """Return the lines of asv's output about a failure, or its last ones if there is none."""
    lines = [line.strip() for line in log.read_text(encoding="utf-8", errors="replace").splitlines()]
    telling = [line for line in lines if re.search("error|failed|exception", line, re.IGNORECASE)]
    ours = [line for line in telling if "asv: skipped" not in line]
    return list(dict.fromkeys(ours))[-8:] or lines[-8:]
