"""`fusebench doctor`: look at this machine for some seconds, and say what to mend before measuring on it."""

from __future__ import annotations

import json
import os
import shutil
import sys
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

import click
import torch
from rich.console import Console

from benchmarks.ruler.checks.floors import Refusal, ceilings_now
from benchmarks.ruler.doctor import findings
from benchmarks.ruler.doctor.findings import Finding, Status
from benchmarks.ruler.doctor.machine import examine_machine
from benchmarks.ruler.doctor.record import examine_record
from benchmarks.ruler.doctor.software import examine_software
from benchmarks.ruler.errors import JournalError, MachineBusy, RulerError
from benchmarks.ruler.exit_codes import ExitCode
from benchmarks.ruler.measure.conditions import fixed_conditions
from benchmarks.ruler.plan.settings import settings_from_environment
from benchmarks.ruler.record.provenance import environment_name, expected_device, machine_name
from benchmarks.ruler.sweep.interruption import interruptible, run_command
from benchmarks.ruler.sweep.lock import machine_lock
from benchmarks.ruler.sweep.machine_file import machine_path
from benchmarks.ruler.sweep.machine_speed import MachineSpeed
from fused_mlp.native.libraries import cache_folder

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.ruler.plan.points import DeviceKind
    from benchmarks.ruler.plan.roofline import Ceilings
    from benchmarks.ruler.plan.settings import Settings

_UNLIMITED = 10_000


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--format", "output", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option("--cwd", type=Path, hidden=True, help="Folder that relative paths start from.")
def main(*, output: str, cwd: Path | None) -> None:
    """Look for what is missing or would disturb a measurement, and say how to mend it; some 10 seconds.

    Looks at compilers, GPU, versions, threads, governor, other processes, stolen time, speed, disk, lock and ceilings,
    and changes nothing. The exit code is 0 if nothing needs to be mended, 2 otherwise.

    \b
    fusebench doctor && fusebench run
    """  # noqa: D301 - click wants the character, which keeps the lines as they are
    if cwd is not None:
        os.chdir(cwd)
    # Into a pipe lines have any length, as with the other commands, unless COLUMNS says how long.
    console = Console(highlight=False, width=shutil.get_terminal_size((_UNLIMITED, 1)).columns)
    try:
        with interruptible():
            found = list(examine(settings_from_environment()))
    except RulerError as error:
        console.print(f"fusebench doctor: {error}", style="red", markup=False, soft_wrap=True)
        sys.exit(ExitCode.WRONG_USAGE)
    if output == "json":
        click.echo(json.dumps(findings.as_json(found), indent=1, ensure_ascii=False))
    else:
        with console.capture() as drawn:
            console.print(findings.table(found))
        # A table pads each line to its full width, which a terminal breaks and a copy keeps.
        click.echo("\n".join(line.rstrip() for line in drawn.get().splitlines()))
        console.print(f"\n{findings.conclusion(found)}", markup=False)
    sys.exit(ExitCode.FAILED if any(each.status is Status.PROBLEM for each in found) else ExitCode.FINE)


def examine(settings: Settings) -> Iterator[Finding]:
    """Examine the machine for a measurement with these settings."""
    device = expected_device(settings)
    machine, environment = machine_name(settings), environment_name(device, settings)
    torch.set_num_threads(settings.threads)
    conditions = fixed_conditions(torch.device(device if torch.cuda.is_available() else "cpu"))
    yield from examine_software(
        n_threads=settings.threads, supported_python=metadata.metadata("fusebench")["Requires-Python"]
    )
    # As a sweep does, which takes no best of other hardware or versions, nor one that is old.
    known = MachineSpeed(settings.data_dir, machine=machine, environment=environment, is_kept=False)
    with suppress(JournalError):  # the ceilings in the same file say so
        known.begin(conditions)
    governor = conditions["cpu_governor"]
    yield from examine_machine(
        cpu_governor=None if governor is None else str(governor),
        best_s=known.best_s,
        kept_in=f"of {since[:10]}, in {machine_path(settings.data_dir, machine)}"
        if (since := known.kept_since)
        else None,
    )
    yield from examine_record(
        data_dir=settings.data_dir,
        lock_file=settings.lock_file,
        cache=cache_folder(),
        machine=machine,
        environment=environment,
        conditions=conditions,
        ceilings_now=lambda: _ceilings(settings, device),
    )


def _ceilings(settings: Settings, device: DeviceKind) -> Ceilings | str:
    try:
        with machine_lock(settings.lock_file, say=lambda _: None, waits=False):
            found = ceilings_now(settings, device=device)
    except (MachineBusy, JournalError, OSError) as error:
        # A machine's file that cannot be read is told with the ceilings in it. Without room for a temporary file no
        # worker starts, which the disks' findings say.
        return str(error)
    return found.reason if isinstance(found, Refusal) else found


if __name__ == "__main__":
    run_command(main, name="fusebench doctor")
