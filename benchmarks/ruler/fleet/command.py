"""`fusebench fleet`'s measuring half: plan shards, work on one, run them all on an engine, and see how far they are."""

from __future__ import annotations

import json
import os
import sys
import uuid
from dataclasses import replace
from functools import partial
from pathlib import Path

import click
from click.core import ParameterSource
from rich.console import Console

from benchmarks.ruler.errors import RulerError, UnfitHost
from benchmarks.ruler.exit_codes import ExitCode
from benchmarks.ruler.fleet import planning
from benchmarks.ruler.fleet.calibration import admit
from benchmarks.ruler.fleet.claim import claimed
from benchmarks.ruler.fleet.collection import collected
from benchmarks.ruler.fleet.dispatch import dispatched, engine, exit_code, job_of
from benchmarks.ruler.fleet.engines import EngineName, EngineOptions
from benchmarks.ruler.fleet.folder import fleet_folder_of, host_claim, host_folder, run_claim, shard_left, write_shards
from benchmarks.ruler.fleet.host import this_host
from benchmarks.ruler.fleet.notes import Notebook, WorkState
from benchmarks.ruler.fleet.reading import state_of
from benchmarks.ruler.fleet.shards import planned_shards
from benchmarks.ruler.fleet.sharing import host_lock, pin_to_gpu, sharing_host
from benchmarks.ruler.fleet.status_text import status_lines
from benchmarks.ruler.fleet.work import begun_work, measured
from benchmarks.ruler.plan.axes_files import NAMED_AXES
from benchmarks.ruler.plan.points import DeviceKind
from benchmarks.ruler.plan.settings import settings_from_environment, words
from benchmarks.ruler.record.durable import write_whole
from benchmarks.ruler.sweep.interruption import Interrupted, interruptible, run_command

_ENGINES, _DEVICES = [each.value for each in EngineName], [each.value for each in DeviceKind]
_FOLDER = click.argument("folder", type=click.Path(path_type=Path))


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--cwd", type=Path, hidden=True, help="Folder that relative paths start from.")
@click.option("--parent", type=int, hidden=True, help="Process whose death ends this one.")
@click.pass_context
def main(ctx: click.Context, *, cwd: Path | None, parent: int | None) -> None:
    """Measure one sweep on many GPUs and hosts, started by Slurm, Ray or a shell, into one store.

    \b
    fusebench fleet plan --axes full --shards 16 --out FOLDER
    fusebench fleet run FOLDER --engine slurm --gpus 1
    fusebench fleet collect FOLDER
    """  # noqa: D301 - click wants the character, which keeps the lines as they are
    ctx.with_resource(interruptible(parent=parent))
    if cwd is not None:
        os.chdir(cwd)


