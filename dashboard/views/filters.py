"""What the page shows, as one value; the URL's query string holds that value and nothing else."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from math import log
from typing import TYPE_CHECKING, TypeAlias, TypeVar
from urllib.parse import parse_qsl, urlencode

from dashboard.quantities import Quantity

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from results.rows import CommitRow, PointRow

AxisValue: TypeAlias = str | int | None

# In the URL and on a selector: the newest commit there is, whichever that will be when the URL is opened.
LATEST = "latest"


class CommitSpacing(StrEnum):
    """How commits lie on their axis."""

    ORDER = "order"
    DATE = "date"


class Scale(StrEnum):
    """Where the y axis begins and how it runs."""

    FIT = "fit"
    ZERO = "zero"
    LOG = "log"


@dataclass(frozen=True, kw_only=True)
class Axis:
    """One axis of the sweep as a selector. `name` stands in the URL, `column` is the row's field."""

    name: str
    label: str
    column: str
    preferred: AxisValue = None

    def value_of(self, row: PointRow) -> AxisValue:
        """Where `row` lies on this axis."""
        value: AxisValue = getattr(row, self.column)
        return value


# In the order they are settled: what an axis offers is what was measured at the values before it.
AXES = (
    Axis(name="operation", label="Operation", column="operation", preferred="mlp"),
    Axis(name="machine", label="Machine", column="machine"),
    Axis(name="environment", label="Environment", column="environment"),
    Axis(name="pass", label="Pass", column="pass_", preferred="forward"),
    Axis(name="dtype", label="Type", column="dtype"),
    Axis(name="activation", label="Activation", column="activation"),
    Axis(name="hidden", label="Hidden dim", column="hidden"),
    Axis(name="dim", label="Model dim", column="dim"),
    Axis(name="cache", label="Cache", column="cache", preferred="warm"),
    Axis(name="threads", label="Threads", column="threads"),
    Axis(name="batch", label="Batch", column="batch"),
)


@dataclass(frozen=True, kw_only=True)
class Choice:
    """Everything the page shows. `commit` None: the newest; `providers` None: all of them, as contenders.

    `batch` holds for the curve over commits, `commit` for the curve over batch.
    """

    operation: str
    machine: str
    environment: str
    pass_: str
    dtype: str
    activation: str | None
    hidden: int
    dim: int
    cache: str
    threads: int
    batch: int
    commit: str | None = None
    providers: tuple[str, ...] | None = None
    quantity: Quantity = Quantity.ROWS_PER_S
    spacing: CommitSpacing = CommitSpacing.ORDER
    commits_scale: Scale = Scale.FIT
    batch_scale: Scale = Scale.LOG

    def shows(self, provider: str) -> bool:
        """Whether `provider` is among the chosen ones."""
        return self.providers is None or provider in self.providers


@dataclass(frozen=True, kw_only=True)
class View:
    """A choice that can be drawn, what could be chosen in its place, and what was wrong with the wish."""

    choice: Choice
    options: Mapping[str, tuple[AxisValue, ...]]
    providers: tuple[str, ...]
    problems: tuple[str, ...] = field(default=())


def view_from_query(query: str, *, points: Sequence[PointRow], commits: Sequence[CommitRow]) -> View:
    """The view a URL's query string asks for, as near as what was measured allows.

    `points` are what was measured, at least one; `commits` those it was measured at. A value that does not
    exist is replaced, and `problems` says by what. Axes the query leaves out get the newest machine, a middle
    size and the plain variants.
    """
    wanted = dict(parse_qsl(query.removeprefix("?"), keep_blank_values=True))
    problems: list[str] = [
        f"The URL says {name}, which this page does not know; it knows {', '.join(_KEYS)}."
        for name in wanted
        if name not in _KEYS
    ]
    columns: dict[str, AxisValue] = {}
    options: dict[str, tuple[AxisValue, ...]] = {}
    left = sorted(points, key=lambda row: row.measured_at, reverse=True)
    for axis in AXES:
        values = tuple(dict.fromkeys(axis.value_of(row) for row in left))
        value = _default(axis, values, columns)
        if axis.name in wanted:
            value = _nearest(wanted[axis.name], values, default=value)
            if text_of(value) != wanted[axis.name]:
                problems.append(_not_measured(axis, wanted[axis.name], value, values))
        columns[axis.column] = value
        options[axis.name] = tuple(sorted(values, key=_sort_key))
        left = [row for row in left if axis.value_of(row) == value]
        if axis.name == "threads":
            providers = tuple(sorted({row.contender for row in left}, key=_provider_key))
    choice = Choice(
        **columns,  # type: ignore[arg-type]  # AXES and Choice name the same columns; a test holds them together
        commit=_commit(wanted.get("commit", LATEST), commits, problems),
        providers=_providers(wanted.get("providers"), providers, problems),
        quantity=member_of("quantity", wanted, Quantity.ROWS_PER_S, problems),
        spacing=member_of("spacing", wanted, CommitSpacing.ORDER, problems),
        commits_scale=member_of("commits_scale", wanted, Scale.FIT, problems),
        batch_scale=member_of("batch_scale", wanted, Scale.LOG, problems),
    )
    return View(choice=choice, options=options, providers=providers, problems=tuple(problems))


