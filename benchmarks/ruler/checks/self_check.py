"""Check the ruler on itself: A/A differences, and its own overhead.

`python -m benchmarks.ruler.self_check aa` measures the same function under two names, beside two others.
`python -m benchmarks.ruler.self_check coverage` looks whether intervals hold what later processes find.
`python -m benchmarks.ruler.self_check company` times providers in company, alone and by torch's Timer.
`python -m benchmarks.ruler.self_check re-warming` compares samples with the calls that follow them.
`python -m benchmarks.ruler.self_check planted` plants disturbances, and compares flags with bias.
`python -m benchmarks.ruler.self_check ceilings` measures the machine's ceilings twice, and under load.
`python -m benchmarks.ruler.self_check floors` measures the quick axes and compares every point with its floor.
`python -m benchmarks.ruler.self_check referee` lets providers cheat, and times what rotating inputs costs.
`python -m benchmarks.ruler.self_check speed` times replaying, the worker's own overhead, and a cold sweep against the
same points measured by asv alone.

The exit code is 0 if a check passes, 2 if it fails, and 3 if the machine was so disturbed that nothing is decided.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, NoReturn

import click

from benchmarks.ruler.checks import cheats, company, company_report, coverage, floors, planted, re_warming, speed
from benchmarks.ruler.checks.conclusion import exit_code, first_cause
from benchmarks.ruler.checks.scratch import KeptFolder, scratch_settings
from benchmarks.ruler.measure.conditions import shared_cache_bytes
from benchmarks.ruler.plan.points import DeviceKind
from benchmarks.ruler.plan.units import percent, signed_percent
from benchmarks.ruler.record.provenance import expected_device

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from benchmarks.ruler.checks.conclusion import Conclusion


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
@click.option(
    "--keep",
    type=KeptFolder(),
    help="Folder to record the visits in; asked again on the same commit, it goes on from them, and tells of all.",
)
def coverage_of_intervals(*, keep: Path | None) -> None:
    """Visit the quick axes many times: an interval should hold what later processes find, 9 times in 10."""
    with scratch_settings(keep=keep) as settings:
        found = list(coverage.held(coverage.visited_often(settings)))
    lines, conclusions = coverage.report(found)
    _tell(lines, *conclusions)


@main.command(name="company")
@click.option(
    "--rounds",
    type=click.IntRange(min=1),
    default=company.ROUNDS,
    show_default=True,
    help="How often, a minute and a half each; nine and more tell medians.",
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


@main.command(name="speed")
def speed_of_the_ruler() -> None:
    """Print the ruler's overhead: replaying, the worker, a cold sweep against plain asv."""
    speed.tell_costs()
    click.echo(_load())


@main.command(name="re-warming")
@click.option(
    "--turns",
    type=click.IntRange(min=re_warming.LEAST_TURNS),
    default=re_warming.TURNS,
    show_default=True,
    help="Samples of each.",
)
def re_warming_of_samples(*, turns: int) -> None:
    """Go on after each sample: the calls that follow should be as fast, if re-warming undoes what rivals did."""
    click.echo(re_warming.HEAD)
    found = []
    with scratch_settings() as settings:
        for row in re_warming.rows(settings, company.AXES, operation=company.OPERATION, turns=turns):
            found.append(row)
            click.echo(re_warming.line_of(row))
    _conclude(re_warming.summary(found))


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


if __name__ == "__main__":
    main()
