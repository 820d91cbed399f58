"""Which project's points a page shows, where several measured what it chooses on one machine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlencode

from dashboard.views.url import MOST_SHOWN

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from results.rows import CommitRow, PointChoice

PROJECT = "project"  # the URL parameter
NAMING_COMMITS = ("commit", "commits", "base")  # URL parameters
MOST_COMMITS = 8  # of the URL that are looked up


@dataclass(frozen=True, kw_only=True)
class ShownProject:
    """Project whose points a page shows. is_one_of_several: on its machine, so that it has to be named."""

    name: str
    is_one_of_several: bool = False

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """The URL's parameter, where the page needs it."""
        return [(PROJECT, self.name)] if self.is_one_of_several else []

    @property
    def facts(self) -> list[str]:
        """The name in words, where the page has to say it."""
        return [f"project {self.name}"] if self.is_one_of_several else []


def preferred_project(
    wanted: Mapping[str, str], *, points: Iterable[PointChoice], commits: Sequence[CommitRow]
) -> str | None:
    """Return the project that the URL's open axes are to be of: its own or its commit's; None where neither has points.

    `points`: all there are, the newest first; `commits`: of all projects.
    """
    names = list(dict.fromkeys(point.project for point in points))
    if (asked := wanted.get(PROJECT)) in names:
        return asked
    of_commit = _projects_of_commits(wanted, names, commits) if len(names) > 1 else names
    return None if of_commit == names else of_commit[0]


def shown_project(
    wanted: Mapping[str, str],
    *,
    points: Sequence[PointChoice],
    every: Iterable[PointChoice],
    commits: Sequence[CommitRow],
    problems: list[str],
) -> ShownProject:
    """Return the project that the URL wants; else the one that measured its commit; else the newest.

    `points`: of what the page chooses, of one machine, the newest first, at least one; `every`: all there are;
    `commits`: of all projects. Where neither the URL nor its commit tells which of several it is, or where the URL's
    has none of the points, `problems` says so.
    """
    names = list(dict.fromkeys(point.project for point in points))
    machine, asked = points[0].machine, wanted.get(PROJECT)
    # Of the machine's, not of the choice's alone: it stays when another selector changes.
    is_one_of_several = len({point.project for point in every if point.machine == machine}) > 1
    if asked in names:
        return ShownProject(name=asked, is_one_of_several=is_one_of_several)
    there = [row for row in commits if machine in row.sweep_machines]
    of_commit = names if asked or len(names) == 1 else _projects_of_commits(wanted, names, there)
    shown = of_commit[0]
    problem = ""
    if asked:
        problem = f"Project {asked[:MOST_SHOWN]} did not measure this choice; showing {shown}."
    elif len(of_commit) > 1:
        problem = f"Several projects measured this choice on this machine ({', '.join(names)}); showing {shown}."
    if problem:
        problems.append(problem + _another(of_commit, wanted))
    return ShownProject(name=shown, is_one_of_several=is_one_of_several)


def project_of(query: str) -> str | None:
    """Return the project that a query string names."""
    return dict(parse_qsl(query.removeprefix("?"))).get(PROJECT)


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


def _another(names: Sequence[str], wanted: Mapping[str, str]) -> str:
    """Write how the address chooses another project than the first, where there is one."""
    if len(names) < 2:
        return ""
    return f" For another, add to the address: {'&' if wanted else '?'}{urlencode({PROJECT: names[1]})}"
