"""Series that the base of a comparison measured and its head did not: was there anything to measure?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import sqlalchemy as sa

from results.database.key_lists import any_of
from results.database.point_parameters import parameters_of_points
from results.database.schema import Benchmark, Commit, Run, Series, Value
from results.ingest.acknowledged_series import lacked_at, presence_of
from results.questions.joined_series import all_of, joined_series
from results.questions.revisions import history_before
from results.rows import OF_CONTENDER

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from pathlib import Path

    from sqlalchemy.engine import Connection

    from results.store import Store

Scope = tuple[object, ...]
_HASH = 10
_NO_HISTORY = "gone, or the head is from before it: only git's whole history tells, so ask in a full clone"
_NO_SHARED = "gone, or never there: the head shares no commit with the base"
_UNMEASURED = "gone, or the head is from before it: measure {commit}, where its line left that of the base"
_IN_PART = "gone, or the head is from before it: {commit}, which both have, was measured in part; measure it whole"


class GoneSeries(NamedTuple):
    """What is known of series that a head did not measure, by id as of `values_at`.

    later: known to be first measured after it. The others are gone; doubts: what else may have become of them.
    """

    later: frozenset[int]
    doubts: Mapping[int, str]


def gone_series(
    store: Store, *, base: str, head: str, series_ids: Collection[int], repository: Path | None = None
) -> GoneSeries:
    """Tell what of the series that `head` did not measure is gone, and what came after it; full hashes.

    What the base measured and the head did not is gone unless it is known to be later. By git's history it is where no
    commit before the head measured it, and the newest one measured of those that base and head share set out to, and
    lacked it; one that was measured in part tells nothing of the rest. Without all of that history only the main line
    as it is stored tells. Where versions were declared equal, each counts.
    repository: where git is asked; default: the current folder.
    """
    history = history_before([base, head], repository=repository)
    with store.reading() as connection:
        joined = joined_series(connection)
        versions = {one: frozenset(all_of([one], joined)) for one in series_ids}
        if history is not None:
            versions = _open(connection, versions, history.lines[1])
        if history is None or not history.is_whole:
            return _by_main_line(connection, versions, head=head)
        return _by_history(connection, versions, *history.lines)


def _open(
    connection: Connection, versions: Mapping[int, frozenset[int]], line: Mapping[str, None]
) -> dict[int, frozenset[int]]:
    """Return the series that no commit of the line measured: of the others nothing is in doubt."""
    asked = _MEASURED.where(any_of(Value.series_id, keys=frozenset().union(*versions.values())))
    was_there = {row.series_id for row in connection.execute(asked) if row.hash in line}
    return {one: each for one, each in versions.items() if not each & was_there}


def _by_main_line(connection: Connection, versions: Mapping[int, frozenset[int]], *, head: str) -> GoneSeries:
    there = presence_of(connection, frozenset().union(*versions.values()), commit=head)
    open_ = {one: each for one, each in versions.items() if not each & there.earlier}
    return _doubted(open_, frozenset(one for one, each in open_.items() if each <= there.later), _NO_HISTORY)


def _by_history(
    connection: Connection,
    versions: Mapping[int, frozenset[int]],
    base_line: Mapping[str, None],
    head_line: Mapping[str, None],
) -> GoneSeries:
    shared = [commit for commit in head_line if commit in base_line]
    base, head = next(iter(base_line)), next(iter(head_line))
    lacked, in_part = set[int](), dict[int, str]()
    for commit, of_commit in _newest_measured(connection, frozenset().union(*versions.values()), shared).items():
        found = lacked_at(connection, of_commit, commit=commit)
        if commit != head:  # what is newer than the head is no loss of its, however little the head measured
            spared = _in_part(connection, found, commit=commit, base=base, head=head)
            in_part.update(dict.fromkeys(spared, _IN_PART.format(commit=commit[:_HASH])))
            found -= spared
        lacked |= found
    why = _UNMEASURED.format(commit=shared[0][:_HASH]) if shared else _NO_SHARED
    told = _doubted(versions, frozenset(one for one, each in versions.items() if each & lacked), why)
    partly = {one: in_part[other] for one in told.doubts for other in versions[one] & in_part.keys()}
    return told._replace(doubts={**told.doubts, **partly})


def _doubted(versions: Collection[int], later: frozenset[int], why: str) -> GoneSeries:
    return GoneSeries(later=later, doubts={one: why for one in versions if one not in later})


def _newest_measured(connection: Connection, series_ids: frozenset[int], shared: Sequence[str]) -> dict[str, list[int]]:
    """Return the series by the newest of the shared commits, the newest first, that was measured where they were."""
    of_place: dict[tuple[int, int, int], list[int]] = {}
    for row in connection.execute(_PLACES.where(any_of(Series.id, keys=series_ids))):
        of_place.setdefault((row.project_id, row.machine_id, row.environment_id), []).append(row.id)
    found: dict[str, list[int]] = {}
    for place, ids in of_place.items():
        names = dict(zip(("project", "machine", "environment"), place, strict=True))
        measured = set(connection.execute(_COMMITS, names).scalars())
        newest = next((commit for commit in shared if commit in measured), None)
        if newest is not None:
            found.setdefault(newest, []).extend(ids)
    return found


def _in_part(
    connection: Connection, series_ids: Collection[int], *, commit: str, base: str, head: str
) -> frozenset[int]:
    """Return those of the series that `commit` may have been spared, as by `asv run --bench` or `--provider`.

    It was measured whole if it has whatever both `base` and `head` measured, two commits that came from it, and no less
    than half of what the base did; full hashes. Of a sweep each operation counts for itself, of asv all benchmarks of a
    machine and environment together.
    """
    there, at_base, at_head = (_measured_at(connection, one) for one in (commit, base, head))
    whole = {
        scope
        for scope, of_base in at_base.items()
        if of_base & at_head.get(scope, set()) <= there.get(scope, set())
        and 2 * len(of_base & there.get(scope, set())) >= len(of_base)
    }
    rows = connection.execute(_SERIES.where(any_of(Series.id, keys=series_ids))).all()
    return frozenset(
        row.id for row, (scope, _) in zip(rows, _placed(connection, rows), strict=True) if scope not in whole
    )


def _measured_at(connection: Connection, commit: str) -> dict[Scope, set[Scope]]:
    found: dict[Scope, set[Scope]] = {}
    rows = connection.execute(_MEASURED_AT, {"commit": commit}).all()
    for scope, what in _placed(connection, rows):
        found.setdefault(scope, set()).add(what)
    return found


def _placed(connection: Connection, rows: Collection[Any]) -> Iterator[tuple[Scope, Scope]]:
    """Yield for each series what it is measured together with, and what it is there whatever its shape."""
    parameters = parameters_of_points(connection, {row.point_id for row in rows})
    for row in rows:
        contender = {one.name: one.value for one in parameters.get(row.point_id, ()) if one.name in OF_CONTENDER}
        operation = row.name if "provider" in contender else None
        scope = (row.project_id, row.machine_id, row.environment_id, operation)
        yield scope, (row.name, row.metric, *(sorted(contender.items()) if operation else ()))


_MEASURED = (
    sa.select(Value.series_id, Commit.hash)
    .join(Run, Run.id == Value.run_id)
    .join(Commit, Commit.id == Run.commit_id)
    .where(Value.state == "ok")
)
_PLACES = sa.select(Series.id, Benchmark.project_id, Series.machine_id, Series.environment_id).join(
    Benchmark, Benchmark.id == Series.benchmark_id
)
_COMMITS = (
    sa.select(Commit.hash)
    .join(Run, Run.commit_id == Commit.id)
    .where(
        Run.project_id == sa.bindparam("project"),
        Run.machine_id == sa.bindparam("machine"),
        Run.environment_id == sa.bindparam("environment"),
    )
    .distinct()
)
_SERIES = sa.select(
    Series.id,
    Series.point_id,
    Series.machine_id,
    Series.environment_id,
    Benchmark.project_id,
    Benchmark.name,
    Benchmark.metric,
).join(Benchmark, Benchmark.id == Series.benchmark_id)
_MEASURED_AT = _SERIES.where(
    Series.id.in_(
        sa.select(Value.series_id)
        .join(Run, Run.id == Value.run_id)
        .join(Commit, Commit.id == Run.commit_id)
        .where(Commit.hash == sa.bindparam("commit"))
    )
)
