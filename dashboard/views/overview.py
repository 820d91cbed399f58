"""Content of the page *Overview*: what the newest commit changed, which provider to run, what fails, what is stale."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlencode

from dashboard.sweep_axes import AXES, text_of
from dashboard.tables.standings import failing_from, summaries_of
from dashboard.tables.winner_map import headlines_of, winner_maps_of
from dashboard.views.axis_values import in_order, settled
from dashboard.views.comparison import comparisons_of
from dashboard.views.url import unknown_parameters
from results.queries import commits, failures, freshness, latest_points, point_choices

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dashboard.sweep_axes import AxisValue
    from dashboard.tables.standings import Failing, FreshnessSummary
    from dashboard.tables.surfaces import Comparison
    from dashboard.tables.winner_map import Headline, WinnerMap
    from results.rows import PointChoice
    from results.store import Store

# What the maps of one machine share; activation and dims are each map's own.
MAP_AXES = tuple(axis for axis in AXES if axis.name in {"machine", "environment", "dtype", "cache", "threads"})


@dataclass(frozen=True, kw_only=True)
class Overview:
    """What the newest commits changed, how fresh it is, and what fails, on every machine."""

    comparisons: tuple[Comparison, ...]
    freshness: tuple[FreshnessSummary, ...]
    failing: tuple[Failing, ...]


@dataclass(frozen=True, kw_only=True)
class MapsView:
    """Winner maps and headlines of one machine. `chosen`: values of MAP_AXES by name, empty without a sweep."""

    chosen: Mapping[str, AxisValue]
    options: Mapping[str, tuple[AxisValue, ...]]
    problems: tuple[str, ...]
    maps: tuple[WinnerMap, ...]
    headlines: tuple[Headline, ...]

    @property
    def query(self) -> str:
        """Query string that chooses the same."""
        return query_from_axes({name: text_of(value) for name, value in self.chosen.items()})


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
    problems = unknown_parameters(wanted, known=[axis.name for axis in MAP_AXES])
    chosen, options = _chosen(point_choices(store), wanted=wanted, problems=problems)
    axes = {axis.column: chosen[axis.name] for axis in MAP_AXES if chosen}
    rows = latest_points(store, **axes) if chosen else []  # type: ignore[arg-type]  # each column is a filter's name
    order = {row.commit: place for place, row in enumerate(commits(store))}
    maps = winner_maps_of(rows, order=order)
    return MapsView(
        chosen=chosen,
        options=options,
        problems=tuple(problems),
        maps=maps,
        headlines=headlines_of(rows, maps, order=order),
    )


def query_from_axes(values: Mapping[str, str | None]) -> str:
    """Write the values of MAP_AXES as a query string; empty where there are none."""
    pairs = [(name, value) for name, value in values.items() if value is not None]
    return f"?{urlencode(pairs)}" if pairs else ""


def _chosen(
    points: Sequence[PointChoice], *, wanted: Mapping[str, str], problems: list[str]
) -> tuple[dict[str, AxisValue], dict[str, tuple[AxisValue, ...]]]:
    chosen: dict[str, AxisValue] = {}
    options: dict[str, tuple[AxisValue, ...]] = {}
    left = list(points)
    if not left:
        return chosen, options
    for axis in MAP_AXES:
        values = tuple(dict.fromkeys(axis.value_of(row) for row in left))
        chosen[axis.name] = settled(axis, values, wanted=wanted, before={}, problems=problems)
        options[axis.name] = in_order(values)
        left = [row for row in left if axis.value_of(row) == chosen[axis.name]]
    return chosen, options
