"""Change points of the curves over commits: the findings that Regressions lists, where they are about these curves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dashboard.sweep_axes import AXES
from dashboard.views.change_points import change_points_of, is_at_worst
from results.judgement.findings import EVERYTHING
from results.queries import series_where
from results.rows import contender_of
from results.units import change_in_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from dashboard.figures.chart import ChangePoint, Position
    from dashboard.views.throughput.choice import ThroughputChoice
    from results.judgement.changes.ranked import RankedFinding
    from results.judgement.findings import Finding
    from results.rows import SeriesRow
    from results.store import Store

PLACE = {"operation", "machine", "environment"}  # axes that are no parameters


def change_points_over_commits(
    store: Store,
    found: Sequence[RankedFinding],
    *,
    sides: Iterable[ThroughputChoice],
    positions: Mapping[str, Position],
) -> tuple[ChangePoint, ...]:
    """Return what is found about the curves that `sides` choose, in the order of the commits' `positions`."""
    sides = tuple(sides)
    about = [one for one in found if any(_may_be_about(one.finding, side) for side in sides)]
    series = [row for side in sides for row in _series_of(store, side)] if about else []
    is_rate = any(side.quantity.is_rate for side in sides)

    def text(finding: Finding, series: Sequence[SeriesRow]) -> str:
        """Write whose curve it is, the change of what is drawn, and the commit: a rate falls where the time rises."""
        ratio = finding.ratio
        size = "from 0" if ratio is None else change_in_words(1 / ratio if is_rate and ratio else ratio)
        bound = "" if is_at_worst(finding, series) else "up to "
        who = contender_of(finding.surface.shared) or "everything"
        return f"{who} {bound}{size}\nat {finding.first_bad[:7]}"

    return change_points_of(about, series=series, positions=positions, text_of=text)


def _may_be_about(finding: Finding, side: ThroughputChoice) -> bool:
    surface = finding.surface
    is_here = (surface.machine, surface.environment) == (side.machine, side.environment)
    curve = (side.operation, side.quantity.judged_as)
    return is_here and (finding.benchmark == EVERYTHING or (finding.benchmark, finding.metric) == curve)


def _series_of(store: Store, side: ThroughputChoice) -> list[SeriesRow]:
    found = series_where(
        store,
        project=side.project.name,
        benchmark=side.operation,
        metric=side.quantity.judged_as,
        machine=side.machine,
        environment=side.environment,
        parameters={axis.name: [getattr(side, axis.column)] for axis in AXES if axis.name not in PLACE},
    )
    return [row for row in found if side.shows(contender_of(row.parameters) or "")]
