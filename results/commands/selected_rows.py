"""Stored rows that the options of a command select: points of the sweep, or values of other suites."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING

from results.commands.selection import AXES, point_filter_from, series_filter_from, states_from
from results.errors import UnknownParameter
from results.queries import (
    benchmarks,
    commits,
    latest_points,
    parameter_names,
    places,
    point_choices,
    projects,
    values_at,
)
from results.questions.revisions import commit_of
from results.rows import PointChoice

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from results.commands.selection import Selection
    from results.rows import PointFilter, PointRow, ProjectRow, SeriesFilter, SeriesValueRow
    from results.store import Store

MANY = 20  # values that are listed at most


@dataclass(frozen=True, kw_only=True)
class SelectedPoints:
    """Selected points of the sweep; `others`: projects that are stored too and were not selected."""

    axes: PointFilter
    states: frozenset[str] | None
    others: tuple[str, ...]

    def latest(self, store: Store, revision: str | None) -> list[PointRow]:
        """Return the newest measurements, or those at `revision`."""
        return self._with_state(latest_points(store, revision=revision, **self.axes))

    def by_commit(self, store: Store, revision: str | None) -> Iterator[list[PointRow]]:
        """Yield the rows of each commit, oldest first, or of `revision` alone; one commit at a time is in memory."""
        stored = [row.commit for row in commits(store) if row.sweep_machines] if revision is None else [revision]
        for commit in dict.fromkeys(stored):
            yield self._with_state(latest_points(store, revision=commit, **self.axes))

    def _with_state(self, rows: list[PointRow]) -> list[PointRow]:
        return rows if self.states is None else [row for row in rows if row.state in self.states]


@dataclass(frozen=True, kw_only=True)
class SelectedValues:
    """Selected values of suites other than the sweep; `others`: projects that are stored too and were not selected."""

    series_filter: SeriesFilter
    states: frozenset[str] | None
    others: tuple[str, ...]

    def latest(self, store: Store, revision: str | None) -> list[SeriesValueRow]:
        """Return the values of each project's newest commit, or those at `revision`."""
        if revision is not None:
            return self._at(store, commit_of(store, revision))
        newest = {row.project: row.commit for row in commits(store)}
        return [
            row
            for project, commit in newest.items()
            if project in _as_names(self.series_filter.get("project"))
            for row in self._at(store, commit)
            if row.project == project
        ]

    def by_commit(self, store: Store, revision: str | None) -> Iterator[list[SeriesValueRow]]:
        """Yield the rows of each commit, oldest first, or of `revision` alone; one commit at a time is in memory."""
        wanted = _as_names(self.series_filter.get("project"))
        stored = (
            [row.commit for row in commits(store) if row.project in wanted]
            if revision is None
            else [commit_of(store, revision)]
        )
        for commit in dict.fromkeys(stored):
            yield self._at(store, commit)

    def _at(self, store: Store, commit: str) -> list[SeriesValueRow]:
        rows = values_at(store, commit=commit, **self.series_filter)
        return rows if self.states is None else [row for row in rows if row.state in self.states]


def select_rows(store: Store, selection: Selection) -> SelectedPoints | SelectedValues | None:
    """Return what `selection` selects; None for an empty store.

    That is the sweep where there is one, unless `selection` names a project without one, or a name that is no axis.
    Raises: UnknownParameter for a project or name that nothing stored has.
    """
    stored = projects(store)
    if not stored:
        return None
    named = _named_projects(stored, selection)
    states = states_from(selection)
    suites = [row.project for row in named if not row.has_sweep]
    is_of_axes = all(name in AXES or name == "state" for name in selection.texts)
    if any(row.has_sweep for row in named) and (is_of_axes or not suites):
        shown = {row.project for row in named if row.has_sweep}
        axes = point_filter_from(selection)
        return SelectedPoints(axes=axes, states=states, others=_others(stored, shown))
    series_filter = series_filter_from(selection, parameters=parameter_names(store, project=suites))
    return SelectedValues(
        series_filter={**series_filter, "project": suites}, states=states, others=_others(stored, set(suites))
    )


def describe_known_values(store: Store, selected: SelectedPoints | SelectedValues, selection: Selection) -> str:
    """Describe the stored values of each name in `selection` whose value is not stored; empty if there is none."""
    values = _values_of_points(store) if isinstance(selected, SelectedPoints) else _values_of_suites(store, selected)
    described = [
        f"{name} is one of {_listed(values[name], near=texts[0])}"
        for name, texts in selection.texts.items()
        if name in values and not set(texts) <= set(map(str, values[name]))
    ]
    return "; ".join(described)


def _values_of_points(store: Store) -> dict[str, list[object]]:
    rows = point_choices(store)
    axes = {name: axis for name, axis in AXES.items() if axis in PointChoice._fields}
    return {name: _sorted({getattr(row, axis) for row in rows}) for name, axis in axes.items()}


def _sorted(values: Collection[object]) -> list[object]:
    """Sort numbers by size and the rest by their text."""
    return sorted(values, key=lambda value: (value if isinstance(value, int) else 0, str(value)))


def _values_of_suites(store: Store, selected: SelectedValues) -> dict[str, list[object]]:
    found: dict[str, list[object]] = {}
    rows = benchmarks(store, project=selected.series_filter.get("project"))
    # A parameter such as `n` means something else in each benchmark.
    named = _as_names(selected.series_filter.get("benchmark"))
    for row in [row for row in rows if row.benchmark in named] or rows:
        for parameter in row.parameters:
            of_name = found.setdefault(parameter.name, [])
            of_name.extend(value for value in parameter.values if value not in of_name)
    stored = places(store)
    return found | {
        "benchmark": [row.benchmark for row in rows],
        "machine": _sorted({row.machine for row in stored}),
        "environment": _sorted({row.environment for row in stored}),
    }


def _listed(values: Sequence[object], *, near: str) -> str:
    texts = list(map(str, values))
    if len(texts) <= MANY:
        return ", ".join(texts)
    return f"{', '.join(get_close_matches(near, texts, n=5) or texts[:MANY])}, … ({len(texts)} in all)"


def _named_projects(stored: Sequence[ProjectRow], selection: Selection) -> list[ProjectRow]:
    names = selection.texts.get("project")
    if names is None:
        return list(stored)
    known: Mapping[str, ProjectRow] = {row.project: row for row in stored}
    for name in names:
        if name not in known:
            raise UnknownParameter(f"no project {name} is stored; there are {', '.join(known)}")
    return [known[name] for name in names]


def _others(stored: Sequence[ProjectRow], shown: set[str]) -> tuple[str, ...]:
    return tuple(row.project for row in stored if row.project not in shown)


def _as_names(found: object) -> list[str]:
    return list(found) if isinstance(found, list) else []
