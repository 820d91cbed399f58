"""Choices of the page *Throughput*: one value, held by the URL's query string alone."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import log
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlencode

from dashboard.quantities import Quantity
from dashboard.scales import Colour, CommitSpacing, Multiples, Scale
from dashboard.sweep_axes import AXES, ChosenPoint, text_of
from dashboard.views.projects import PROJECT, ShownProject, commits_of_project, settled_in_project, shown_project
from dashboard.views.throughput.sides import MOST_SIDES, panels_of, sides_of
from dashboard.views.url import LATEST, commit_of, commits_of, member_of, unknown_parameters

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from dashboard.sweep_axes import AxisValue
    from results.rows import CommitRow, PointChoice, PointRow

_SWITCHES = ("quantity", "spacing", "commits_scale", "batch_scale")
KEYS = (*(axis.name for axis in AXES), PROJECT, "commit", "commits", "providers", "colour", "multiples", *_SWITCHES)


@dataclass(frozen=True, kw_only=True)
class ThroughputChoice(ChosenPoint):
    """Choices of the page. `commit` None: the newest; `providers` None: all contenders.

    `project`: of all its points. `batch` applies to the curve over commits, `commit` to the curve over batch, and
    `commits` are drawn beside that. `colour` None: by commit where there are several, else by provider.
    """

    project: ShownProject
    commit: str | None = None
    commits: tuple[str, ...] = ()
    colour: Colour | None = None
    multiples: Multiples = Multiples.NONE
    providers: tuple[str, ...] | None = None
    quantity: Quantity = Quantity.ROWS_PER_S
    spacing: CommitSpacing = CommitSpacing.ORDER
    commits_scale: Scale = Scale.FIT
    batch_scale: Scale = Scale.LOG

    @property
    def default_colour(self) -> Colour:
        """Axis that colours the curves where none was chosen."""
        return Colour.COMMIT if self.commits else Colour.PROVIDER

    @property
    def coloured(self) -> Colour:
        """Axis that colours the curves."""
        return self.colour or self.default_colour

    def shows(self, provider: str) -> bool:
        """Return whether `provider` is among the chosen ones."""
        return self.providers is None or provider in self.providers


@dataclass(frozen=True, kw_only=True)
class ThroughputView:
    """Choice that can be drawn, its alternatives, and the problems of what the URL asked for.

    colours: the axes that have several values here.
    """

    choice: ThroughputChoice
    options: Mapping[str, tuple[AxisValue, ...]]
    providers: tuple[str, ...]
    colours: tuple[Colour, ...] = (Colour.PROVIDER,)
    problems: tuple[str, ...] = field(default=())


def throughput_view_of(
    query: str, *, points: Sequence[PointChoice], commits: Sequence[CommitRow], stored: Collection[str] = ()
) -> ThroughputView:
    """Return the view a URL's query string asks for, or the nearest that was measured.

    `points`: the measured ones, newest first, at least one; `commits`: where they were measured; both of all projects.
    `stored`: projects of any suite. A value that does not exist is replaced, and `problems` states by which. Axes the
    query leaves out get the newest project and machine, a middle size and the plain variants.
    """
    wanted = dict(parse_qsl(query.removeprefix("?"), keep_blank_values=True))
    problems = unknown_parameters(wanted, known=KEYS)
    found = settled_in_project(points, AXES, wanted=wanted, commits=commits, problems=problems)
    columns, project = found.columns, shown_project(found.project, stored=stored, points=points)
    points = [point for point in points if point.project == project.name]
    commits = commits_of_project(commits, project.name)
    others = [axis for axis in AXES if axis.name != "batch"]
    comparable = [point for point in points if all(axis.value_of(point) == columns[axis.column] for axis in others)]
    providers = tuple(sorted({point.contender for point in comparable}, key=_provider_key))
    commit, beside = _commits(wanted, commits, problems)
    choice = ThroughputChoice(
        **columns,  # type: ignore[arg-type]  # a test holds AXES and the fields together
        project=project,
        commit=commit,
        commits=beside,
        providers=_providers(wanted.get("providers"), providers, problems),
        quantity=member_of("quantity", wanted, Quantity.ROWS_PER_S, problems),
        spacing=member_of("spacing", wanted, CommitSpacing.ORDER, problems),
        commits_scale=member_of("commits_scale", wanted, Scale.FIT, problems),
        batch_scale=member_of("batch_scale", wanted, Scale.LOG, problems),
    )
    colours = _colours(points, choice, commits)
    choice = replace(
        choice,
        colour=_colour(wanted, colours, choice.default_colour, problems),
        multiples=_multiples(wanted, points, choice, problems),
    )
    return ThroughputView(
        choice=choice, options=found.options, providers=providers, colours=colours, problems=tuple(problems)
    )


def with_measured_batch(view: ThroughputView, query: str, rows: Sequence[PointRow]) -> ThroughputView:
    """Return the view with a batch that `rows`, what one commit measured of its shape, hold: the nearest by ratio.

    Where the URL's `query` asked for the other one, `problems` states by which it was replaced.
    """
    batches = sorted({row.batch for row in rows})
    asked = view.choice.batch
    if not batches or asked in batches:
        return view
    shown = min(batches, key=lambda batch: abs(log(batch / asked)))
    problems = view.problems
    if "batch" in dict(parse_qsl(query.removeprefix("?"))):
        measured = ", ".join(str(batch) for batch in batches)
        at = f"at commit {rows[0].commit[:10]}"
        problems = (*problems, f"Batch {asked} was not measured {at}; showing {shown}. Measured: {measured}.")
    return replace(view, choice=replace(view.choice, batch=shown), problems=problems)


def query_from_choice(choice: ThroughputChoice) -> str:
    """Write `choice` as a query string; every axis is spelled out, so that a copied URL keeps its view."""
    pairs = [(axis.name, text_of(getattr(choice, axis.column))) for axis in AXES]
    pairs += choice.project.pairs
    pairs.append(("commit", LATEST if choice.commit is None else choice.commit[:12]))
    if choice.providers is not None:
        pairs.append(("providers", ",".join(choice.providers)))
    if choice.commits:
        pairs.append(("commits", ",".join(commit[:12] for commit in choice.commits)))
    if choice.colour is not None:
        pairs.append(("colour", choice.colour))
    if choice.multiples is not Multiples.NONE:
        pairs.append(("multiples", choice.multiples))
    pairs += [(name, str(getattr(choice, name))) for name in _SWITCHES]
    return "?" + urlencode(pairs, safe=",")


def query_from_values(
    values: Mapping[str, str | None], *, commits: Sequence[str], providers: Sequence[str], known: Sequence[str]
) -> str:
    """Write the selectors' values as a query string. All of the `known` providers equals no choice."""
    pairs = [(name, value) for name, value in values.items() if value]
    if commits:
        pairs.append(("commits", ",".join(commits)))
    if set(providers) != set(known):
        pairs.append(("providers", ",".join(providers)))
    return "?" + urlencode(pairs, safe=",")


