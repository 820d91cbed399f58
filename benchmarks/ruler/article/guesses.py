"""Guesses: work, traffic and number of steps of each case, from its shape alone, before it is measured; pure.

`python -m benchmarks.ruler.article.guesses` prints those of a GPU, which has the article's own shape among them.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from benchmarks.ruler.expectation.declarations import expectation
from benchmarks.ruler.plan import work
from benchmarks.ruler.plan.article_axes import ARTICLE_AXES
from benchmarks.ruler.plan.axes import all_groups
from benchmarks.ruler.plan.points import Contender, DeviceKind, Operation

if TYPE_CHECKING:
    from benchmarks.ruler.plan.axes import Axes
    from benchmarks.ruler.plan.points import Shape


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
            "steps": {str(each): guessed_steps(each, group.shape, device=device) for each in group.contenders},
        }
        for group in all_groups(axes, operations=tuple(Operation), device=device)
    ]


def guessed_steps(contender: Contender, shape: Shape, *, device: DeviceKind) -> int | None:
    """Return how many operators (kernels on a GPU) one call should run: as declared, or as the article teaches.

    torch.compile leaves each product alone and makes one of all that lies between two of them.
    """
    if contender.provider == "compiled":
        eager = expectation(Contender(provider="eager"), shape, device=device)
        steps, products = eager.operators, eager_products(shape)
        return None if steps is None else products + min(1, steps - products)
    declared = expectation(contender, shape, device=device)
    return declared.operators if device is DeviceKind.CPU else declared.launches


def eager_products(shape: Shape) -> int:
    """Return the matrix products of one forward call."""
    return expectation(Contender(provider="eager"), shape, device=DeviceKind.CUDA).library_products


if __name__ == "__main__":
    print(json.dumps(cases(ARTICLE_AXES[DeviceKind.CUDA], device=DeviceKind.CUDA), indent=1))  # noqa: T201 - its purpose
