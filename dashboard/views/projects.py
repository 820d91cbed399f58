"""Project whose points a page shows: what the URL, its commit or the newest measurement says it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlencode

from dashboard.sweep_axes import AXES, Axis, text_of
from dashboard.views.axis_values import settled_axes

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from dashboard.sweep_axes import AxisValue
    from results.rows import CommitRow, PointChoice

PROJECT = "project"  # the URL parameter
PROJECT_AXIS = Axis(name=PROJECT, label="Project", column="project")
NAMING_COMMITS = ("commit", "commits", "base")  # URL parameters
MOST_COMMITS = 8  # of the URL that are looked up


@dataclass(frozen=True, kw_only=True)
class ShownProject:
    """Project whose points a page shows. is_one_of_several: in the store, so that it has to be named."""

    name: str
    is_one_of_several: bool = False

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """The URL's parameter, where the page needs it."""
        return [(PROJECT, self.name)] if self.is_one_of_several else []


@dataclass(frozen=True, kw_only=True)
class ProjectAxes:
    """Values of axes that one project measured. columns: by column; options: what each offered, by name.

    `options` holds the projects with a sweep, too. `points`: those at the values.
    """

    project: str
    columns: dict[str, AxisValue]
    options: dict[str, tuple[AxisValue, ...]]
    points: list[PointChoice]


def settled_in_project(
    points: Sequence[PointChoice],
    axes: Sequence[Axis],
    *,
    wanted: Mapping[str, str],
    commits: Sequence[CommitRow],
    problems: list[str],
) -> ProjectAxes:
    """Settle the project, then `axes` among what it measured; what the URL wants and is not there goes to `problems`.

    Where the URL leaves it open, it is the project that measured its commit, else the newest that measured its values.
    `points`: all there are, the newest first; `commits`: of all projects. Raises: ResultsError without any point.
    """
    prefers = preferred_project(wanted, points=points, commits=commits)
    columns, options, left = settled_axes(
        points, (PROJECT_AXIS, *axes), wanted=wanted, problems=problems, prefers=prefers
    )
    return ProjectAxes(
        project=str(columns.pop(PROJECT)),
        columns=columns,
        options=options,
        points=left,
    )


def preferred_project(
    wanted: Mapping[str, str], *, points: Iterable[PointChoice], commits: Sequence[CommitRow]
) -> str | None:
    """Return the project that the URL's open axes are to be of: its own or its commit's; None where neither has points.

    `points`: all there are, the newest first; `commits`: of all projects.
    """
    names = list(dict.fromkeys(point.project for point in points))
    if (asked := wanted.get(PROJECT)) in names:
        return asked
    machine = wanted.get("machine")
    there = [row for row in commits if machine in row.sweep_machines] or commits
    of_commit = _projects_of_commits(wanted, names, there) if len(names) > 1 else names
    return None if of_commit == names else of_commit[0]


def shown_project(name: str, *, stored: Collection[str], points: Iterable[PointChoice]) -> ShownProject:
    """Return the project `name`, one of those that are `stored` or have any of `points`."""
    several = {*stored, *(point.project for point in points)}
    return ShownProject(name=name, is_one_of_several=len(several) > 1)


def query_in_project(query: str, *, points: Iterable[PointChoice]) -> str:
    """Return the query without what the project it names never measured, as where another one was just chosen.

    Its commits go, too: they were chosen among those of the project before. `points`: all there are.
    """
    pairs = parse_qsl(query.removeprefix("?"), keep_blank_values=True)
    own = [point for point in points if point.project == dict(pairs).get(PROJECT)]
    measured = {axis.name: {text_of(axis.value_of(point)) for point in own} for axis in AXES}
    kept = [
        (name, value)
        for name, value in pairs
        if name not in NAMING_COMMITS and (name not in measured or value in measured[name])
    ]
    return f"?{urlencode(kept, safe=',:')}"


def names_of_projects(commits: Iterable[CommitRow]) -> tuple[str, ...]:
    """Return the projects that measured any of the commits, by name."""
    return tuple(sorted({row.project for row in commits}))


def commits_of_project(commits: Iterable[CommitRow], project: str) -> list[CommitRow]:
    """Return the project's own commits: of a fork and its origin both may have measured a commit."""
    return [row for row in commits if row.project == project]


def _projects_of_commits(wanted: Mapping[str, str], names: list[str], commits: Sequence[CommitRow]) -> list[str]:
    """Return those of the projects that measured the first commit that the URL names and any of them measured."""
    named = [name.lower() for key in NAMING_COMMITS for name in wanted.get(key, "").split(",") if name]
    for name in named[:MOST_COMMITS]:
        there = {row.project for row in commits if row.commit.startswith(name)}
        if found := [one for one in names if one in there]:
            return found
    return names
