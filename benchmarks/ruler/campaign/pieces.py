"""Pieces of a campaign built on the ruler: ceilings, host cost, tuning, sweep, table."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from rich.console import Console

from benchmarks.ruler.campaign.settings import (
    Budget,
    CampaignSettings,
    Report,
    Status,
    code_measured,
    read_json,
    write_json,
)
from benchmarks.ruler.checks.comparison import Comparison, Quantity, all_markdown
from benchmarks.ruler.plan.axes import CAMPAIGN, CAMPAIGN_QUICK
from benchmarks.ruler.plan.points import DeviceKind
from benchmarks.ruler.plan.settings import ROOT, environment_from_settings
from benchmarks.ruler.record.provenance import environment_name, machine_name, refuse_uncommitted_changes
from benchmarks.ruler.sweep import run, summary
from benchmarks.ruler.sweep.lock import machine_lock
from benchmarks.ruler.sweep.machine_file import kept_ceilings
from benchmarks.ruler.sweep.sweep_ceilings import SweepCeilings
from benchmarks.ruler.worker.process import WorkerProcess, python_path

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.ruler.plan.settings import Settings

AXES = {Budget.QUICK: CAMPAIGN_QUICK, Budget.FULL: CAMPAIGN}
_TRACED_BATCHES = {Budget.QUICK: ("16",), Budget.FULL: ("16", "4096")}
# Of the time of a sweep, what asv takes to replay it, and the last group may take beyond it.
_SWEPT = 0.8
# A command that was asked to end by then and has not is ended.
_MOST_BEYOND_S = 45.0
_LINES_SHOWN = 20
_RIVALS = ("eager", "compiled", "compiled-max-autotune-no-cudagraphs", "liger", "addmm-activation")
_LAUNCHES = "from fused_mlp.host_cost import host_cost_per_launch; print(host_cost_per_launch())"
# Module that must be there, and Python's arguments: on a CPU the whole table, on CUDA the cost of a launch.
_HOST_COST = {
    (DeviceKind.CPU, Budget.QUICK): (
        "benchmarks.ruler.checks.host_cost",
        ["-m", "benchmarks.ruler.checks.host_cost", "--rounds", "11", "--share-us", "50"],
    ),
    (DeviceKind.CPU, Budget.FULL): ("benchmarks.ruler.checks.host_cost", ["-m", "benchmarks.ruler.checks.host_cost"]),
    (DeviceKind.CUDA, Budget.QUICK): ("fused_mlp.host_cost", ["-c", _LAUNCHES]),
    (DeviceKind.CUDA, Budget.FULL): ("fused_mlp.host_cost", ["-c", _LAUNCHES]),
}
COMPARISONS = {
    DeviceKind.CUDA: (
        Comparison(ours="fused", rivals=_RIVALS, quantity=Quantity.WALL),
        Comparison(ours="fused", rivals=_RIVALS, quantity=Quantity.DEVICE),
        Comparison(ours="fused-captured", rivals=("compiled-cudagraphs",), quantity=Quantity.WALL),
        Comparison(ours="fused-captured", rivals=("compiled-cudagraphs",), quantity=Quantity.DEVICE),
    ),
    DeviceKind.CPU: (
        Comparison(ours="fused", rivals=_RIVALS, quantity=Quantity.WALL),
        Comparison(ours="fused:packed", rivals=_RIVALS, quantity=Quantity.WALL),
    ),
}


def measure_ceilings(settings: CampaignSettings) -> Report:
    """Measure the machine's ceilings, unless its file has them."""
    ruler = settings.ruler
    machine, environment = machine_name(ruler), environment_name(settings.device, ruler)
    kept = kept_ceilings(ruler.data_dir, machine=machine, environment=environment)
    if kept is not None and kept.bandwidth_bytes_per_s:
        return Report(status=Status.DONE, words=f"the ceilings of {machine}, {environment} are measured already")
    with (
        machine_lock(ruler.lock_file, say=print, waits=ruler.waits_for_lock) as lock,
        WorkerProcess(
            device=settings.device,
            threads=ruler.threads,
            allocator=ruler.allocator,
            point_limit_s=120.0,
            inherited=(lock,),
        ) as worker,
    ):
        worker.start()
        if worker.hello is None or worker.hello["device"] != settings.device:
            return Report(status=Status.ABSENT, words=f"torch sees no {settings.device} device here")
        ceilings = SweepCeilings(ruler.data_dir, machine=machine, environment=environment, since=None)
        said = ceilings.ensure(worker)
    if ceilings.value is None:
        # Another try of the same command may meet a quiet machine.
        return Report(status=Status.UNFINISHED, words=said or "no ceilings were measured")
    found = ceilings.value
    products = ", ".join(f"{name} {value / 1e12:.3g} TFLOP/s" for name, value in found.matmul_flop_per_s.items())
    return Report(status=Status.DONE, words=f"{products}, copy {found.copy_bytes_per_s / 1e9:.3g} GB/s", measured=1)


