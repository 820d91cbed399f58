"""Choices of the page *Throughput*: one value, held by the URL's query string alone."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlencode

from dashboard.quantities import Quantity
from dashboard.scales import CommitSpacing, Scale
from dashboard.sweep_axes import AXES, ChosenPoint, text_of
from dashboard.views.axis_values import settled_axes
from dashboard.views.url import LATEST, commit_of, member_of, unknown_parameters

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dashboard.sweep_axes import AxisValue
    from results.rows import CommitRow, PointChoice

_SWITCHES = ("quantity", "spacing", "commits_scale", "batch_scale")
KEYS = (*(axis.name for axis in AXES), "commit", "providers", *_SWITCHES)


@dataclass(frozen=True, kw_only=True)
class ThroughputChoice(ChosenPoint):
    """Choices of the page. `commit` None: the newest; `providers` None: all contenders.

    `batch` applies to the curve over commits, `commit` to the curve over batch.
    """

    commit: str | None = None
    providers: tuple[str, ...] | None = None
    quantity: Quantity = Quantity.ROWS_PER_S
    spacing: CommitSpacing = CommitSpacing.ORDER
    commits_scale: Scale = Scale.FIT
    batch_scale: Scale = Scale.LOG

    def shows(self, provider: str) -> bool:
        """Return whether `provider` is among the chosen ones."""
        return self.providers is None or provider in self.providers


@dataclass(frozen=True, kw_only=True)
class ThroughputView:
    """Choice that can be drawn, its alternatives, and the problems of what the URL asked for."""

    choice: ThroughputChoice
    options: Mapping[str, tuple[AxisValue, ...]]
    providers: tuple[str, ...]
    problems: tuple[str, ...] = field(default=())


def throughput_view_of(query: str, *, points: Sequence[PointChoice], commits: Sequence[CommitRow]) -> ThroughputView:
    """Return the view a URL's query string asks for, or the nearest that was measured.

    `points`: the measured ones, newest first, at least one; `commits`: where they were measured. A value that does
    not exist is replaced, and `problems` states by which. Axes the query leaves out get the newest machine, a
    middle size and the plain variants.
    """
    wanted = dict(parse_qsl(query.removeprefix("?"), keep_blank_values=True))
    problems = unknown_parameters(wanted, known=KEYS)
    columns, options, _ = settled_axes(points, AXES, wanted=wanted, problems=problems)
    others = [axis for axis in AXES if axis.name != "batch"]
    comparable = (point for point in points if all(axis.value_of(point) == columns[axis.column] for axis in others))
    providers = tuple(sorted({point.contender for point in comparable}, key=_provider_key))
    choice = ThroughputChoice(
        **columns,  # type: ignore[arg-type]  # a test holds AXES and the fields together
        commit=commit_of(wanted.get("commit", LATEST), commits, problems),
        providers=_providers(wanted.get("providers"), providers, problems),
        quantity=member_of("quantity", wanted, Quantity.ROWS_PER_S, problems),
        spacing=member_of("spacing", wanted, CommitSpacing.ORDER, problems),
        commits_scale=member_of("commits_scale", wanted, Scale.FIT, problems),
        batch_scale=member_of("batch_scale", wanted, Scale.LOG, problems),
    )
    return ThroughputView(choice=choice, options=options, providers=providers, problems=tuple(problems))


def query_from_choice(choice: ThroughputChoice) -> str:
    """Write `choice` as a query string; every axis is spelled out, so that a copied URL keeps its view."""
    pairs = [(axis.name, text_of(getattr(choice, axis.column))) for axis in AXES]
    pairs.append(("commit", LATEST if choice.commit is None else choice.commit[:12]))
    if choice.providers is not None:
        pairs.append(("providers", ",".join(choice.providers)))
    pairs += [(name, str(getattr(choice, name))) for name in _SWITCHES]
    return "?" + urlencode(pairs, safe=",")


def query_from_values(values: Mapping[str, str | None], *, providers: Sequence[str], known: Sequence[str]) -> str:
    """Write the selectors' values as a query string. All of the `known` providers equals no choice."""
    pairs = [(name, value) for name, value in values.items() if value is not None]
    if set(providers) != set(known):
        pairs.append(("providers", ",".join(providers)))
    return "?" + urlencode(pairs, safe=",")


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