def query_from_choice(choice: Choice) -> str:
    """The query string that gives `choice` back; every axis is spelled out, so a copy keeps its view."""
    pairs = [(axis.name, text_of(getattr(choice, axis.column))) for axis in AXES]
    pairs.append(("commit", LATEST if choice.commit is None else choice.commit[:12]))
    if choice.providers is not None:
        pairs.append(("providers", ",".join(choice.providers)))
    pairs += [(name, str(getattr(choice, name))) for name in _SWITCHES]
    return "?" + urlencode(pairs, safe=",")


def text_of(value: AxisValue) -> str:
    """An axis value as it stands in the URL and on a selector."""
    return "none" if value is None else str(value)


_SWITCHES = ("quantity", "spacing", "commits_scale", "batch_scale")
_KEYS = (*(axis.name for axis in AXES), "commit", "providers", *_SWITCHES)


def _default(axis: Axis, values: Sequence[AxisValue], settled: Mapping[str, AxisValue]) -> AxisValue:
    """What to show when nobody asked. `values` come newest measurement first."""
    if axis.preferred in values:
        return axis.preferred
    numbers = sorted(value for value in values if isinstance(value, int))
    hidden = settled.get("hidden")
    if axis.name == "dim" and isinstance(hidden, int):
        return min(numbers, key=lambda dim: abs(log(4 * dim / hidden)))
    return numbers[len(numbers) // 2] if numbers else values[0]


def _nearest(wish: str, values: Sequence[AxisValue], *, default: AxisValue) -> AxisValue:
    """The value spelled `wish`; else the number nearest to it by ratio; else `default`."""
    exact = next((value for value in values if text_of(value) == wish), None)
    if exact is not None:
        return exact
    numbers = [value for value in values if isinstance(value, int)]
    if numbers and wish.isdecimal() and int(wish) > 0:
        return min(numbers, key=lambda value: abs(log(value / int(wish))))
    return default


def _not_measured(axis: Axis, wish: str, shown: AxisValue, values: Sequence[AxisValue]) -> str:
    measured = ", ".join(text_of(value) for value in sorted(values, key=_sort_key))
    return (
        f"{axis.label} {wish} was not measured with the rest of this choice; "
        f"showing {text_of(shown)}. Measured: {measured}."
    )


def _commit(wish: str, commits: Sequence[CommitRow], problems: list[str]) -> str | None:
    """The commit whose hash begins with `wish`; None, the newest, if that is no single one."""
    if wish == LATEST:
        return None
    found = [row.commit for row in commits if wish and row.commit.startswith(wish.lower())]
    if len(found) == 1:
        return found[0]
    number = f"{len(found)} measured commits begin" if found else "no measured commit begins"
    problems.append(f"The URL asks for commit {wish}, but {number} with that; showing the latest.")
    return None


def _providers(wish: str | None, known: Sequence[str], problems: list[str]) -> tuple[str, ...] | None:
    if wish is None:
        return None
    names = [name for name in wish.split(",") if name]
    unknown = [name for name in names if name not in known]
    if unknown:
        problems.append(f"No provider {', '.join(unknown)} here; there are {', '.join(known)}.")
    chosen = tuple(name for name in known if name in names)
    return None if chosen == tuple(known) or (names and not chosen) else chosen


Member = TypeVar("Member", bound=StrEnum)


def member_of(name: str, wanted: Mapping[str, str], default: Member, problems: list[str]) -> Member:
    """The member of `default`'s enum that the query names; `default` and a problem where it has no such member."""
    wish = wanted.get(name, default.value)
    kind: Callable[[str], Member] = type(default)
    try:
        return kind(wish)
    except ValueError:
        choices = ", ".join(type(default))
        problems.append(f"{name} is {wish} in the URL; it can be {choices}. Showing {default}.")
        return default


def _sort_key(value: AxisValue) -> tuple[bool, int, str]:
    """Numbers by size, names by alphabet, nothing first."""
    return (value is not None, value if isinstance(value, int) else 0, str(value))


def _provider_key(provider: str) -> tuple[bool, str]:
    """The baseline first, then the alphabet."""
    return (provider != "eager", provider)
