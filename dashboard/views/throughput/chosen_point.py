"""What leads on from a point of the page *Throughput*: its commit, its profile, and how to measure it again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from dashboard.sweep_axes import AXES, text_of
from results.measuring_again import run_again

if TYPE_CHECKING:
    from datetime import datetime

    from dashboard.views.throughput.drawing import ThroughputDrawing


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
        profile_query="?" + urlencode([*axes, *choice.project.pairs, ("commit", row.commit[:12])]),
        commands=run_again(here),
    )
