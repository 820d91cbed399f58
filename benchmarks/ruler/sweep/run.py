"""`fusebench run`'s measuring half: plan under the machine's lock, let asv run the suites, sum up what failed."""

from __future__ import annotations

import json
import os
import signal
import sys
import tempfile
import uuid
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.markup import escape

from benchmarks.ruler.errors import InvalidSettings, JournalError, RulerError
from benchmarks.ruler.exit_codes import ExitCode
from benchmarks.ruler.expectation.declarations import OURS
from benchmarks.ruler.plan.axes import all_groups
from benchmarks.ruler.plan.axes_files import NAMED_AXES, axes_from_settings
from benchmarks.ruler.plan.filters import refuse_unknown_values, selected
from benchmarks.ruler.plan.plugins import refuse_broken_module, refuse_taken_names
from benchmarks.ruler.plan.points import Operation
from benchmarks.ruler.plan.settings import axes_name, settings_from_environment, words
from benchmarks.ruler.record.durable import write_whole
from benchmarks.ruler.record.journal import JournalReader
from benchmarks.ruler.record.provenance import expected_device, refuse_uncommitted_changes
from benchmarks.ruler.sweep.asv_process import AsvEnd, asv_run
from benchmarks.ruler.sweep.display import Display
from benchmarks.ruler.sweep.interruption import Interrupted, interruptible, run_command
from benchmarks.ruler.sweep.lock import machine_lock
from benchmarks.ruler.sweep.measure import measure
from benchmarks.ruler.sweep.progress import Progress
from benchmarks.ruler.sweep.summary import announce, sum_up
from benchmarks.ruler.sweep.sweep_plan import empty_sweep, plan_sweep, read_plan, write_plan
from benchmarks.ruler.worker.process import refuse_unusable_cache
from benchmarks.ruler.worker.protocol import Task

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from benchmarks.ruler.plan.settings import Settings
    from benchmarks.ruler.sweep.sweep_plan import Sweep


class _Output(Console):
    """Console whose reader may leave, as `head` does: that ends the run like a signal."""

    def on_broken_pipe(self) -> None:
        """Raise Interrupted, once; rich would exit with 1, which means a regression."""
        self.quiet = True
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise Interrupted(signal.SIGPIPE)


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
@click.option("--first-calls", is_flag=True, help="Time each provider's first call, too, in a process of its own.")
@click.option("--no-wait", is_flag=True, help="Fail if another sweep measures on this machine, instead of waiting.")
@click.option("--cwd", type=Path, hidden=True, help="Folder that relative paths start from.")
@click.option("--parent", type=int, hidden=True, help="Process whose death ends this one.")
@click.option(
    "--directly", hidden=True, metavar="COMMAND", help="Measure for it, without asv, which keeps no record then."
)
@click.option("--heading", hidden=True, metavar="TEXT", help="Line to print once the options are found to be right.")
@click.option(
    "--selection", type=Path, hidden=True, help="File for the values that choose what was measured, if anything was."
)
def main(  # noqa: PLR0913 - its options
    *,
    axes: str | None,
    provider_module: str | None,
    again: bool,
    uncommitted: bool,
    first_calls: bool,
    no_wait: bool,
    cwd: Path | None,
    parent: int | None,
    directly: str | None,
    heading: str | None,
    selection: Path | None,
    **filters: str | None,
) -> None:
    """Measure the checked-out commit through asv; what is recorded already is not measured again."""
    console, name = _Output(highlight=False), f"fusebench {directly or 'run'}"
    kept = "every finished group is recorded, and the next run goes on from there"
    if cwd is not None:
        os.chdir(cwd)
    try:
        with interruptible(parent=parent):
            settings = _with_options(
                settings_from_environment(),
                axes=axes,
                provider_module=provider_module,
                again=again,
                uncommitted=uncommitted,
                first_calls=first_calls,
                no_wait=no_wait,
                filters=filters,
            )
            if settings.is_uncommitted:
                kept = "nothing was recorded, as --uncommitted or FUSEBENCH_UNCOMMITTED asks"
            if settings.provider_module is not None:
                refuse_taken_names(settings.provider_module, OURS)
                refuse_broken_module(settings.provider_module)
            # What is asked wrongly first: whoever mends the checkout for it would be told only then.
            refuse_wrong_filters(settings)
            refuse_uncommitted_changes(settings)
            refuse_unusable_cache()
            say = partial(console.print, markup=False, soft_wrap=True)
            with machine_lock(settings.lock_file, say=say, waits=settings.waits_for_lock):
                sweep, reader = plan_run(settings)
                if heading:
                    say(heading)
                announce(console, sweep, settings)
                if directly:
                    sweep, end = run_directly(console, settings, sweep, reader, display=Display(console)), None
                else:
                    sweep, end = run_asv(console, settings, sweep, reader)
            if selection is not None and sweep.recorded.timings:
                write_whole(selection, json.dumps(selection_from_sweep(sweep)))
            sys.exit(sum_up(console, sweep, end, settings))
    except RulerError as error:
        said = escape(str(error).replace("`fusebench run ", f"`{name} "))
        console.print(f"[red]{name}:[/red] {said}", soft_wrap=True)
        sys.exit(ExitCode.WRONG_USAGE)
    except Interrupted as interrupted:
        console.print(f"Interrupted ({interrupted}); {kept}.", soft_wrap=True)
        sys.exit(interrupted.exit_code)


