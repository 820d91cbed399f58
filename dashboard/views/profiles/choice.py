"""Choices of the page *Profile*: one value, held by the URL's query string alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlencode

from dashboard.sweep_axes import AXES, ChosenPoint, text_of
from dashboard.views.projects import PROJECT, ShownProject, commits_of_project, settled_in_project, shown_project
from dashboard.views.url import LATEST, commit_of, member_of, unknown_parameters
from results.queries import StackKind

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from dashboard.sweep_axes import AxisValue
    from results.rows import CommitRow, PointChoice, PointFilter

NOBODY = "none"  # of `against`, in the URL and on the selector
SAME = "same"  # of `base`: the commit of the profile itself
KEYS = (*(axis.name for axis in AXES), PROJECT, "provider", "commit", "against", "base", "side")


@dataclass(frozen=True, kw_only=True)
class ProfileChoice(ChosenPoint):
    """Choices of the page. `project`: of all it shows. `provider` None: the fastest; `commit` None: the newest.

    The profile is compared with that of `against` at commit `base`; either None is the profile's own, both None is no
    comparison. `side`: of the flame graph.
    """

    project: ShownProject
    provider: str | None = None
    commit: str | None = None
    against: str | None = None
    base: str | None = None
    side: StackKind = StackKind.HOST

    @property
    def compares(self) -> bool:
        """Whether another profile is asked for."""
        return self.against is not None or self.base is not None

    @property
    def shape(self) -> PointFilter:
        """All axes and the project as the store's filter."""
        axes = {axis.column: getattr(self, axis.column) for axis in AXES}
        return {**axes, "project": self.project.name}  # type: ignore[typeddict-item]


@dataclass(frozen=True, kw_only=True)
class ProfileView:
    """Choice that can be drawn, its alternatives, and the problems of what the URL asked for.

    providers: that were measured at this shape on any commit.
    """

    choice: ProfileChoice
    options: Mapping[str, tuple[AxisValue, ...]]
    providers: tuple[str, ...]
    problems: tuple[str, ...]


def profile_view_of(
    query: str, *, points: Sequence[PointChoice], commits: Sequence[CommitRow], stored: Collection[str] = ()
) -> ProfileView:
    """Return the view a URL's query string asks for, or the nearest that was measured.

    `points`: the measured ones, newest first, at least one; `commits`: where they were measured; both of all projects.
    `stored`: projects of any suite. A value that does not exist is replaced, and `problems` states by which.
    """
    wanted = dict(parse_qsl(query.removeprefix("?"), keep_blank_values=True))
    problems = unknown_parameters(wanted, known=KEYS)
    found = settled_in_project(points, AXES, wanted=wanted, commits=commits, problems=problems)
    commits = commits_of_project(commits, found.project)
    providers = tuple(sorted({row.contender for row in found.points}, key=lambda name: (name != "eager", name)))
    choice = ProfileChoice(
        **found.columns,  # type: ignore[arg-type]  # a test holds AXES and the fields together
        project=shown_project(found.project, stored=stored, points=points),
        provider=_provider(wanted.get("provider"), providers, problems),
        commit=commit_of(wanted.get("commit", LATEST), commits, problems),
        against=_provider(wanted.get("against"), providers, problems, nobody=NOBODY),
        base=None if wanted.get("base", SAME) == SAME else commit_of(wanted["base"], commits, problems),
        side=member_of("side", wanted, StackKind.HOST, problems),
    )
    return ProfileView(choice=choice, options=found.options, providers=providers, problems=tuple(problems))


def query_from_profile_choice(choice: ProfileChoice) -> str:
    """Write `choice` as a query string; every axis is spelled out, so that a copied URL keeps its view."""
    pairs = [(axis.name, text_of(getattr(choice, axis.column))) for axis in AXES]
    pairs += choice.project.pairs
    if choice.provider is not None:
        pairs.append(("provider", choice.provider))
    pairs.append(("commit", LATEST if choice.commit is None else choice.commit[:12]))
    if choice.compares:
        pairs.append(("against", NOBODY if choice.against is None else choice.against))
        pairs.append(("base", SAME if choice.base is None else choice.base[:12]))
    return "?" + urlencode([*pairs, ("side", choice.side)], safe=",:")


def _provider(
    requested: str | None, known: Sequence[str], problems: list[str], *, nobody: str | None = None
) -> str | None:
    if requested is None or requested == nobody:
        return None
    if requested in known:
        return requested
    problems.append(f"Provider {requested[:60]} was not measured at this shape; there are {', '.join(known)}.")
    return None
