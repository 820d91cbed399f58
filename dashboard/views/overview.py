"""Content of the page *Overview*: what the newest commit changed, which provider to run, what fails, what is stale."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlencode

from dashboard.sweep_axes import AXES, text_of
from dashboard.tables.standings import failing_from, summaries_of
from dashboard.tables.winner_map import headlines_of, winner_maps_of
from dashboard.views.axis_values import settled_axes
from dashboard.views.comparison import comparisons_of
from dashboard.views.projects import PROJECT, commits_of_project, preferred_project, shown_project
from dashboard.views.url import unknown_parameters
from results.queries import commits, failures, freshness, latest_points, point_choices

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dashboard.sweep_axes import AxisValue
    from dashboard.tables.standings import Failing, FreshnessSummary
    from dashboard.tables.surfaces import Comparison
    from dashboard.tables.winner_map import Headline, WinnerMap
    from dashboard.views.projects import ShownProject
    from results.rows import PointFilter
    from results.store import Store

# What the maps of one machine share; activation and dims are each map's own.
MAP_AXES = tuple(axis for axis in AXES if axis.name in {"machine", "environment", "dtype", "cache", "threads"})
KEYS = (*(axis.name for axis in MAP_AXES), PROJECT)


@dataclass(frozen=True, kw_only=True)
class Overview:
    """What the newest commits changed, how fresh it is, and what fails, on every machine."""

    comparisons: tuple[Comparison, ...]
    freshness: tuple[FreshnessSummary, ...]
    failing: tuple[Failing, ...]


@dataclass(frozen=True, kw_only=True)
class MapsView:
    """Winner maps and headlines of one machine. `chosen`: values of MAP_AXES by name, empty without a sweep.

    project: of all its points; None without a sweep.
    """

    chosen: Mapping[str, AxisValue]
    options: Mapping[str, tuple[AxisValue, ...]]
    project: ShownProject | None
    problems: tuple[str, ...]
    maps: tuple[WinnerMap, ...]
    headlines: tuple[Headline, ...]

    @property
    def query(self) -> str:
        """Query string that chooses the same."""
        project = self.project.pairs if self.project else []
        return query_from_axes({name: text_of(value) for name, value in [*self.chosen.items(), *project]})


def overview_of(store: Store) -> Overview:
    """Query the store for what concerns all machines."""
    return Overview(
        comparisons=comparisons_of(store, commits=commits(store)),
        freshness=summaries_of(freshness(store)),
        failing=failing_from(failures(store)),
    )


def maps_view_of(store: Store, *, query: str) -> MapsView:
    """Query the store for the maps that the URL's `query` shows."""
    wanted = dict(parse_qsl(query.removeprefix("?"), keep_blank_values=True))
    problems = unknown_parameters(wanted, known=KEYS)
    points = point_choices(store)
    if not points:
        return MapsView(chosen={}, options={}, project=None, problems=tuple(problems), maps=(), headlines=())
    measured = commits(store)
    prefers = preferred_project(wanted, points=points, commits=measured)
    columns, options, left = settled_axes(points, MAP_AXES, wanted=wanted, problems=problems, prefers=prefers)
    project = shown_project(wanted, points=left, every=points, commits=measured, problems=problems)
    axes: PointFilter = {**columns, "project": project.name}  # type: ignore[typeddict-item]  # each is a filter's name
    rows = latest_points(store, **axes)
    order = {row.commit: place for place, row in enumerate(commits_of_project(measured, project.name))}
    maps = winner_maps_of(rows, order=order)
    return MapsView(
        chosen={axis.name: columns[axis.column] for axis in MAP_AXES},
        options=options,
        project=project,
        problems=tuple(problems),
        maps=maps,
        headlines=headlines_of(rows, maps, order=order),
    )


def query_from_axes(values: Mapping[str, str | None]) -> str:
    """Write the values of MAP_AXES, and the project, as a query string; empty where there are none."""
    pairs = [(name, value) for name, value in values.items() if value is not None]
    return f"?{urlencode(pairs)}" if pairs else ""
