"""Check the ruler on itself: A/A differences, and its own overhead.

`python -m benchmarks.ruler.self_check aa` measures the same function under two names, beside two others.
`python -m benchmarks.ruler.self_check coverage` looks whether intervals hold what later processes find.
`python -m benchmarks.ruler.self_check company` times providers in company, alone and by torch's Timer.
`python -m benchmarks.ruler.self_check planted` plants disturbances, and compares flags with bias.
`python -m benchmarks.ruler.self_check ceilings` measures the machine's ceilings twice, and under load.
`python -m benchmarks.ruler.self_check floors` measures the quick axes and compares every point with its floor.
`python -m benchmarks.ruler.self_check referee` lets providers cheat, and times what rotating inputs costs.
`python -m benchmarks.ruler.self_check speed` times replaying, the worker's own overhead, and a cold sweep against the
same points measured by asv alone.

The exit code is 0 if a check passes, 2 if it fails, and 3 if the machine was so disturbed that nothing is decided.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import replace
from typing import TYPE_CHECKING, NoReturn

import click

from benchmarks.ruler.checks import cheats, company, company_report, coverage, floors, planted
from benchmarks.ruler.checks.conclusion import exit_code, first_cause
from benchmarks.ruler.checks.scratch import cold_inductor, scratch_settings
from benchmarks.ruler.measure.conditions import shared_cache_bytes
from benchmarks.ruler.plan.axes import QUICK
from benchmarks.ruler.plan.points import DeviceKind
from benchmarks.ruler.plan.settings import ROOT, environment_from_settings
from benchmarks.ruler.plan.units import percent, signed_percent
from benchmarks.ruler.record.provenance import expected_device, measured_commit
from benchmarks.ruler.sweep.measure import measure

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from benchmarks.ruler.checks.conclusion import Conclusion
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


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120})
def main() -> None:
    """Check the ruler on itself."""


@main.command()
@click.option("--points", default=48, show_default=True, help="How many shapes to measure, at least.")
def aa(*, points: int) -> None:
    """Measure the same function under two names, beside two others; 95 in 100 of the intervals should contain 1.0."""
    with scratch_settings() as settings:
        found = list(coverage.equal_speedups(settings, n_points=points))
    _tell(*coverage.report_of_equals(found))


@main.command(name="coverage")
def coverage_of_intervals() -> None:
    """Visit a few groups many times: an interval should hold what later processes find, 9 times in 10."""
    with scratch_settings() as settings:
        found = list(coverage.held(coverage.visited_often(settings)))
    lines, conclusions = coverage.report(found)
    _tell(lines, *conclusions)


@main.command(name="company")
@click.option(
    "--rounds",
    type=click.IntRange(min=1),
    default=company.ROUNDS,
    show_default=True,
    help="How often, three or four minutes each.",
)
def company_of_rivals(*, rounds: int) -> None:
    """Time providers in company, alone and by torch's Timer in a fresh process; all three should agree."""
    n_rows = rounds * company.ROWS_OF_ROUND
    found: list[company_report.Row] = []
    with (
        scratch_settings() as settings,
        click.progressbar(
            company.rows(settings, rounds=rounds), length=n_rows, label="company", file=sys.stderr
        ) as rows,
    ):
        try:
            for row in rows:
                found.append(row)  # noqa: PERF402 - what was found is kept where the rest fails
        except BaseException:
            click.echo("\n".join(company_report.report(found)[0]))
            raise
    _tell(*company_report.report(found))


def _tell(lines: Sequence[str], *conclusions: Conclusion) -> NoReturn:
    click.echo("\n".join(lines))
    _conclude(*conclusions)


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
    click.echo(_load())


@main.command(name="planted")
def planted_disturbances() -> None:
    """Plant disturbances: flags should follow the harm, not the load."""
    click.echo(f"{'planted':38} {'shape':12} threads    bias  flag")
    found = []
    with scratch_settings() as settings:
        for row in planted.rows(settings):
            found.append(row)
            bias = "?" if row.bias is None else signed_percent(row.bias)
            flag = "-" if row.flag is None else first_cause(row.flag)
            click.echo(f"{row.plant:38} {row.shape:12} {row.threads:7} {bias:>7}  {row.verdict()}: {flag}")
    _conclude(planted.summary(found))


@main.command()
def ceilings() -> None:
    """Measure the machine's ceilings twice, and under load, where they should be refused."""
    with scratch_settings() as settings:
        device = expected_device(settings)
        first, second = (floors.ceilings_now(settings, device=device) for _ in range(2))
        loaded = floors.ceilings_now(settings, device=device, n_busy=os.cpu_count() or 1)
    is_quiet = not isinstance(first, floors.Refusal) and not isinstance(second, floors.Refusal)
    of_load = floors.summary_of_load(loaded, is_quiet=is_quiet)
    for found in (first, second):
        if isinstance(found, floors.Refusal):
            _conclude(floors.summary_of_refusal(found), of_load)
    assert not isinstance(first, floors.Refusal) and not isinstance(second, floors.Refusal)  # noqa: S101, PT018 - see above
    shared = shared_cache_bytes() if device is DeviceKind.CPU else None
    repeats = floors.repeated(first, second, shared_cache_bytes=shared)
    click.echo(f"{'ceiling':34} {'first':>10} {'second':>10}  apart")
    for each in repeats:
        where = "  between levels" if each.is_between_levels else "  swings" if each.has_swung else ""
        click.echo(
            f"{each.quantity:34} {each.first:10.3g} {each.second:10.3g} {percent(each.apart, digits=1):>7}{where}"
        )
    was_slow = any(found.slow_rounds for found in (first, second))
    _conclude(floors.summary_of_repeats(repeats, was_slow=was_slow), of_load)


@main.command(name="floors")
def floors_of_quick_axes() -> None:
    """Measure the quick axes: no point should beat its floor, and bounds should tell points apart."""
    found = []
    with scratch_settings() as settings:
        for row in floors.floor_rows(settings):
            found.append(row)
            percent = "?" if row.percent is None else f"{row.percent:.0f} %"
            mark = "  disturbed" if row.disturbed else ""
            click.echo(f"{row.point:52} {row.latency_s * 1e6:9.1f} µs {percent:>6}  {row.bound}: {row.detail}{mark}")
    _conclude(floors.summary_of_floors(found))


@main.command()
@click.option("--only", type=click.Choice([each.value for each in cheats.Question]), help="Only this part of it [all].")
def referee(*, only: str | None) -> None:
    """Let providers cheat, look whether an honest one is accused, and time what rotating inputs costs."""
    questions = (cheats.Question(only),) if only else tuple(cheats.Question)
    _conclude(*cheats.reported(click.echo, questions=questions))


def _conclude(*conclusions: Conclusion) -> NoReturn:
    for each in conclusions:
        click.echo(str(each))
    click.echo(_load())
    sys.exit(exit_code(conclusions))


def _load() -> str:
    return f"load average: {' '.join(f'{load:.2f}' for load in os.getloadavg())}, {os.cpu_count()} CPUs"


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