def _commits(
    wanted: Mapping[str, str], measured: Sequence[CommitRow], problems: list[str]
) -> tuple[str | None, tuple[str, ...]]:
    """Return the commit the page is about, None for the newest, and those drawn beside it, the oldest first.

    Where the URL names several and not which the page is about, it is about the newest of them.
    """
    names = list(dict.fromkeys(name for name in wanted.get("commits", "").split(",") if name))
    found = commits_of(names[:MOST_SIDES], measured, problems)
    if "commit" in wanted or not found:
        commit = commit_of(wanted.get("commit", LATEST), measured, problems)
    else:
        commit = max(found, key=[row.commit for row in measured].index)
    others = [one for one in found if one != commit][: MOST_SIDES - 1]
    if len(names) > MOST_SIDES or len(others) < len(found) - (commit in found):
        problems.append(f"The URL names {len(names)} commits; the first are drawn, {MOST_SIDES} with the chosen one.")
    return commit, tuple(row.commit for row in measured if row.commit in others)


def _colours(
    points: Sequence[PointChoice], choice: ThroughputChoice, commits: Sequence[CommitRow]
) -> tuple[Colour, ...]:
    several = [one for one in (Colour.DTYPE, Colour.MACHINE) if len(sides_of(points, choice, one)) > 1]
    by_commit = [Colour.COMMIT] if sum(choice.machine in row.sweep_machines for row in commits) > 1 else []
    return (Colour.PROVIDER, *several, *by_commit)


def _colour(
    wanted: Mapping[str, str], offered: Sequence[Colour], default: Colour, problems: list[str]
) -> Colour | None:
    colour = member_of("colour", wanted, default, problems)
    if colour not in offered:
        problems.append(f"One {colour} was measured of this shape: there is nothing to colour by {colour}.")
        return None
    return None if colour is default else colour


def _multiples(
    wanted: Mapping[str, str], points: Sequence[PointChoice], choice: ThroughputChoice, problems: list[str]
) -> Multiples:
    multiples = member_of("multiples", wanted, Multiples.NONE, problems)
    if multiples is Multiples.HIDDEN and len(panels_of(points, choice)) < 2:
        problems.append(f"Only hidden dim {choice.hidden} was measured of this shape: it has one chart.")
        return Multiples.NONE
    return multiples


def _providers(requested: str | None, known: Sequence[str], problems: list[str]) -> tuple[str, ...] | None:
    if requested is None:
        return None
    names = [name for name in requested.split(",") if name]
    unknown = [name for name in names if name not in known]
    if unknown:
        problems.append(f"No provider {', '.join(unknown)} here; there are {', '.join(known)}.")
    chosen = tuple(name for name in known if name in names)
    return None if chosen == tuple(known) or (names and not chosen) else chosen


def _provider_key(provider: str) -> tuple[bool, str]:
    """Order the baseline first, then alphabetically."""
    return (provider != "eager", provider)
