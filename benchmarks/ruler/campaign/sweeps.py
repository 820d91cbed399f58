"""Sweeps of a campaign: its axes measured without asv, asv proven, and the table of what came."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rich.console import Console

from benchmarks.ruler.campaign.settings import (
    Budget,
    CampaignSettings,
    Report,
    Status,
    read_json,
    table_path,
    write_json,
)
from benchmarks.ruler.checks.comparison import Comparison, Quantity, all_markdown
from benchmarks.ruler.exit_codes import ExitCode
from benchmarks.ruler.plan.campaign_axes import ASV_PROOF, CAMPAIGN, CAMPAIGN_QUICK, HALF_HOUR, for_device
from benchmarks.ruler.plan.points import DeviceKind
from benchmarks.ruler.record.provenance import git_output, refuse_uncommitted_changes
from benchmarks.ruler.sweep import run, summary
from benchmarks.ruler.sweep.lock import machine_lock
from benchmarks.ruler.worker.protocol import Task

if TYPE_CHECKING:
    from benchmarks.ruler.plan.settings import Settings
    from benchmarks.ruler.sweep.sweep_plan import Sweep

AXES = {Budget.QUICK: CAMPAIGN_QUICK, Budget.HALF_HOUR: HALF_HOUR, Budget.FULL: CAMPAIGN}
_TRACED_BATCHES = {Budget.QUICK: ("16",), Budget.HALF_HOUR: (), Budget.FULL: ("16", "4096")}
_RIVALS = (
    *("eager", "compiled", "compiled-max-autotune-no-cudagraphs", "compiled-max-autotune-tma"),
    *("packed-eager:packed", "liger", "liger-mlp", "addmm-activation"),
)
# Longer than any of its contenders takes to compile; one that hangs takes no more of the time.
_SILENT_IN_HALF_AN_HOUR_S = 120.0
_DONE = {Task.TIME: "timed", Task.PROFILE: "profiled"}
COMPARISONS = {
    DeviceKind.CUDA: (
        Comparison(ours="fused", rivals=_RIVALS, quantity=Quantity.WALL),
        Comparison(ours="fused", rivals=_RIVALS, quantity=Quantity.DEVICE),
        Comparison(ours="fused", rivals=_RIVALS, quantity=Quantity.COLD),
        Comparison(ours="fused-captured", rivals=("compiled-cudagraphs",), quantity=Quantity.WALL),
        Comparison(ours="fused-captured", rivals=("compiled-cudagraphs",), quantity=Quantity.DEVICE),
    ),
    DeviceKind.CPU: (
        Comparison(ours="fused", rivals=_RIVALS, quantity=Quantity.WALL),
        Comparison(ours="fused:packed", rivals=_RIVALS, quantity=Quantity.WALL),
    ),
}


def sweep(settings: CampaignSettings) -> Report:
    """Run the sweep of the campaign's axes until the time is up; without profiles where there is but half an hour."""
    ruler = replace(_with_axes(settings), traced_batches=_TRACED_BATCHES[settings.budget])
    tasks: tuple[Task, ...] = (Task.TIME, Task.PROFILE)
    if settings.budget is Budget.HALF_HOUR:
        tasks = (Task.TIME,)
        ruler = replace(ruler, point_limit_s=min(ruler.point_limit_s, _SILENT_IN_HALF_AN_HOUR_S))
    return measure_axes(settings, ruler, tasks=tasks)


