"""Guesses: work, traffic and number of steps of each case, from its shape alone, before it is measured; pure.

`python -m benchmarks.ruler.article.guesses` prints those of a GPU, which has the article's own shape among them.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from benchmarks.ruler.expectation.declarations import expectation
from benchmarks.ruler.plan import work
from benchmarks.ruler.plan.article_axes import ARTICLE_AXES
from benchmarks.ruler.plan.axes import all_groups
from benchmarks.ruler.plan.points import DeviceKind, Operation
from benchmarks.ruler.sweep.interruption import run_command

if TYPE_CHECKING:
    from benchmarks.ruler.plan.axes import Axes
    from benchmarks.ruler.plan.points import Contender, Shape


def cases(axes: Axes, *, device: DeviceKind) -> list[dict[str, Any]]:
    """Return every case of `axes` with its guesses, as the results' half reads them.

    min_bytes: what one call cannot avoid moving; intermediate_bytes: of one [rows, hidden] intermediate. steps: by
    contender, operators that compute on a CPU, kernels on a GPU; None where nothing can be said beforehand.
    """
    return [
        {
            "operation": group.shape.operation.value,
            "activation": group.shape.activation,
            "dtype": group.shape.dtype,
            "batch": group.shape.batch,
            "dim": group.shape.dim,
            "hidden": group.shape.hidden,
            "flop": work.flop(group.shape),
            "min_bytes": work.min_bytes(group.shape),
            "intermediate_bytes": work.intermediate_bytes(group.shape),
            "steps": {str(each): _guessed_steps(each, group.shape, device=device) for each in group.contenders},
        }
        for group in all_groups(axes, operations=tuple(Operation), device=device)
    ]


def _guessed_steps(contender: Contender, shape: Shape, *, device: DeviceKind) -> int | None:
    """Return how many operators (kernels on a GPU) one call is declared to run; None where nothing is."""
    declared = expectation(contender, shape, device=device)
    return declared.operators if device is DeviceKind.CPU else declared.launches


@click.command()
def main() -> None:
    """Print the guesses of the article's cases on a GPU as JSON; nothing is measured."""
    click.echo(json.dumps(cases(ARTICLE_AXES[DeviceKind.CUDA], device=DeviceKind.CUDA), indent=1))


if __name__ == "__main__":
    run_command(main, name="python -m benchmarks.ruler.article.guesses")
