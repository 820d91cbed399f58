"""`fusebench run`'s measuring half: plan, let asv run the suites, show how far it is, sum up what failed."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from benchmarks.ruler.errors import RulerError
from benchmarks.ruler.plan.axes import NAMED_AXES, Operation, axes_from_environment, groups
from benchmarks.ruler.plan.filters import FILTERS, refuse_unknown_values
from benchmarks.ruler.plan.plugins import MODULE_VARIABLE, refuse_broken_module
from benchmarks.ruler.record.outcome import FAILURES, State
from benchmarks.ruler.record.provenance import (
    BEGUN_AT,
    ROOT,
    UNCOMMITTED,
    data_dir,
    expected_device,
    machine_name,
    measured_commit,
    refuse_uncommitted_changes,
)
from benchmarks.ruler.sweep.measure import is_time_up
from benchmarks.ruler.sweep.progress import Step
from benchmarks.ruler.sweep.sweep_plan import Plan, plan_sweep

if TYPE_CHECKING:
    from collections.abc import Mapping

FINE, FAILED, WRONG_USAGE = 0, 2, 64
# What one point takes beyond its samples (building, compiling, checking, profiling), for the estimate alone.
_SECONDS_PER_POINT = 1.5
_SECONDS_PER_OPERATION = 8.0


@dataclass(frozen=True, kw_only=True)
class Answer:
    """How asv ended, and what it printed, for the case that it failed."""

    status: int
    log: Path


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--axes",
    default=None,
    metavar="NAME|FILE.toml",
    help=f"Which values each axis takes: {', '.join(NAMED_AXES)}, or a file [quick].",
)
@click.option("--operation", default=None, metavar="NAMES", help="Only these operations, comma-separated.")
@click.option("--provider", default=None, metavar="NAMES", help="Only these providers.")
@click.option("--dtype", default=None, metavar="NAMES", help="Only these dtypes.")
@click.option("--pass", "pass_", default=None, metavar="NAMES", help="forward, forward_backward.")
@click.option("--batch", default=None, metavar="NUMBERS", help="Only these numbers of rows.")
@click.option("--hidden", default=None, metavar="NUMBERS", help="Only these hidden dims.")
@click.option("--provider-module", default=None, metavar="FILE.py", help="Measure the providers of this file too.")
@click.option("--again", is_flag=True, help="Measure everything anew, as another run of the same commit.")
@click.option("--uncommitted", is_flag=True, help="Measure files no commit holds; shown, never recorded.")
@click.option("--no-wait", is_flag=True, help="Fail if another sweep measures on this machine, instead of waiting.")
def main(
    *,
    axes: str | None,
    provider_module: str | None,
    again: bool,
    uncommitted: bool,
    no_wait: bool,
    **filters: str | None,
) -> None:
    """Measure the checked-out commit through asv; what is recorded already is not measured again."""
    chosen = {f"FUSEBENCH_{name.rstrip('_').upper()}": value for name, value in filters.items() if value}
    environ = {
        **os.environ,
        **chosen,
        **({"FUSEBENCH_AXES": _absolute(axes)} if axes else {}),
        **({MODULE_VARIABLE: str(Path(provider_module).resolve())} if provider_module else {}),
        **({"FUSEBENCH_RUN_ID": uuid.uuid4().hex[:12]} if again else {}),
        **({UNCOMMITTED: "1"} if uncommitted else {}),
        **({"FUSEBENCH_LOCK": "fail"} if no_wait else {}),
    }
    os.environ.update(environ)
    console = Console(highlight=False)
    try:
        refuse_uncommitted_changes()
        refuse_broken_module()
        before = plans()
        announce(console, before)
        answer = run_asv(console, environ, before)
        after = plans()
    except RulerError as error:
        console.print(f"[red]fusebench run:[/red] {escape(str(error))}", soft_wrap=True)
        sys.exit(WRONG_USAGE)
    sys.exit(sum_up(console, after, answer))


def plans() -> tuple[Plan, ...]:
    """The plan of each operation, as the environment's axes and filters say. Raises: RulerError."""
    axes, device = axes_from_environment(), expected_device()
    refuse_unknown_values([group for name in Operation for group in groups(axes, operation=name, device=device)])
    made = tuple(plan_sweep(axes, operation=operation, device=device) for operation in Operation)
    if not any(plan.groups for plan in made):
        asked = ", ".join(f"{n.lower()} {v}" for n in FILTERS if (v := os.environ.get(f"FUSEBENCH_{n}")))
        raise RulerError(f"no point of the {axes.name} axes on {device} has {asked or 'any value'} together")
    return made


