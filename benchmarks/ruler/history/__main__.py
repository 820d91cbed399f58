"""Command `python -m benchmarks.ruler.history`: measure the milestones of this repository in interleaved rounds."""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from benchmarks.ruler.commits.visit_process import checked_wheel, made_visit
from benchmarks.ruler.errors import InvalidSettings, RulerError
from benchmarks.ruler.exit_codes import ExitCode
from benchmarks.ruler.history.milestones import MILESTONES, Milestone, milestones_from_toml, with_revisions
from benchmarks.ruler.plan.axes_files import axes_from_settings
from benchmarks.ruler.plan.points import DeviceKind
from benchmarks.ruler.plan.settings import (
    ROOT,
    Settings,
    axes_name,
    settings_from_environment,
    words,
)
from benchmarks.ruler.sweep.interruption import Interrupted, interruptible, run_command
from benchmarks.ruler.sweep.lock import machine_lock

if TYPE_CHECKING:
    from collections.abc import Sequence

PUBLISHED = ROOT / "results" / "data" / "published"


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--machine", required=True, metavar="NAME", help="Name of this machine; recorded as cpu-NAME.")
@click.option("--axes", default="history", show_default=True, metavar="NAME|FILE.toml", help="Points to measure.")
@click.option("--visits", type=click.IntRange(1), metavar="N", help="Rounds over all commits.  [default: the axes']")
@click.option("--threads", default=1, show_default=True, type=click.IntRange(1), metavar="N", help="Threads.")
@click.option(
    "--milestones", default=MILESTONES, type=click.Path(path_type=Path), metavar="FILE.toml", help="Commits to measure."
)
@click.option("--also", default="", metavar="REVISIONS", help="Further commits, comma-separated: HEAD.")
@click.option("--commits", default="", metavar="REVISIONS", help="These commits instead of the milestones.")
@click.option("--data", type=click.Path(path_type=Path), metavar="FOLDER", help="Folder of record, elsewhere.")
@click.option("--check", is_flag=True, help="Only build every wheel and check its results; time nothing.")
def main(  # noqa: PLR0913 - its options
    *,
    machine: str,
    axes: str,
    visits: int | None,
    threads: int,
    milestones: Path,
    also: str,
    commits: str,
    data: Path | None,
    check: bool,
) -> None:
    """Measure milestones, each through its own wheel, round after round; what is recorded is not measured again."""
    try:
        with interruptible():
            named = f"cpu-{machine.removeprefix('cpu-')}"
            if "/" in named:
                raise InvalidSettings(f"--machine {machine}: a name without / is needed; it names a folder")
            settings = replace(
                settings_from_environment(),
                data_dir=(data or PUBLISHED / named).absolute(),
                axes=axes_name(axes),
                machine=named,
                device=DeviceKind.CPU,
                threads=threads,
            )
            n_visits = visits or axes_from_settings(settings).visits
            listed = () if commits else milestones_from_toml(milestones)
            chosen = with_revisions(listed, tuple(filter(None, (*words(commits), *words(also)))))
            prepare(chosen, settings)
            if check:
                return
            with machine_lock(settings.lock_file, say=click.echo, waits=settings.waits_for_lock):
                is_whole = measure_rounds(chosen, settings, n_visits=n_visits)
    except Interrupted as interrupted:
        click.echo(
            f"Interrupted ({interrupted}); what was measured is recorded, and the same command goes on from there."
        )
        raise
    if not is_whole:
        sys.exit(ExitCode.FAILED)


def prepare(milestones: Sequence[Milestone], settings: Settings) -> None:
    """Install each milestone's wheel and check its results at every point, unless that was done before.

    Raises: WheelFailed.
    """
    for milestone in milestones:
        label = _label(milestone)
        click.echo(f"{label}: {checked_wheel(milestone.commit, settings, label=label)}")


def measure_rounds(milestones: Sequence[Milestone], settings: Settings, *, n_visits: int) -> bool:
    """Visit every group once with each milestone's kernels, and again, until each has had `n_visits`.

    Every other round leads back, so that a machine that drifts slows no commit more than its neighbours. A visit that
    fails is named, and the next commit's made, for a history takes hours. Return whether nothing is left to measure.
    Raises: RulerError if all visits of a round fail.
    """
    begun, n_done, n_all = time.monotonic(), 0, n_visits * len(milestones)
    unfinished: set[str] = set()
    for visit in range(1, n_visits + 1):
        n_failed = 0
        for milestone in milestones if visit % 2 else milestones[::-1]:
            # The lines before are the steps of the sweep.
            try:
                said = _visit(milestone, replace(settings, last_visit=visit), n_visits=n_visits).splitlines()[-1]
            except RulerError as error:
                n_failed += 1
                if n_failed == len(milestones):
                    raise
                said = f"the visit failed: {error}"
                is_behind = True
            else:
                # The next visit makes those that are missing, too.
                is_behind = "lack a visit" in said
            n_done += 1
            left_min = (time.monotonic() - begun) / n_done * (n_all - n_done) / 60
            click.echo(f"round {visit} of {n_visits}, {_label(milestone)}: {said}; about {left_min:.0f} min left")
            (unfinished.add if is_behind else unfinished.discard)(milestone.commit.hash)
    click.echo(f"Recorded in {settings.data_dir}: commit it; fusebench dashboard {settings.data_dir} shows it.")
    if unfinished:
        click.echo(f"{len(unfinished)} commits lack visits; the same command makes them.")
    return not unfinished


def _visit(milestone: Milestone, settings: Settings, *, n_visits: int) -> str:
    """Run one visit in a process that imports the milestone's kernels; return what it printed. Raises: RulerError."""
    return made_visit(milestone.commit, settings, n_visits=n_visits, label=_label(milestone))


def _label(milestone: Milestone) -> str:
    return f"{milestone.commit.hash[:8]} ({milestone.what})"


if __name__ == "__main__":
    run_command(main, name="python -m benchmarks.ruler.history")
