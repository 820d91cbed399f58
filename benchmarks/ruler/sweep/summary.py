"""Announcement and summary of a sweep, for people."""

from __future__ import annotations

import re
import signal
from shutil import disk_usage
from typing import TYPE_CHECKING

from rich.markup import escape

from benchmarks.ruler.exit_codes import ExitCode
from benchmarks.ruler.plan.points import DeviceKind
from benchmarks.ruler.plan.settings import usable_cpus
from benchmarks.ruler.plan.units import count_of
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

_CONSEQUENCE = re.compile(r"setup_cache failed|Setting up \S+ +failed")
_TRACEBACK = re.compile(r"raise \w+\(|(During handling of|The above exception was)\b.* exception")
# With less, nothing that a sweep writes can be told to have been kept.
_LEAST_FREE_BYTES = 2**16
# For the estimate alone: the start of a worker, asv's replay of an operation, and a first call in a worker of its own.
_WORKER_S, _REPLAY_S, _FIRST_CALL_S = 5.0, 2.0, 6.0


def announce(console: Console, sweep: Sweep, settings: Settings) -> None:
    """Print what will be measured and about how long it takes. Raises: JournalError, for a file of ceilings."""
    plan, points, missing = sweep.plan, sweep.points(), sweep.missing()
    ceilings = kept_ceilings(settings.data_dir, machine=plan.run.machine, environment=plan.run.environment)
    estimate = Estimate(lambda: ceilings, asks_for_ceilings=settings.measures_ceilings)
    seconds = estimate.seconds_left(sweep) + plan.axes.visits * _WORKER_S
    seconds += len({shape.operation for shape, _ in points}) * _REPLAY_S
    if settings.times_first_calls:
        seconds += len(points) * _FIRST_CALL_S
    console.print(f"commit   {plan.run.commit[:8]} {plan.run.commit_subject or ''}", soft_wrap=True, markup=False)
    console.print(f"machine  {plan.run.machine}, {plan.run.environment}", soft_wrap=True, markup=False)
    if plan.device is DeviceKind.CPU and missing and plan.threads > (usable := usable_cpus()):
        shared = f"{plan.threads} share {count_of(usable, 'processor')}, and wait for each other at every call"
        console.print(f"[yellow]threads[/yellow]  {shared}; FUSEBENCH_THREADS={usable} does not", soft_wrap=True)
    batches = {shape.batch for shape, _ in points}
    if untraced := [batch for batch in settings.traced_batches if int(batch) not in batches]:
        there = ", ".join(map(str, sorted(batches)))
        console.print(
            f"[yellow]traces[/yellow]   no point of {', '.join(untraced)} rows, of which FUSEBENCH_TRACES asks for "
            f"traces; there are points of {there}",
            soft_wrap=True,
        )
    n_recorded = len(points) - len(missing)
    recorded = f", {n_recorded} recorded already" if n_recorded else ""
    duration = f"; about {text_from_seconds(seconds)}" if missing else ""
    groups = count_of(len(plan.groups), "group")
    console.print(
        f"points   {len(points)} in {groups} of the {plan.axes.name} axes{recorded}{duration}",
        soft_wrap=True,
        markup=False,
    )