def announce(console: Console, before: tuple[Plan, ...]) -> None:
    """Say what will be measured and about how long it takes."""
    axes, run = axes_from_environment(), before[0].run
    n_all = sum(len(group.contenders) for plan in before for group in plan.groups)
    n_left = sum(len(group.contenders) for plan in before for group in plan.untimed())
    operations = sum(bool(plan.untimed()) for plan in before)
    seconds = n_left * (_SECONDS_PER_POINT + axes.budget_s / 2) + operations * _SECONDS_PER_OPERATION
    console.print(f"commit   {run.commit[:8]} {run.commit_subject or ''}", soft_wrap=True)
    console.print(f"machine  {run.machine}, {run.environment}")
    recorded = f", {n_all - n_left} recorded already" if n_all != n_left else ""
    estimate = f"; about {_minutes(seconds)}" if n_left else ""
    console.print(f"points   {n_all} in the {axes.name} axes{recorded}{estimate}")


def run_asv(console: Console, environ: Mapping[str, str], before: tuple[Plan, ...]) -> Answer:
    """Let asv run the suites on this very interpreter and checkout; show the steps as they come."""
    log = data_dir() / "asv-run.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    machine = machine_name()
    with tempfile.TemporaryDirectory() as folder, log.open("wb") as output:
        steps = Path(folder) / "steps.jsonl"
        steps.touch()
        _name_machine(machine, output=output.fileno())
        recording = ["--dry-run"] if environ.get(UNCOMMITTED) == "1" else ["--set-commit-hash", measured_commit().hash]
        process = subprocess.Popen(
            [
                *(sys.executable, "-m", "asv", "run", "--show-stderr"),
                *("--environment", f"existing:{sys.executable}", "--machine", machine),
                *recording,
            ],
            cwd=ROOT,
            env={**environ, "FUSEBENCH_PROGRESS": str(steps), BEGUN_AT: measured_commit().hash},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        try:
            _follow(console, process, steps, before)
        except BaseException as error:
            # asv in the background would go on measuring for nobody.
            process.send_signal(signal.SIGINT)
            process.wait()
            if not isinstance(error, KeyboardInterrupt):
                raise
            console.print(
                "Interrupted; every finished group is recorded, and the next run goes on from there.", soft_wrap=True
            )
            sys.exit(130)
    return Answer(status=process.returncode, log=log)


def sum_up(console: Console, after: tuple[Plan, ...], answer: Answer) -> int:
    """Say what failed, what was unavailable and why, and what is missing; the exit code.

    What was disturbed is said beside the numbers, by `fusebench show`.
    """
    outcomes = [
        (f"{contender}, {group.shape.label()}", plan.recorded.timings[group.shape, contender].outcome)
        for plan in after
        for group in plan.groups
        for contender in group.contenders
        if (group.shape, contender) in plan.recorded.timings
    ]
    failed = [(name, outcome) for name, outcome in outcomes if outcome.state in FAILURES]
    absent = {outcome.reason for _, outcome in outcomes if outcome.state is State.UNAVAILABLE}
    n_missing = sum(len(group.contenders) for plan in after for group in plan.untimed())
    for reason in sorted(filter(None, absent)):
        console.print(f"[yellow]unavailable:[/yellow] {escape(reason)}", soft_wrap=True)
    for words in _unexpected(after):
        console.print(f"[yellow]unexpected:[/yellow] {escape(words)}", soft_wrap=True)
    for name, outcome in failed:
        console.print(f"[red]{outcome.state}:[/red] {name}: {escape(str(outcome.reason))}", soft_wrap=True)
    if n_missing and is_time_up() and not answer.status:
        console.print(f"[yellow]the time is up:[/yellow] {n_missing} points are left for the next run", soft_wrap=True)
        return FAILED if failed else FINE
    if n_missing or answer.status:
        # With every point in the journal, what failed is asv's own record of them.
        what = f"{n_missing} points were not measured" if n_missing else "asv did not keep its record"
        console.print(f"[red]{what}[/red]; it said ({answer.log}):", soft_wrap=True)
        console.print("\n".join(_telling_lines(answer.log)), markup=False, soft_wrap=True)
    return FAILED if failed or n_missing or answer.status else FINE


def _unexpected(after: tuple[Plan, ...]) -> list[str]:
    """What ran otherwise than its provider declares: one line per provider and operation, the first shape named."""
    first: dict[tuple[str, str, str], str] = {}
    for plan in after:
        for (shape, contender), line in plan.recorded.profiles.items():
            is_asked_for = any(group.shape == shape and contender in group.contenders for group in plan.groups)
            if line.outcome.unexpected is not None and is_asked_for:
                said = f"{contender}, {shape.label()}: {line.outcome.unexpected}"
                first.setdefault((str(contender), shape.operation, shape.pass_), said)
    return list(first.values())


def _telling_lines(log: Path) -> list[str]:
    """The lines of asv's output that speak of a failure, or its last ones if none does."""
    lines = [line.strip() for line in log.read_text(encoding="utf-8", errors="replace").splitlines()]
    telling = [line for line in lines if re.search("error|failed|exception", line, re.IGNORECASE)]
    told = [line for line in telling if "asv: skipped" not in line]
    return list(dict.fromkeys(told))[-8:] or lines[-8:]


def _follow(console: Console, process: subprocess.Popen[bytes], steps: Path, before: tuple[Plan, ...]) -> None:
    bars = Bar(
        TextColumn("{task.description:<10}"),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TextColumn("steps"),  # two for each point, which is timed and then profiled
        TimeRemainingColumn(compact=True),
        TextColumn("{task.fields[last]}", markup=False),
        console=console,
        disable=not console.is_terminal,
    )
    with bars, steps.open(encoding="utf-8") as lines:
        tasks: dict[str, TaskID] = {}
        # In the order in which asv takes the suites.
        for plan in sorted(before, key=lambda plan: plan.operation):
            if plan.groups:
                n_points = sum(len(group.contenders) for group in plan.groups)
                tasks[plan.operation] = bars.add_task(plan.operation, total=2 * n_points, last="", start=False)
        while True:
            ended = process.poll() is not None
            for line in lines:
                step = Step(**json.loads(line))
                if step.operation not in tasks:
                    continue  # asv walks every suite, those too that were not asked for
                bars.start_task(tasks[step.operation])
                bars.update(tasks[step.operation], total=step.total, completed=step.done, last=step.last)
                if not console.is_terminal and step.notable:
                    console.print(f"{step.phase:<7} {step.done}/{step.total} {step.last}", markup=False, soft_wrap=True)
            if ended:
                return
            time.sleep(0.1)


def _name_machine(machine: str, *, output: int) -> None:
    # asv asks who this machine is the first time; the answer is what the system says, under our name.
    known = Path.home() / ".asv-machine.json"
    try:
        if machine in json.loads(known.read_text(encoding="utf-8")):
            return
    except (OSError, ValueError):
        pass
    subprocess.run(
        [sys.executable, "-m", "asv", "machine", "--yes", "--machine", machine],
        cwd=ROOT,
        check=True,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=output,
    )


def _absolute(axes: str) -> str:
    return str(Path(axes).resolve()) if axes.endswith(".toml") else axes


def _minutes(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


def _entry() -> None:
    try:
        main.main(prog_name="fusebench run", standalone_mode=False)
    except click.UsageError as error:
        error.show()
        sys.exit(WRONG_USAGE)


if __name__ == "__main__":
    _entry()
