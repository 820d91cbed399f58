"""What leads on from a point of the page *Throughput*: its commit, its profile, and how to measure it again."""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from dashboard.sweep_axes import AXES, text_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from dashboard.views.throughput.drawing import ThroughputDrawing
    from results.rows import PointRow

SHORT_HASH = 10
AXES_FILE = "point.toml"


@dataclass(frozen=True, kw_only=True)
class ChosenPoint:
    """Chosen batch at the commit that the chart over batch shows. `profile_query`: of the page that shows its calls.

    `commands`: what measures it again, one line after the other.
    """

    batch: int
    commit: str
    date: datetime | None
    subject: str | None
    profile_query: str
    commands: tuple[str, ...]


def chosen_point_of(drawing: ThroughputDrawing) -> ChosenPoint | None:
    """Return the point that the page's URL chooses; None if it was not measured at the commit shown."""
    choice = drawing.view.choice
    here = [row for row in drawing.by_batch if row.batch == choice.batch]
    if not here:
        return None
    row = here[0]
    axes = [(axis.name, text_of(getattr(choice, axis.column))) for axis in AXES]
    return ChosenPoint(
        batch=choice.batch,
        commit=row.commit,
        date=row.commit_date,
        subject=row.commit_subject,
        profile_query="?" + urlencode([*axes, ("commit", row.commit[:12])]),
        commands=(
            shlex.join(["git", "checkout", row.commit[:SHORT_HASH]]),
            *_axes_file(here),
            f"FUSEBENCH_THREADS={row.threads} fusebench run --axes {AXES_FILE} --again",
        ),
    )


def _axes_file(rows: Sequence[PointRow]) -> tuple[str, ...]:
    """Return the lines that write the axes of one shape's points to a file: no axes of a name hold every shape."""
    row = rows[0]
    axes = {
        "operations": [row.operation], "providers": list(dict.fromkeys(one.contender for one in rows)),
        "passes": [row.pass_], "dtypes.cpu": [row.dtype], "dtypes.cuda": [row.dtype],
        f"activations.{row.operation}": [row.activation or "none"],
        "batches": [row.batch], "hiddens": [row.hidden], "dims": [row.dim], "caches": [row.cache],
    }  # fmt: skip
    # A list of JSON is one of TOML, too; what names hold stays on its line and in its quotes.
    return (f"cat > {AXES_FILE} <<'END'", *(f"{name} = {json.dumps(values)}" for name, values in axes.items()), "END")
