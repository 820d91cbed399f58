"""Command `python -m benchmarks.ruler.fused_table`: print fused against its rivals on the CPU in Markdown.

Forward, float32, medians of alternating rounds; each cell is eager's time over the rival's, from paired rounds.
`--keep FOLDER` records them there, and goes on from what an interrupted call of the same commit recorded.
"""

from __future__ import annotations

import math
import os
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from benchmarks.ruler.checks.comparison import Quantity, Standing, best_rival, standing, written
from benchmarks.ruler.checks.scratch import KeptFolder, scratch_settings
from benchmarks.ruler.plan.axes import QUICK
from benchmarks.ruler.plan.points import Operation
from benchmarks.ruler.sweep.measure import measure
from benchmarks.ruler.worker.protocol import Task

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from benchmarks.ruler.plan.settings import Settings
    from benchmarks.ruler.record.outcome import TimingOutcome

RIVALS = (
    *("compiled", "compiled-frozen:packed", "onnxruntime:packed", "fused-onednn:packed"),
    *("fused", "fused:packed"),
)
BATCHES = (1, 8, 64, 512)
DIMS_AND_HIDDENS = ((64, 256), (256, 256), (256, 1024), (1024, 1024), (1024, 4096))


@click.command()
@click.option("--dtype", default="float32", show_default=True)
@click.option("--budget-s", default=0.5, show_default=True, help="Seconds of samples per point.")
@click.option("--keep", type=KeptFolder(), help="Folder to record in, and to go on from.")
def main(*, dtype: str, budget_s: float, keep: Path | None) -> None:
    """Measure mlp and gated_mlp at 20 shapes each and print how much faster than eager each rival is."""
    with scratch_settings(keep=keep) as settings:
        tables = [
            list(table(settings, operation, dtype=dtype, budget_s=budget_s)) for operation in ("mlp", "gated_mlp")
        ]
    for lines in tables:
        click.echo("\n".join(["", *lines]))
        load = f"load average {os.getloadavg()[0]:.2f}, our own included"
    click.echo(f"\n{dtype}, forward, {settings.threads} thread(s); {load}")


def table(settings: Settings, operation: str, *, dtype: str, budget_s: float) -> Iterator[str]:
    """Return the lines of one operation's table, the geometric mean last."""
    yield f"| {operation}: batch, dim, hidden | {' | '.join(RIVALS)} | fused:packed ÷ best rival |"
    yield "|---" * (len(RIVALS) + 2) + "|"
    speedups: dict[str, list[float]] = {name: [] for name in RIVALS}
    behind = 0
    for dim, hidden in DIMS_AND_HIDDENS:
        axes = replace(
            QUICK,
            name="fused-table",
            providers=("eager", *RIVALS),
            dtypes={"cpu": (dtype,)},
            batches=BATCHES,
            hiddens=(hidden,),
            dims=(dim,),
            budget_s=budget_s,
        )
        timings = measure(settings, axes=axes, operation=operation, tasks=(Task.TIME,)).timings
        for batch in BATCHES:
            found = {
                str(contender): line.outcome
                for (shape, contender), line in timings.items()
                if (shape.operation, shape.batch, shape.dim, shape.hidden) == (Operation(operation), batch, dim, hidden)
            }
            for name in RIVALS:
                if found[name].speedup_vs_eager is not None:
                    speedups[name].append(float(found[name].speedup_vs_eager or math.nan))
            verdict, is_behind = _against_the_best(found)
            behind += is_behind
            yield f"| {batch}, {dim}, {hidden} | {' | '.join(_cell(found[name]) for name in RIVALS)} | {verdict} |"
    means = [f"**{math.exp(sum(map(math.log, each)) / len(each)):.2f}**" if each else "–" for each in speedups.values()]
    yield f"| geometric mean | {' | '.join(means)} | behind in {behind} |"


def _cell(outcome: TimingOutcome) -> str:
    if outcome.speedup_vs_eager is None:
        return str(outcome.state)
    return f"{outcome.speedup_vs_eager:.2f}" + (" (disturbed)" if outcome.disturbed else "")


def _against_the_best(found: dict[str, TimingOutcome]) -> tuple[str, bool]:
    """Return the best rival's time over fused:packed's, paired by round, and whose; and whether fused is behind."""
    rivals = {name: each for name, each in found.items() if not name.startswith("fused:") and name != "fused"}
    best = best_rival(found["fused:packed"], rivals, quantity=Quantity.WALL)
    if best is None:
        return "–", True
    name, ratio = best
    return f"{written(ratio)} {name}", standing(ratio) is Standing.BEHIND


if __name__ == "__main__":
    main()