def sum_up(console: Console, sweep: Sweep, end: AsvEnd | None, settings: Settings) -> int:
    """Print what failed, what was unavailable and why, and what is missing; return the exit code.

    end: asv's, or None where it had no part.
    Interference is shown next to each number, by `fusebench show`.
    """
    timings = sweep.recorded.timings
    outcomes = [(point, timings[point].outcome) for point in sweep.points() if point in timings]
    failed = [(point, outcome) for point, outcome in outcomes if outcome.state in FAILURES]
    absent: dict[str, set[str]] = {}
    for (_, contender), outcome in outcomes:
        if outcome.state is State.UNAVAILABLE and outcome.reason:
            absent.setdefault(outcome.reason, set()).add(str(contender))
    n_missing = sum(len(group.contenders) for group in sweep.untimed())
    for reason, contenders in sorted(absent.items()):
        console.print(
            f"[yellow]unavailable:[/yellow] {', '.join(sorted(contenders))}: {escape(reason)}", soft_wrap=True
        )
    if told := _as_expected(sweep):
        console.print(told, soft_wrap=True, markup=False)
    for (shape, contender), outcome in failed:
        told = f"{contender}, {shape.label()}: {escape(str(outcome.reason))}"
        console.print(f"[red]{outcome.state}:[/red] {told}", soft_wrap=True)
    status = end.status if end else 0
    if n_missing and is_time_up(settings) and not status:
        left = f"{count_of(n_missing, 'point')} {'is' if n_missing == 1 else 'are'} left for the next run"
        console.print(f"[yellow]the time is up:[/yellow] {left}", soft_wrap=True)
        return ExitCode.FAILED if failed else ExitCode.FINE
    if n_missing or status:
        # With every point in the journal, what failed is asv's own record of them.
        too_few = f", or by fewer than {sweep.plan.axes.visits} visits" if sweep.plan.axes.visits > 1 else ""
        lacking = f"{count_of(n_missing, 'point')} {'was' if n_missing == 1 else 'were'} not measured{too_few}"
        n_silent = sum(len(group.contenders) for group in sweep.unprofiled())
        unprofiled = (
            f", and {count_of(n_silent, 'point')} {'has' if n_silent == 1 else 'have'} no profile" if n_silent else ""
        )
        problem = lacking if n_missing else f"asv did not keep its record{unprofiled}"
        printed = f"{_how_asv_printed(end)} ({end.log}):" if end else ""
        console.print(f"[red]{problem}[/red]{printed}", soft_wrap=True)
        if end:
            console.print("\n".join(_lines_about_failures(end.log)), markup=False, soft_wrap=True)
    return ExitCode.FAILED if failed or n_missing or status else ExitCode.FINE


def _how_asv_printed(end: AsvEnd) -> str:
    if end.status >= 0:
        return "; asv printed"
    # Of those for real time, most have no name.
    names = {each.value: each.name for each in signal.Signals}
    return f": asv was killed by {names.get(-end.status, f'signal {-end.status}')}, and had printed"


def _as_expected(sweep: Sweep) -> str | None:
    """Return how many profiles are as expected, otherwise, and of contenders that declare nothing; None without any."""
    planned = set(sweep.points())
    profiles = [line for key, line in sweep.recorded.profiles.items() if key in planned]
    otherwise = [line for line in profiles if line.outcome.unexpected is not None]
    silent = [
        line
        for line in profiles
        if line.outcome.unexpected is None
        and (line.outcome.expected_operator_count, line.outcome.expected_kernel_launches) == (None, None)
    ]
    if not profiles:
        return None
    n_as_expected = len(profiles) - len(otherwise) - len(silent)
    told = [f"profiles {n_as_expected} of {len(profiles)} ran what was expected"]
    if otherwise:
        names = dict.fromkeys(str(line.head.contender) for line in otherwise)
        told.append(f"{len(otherwise)} otherwise ({', '.join(names)})")
    if silent:
        names = dict.fromkeys(str(line.head.contender) for line in silent)
        told.append(f"of {len(silent)} nothing is declared ({', '.join(names)})")
    return ", ".join(told)


def _lines_about_failures(log: Path) -> list[str]:
    """Return the lines of asv's output about a failure, or its last ones if there is none; whether the disk is full."""
    lines = [line.strip() for line in log.read_text(encoding="utf-8", errors="replace").splitlines()]
    is_full = disk_usage(log.parent).free < _LEAST_FREE_BYTES
    no_room = [f"no room is left on the disk of {log.parent}; make some, and run again"] if is_full else []
    if not any(lines):
        return [": ".join(["nothing", *no_room])]
    telling = [line for line in lines if re.search("error|failed|exception", line, re.IGNORECASE)]
    ours = [line for line in telling if "asv: skipped" not in line]
    # What follows from a cause, for each suite and benchmark anew, says nothing of it.
    causes = [line for line in ours if not _CONSEQUENCE.search(line) and not _TRACEBACK.match(line)]
    return (list(dict.fromkeys(causes or ours))[-8:] or lines[-8:]) + no_room
