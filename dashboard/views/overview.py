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
from dashboard.views.projects import PROJECT, PROJECT_AXIS, commits_of_project, names_of_projects
from dashboard.views.url import ALL, name_or_all, unknown_parameters
from results.queries import commits, failures, freshness, latest_points, point_choices

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dashboard.sweep_axes import AxisValue
    from dashboard.tables.standings import Failing, FreshnessSummary
    from dashboard.tables.surfaces import Comparison
    from dashboard.tables.winner_map import Headline, WinnerMap
    from results.rows import PlaceFilter, PointFilter
    from results.store import Store

# What the maps of one machine share; activation and dims are each map's own.
MAP_AXES = tuple(axis for axis in AXES if axis.name in {"machine", "environment", "dtype", "cache", "threads"})
KEYS = (*(axis.name for axis in MAP_AXES), PROJECT)


@dataclass(frozen=True, kw_only=True)
class Overview:
    """What the newest commits changed, how fresh it is, and what fails, on every machine. project: a name, or ALL."""

    project: str
    comparisons: tuple[Comparison, ...]
    freshness: tuple[FreshnessSummary, ...]
    failing: tuple[Failing, ...]

    @property
    def names_project(self) -> bool:
        """Whether it is of several projects, so that each part says of which it is."""
        return len({one.project for one in self.comparisons}) > 1


@dataclass(frozen=True, kw_only=True)
class MapsView:
    """Winner maps and headlines of one machine. `chosen`: values of MAP_AXES by name, empty without a sweep.

    project: that the page is about, or ALL; projects: that can be chosen, ALL first. mapped: projects that measured
    the chosen values, that of the maps first; none without a sweep.
    """

    project: str
    projects: tuple[str, ...]
    chosen: Mapping[str, AxisValue]
    options: Mapping[str, tuple[AxisValue, ...]]
    mapped: tuple[str, ...]
    problems: tuple[str, ...]
    maps: tuple[WinnerMap, ...]
    headlines: tuple[Headline, ...]

    @property
    def query(self) -> str:
        """Query string that chooses the same."""
        axes = {name: text_of(value) for name, value in self.chosen.items()}
        return query_from_axes({**axes, PROJECT: None if self.project == ALL else self.project})

    @property
    def has_projects(self) -> bool:
        """Whether there is a project to choose."""
        return len(self.projects) > 2


def overview_of(store: Store, *, project: str = ALL) -> Overview:
    """Query the store for what concerns all machines, of one project or of all."""
    of_project: PlaceFilter = {} if project == ALL else {"project": project}
    return Overview(
        project=project,
        comparisons=comparisons_of(store, commits=commits(store, project=of_project.get("project"))),
        freshness=summaries_of(freshness(store, **of_project)),
        failing=failing_from(failures(store, **of_project)),
    )


def maps_view_of(store: Store, *, query: str) -> MapsView:
    """Query the store for the maps that the URL's `query` shows."""
    wanted = dict(parse_qsl(query.removeprefix("?"), keep_blank_values=True))
    problems = unknown_parameters(wanted, known=KEYS)
    measured = commits(store)
    names = (ALL, *(name for name in names_of_projects(measured) if name != ALL))
    project = name_or_all(PROJECT, wanted, names, problems)
    project = project if len(names) > 2 else ALL  # of one there is no choice
    points = [point for point in point_choices(store) if project in {ALL, point.project}]
    if not points:
        # Without a sweep the page shows every machine, whatever the URL asks for.
        machines = sorted({machine for row in measured if project in {ALL, row.project} for machine in row.machines})
        name_or_all("machine", wanted, (ALL, *machines), problems)
        return MapsView(
            project=project, projects=names, chosen={}, options={}, mapped=(), problems=tuple(problems), maps=(),
            headlines=(),
        )  # fmt: skip
    wanted.pop(PROJECT, None)
    columns, options, _ = settled_axes(points, (*MAP_AXES, PROJECT_AXIS), wanted=wanted, problems=problems)
    axes: PointFilter = {**columns}  # type: ignore[typeddict-item]  # each is a filter's name
    rows = latest_points(store, **axes)
    mapped = str(columns[PROJECT])
    order = {row.commit: place for place, row in enumerate(commits_of_project(measured, mapped))}
    maps = winner_maps_of(rows, order=order)
    return MapsView(
        project=project,
        projects=names,
        chosen={axis.name: columns[axis.column] for axis in MAP_AXES},
        options=options,
        mapped=(mapped, *(text_of(other) for other in options[PROJECT] if other != mapped)),
        problems=tuple(problems),
        maps=maps,
        headlines=headlines_of(rows, maps, order=order),
    )


def names_projects_of(store: Store, *, project: str) -> bool:
    """Return whether what concerns `project`, a name or ALL, is of several projects."""
    return project == ALL and len(names_of_projects(commits(store))) > 1


def query_from_axes(values: Mapping[str, str | None]) -> str:
    """Write the values of MAP_AXES, and the project, as a query string; empty where there are none."""
    pairs = [(name, value) for name, value in values.items() if value is not None]
    return f"?{urlencode(pairs)}" if pairs else ""