@main.command(short_help="Share a sweep's groups out to shards; measures nothing.")
@click.option("--axes", default="quick", metavar="NAME|FILE.toml", help=f"{', '.join(NAMED_AXES)}, or a file [quick].")
@click.option("--shards", "n_shards", required=True, type=int, metavar="N", help="Parts to measure, one a host.")
@click.option("--commits", metavar="REVS", help="Commits, comma-separated, or BASE..HEAD  [default: HEAD]")
@click.option("--out", type=click.Path(path_type=Path), help="Folder of the fleet  [default: below FUSEBENCH_DATA]")
@click.option(
    "--machine", metavar="NAME", help="Name of the hosts' class, the series' machine  [default: by this host]"
)
@click.option(
    "--device",
    type=click.Choice([each.value for each in DeviceKind]),
    help="What the hosts measure on  [default: as here]",
)
@click.option("--threads", type=click.IntRange(1), help="Threads of each host  [default: as here]")
@click.option(
    "--provider-module",
    type=click.Path(path_type=Path),
    metavar="FILE.py",
    help="Measure the providers of this file, too; it travels with the shards.",
)
@click.option("--visits", type=click.IntRange(1), help="Visits to each group  [default: those of the axes]")
@click.option(
    "--tolerance",
    default=0.02,
    type=click.FloatRange(0, min_open=True),
    metavar="SHARE",
    help="How far a host may lie from its class  [0.02]",
)
@click.option("--missing", type=click.Path(path_type=Path), help="Plan what is missing of the fleet in this folder.")
@click.option("--operation", metavar="NAMES", help="Only these operations, comma-separated.")
@click.option("--provider", metavar="NAMES", help="Only these providers.")
@click.option("--dtype", metavar="NAMES", help="Only these dtypes.")
@click.option("--pass", "pass_", metavar="NAMES", help="forward, forward_backward.")
@click.option("--batch", metavar="NUMBERS", help="Only these numbers of rows.")
@click.option("--hidden", metavar="NUMBERS", help="Only these hidden dims.")
def plan(  # noqa: PLR0913 - its options
    *,
    axes: str,
    n_shards: int,
    commits: str | None,
    out: Path | None,
    machine: str | None,
    device: str | None,
    threads: int | None,
    provider_module: Path | None,
    visits: int | None,
    tolerance: float,
    missing: Path | None,
    **filters: str | None,
) -> None:
    """Share the groups of a sweep out to N shards of about equal cost; measures nothing."""
    if missing is not None:
        context = click.get_current_context()
        given = [each for each in context.params if context.get_parameter_source(each) is ParameterSource.COMMANDLINE]
        planning.refuse_beside_missing(given)
        state = state_of(missing)
        shards = planning.shards_again(state, n_shards=n_shards)
        folder, fleet, costs = missing, state.fleet, state.costs
    else:
        fleet = planning.fleet_from_options(
            settings_from_environment(),
            name=uuid.uuid4().hex[:8],
            axes=axes,
            commits=commits,
            machine=machine,
            device=device,
            threads=threads,
            visits=visits,
            tolerance=tolerance,
            provider_module=provider_module,
            filters={name: words(text) for name, text in filters.items() if text is not None},
        )
        costs = planning.costs_of_fleet(fleet)
        shards = planned_shards(fleet, costs, n_shards=n_shards)
        folder = out or settings_from_environment().data_dir / "fleet" / fleet.name
        planning.refuse_other_plan(folder)
    write_shards(folder, fleet, shards)
    for line in planning.announcement(folder, fleet, shards, costs):
        click.echo(line)


@main.command(short_help="Measure a shard on this host.")
@click.argument("shard", type=click.Path(path_type=Path))
@click.option(
    "--out", type=click.Path(path_type=Path), help="Folder to record in  [default: that of the shard's fleet]"
)
@click.option("--share", is_flag=True, help="Share the host: other GPUs of it may measure shards of their own.")
@click.option("--no-wait", is_flag=True, help="Fail if another sweep measures on this machine, instead of waiting.")
@click.option("--parent", type=int, hidden=True, help="Process whose death ends this one.")
def work(*, shard: Path, out: Path | None, share: bool, no_wait: bool, parent: int | None) -> None:
    """Measure what is left of SHARD on this host, as `run` does; the same command goes on after an interruption."""
    console = Console(highlight=False, soft_wrap=True)
    found = shard_left(shard)
    folder = (out or fleet_folder_of(shard)).absolute()
    settings = settings_from_environment()
    settings = replace(settings, waits_for_lock=settings.waits_for_lock and not no_wait)
    host = this_host(settings, found.fleet.device)
    if share:
        host = sharing_host(host)
        pin_to_gpu(str(host.gpu_uuid))
        host = replace(host, kind=this_host(settings, found.fleet.device).kind)
    notebook = Notebook(folder, host.name, found)
    say = partial(console.print, markup=False)
    try:
        with interruptible(parent=parent), notebook.work_goes_on():
            begun = begun_work(found, folder, host, settings, is_shared=share)
            with (
                host_lock(settings.lock_file, host, is_shared=share, say=say, waits=settings.waits_for_lock),
                claimed(host_claim(folder, host.name), refusal=partial(_taken_by, host.name), say=say),
            ):
                admit(folder, found.fleet, host, begun.settings, say=say)
                code = measured(begun, console)
    except Interrupted as interrupted:
        notebook.write(WorkState.FAILED, f"interrupted ({interrupted})")
        console.print(f"Interrupted ({interrupted}); every finished group is recorded, and the same command goes on.")
        raise
    except UnfitHost as error:
        notebook.write(WorkState.UNFIT, str(error))
        console.print(f"unfit: {error}", markup=False)
        sys.exit(ExitCode.NOTHING_MEASURED)
    except RulerError as error:
        # What is wrong with the shard or the checkout, on any host.
        notebook.write(WorkState.FAILED, str(error))
        raise
    notebook.write(WorkState.ENDED)
    sys.exit(code)


