"""What the ruler itself costs: replaying, the worker, and a cold sweep against plain asv."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from benchmarks.ruler.checks.scratch import cold_inductor, scratch_settings
from benchmarks.ruler.plan.axes import QUICK
from benchmarks.ruler.plan.settings import ROOT, environment_from_settings
from benchmarks.ruler.record.provenance import measured_commit
from benchmarks.ruler.sweep.measure import measure

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.ruler.plan.settings import Settings

# The same 12 points as `_COLD`, the way asv is used without us: a process for each point, which builds and compiles.
_PLAIN_SUITE = """
import torch
from benchmarks.ruler.providers import registry as providers
from benchmarks.ruler.providers import workload
from benchmarks.ruler.plan.points import CachePolicy, Contender, Operation, Pass, Shape


class Plain:
    params = (["eager", "compiled"], [16, 256, 1024], [256, 1024])
    param_names = ["provider", "batch", "hidden"]
    timeout = 600

    def setup(self, provider, batch, hidden):
        torch.set_num_threads(THREADS)
        shape = Shape(
            operation=Operation.MLP, pass_=Pass.FORWARD, dtype="float32", activation="gelu",
            batch=batch, hidden=hidden, dim=hidden // 4, cache=CachePolicy.WARM,
        )
        load = workload.workload(shape, device=torch.device("cpu"))
        with torch.inference_mode():
            self.call = workload.one_call(load, providers.build(Contender(provider=provider), load).function)
            self.call()

    def time_forward(self, provider, batch, hidden):
        with torch.inference_mode():
            self.call()
"""
_COLD = replace(
    QUICK,
    name="cold",
    operations=("mlp",),
    providers=("eager", "compiled"),
    batches=(16, 256, 1024),
    hiddens=(256, 1024),
)
_REPLAYED = replace(
    QUICK, name="replayed", providers=("eager", "fused"), batches=tuple(range(1, 51)), hiddens=(64,), budget_s=0.01
)


def tell_costs() -> None:
    """Measure all of it, and print it. Raises: click.ClickException if asv fails."""
    with scratch_settings() as settings, cold_inductor():
        start = time.perf_counter()
        measure(settings, axes=_COLD, operation="mlp")
        ours_s = time.perf_counter() - start
    with scratch_settings() as settings, cold_inductor():
        suite = _folder(settings) / "plain_suite"
        suite.mkdir()
        (suite / "__init__.py").touch()
        (suite / "plain.py").write_text(_PLAIN_SUITE.replace("THREADS", str(settings.threads)), encoding="utf-8")
        plain_s = _asv_seconds(settings, suite, bench="plain")
    with scratch_settings() as settings:
        axes_file = _folder(settings) / "axes.toml"
        names = "providers", "batches", "hiddens"
        axes_file.write_text(
            "".join(f"{name} = {json.dumps(list(getattr(_REPLAYED, name)))}\n" for name in names)
            + f"budget_s = {_REPLAYED.budget_s}\n",
            encoding="utf-8",
        )
        settings = replace(settings, axes=str(axes_file))  # noqa: PLW2901 - the same folder
        recorded = measure(settings, operation="linear")
        overheads = {
            line.group: float(str(line.head.conditions["ruler_overhead_s"])) for line in recorded.timings.values()
        }
        replay_s = _asv_seconds(settings, ROOT / "benchmarks", bench="linear.Linear.time_forward")
    n_points = len(recorded.timings)
    click.echo(f"replaying {n_points} measured points through asv run: {replay_s:.1f} s")
    click.echo(
        "worker, outside build, reference check, warm-up and sampling: "
        f"{sum(overheads.values()) / n_points * 1e3:.1f} ms "
        f"per point (worst group {max(overheads.values()) / 2 * 1e3:.1f} ms per point)"
    )
    click.echo(f"cold sweep of 12 points: {ours_s:.0f} s; asv alone, a process each: {plain_s:.0f} s; ", nl=False)
    click.echo(f"ratio {ours_s / plain_s:.2f}")


def _folder(settings: Settings) -> Path:
    """Return the temporary folder of `settings`, made if need be."""
    settings.data_dir.mkdir(parents=True, exist_ok=True)
    return settings.data_dir.parent


def _asv_seconds(settings: Settings, suite: Path, *, bench: str) -> float:
    """Return the seconds that `asv run` takes for `bench` of `suite`, on this interpreter, recorded in a folder."""
    folder = _folder(settings)
    config = folder / "asv.conf.json"
    values = {
        "version": 1,
        "project": "self-check",
        "repo": str(ROOT),
        "branches": ["HEAD"],
        "environment_type": "virtualenv",
        "benchmark_dir": str(suite),
        "results_dir": str(folder / "asv"),
        "launch_method": "forkserver" if suite == ROOT / "benchmarks" else "spawn",
        "default_benchmark_timeout": 900,
    }
    config.write_text(json.dumps(values), encoding="utf-8")
    environ = environment_from_settings(settings) | {
        "HOME": str(folder),
        "PYTHONPATH": str(ROOT),
        "ASV_PYTHONPATH": str(ROOT),
    }
    asv = [sys.executable, "-m", "asv", "--config", str(config)]
    subprocess.run([*asv, "machine", "--yes", "--machine", "m"], env=environ, check=True, stdout=subprocess.DEVNULL)
    start = time.perf_counter()
    done = subprocess.run(
        [
            *(*asv, "run", "-E", f"existing:{sys.executable}", "--set-commit-hash", measured_commit(settings).hash),
            *("--machine", "m", "--bench", bench),
        ],
        env=environ,
        check=False,
        capture_output=True,
        text=True,
    )
    seconds = time.perf_counter() - start
    if done.returncode or " ok" not in done.stdout or "failed" in done.stdout:
        raise click.ClickException(f"asv run failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return seconds
