"""Pieces of a campaign that run one command of the ruler: ceilings, host cost, tuning."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from benchmarks.ruler.campaign.settings import (
    Budget,
    CampaignSettings,
    Report,
    Status,
    code_measured,
    read_json,
    write_json,
)
from benchmarks.ruler.plan.points import DeviceKind
from benchmarks.ruler.plan.settings import ROOT, environment_from_settings
from benchmarks.ruler.record.provenance import environment_name, machine_name
from benchmarks.ruler.sweep.lock import machine_lock
from benchmarks.ruler.sweep.machine_file import kept_ceilings
from benchmarks.ruler.sweep.sweep_ceilings import SweepCeilings
from benchmarks.ruler.worker.parent_death import end_with_parent
from benchmarks.ruler.worker.process import WorkerProcess, python_path

if TYPE_CHECKING:
    from pathlib import Path

# A command that was asked to end by then and has not is ended.
_MOST_BEYOND_S = 45.0
_LINES_SHOWN = 20
_LAUNCHES = "from fused_mlp.host_cost import host_cost_per_launch; print(host_cost_per_launch())"
# Module that must be there, and Python's arguments: on a CPU the whole table, on CUDA the cost of a launch.
_HOST_COST = {
    (DeviceKind.CPU, Budget.QUICK): (
        "benchmarks.ruler.checks.host_cost",
        ["-m", "benchmarks.ruler.checks.host_cost", "--rounds", "11", "--share-us", "50"],
    ),
    (DeviceKind.CPU, Budget.FULL): ("benchmarks.ruler.checks.host_cost", ["-m", "benchmarks.ruler.checks.host_cost"]),
    **{(DeviceKind.CUDA, budget): ("fused_mlp.host_cost", ["-c", _LAUNCHES]) for budget in Budget},
}
_HOST_COST[DeviceKind.CPU, Budget.HALF_HOUR] = _HOST_COST[DeviceKind.CPU, Budget.QUICK]


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
        arguments += ["--quick", "--operation", "mlp", "--dtype", "bfloat16"]
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
                preexec_fn=end_with_parent,
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