def measure_axes(settings: CampaignSettings, ruler: Settings, *, tasks: tuple[Task, ...]) -> Report:
    """Measure what is missing of the ruler's axes and `tasks` until the campaign's time is up.

    Without asv, whose replay takes minutes of a rented machine: its record is made at home (asv_record.py).
    """
    console = Console(highlight=False)
    ruler = replace(ruler, until=settings.until)
    refuse_uncommitted_changes(ruler)
    with machine_lock(ruler.lock_file, say=console.print, waits=ruler.waits_for_lock):
        before, reader = run.plan_run(ruler)
        if Task.TIME not in tasks and len(before.untimed()) == len(before.plan.groups):
            return Report(status=Status.UNFINISHED, words="nothing of it is timed yet, which comes before its profile")
        if not _n_left(before, tasks):
            return Report(status=Status.DONE, words=f"all {len(before.points())} points are measured already")
        summary.announce(console, before, ruler)
        after = run.run_directly(console, ruler, before, reader, tasks=tasks)
    code = summary.sum_up(console, after, None, ruler) if Task.TIME in tasks else ExitCode.FINE
    n_points, left = len(after.points()), _n_left(after, tasks)
    measured = _n_left(before, tasks) - left
    words = (
        f"{n_points - left} of {n_points} points {' and '.join(_DONE[task] for task in tasks)}, {measured} of them now"
    )
    if code != ExitCode.FINE:
        return Report(status=Status.FAILED, words=f"{words}; some failed, see above", measured=measured)
    return Report(status=Status.UNFINISHED if left else Status.DONE, words=words, measured=measured)


def _n_left(of: Sweep, tasks: tuple[Task, ...]) -> int:
    untimed = of.untimed() if Task.TIME in tasks else ()
    unprofiled = of.unprofiled() if Task.PROFILE in tasks else ()
    return sum(len(group.contenders) for group in (*untimed, *unprofiled))


def recorded_sweep(settings: CampaignSettings) -> Sweep:
    """Return the sweep of the campaign's axes with what is recorded so far."""
    return run.plan_run(_with_axes(settings))[0]


def prove_asv(settings: CampaignSettings) -> Report:
    """Run asv itself on one group of two providers, which shows that it works on this machine."""
    if git_output("rev-parse", "HEAD") is None:
        return Report(status=Status.ABSENT, words="asv needs a repository, which git does not find here")
    console = Console(highlight=False)
    ruler = replace(settings.ruler, axes=for_device(ASV_PROOF, settings.device).name, until=settings.until)
    refuse_uncommitted_changes(ruler)
    marker = settings.out / f"asv-{settings.device}.json"
    with machine_lock(ruler.lock_file, say=console.print, waits=ruler.waits_for_lock):
        before, reader = run.plan_run(ruler)
        if (read_json(marker) or {}).get("run_id") == before.plan.run.run_id and not before.missing():
            return Report(status=Status.DONE, words="asv has recorded its points already")
        after, end = run.run_asv(console, ruler, before, reader)
    code = summary.sum_up(console, after, end, ruler)
    if code == ExitCode.FINE and not after.missing():
        write_json(marker, {"run_id": after.plan.run.run_id})
    status = Status.FAILED if code != ExitCode.FINE else Status.UNFINISHED if after.missing() else Status.DONE
    words = f"asv ended with {end.status}; {len(after.points()) - len(after.missing())} of {len(after.points())} points"
    return Report(status=status, words=words, measured=len(before.missing()) - len(after.missing()))


def _with_axes(settings: CampaignSettings) -> Settings:
    axes = AXES[settings.budget]
    if settings.budget is Budget.HALF_HOUR:
        axes = for_device(axes, settings.device)
    return replace(settings.ruler, axes=axes.name)


def compare(settings: CampaignSettings) -> Report:
    """Write the table of `fused` against its rivals from the sweep's record so far."""
    sweep_so_far = recorded_sweep(settings)
    wanted = set(sweep_so_far.points())
    timings = {key: line for key, line in sweep_so_far.recorded.timings.items() if key in wanted}
    text = all_markdown(timings, COMPARISONS[settings.device])
    if not text:
        return Report(status=Status.UNFINISHED, words="the sweep has measured nothing yet")
    first = sweep_so_far.plan.run
    conditions = next(iter(timings.values())).head.conditions
    versions = ", ".join(f"{name} {conditions.get(name)}" for name in ("device", "torch", "triton", "driver"))
    head = f"Commit {first.commit[:8]}, {first.machine}, {first.environment}; {versions}; forward."
    if settings.ruler.is_uncommitted:
        head += " With changes that no commit holds."
    path = table_path(settings)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{head}\n\n{text}\n", encoding="utf-8")
    print(path.read_text(encoding="utf-8"))  # noqa: T201 - a command
    return Report(status=Status.DONE, words=f"{len(timings)} timings compared in {path.name}")