def _with_options(  # noqa: PLR0913 - the options
    settings: Settings,
    *,
    axes: str | None,
    provider_module: str | None,
    again: bool,
    uncommitted: bool,
    first_calls: bool,
    no_wait: bool,
    filters: Mapping[str, str | None],
) -> Settings:
    """Return `settings` with the options of the command line, which come before the environment's."""
    for option, value in (("--axes", axes), ("--provider-module", provider_module)):
        if value == "":
            # A variable of a shell that is not set must not measure something else.
            raise InvalidSettings(f"{option} is empty; name one, or leave it out")
    chosen = {name: words(text) for name, text in filters.items() if text is not None}
    return replace(
        settings,
        axes=axes_name(axes) if axes else settings.axes,
        filters=replace(settings.filters, **chosen),
        provider_module=Path(provider_module).absolute() if provider_module else settings.provider_module,
        run_id=uuid.uuid4().hex[:12] if again else settings.run_id,
        is_uncommitted=uncommitted or settings.is_uncommitted,
        times_first_calls=first_calls or settings.times_first_calls,
        waits_for_lock=settings.waits_for_lock and not no_wait,
    )


def refuse_wrong_filters(settings: Settings) -> None:
    """Refuse axes that cannot be read, and filters that take nothing. Raises: RulerError, naming what no point has."""
    axes, device = axes_from_settings(settings), expected_device(settings)
    groups = all_groups(axes, operations=tuple(Operation), device=device)
    refuse_unknown_values(groups, settings.filters)
    if not selected(groups, settings.filters):
        asked = str(settings.filters) or "any value"
        raise RulerError(f"no point of the {axes.name} axes on {device} has {asked} together")


def plan_run(settings: Settings) -> tuple[Sweep, JournalReader]:
    """Plan the sweep of all operations: what it will measure and has recorded, and the reader of its journal.

    Raises: RulerError, naming what no point has.
    """
    refuse_wrong_filters(settings)
    return plan_sweep(settings, axes_from_settings(settings), device=expected_device(settings))


def run_asv(console: Console, settings: Settings, sweep: Sweep, reader: JournalReader) -> tuple[Sweep, AsvEnd]:
    """Let asv run the suites by the plan of `sweep`, showing their steps; return what is recorded then.

    The caller holds the machine's lock.
    """
    run = sweep.plan.run
    log = settings.data_dir / "asv-run.log"
    try:
        log.parent.mkdir(parents=True, exist_ok=True)
        log.touch()
    except OSError as error:
        raise JournalError(
            f"{settings.data_dir}: cannot be written ({error.strerror}); make room or set FUSEBENCH_DATA"
        ) from error
    with tempfile.TemporaryDirectory() as folder:
        steps, plan_file = Path(folder) / "steps.jsonl", Path(folder) / "plan.json"
        steps.touch()
        write_plan(plan_file, sweep.plan)
        handed_on = replace(settings, plan=plan_file, progress=steps, commit=run.commit)
        with asv_run(handed_on, machine=run.machine, commit=run.commit, log=log) as process:
            Display(console).follow(process, steps)
        plan = read_plan(plan_file)
    if plan.path != sweep.plan.path:
        # A suite has planned again, for the device that torch found.
        sweep, reader = empty_sweep(plan), JournalReader(plan.path)
    return sweep.with_lines(reader.read()), AsvEnd(status=process.returncode, log=log)


def run_directly(  # noqa: PLR0913 - a run, and how it is shown
    console: Console,
    settings: Settings,
    sweep: Sweep,
    reader: JournalReader,
    *,
    tasks: Sequence[Task] = (Task.TIME, Task.PROFILE),
    display: Display | None = None,
) -> Sweep:
    """Measure by the plan of `sweep` without asv; return what is recorded then.

    Steps are shown by `display`, or printed. The caller holds the machine's lock. Where torch finds another device than
    the plan's, that one is measured.
    """
    with tempfile.TemporaryDirectory() as folder:
        plan_file = Path(folder) / "plan.json"
        write_plan(plan_file, sweep.plan)
        handed_on = replace(settings, plan=plan_file, commit=sweep.plan.run.commit)
        with display.listening() if display else nullcontext() as listener:
            measure(handed_on, operation="sweep", tasks=tasks, progress=Progress(None, listener))
        plan = read_plan(plan_file)
    if plan.path != sweep.plan.path:
        console.print(f"torch has found {plan.device} here, and that is what was measured")
        sweep, reader = empty_sweep(plan), JournalReader(plan.path)
    return sweep.with_lines(reader.read())


def selection_from_sweep(sweep: Sweep) -> dict[str, object]:
    """Return what `fusebench show` is asked for: the commit, and the values of the axes that were measured."""
    run, points = sweep.plan.run, sweep.points()
    values: dict[str, list[object]] = {
        "machine": [run.machine],
        "environment": [run.environment],
        "operation": [shape.operation for shape, _ in points],
        "provider": [contender.provider for _, contender in points],
        "weights": [contender.weights for _, contender in points],
        "dtype": [shape.dtype for shape, _ in points],
        "pass": [shape.pass_ for shape, _ in points],
        "batch": [shape.batch for shape, _ in points],
        "hidden": [shape.hidden for shape, _ in points],
        "dim": [shape.dim for shape, _ in points],
        "activation": [shape.activation for shape, _ in points],
        "cache": [shape.cache for shape, _ in points],
    }
    where = [f"{name}={value}" for name, each in values.items() for value in dict.fromkeys(each)]
    return {"revision": run.commit, "where": where}


if __name__ == "__main__":
    # Its options are told as those of the command that passes them on.
    asked_by = sys.argv[sys.argv.index("--directly") + 1 :][:1] if "--directly" in sys.argv else []
    run_command(main, name=f"fusebench {asked_by[0] if asked_by else 'run'}")
