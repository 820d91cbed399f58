"""Choices of the page *Compare*: one value, held by the URL's query string alone."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlencode

from dashboard.views.url import member_of, unknown_parameters
from results.queries import commits, places, projects
from results.rows import beside_among

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from results.rows import CommitRow, PlaceRow
    from results.store import Store

SIDES = ("commit", "machine", "environment", "provider")
KEYS = ("project", "along", *SIDES, "metric", "contains", "show")
MOST_SIDES = 8
HASH_LENGTH = 12


class Along(StrEnum):
    """What the sides differ in."""

    COMMIT = "commit"
    PROVIDER = "provider"
    MACHINE = "machine"
    ENVIRONMENT = "environment"


class Show(StrEnum):
    """Points to list."""

    ALL = "all"
    SIGNIFICANT = "significant"


@dataclass(frozen=True, kw_only=True)
class CompareChoice:
    """Choices of the page. Of the sides' axis there are several values, the first is compared with; of others one.

    provider: without any where sides differ in something else, all of them. metric: empty for the first there is.
    """

    project: str
    along: Along
    commit: tuple[str, ...]
    machine: tuple[str, ...]
    environment: tuple[str, ...]
    provider: tuple[str, ...]
    metric: str = ""
    contains: str = ""
    show: Show = Show.ALL

    @property
    def sides(self) -> tuple[str, ...]:
        """Values of the axis that the sides differ in."""
        values: tuple[str, ...] = getattr(self, self.along.value)
        return values


@dataclass(frozen=True, kw_only=True)
class CompareOptions:
    """What can be chosen: projects, the project's commits, oldest first, its machines and environments."""

    projects: tuple[str, ...]
    commits: tuple[CommitRow, ...]
    machines: tuple[str, ...]
    environments: tuple[str, ...]


def compare_choice_of(store: Store, *, query: str, problems: list[str]) -> tuple[CompareChoice, CompareOptions]:
    """Return the choice a URL's query string asks for; the store must not be empty. Adds to `problems`."""
    wanted = parse_qs(query.removeprefix("?"), keep_blank_values=True)
    problems += unknown_parameters(wanted, known=KEYS)
    single = {name: values[-1] for name, values in wanted.items()}
    along = member_of("along", single, Along.COMMIT, problems)
    names = tuple(row.project for row in projects(store))
    every_place = [place for place in places(store) if place.project in names]  # the newest first
    project = _one("project", single, names, problems, default=every_place[0].project)
    newest = [place for place in every_place if place.project == project]
    machines = tuple(dict.fromkeys(place.machine for place in newest))
    every = commits(store, project=project)
    offered = _comparable_first(machines, every, wanted.get("commit", [])) if along is Along.COMMIT else machines
    machine = _some("machine", wanted, offered, problems, along=along)
    environments = _environments(newest, machine, is_along=along is Along.ENVIRONMENT)
    environment = _some("environment", wanted, environments, problems, along=along)
    stored = tuple(row for row in every if row.machines & set(machine))
    choice = CompareChoice(
        project=project,
        along=along,
        commit=_commits(wanted.get("commit", []), stored, problems, is_along=along is Along.COMMIT),
        machine=machine,
        environment=environment,
        provider=tuple(dict.fromkeys(name for name in wanted.get("provider", []) if name))[:MOST_SIDES],
        metric=single.get("metric", ""),
        contains=single.get("contains", "").strip(),
        show=member_of("show", single, Show.ALL, problems),
    )
    options = CompareOptions(projects=names, commits=stored, machines=machines, environments=environments)
    return choice, options


def query_from_compare_choice(choice: CompareChoice) -> str:
    """Write `choice` as a query string; each side is spelled out, so that a copied URL keeps its view."""
    pairs = [("project", choice.project), ("along", choice.along.value)]
    pairs += [("commit", commit[:HASH_LENGTH]) for commit in choice.commit]
    for name in SIDES[1:]:
        pairs += [(name, value) for value in getattr(choice, name)]
    pairs += [("metric", choice.metric), ("contains", choice.contains), ("show", choice.show.value)]
    return "?" + urlencode([(name, value) for name, value in pairs if value])


def _comparable_first(
    machines: Sequence[str], measured: Sequence[CommitRow], requested: Sequence[str]
) -> tuple[str, ...]:
    """Return the machines, first those that have the most of two commits to compare: the requested ones, or any."""
    prefixes = tuple(one.strip().lower() for one in requested if one.strip())
    asked = [row for row in measured if row.commit.startswith(prefixes)] or list(measured)
    n_commits = {name: min(sum(name in row.machines for row in asked), 2) for name in machines}
    return tuple(sorted(machines, key=lambda name: -n_commits[name]))


def _one(name: str, wanted: Mapping[str, str], values: Sequence[str], problems: list[str], *, default: str) -> str:
    requested = wanted.get(name, default)
    if requested in values:
        return requested
    problems.append(f"No {name} {requested[:60]} is stored; showing {default}.")
    return default


def _some(
    name: str, wanted: Mapping[str, Sequence[str]], values: Sequence[str], problems: list[str], *, along: Along
) -> tuple[str, ...]:
    """Return the requested values that exist: all of them along the axis, else the last; by default the first."""
    requested = tuple(dict.fromkeys(value for value in wanted.get(name, ()) if value))
    unknown = [value[:60] for value in requested if value not in values]
    if unknown:
        problems.append(f"No {name} {', '.join(unknown)} is stored with the rest of this choice.")
    found = tuple(value for value in requested if value in values)
    if along.value == name:
        return (found or tuple(values))[:MOST_SIDES]
    return found[-1:] or tuple(values[:1])


def _environments(newest: Sequence[PlaceRow], machine: Sequence[str], *, is_along: bool) -> tuple[str, ...]:
    """Return the environments of the machines, the newest first; of several machines those that all have, if any."""
    of_machine = {name: [place.environment for place in newest if place.machine == name] for name in machine}
    every = tuple(dict.fromkeys(place.environment for place in newest if place.machine in machine))
    shared = tuple(one for one in every if all(one in of_machine[name] for name in machine))
    return every if is_along else shared or every


def _commits(
    requested: Sequence[str], stored: Sequence[CommitRow], problems: list[str], *, is_along: bool
) -> tuple[str, ...]:
    found: list[str] = []
    for prefix in dict.fromkeys(one.strip().lower() for one in requested if one.strip()):
        starting = [row.commit for row in stored if row.commit.startswith(prefix)]
        if len(starting) == 1:
            found.append(starting[0])
        else:
            n = f"{len(starting)} measured commits begin" if starting else "no measured commit begins"
            problems.append(f"The URL asks for commit {prefix[:40]}, but {n} with that here.")
    beside = beside_among(stored)
    newest = [row.commit for row in stored if row.commit not in beside]
    if not is_along:
        return tuple(found[-1:] or newest[-1:])
    rank = {row.commit: i for i, row in enumerate(stored)}
    key: Callable[[str], int] = lambda commit: rank[commit]  # noqa: E731 - mypy wants its type
    chosen = sorted(dict.fromkeys(found), key=key)[:MOST_SIDES] or newest[-2:]
    if len(chosen) == 1 and rank[chosen[0]] > 0:
        order = [row.commit for row in stored] if chosen[0] in beside else newest
        chosen = [*order[: order.index(chosen[0])][-1:], *chosen]
    return tuple(chosen)
