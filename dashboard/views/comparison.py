"""Comparison of the newest commit on each machine with the one before that measured the same."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dashboard.tables.surfaces import TONES, Comparison, surfaces_of
from dashboard.views.settings import relevance_for
from results.queries import history_of, judged_commits
from results.rows import beside_among

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from dashboard.tables.surfaces import ChangedSurface
    from results.rows import CommitRow
    from results.store import Store

MOST_SURFACES = 6
MOST_BASES = 6
"""Commits before the newest that are asked for one that measured what it did: parts of a sweep may take turns."""
# Of a change that is drawn as a sparkline.
MOST_VALUES = 60


def comparisons_of(store: Store, *, commits: Sequence[CommitRow]) -> tuple[Comparison, ...]:
    """Compare the newest two commits of each project's main line on each machine; `commits` come oldest first.

    Where those two measured nothing in common, the one before them is taken that did, of the newest MOST_BASES.
    First come the machines on which something got worse, then those where that is in doubt.
    """
    measured: dict[tuple[str, str], list[CommitRow]] = {}
    for row in commits:
        for machine in sorted(row.machines):
            measured.setdefault((row.project, machine), []).append(row)
    found = [_comparison(store, project, machine, rows) for (project, machine), rows in sorted(measured.items())]
    return tuple(sorted(found, key=lambda one: TONES.index(one.tone)))


def _comparison(store: Store, project: str, machine: str, rows: Sequence[CommitRow]) -> Comparison:
    beside = beside_among(rows)
    line = [row for row in rows if row.commit not in beside]
    head, earlier = line[-1], line[-2 : -2 - MOST_BASES : -1]
    base, judgement, n_skipped = earlier[0] if earlier else None, None, 0
    for number, row in enumerate(earlier):
        found = judged_commits(
            store, base=row.commit, head=head.commit, project=project, machine=machine, **relevance_for(store)
        )
        # What failed at both was measured at both.
        if judgement is None or found.verdicts or found.failing:
            base, judgement, n_skipped = row, found, number
        if judgement.verdicts or judgement.failing:
            break
    surfaces = surfaces_of(judgement) if judgement else []
    return Comparison(
        project=project,
        machine=machine,
        head=head,
        base=base,
        judgement=judgement,
        surfaces=tuple(_with_courses(store, surfaces, without=beside)),
        n_beside=len(beside),
        n_skipped=n_skipped,
    )


def _with_courses(
    store: Store, surfaces: Sequence[ChangedSurface], *, without: Collection[str]
) -> Iterable[ChangedSurface]:
    """Add the courses of the first surfaces, which are the ones that a page shows."""
    shown = surfaces[:MOST_SURFACES]
    histories = history_of(store, series_ids=[surface.worst.head.series_id for surface in shown])
    course_of: dict[int, tuple[float, ...]] = {}
    for history in histories:
        values = tuple(row.value for row in history.values if row.value is not None and row.commit not in without)
        course_of.setdefault(history.series.series_id, values[-MOST_VALUES:])
    for surface in shown:
        yield replace(surface, course=course_of.get(surface.worst.head.series_id, ()))
    yield from surfaces[MOST_SURFACES:]
