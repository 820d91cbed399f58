"""Check the ruler on itself: A/A differences, and its own overhead.

`python -m benchmarks.ruler.self_check aa` measures the same function under two names.
`python -m benchmarks.ruler.self_check planted` plants disturbances, and compares flags with bias.
`python -m benchmarks.ruler.self_check ceilings` measures the machine's ceilings twice, and under load.
`python -m benchmarks.ruler.self_check floors` measures the quick axes and compares every point with its floor.
`python -m benchmarks.ruler.self_check referee` lets providers cheat, and times what rotating inputs costs.
`python -m benchmarks.ruler.self_check speed` times replaying, the worker's own overhead, and a cold sweep against the
same points measured by asv alone.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import click

from benchmarks.ruler.checks import cheats, floors, planted
from benchmarks.ruler.checks.scratch import cold_inductor, scratch_settings
from benchmarks.ruler.plan.axes import QUICK, Axes
from benchmarks.ruler.plan.settings import ROOT, environment_from_settings
from benchmarks.ruler.record.provenance import expected_device, measured_commit
from benchmarks.ruler.sweep.measure import measure
from benchmarks.ruler.worker.protocol import Task

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from benchmarks.ruler.plan.settings import Settings

_SAME_AGAIN = """
def build(load):
    return load.module


PROVIDERS = {"eager-again": build}
"""

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


@dataclass(frozen=True, kw_only=True)
class Speedup:
    """Speedup with its 95 % interval, and what disturbed its measurement."""

    median: float
    low: float
    high: float
    disturbed: str | None

    def contains_one(self) -> bool:
        """Return whether the interval contains 1."""
        return self.low <= 1.0 <= self.high


@click.group()
def main() -> None:
    """Check the ruler on itself."""


@main.command()
@click.option("--points", default=48, show_default=True, help="How many shapes to measure, at least.")
def aa(*, points: int) -> None:
    """Measure the same function under two names; 95 in 100 of the intervals should contain 1.0."""
    batches = tuple(2**power for power in range(9))
    hiddens = tuple(32 * (step + 1) for step in range(math.ceil(points / (2 * len(batches)))))
    axes = replace(QUICK, name="A/A", providers=("eager", "eager-again"), batches=batches, hiddens=hiddens)
    with scratch_settings() as settings:
        module = _folder(settings) / "same_again.py"
        module.write_text(_SAME_AGAIN, encoding="utf-8")
        found = list(speedups(replace(settings, provider_module=module), axes, ("linear", "mlp")))
    contain = sum(each.contains_one() for each in found)
    disturbed = sum(each.disturbed is not None for each in found)
    widest = max(each.high - each.low for each in found)
    farthest = max(abs(each.median - 1) for each in found)
    click.echo(f"{contain} of {len(found)} intervals contain 1.0 ({contain / len(found):.0%})")
    click.echo(
        f"farthest median from 1.0: {farthest:.2%}; widest interval: {widest:.2%}; disturbed points: {disturbed}"
    )
    click.echo(f"load average: {' '.join(f'{load:.2f}' for load in os.getloadavg())}, {os.cpu_count()} CPUs")


def speedups(settings: Settings, axes: Axes, operations: Sequence[str]) -> Iterator[Speedup]:
    """Measure the speedup of `eager-again` over `eager` at each shape."""
    for operation in operations:
        timings = measure(settings, axes=axes, operation=operation, tasks=(Task.TIME,)).timings
        for (shape, contender), line in timings.items():
            outcome = line.outcome
            is_asked = shape.operation == operation and contender.provider == "eager-again"
            if is_asked and outcome.speedup_vs_eager is not None:
                assert outcome.speedup_ci_low is not None and outcome.speedup_ci_high is not None  # noqa: S101, PT018 - given together
                yield Speedup(
                    median=outcome.speedup_vs_eager,
                    low=outcome.speedup_ci_low,
                    high=outcome.speedup_ci_high,
                    disturbed=outcome.disturbed,
                )


@main.command()
def speed() -> None:
    """Print the ruler's overhead: replaying, the worker, a cold sweep against plain asv."""
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
    click.echo(f"load average: {' '.join(f'{load:.2f}' for load in os.getloadavg())}, {os.cpu_count()} CPUs")


@main.command(name="planted")
def planted_disturbances() -> None:
    """Plant disturbances: flags should follow the harm, not the load."""
    click.echo(f"{'planted':38} {'shape':12} threads    bias  flag")
    found = []
    with scratch_settings() as settings:
        for row in planted.rows(settings):
            found.append(row)
            bias = "?" if row.bias is None else f"{row.bias:+.1%}"
            click.echo(f"{row.plant:38} {row.shape:12} {row.threads:7} {bias:>7}  {row.verdict()}: {row.flag or '-'}")
    words, is_passed = planted.summary(found)
    click.echo(words)
    if not is_passed:
        sys.exit(1)


@main.command()
def ceilings() -> None:
    """Measure the machine's ceilings twice, and under load, where they should be refused."""
    with scratch_settings() as settings:
        device = expected_device(settings)
        first, second = (floors.ceilings_now(settings, device=device) for _ in range(2))
        loaded = floors.ceilings_now(settings, device=device, n_busy=os.cpu_count() or 1)
    of_load = floors.summary_of_load(loaded)
    for found in (first, second):
        if isinstance(found, floors.Refusal):
            _conclude((f"FAIL: the idle machine gave none: {found.reason}", False), of_load)
    assert not isinstance(first, floors.Refusal) and not isinstance(second, floors.Refusal)  # noqa: S101, PT018 - see above
    repeats = floors.repeated(first, second)
    click.echo(f"{'ceiling':34} {'first':>10} {'second':>10}  apart")
    for each in repeats:
        where = "  between levels" if each.is_between_levels else ""
        click.echo(f"{each.quantity:34} {each.first:10.3g} {each.second:10.3g} {each.apart:6.1%}{where}")
    _conclude(floors.summary_of_repeats(repeats), of_load)


@main.command(name="floors")
def floors_of_quick_axes() -> None:
    """Measure the quick axes: no point should beat its floor, and bounds should tell points apart."""
    found = []
    with scratch_settings() as settings:
        for row in floors.floor_rows(settings):
            found.append(row)
            percent = "?" if row.percent is None else f"{row.percent:.0f} %"
            click.echo(f"{row.point:52} {row.latency_s * 1e6:9.1f} µs {percent:>6}  {row.bound}: {row.detail}")
    _conclude(floors.summary_of_floors(found))


@main.command()
def referee() -> None:
    """Let providers cheat, look whether an honest one is accused, and time what rotating inputs costs."""
    _conclude(*cheats.reported(click.echo))


def _conclude(*summaries: tuple[str, bool]) -> None:
    for words, _ in summaries:
        click.echo(words)
    if not all(is_passed for _, is_passed in summaries):
        sys.exit(1)


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


if __name__ == "__main__":
    main()