def _taken_by(host: str, holder: str) -> str:
    return (
        f"host {host}: {holder}, measures as that already; where two machines are called alike, give each a "
        "FUSEBENCH_HOST of its own, and containers of one machine one FUSEBENCH_LOCK_FILE"
    )


@main.command(short_help="Start the shards on an engine until all is measured.")
@_FOLDER
@click.option(
    "--engine",
    "engine_name",
    default=EngineName.LOCAL.value,
    type=click.Choice([each.value for each in EngineName]),
    help="[local]",
)
@click.option("--gpus", default=0, type=click.IntRange(0), help="GPUs of each shard  [0: a CPU's]")
@click.option("--cpus", default=1, type=click.IntRange(1), help="Processors of each shard  [1]")
@click.option("--share", default=1, type=click.IntRange(1), help="Local: so many shards at a time, one a GPU  [1]")
@click.option(
    "--attempts", default=3, type=click.IntRange(1), help="How often a shard that ended early is started  [3]"
)
@click.option("--address", help="Ray: address of a running cluster  [default: one on this machine]")
@click.option(
    "--slurm", multiple=True, metavar="NAME=VALUE", help="Slurm: a parameter, as in partition=gpu; repeatable."
)
@click.option("--minutes", default=24 * 60, type=click.IntRange(1), help="Slurm: limit of a shard  [1440]")
@click.option("--python", default=sys.executable, help="Python of the hosts  [default: this one's path]")
def run(  # noqa: PLR0913 - its options
    *,
    folder: Path,
    engine_name: str,
    gpus: int,
    cpus: int,
    share: int,
    attempts: int,
    address: str | None,
    slurm: tuple[str, ...],
    minutes: int,
    python: str,
) -> None:
    """Start the shards of FOLDER on an engine until every group is measured; all hosts see FOLDER."""
    folder = folder.absolute()
    options = EngineOptions(
        logs=folder / "logs",
        gpus=gpus,
        cpus=cpus,
        slots=share,
        address=address,
        parameters=planning.parameters_from_texts(slurm),
        minutes=minutes,
    )
    asked = ["--share"] if share > 1 else []
    with claimed(run_claim(folder), refusal=partial(_started_by, folder), say=click.echo):
        codes = dispatched(
            engine(EngineName(engine_name)),
            options,
            jobs=lambda: [
                job_of(shard, folder, python=python, options=asked) for shard in state_of(folder).shards_left()
            ],
            avoid=lambda: state_of(folder).unfit_nodes(),
            attempts=attempts,
            say=click.echo,
        )
    state = state_of(folder)
    for line in status_lines(state.status(), folder=folder):
        click.echo(line)
    sys.exit(exit_code(state.status(), codes))


def _started_by(folder: Path, holder: str) -> str:
    return (
        f"{folder}: its shards are being started by {holder}; `fusebench fleet status {folder}` shows how far they "
        "are, and the same command goes on once that process has ended"
    )


@main.command(short_help="Print what is done, running and missing, per host.")
@_FOLDER
def status(*, folder: Path) -> None:
    """Print what is done, running and missing, per host, and the time left."""
    for line in status_lines(state_of(folder.absolute()).status(), folder=folder):
        click.echo(line)


@main.command(short_help="Bring hosts' journals together, and store them.")
@_FOLDER
@click.argument("sources", nargs=-1)
@click.option("--selection", type=Path, hidden=True, help="File for the folders to store.")
def collect(*, folder: Path, sources: tuple[str, ...], selection: Path | None) -> None:
    """Bring hosts' journals from SOURCES into FOLDER, and store those of all fit hosts.

    A source is a folder, user@host:folder (by rsync), or an address such as s3://bucket/folder (by fsspec); without
    one, what FOLDER holds is stored. --db names another store.

    \b
    fusebench fleet collect sweep
    fusebench fleet collect sweep gpu1:/data/sweep gpu2:/data/sweep
    """  # noqa: D301 - click wants the character, which keeps the lines as they are
    folder = folder.absolute()
    for line in collected(folder, sources, say=click.echo) if sources else ():
        click.echo(line)
    state = state_of(folder)
    for line in status_lines(state.status(), folder=folder):
        click.echo(line)
    if selection is not None:
        fit = [str(host_folder(folder, host)) for host in state.hosts_to_store()]
        write_whole(selection, json.dumps({"folders": fit}))


if __name__ == "__main__":
    run_command(main, name="fusebench fleet")