def measure_host_cost(settings: CampaignSettings) -> Report:
    """Measure the host cost of a call by the ruler's command, unless it succeeded before on this code."""
    marker = settings.out / f"host-cost-{settings.device}.json"
    code = f"{code_measured(settings.ruler)} {settings.budget}"
    if (read_json(marker) or {}).get("code") == code:
        return Report(status=Status.DONE, words=f"measured already, see host-cost-{settings.device}.txt")
    report = _command(settings, "host-cost", *_HOST_COST[settings.device, settings.budget])
    if report.status is Status.DONE:
        write_json(marker, {"code": code})
    return report


def tune(settings: CampaignSettings) -> Report:
    """Tune this machine by `benchmarks.tune`, until the time is up.

    The table it makes is a copy: the committed one is only changed by a person who commits it.
    """
    results = settings.out / f"tuning-{settings.budget}-{settings.device}.jsonl"
    arguments = ["--device", settings.device, "--results", str(results)]
    arguments += ["--budget-s", str(int(max(5.0, 0.9 * settings.seconds_left())))]
    if settings.budget is Budget.QUICK:
        arguments += ["--quick", "--operation", "mlp", "--dtype", "float32"]
    else:
        table = settings.out / f"tuned-{settings.device}.json"
        if not table.exists():
            shutil.copy(ROOT / "kernels" / "fused_mlp" / "tuned.json", table)
        arguments += ["--write", "--table", str(table)]
    before = _lines(results)
    report = _command(settings, "tune", "benchmarks.tune", ["-m", "benchmarks.tune", *arguments])
    return replace(report, measured=_lines(results) - before)


def _lines(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0


def _command(settings: CampaignSettings, piece: str, module: str, arguments: list[str]) -> Report:
    """Run a module of this checkout in Python; log its output and report its last line."""
    if importlib.util.find_spec(module) is None:
        return Report(status=Status.ABSENT, words=f"this commit has no {module}")
    log = settings.out / f"{piece}-{settings.device}.txt"
    with log.open("w", encoding="utf-8") as output:
        try:
            ended = subprocess.run(
                [sys.executable, *arguments],
                cwd=ROOT,
                env={
                    **environment_from_settings(settings.ruler),
                    "PYTHONPATH": python_path(),
                    "OMP_NUM_THREADS": str(settings.ruler.threads),
                },
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                check=False,
                timeout=settings.seconds_left() + _MOST_BEYOND_S,
            )
        except subprocess.TimeoutExpired:
            return Report(status=Status.UNFINISHED, words=f"the time is up; {log.name} has what it said")
    lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    print("\n".join(lines[-_LINES_SHOWN:]))  # noqa: T201 - a command
    last = lines[-1] if lines else "it said nothing"
    if ended.returncode == os.EX_TEMPFAIL:
        return Report(status=Status.UNFINISHED, words=last, measured=1)
    if ended.returncode:
        return Report(status=Status.FAILED, words=f"{module} ended with {ended.returncode}: {last}", measured=1)
    return Report(status=Status.DONE, words=last, measured=1)


def sweep(settings: CampaignSettings) -> Report:
    """Run the sweep of the campaign's axes through asv, with profiles, until the time is up."""
    console = Console(highlight=False)
    ruler = replace(
        _with_axes(settings),
        until=settings.until - (1 - _SWEPT) * settings.seconds_left(),
        traced_batches=_TRACED_BATCHES[settings.budget],
    )
    refuse_uncommitted_changes(ruler)
    marker = settings.out / f"sweep-{ruler.axes}-{settings.device}.json"
    with machine_lock(ruler.lock_file, say=console.print, waits=ruler.waits_for_lock):
        before, reader = run.plan_run(ruler)
        is_replayed = (read_json(marker) or {}).get("run_id") == before.plan.run.run_id
        if not before.missing() and is_replayed:
            return Report(status=Status.DONE, words=f"all {len(before.points())} points are measured already")
        summary.announce(console, before, ruler)
        after, end = run.run_asv(console, ruler, before, reader)
    code = summary.sum_up(console, after, end, ruler)
    n_points, n_left = len(after.points()), len(after.missing())
    measured = len(before.missing()) - n_left
    words = f"{n_points - n_left} of {n_points} points timed and profiled, {measured} of them now"
    if end.status == 0 and n_left == 0:
        write_json(marker, {"run_id": after.plan.run.run_id})
    if code != summary.FINE:
        return Report(status=Status.FAILED, words=f"{words}; some failed, see above", measured=measured)
    return Report(status=Status.UNFINISHED if n_left else Status.DONE, words=words, measured=measured)


def _with_axes(settings: CampaignSettings) -> Settings:
    return replace(settings.ruler, axes=AXES[settings.budget].name)


def table_path(settings: CampaignSettings) -> Path:
    """Return the path of a campaign's table."""
    return settings.out / f"table-{settings.device}.md"


def compare(settings: CampaignSettings) -> Report:
    """Write the table of `fused` against its rivals from the sweep's record so far."""
    sweep_so_far, _ = run.plan_run(_with_axes(settings))
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
