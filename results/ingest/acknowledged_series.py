"""Series that an acknowledgement is about: measured at its commit, or gone there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.orm import aliased

from results.database.key_lists import any_of
from results.database.point_parameters import parameters_of_points
from results.database.schema import Benchmark, Commit, Environment, Machine, Parameter, Project, Run, Series, Value
from results.files.decisions import continuation_chain
from results.ingest.series_digests import digests_of_series
from results.rows import MeasuredAxes, ParameterValue

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from sqlalchemy.engine import Connection

Content = dict[str, Any]
Place = tuple[int, int]  # machine and environment


class _Ids(NamedTuple):
    series_id: int
    commit_id: int


@dataclass(frozen=True, kw_only=True)
class AcknowledgedSeries:
    """Series and commit, by id, of what an acknowledgement is about.

    measured: of the series that have a value, or a failure, at the commit. gone: of those that were not, on a machine
    and environment that the commit was measured on, although its axes are the same; all that `gate` may call so, and
    nothing that the commit measured by another ruler or version.
    n_not_yet: number of series that match and were first measured at later commits of the main line.
    """

    measured: tuple[_Ids, ...]
    gone: tuple[_Ids, ...]
    n_not_yet: int = 0

    def __iter__(self) -> Iterator[_Ids]:
        return iter((*self.measured, *self.gone))

    def __len__(self) -> int:
        return len(self.measured) + len(self.gone)


@dataclass(frozen=True, kw_only=True)
class _OfSeries:
    """Series as `MeasuredAxes` looks at it. version: of the oldest that its version continues."""

    series_id: int
    place: Place
    point: tuple[str, int]  # benchmark and point
    metric: str
    version: str
    state: str | None
    parameters: tuple[ParameterValue, ...]

    @property
    def benchmark(self) -> str:
        return self.point[0]


def acknowledged_series(connection: Connection, content: Content) -> AcknowledgedSeries:
    """Return the series that match everything given and are measured at the commit, or gone there."""
    commit_id = connection.execute(_COMMIT, {"project": content["project"], "commit": content["commit"]}).scalar()
    if commit_id is None:
        return AcknowledgedSeries(measured=(), gone=())
    at, conditions = {"commit_id": commit_id}, _conditions(content)
    measured = connection.execute(_MEASURED.where(*conditions), at).scalars().all()
    missing = connection.execute(_MISSING.where(*conditions), at).all()
    gone = _gone(connection, [row for row in missing if not row.is_later], at)
    named, ids = content.get("series"), {*measured, *gone}
    if named is not None:
        wanted = set(named)
        ids = {series_id for series_id, digest in digests_of_series(connection, ids).items() if digest in wanted}
    return AcknowledgedSeries(
        measured=tuple(_Ids(series_id, commit_id) for series_id in measured if series_id in ids),
        gone=tuple(_Ids(series_id, commit_id) for series_id in gone if series_id in ids),
        n_not_yet=sum(row.is_later for row in missing),
    )


class Presence(NamedTuple):
    """Series that a commit did not measure, by id, as its order among others tells it.

    later: it cannot have lost them, since later ones of the main line were the first to measure them. earlier: one
    before it did. Of the others nothing tells: what a branch takes away may be newer than the branch.
    """

    later: frozenset[int]
    earlier: frozenset[int]


def presence_of(connection: Connection, series_ids: Collection[int], *, commit: str) -> Presence:
    """Return what the stored order tells of those of the series that `commit`, a full hash, did not measure."""
    rows = _missing_at(connection, series_ids, commit=commit)
    return Presence(
        later=frozenset(row.id for row in rows if row.is_later),
        earlier=frozenset(row.id for row in rows if row.is_earlier),
    )


def lacked_at(connection: Connection, series_ids: Collection[int], *, commit: str) -> frozenset[int]:
    """Return those of the series that `commit`, a full hash, set out to measure and did not."""
    rows = _missing_at(connection, series_ids, commit=commit)
    of_commit: dict[int, list[Any]] = {}
    for row in rows:
        of_commit.setdefault(row.commit_id, []).append(row)
    return frozenset(one for at, each in of_commit.items() for one in _gone(connection, each, {"commit_id": at}))


def _missing_at(connection: Connection, series_ids: Collection[int], *, commit: str) -> list[Any]:
    asked = _MISSING.where(any_of(Series.id, keys=series_ids))
    commit_ids = connection.execute(sa.select(Commit.id).where(Commit.hash == commit)).scalars().all()
    return [row for one in commit_ids for row in connection.execute(asked, {"commit_id": one})]


def _gone(connection: Connection, missing: Sequence[Any], at: Mapping[str, int]) -> list[int]:
    """Return the series among those that the commit did not measure which it set out to, as a gate tells it."""
    if not missing:
        return []
    # Of other benchmarks it matters alone that they were measured.
    of_names = sa.or_(any_of(Benchmark.name, keys={row.name for row in missing}), Series.id.in_(_ONE_OF_EACH_PLACE))
    there = connection.execute(_THERE.where(of_names), at).all()
    parameters = parameters_of_points(connection, {row.point_id for row in (*missing, *there)})
    oldest = _oldest(connection)
    of_place: dict[Place, list[_OfSeries]] = {}
    for row in there:
        found = _of_series(row, parameters, oldest)
        of_place.setdefault(found.place, []).append(found)
    axes = {place: MeasuredAxes(each) for place, each in of_place.items()}
    failed = {(place, one.point) for place, each in of_place.items() for one in each if one.state != "ok"}
    measured = {(place, one.point, one.metric) for place, each in of_place.items() for one in each}
    return [
        one.series_id
        for one in (_of_series(row, parameters, oldest) for row in missing)
        if one.place in axes
        and axes[one.place].have(one)
        and (one.place, one.point) not in failed
        and (one.place, one.point, one.metric) not in measured
    ]


def _oldest(connection: Connection) -> dict[int, str]:
    """Return the version of the oldest that each benchmark continues, by its id, of those that continue any."""
    rows = connection.execute(_CONTINUED).all()
    older = {row.id: row.continues_id for row in rows if row.continues_id is not None}
    versions = {row.id: row.version for row in rows}
    return {newer: versions[continuation_chain(newer, older)[-1]] for newer in older}


def _of_series(
    row: Any,  # noqa: ANN401
    parameters: Mapping[int, tuple[ParameterValue, ...]],
    oldest: Mapping[int, str],
) -> _OfSeries:
    return _OfSeries(
        series_id=row.id,
        place=(row.machine_id, row.environment_id),
        point=(row.name, row.point_id),
        metric=row.metric,
        version=oldest.get(row.benchmark_id, row.version),
        state=row.state,
        parameters=parameters.get(row.point_id, ()),
    )


def _conditions(content: Content) -> list[sa.ColumnElement[bool]]:
    """Return what series, joined with their benchmarks, must be to match everything given but the commit."""
    columns = (("benchmark", Benchmark.name), ("metric", Benchmark.metric))
    found = [column == content[key] for key, column in columns if content[key] is not None]
    if content["machine"] is not None:
        found.append(Series.machine_id.in_(sa.select(Machine.id).where(Machine.name == content["machine"])))
    if content["environment"] is not None:
        named = sa.select(Environment.id).where(Environment.name == content["environment"])
        found.append(Series.environment_id.in_(named))
    for name, value in content["parameters"].items():
        is_meant = Parameter.text == value if isinstance(value, str) else Parameter.number == float(value)
        points = sa.select(Parameter.point_id).where(Parameter.name == name, is_meant)
        found.append(Series.point_id.in_(points))
    return found


_COMMIT = (
    sa.select(Commit.id)
    .join(Project, Project.id == Commit.project_id)
    .where(Project.name == sa.bindparam("project"), Commit.hash == sa.bindparam("commit"))
)
_AT_COMMIT = Run.commit_id == sa.bindparam("commit_id")
_MEASURED_THERE = sa.select(Value.series_id).join(Run, Run.id == Value.run_id).where(_AT_COMMIT)
_MEASURED = (
    sa.select(Series.id)
    .join(Benchmark, Benchmark.id == Series.benchmark_id)
    .where(Series.id.in_(_MEASURED_THERE))
    .order_by(Series.id)
)
_PLACES = (
    sa.select(
        Run.project_id,
        Run.machine_id,
        Run.environment_id,
        sa.func.min(Run.ordered_at).label("moment"),
        sa.func.min(Run.position).label("position"),
    )
    .where(_AT_COMMIT)
    .group_by(Run.project_id, Run.machine_id, Run.environment_id)
    .subquery()
)
_ONE_OF_EACH_PLACE = (
    sa.select(sa.func.min(Series.id))
    .where(Series.id.in_(_MEASURED_THERE))
    .group_by(Series.machine_id, Series.environment_id)
)
_OTHER, _OTHER_COMMIT = aliased(Run), aliased(Commit)
_IS_EARLIER = sa.or_(
    # Or at the same date, where nothing tells which commit was first.
    sa.tuple_(_OTHER.ordered_at, _OTHER.position) <= sa.tuple_(_PLACES.c.moment, _PLACES.c.position),
    # Nor does anything of runs without a date.
    *(one.ordered_at.is_(None) for one in (Commit, _OTHER_COMMIT)),
)
_MEASURED_ELSEWHERE = (
    sa.select(Value.series_id)
    .join(_OTHER, _OTHER.id == Value.run_id)
    .join(_OTHER_COMMIT, _OTHER_COMMIT.id == _OTHER.commit_id)
    .where(
        Value.series_id == Series.id,
        _OTHER.machine_id == Series.machine_id,
        _OTHER.environment_id == Series.environment_id,
        Value.state == "ok",
    )
    .correlate(Series, Commit, _PLACES)
)
# Two lines of commits have no order that tells what was there.
_ARE_OF_MAIN_LINE = sa.and_(*(one.is_on_main_line.is_(True) for one in (Commit, _OTHER_COMMIT)))
_IS_BESIDE = sa.or_(*(one.is_on_main_line.is_(False) for one in (Commit, _OTHER_COMMIT)))
_MAY_HAVE_BEEN_THERE = sa.or_(_IS_EARLIER, sa.not_(sa.func.coalesce(_ARE_OF_MAIN_LINE, sa.false())))
_IS_LATER = sa.not_(_MEASURED_ELSEWHERE.where(_MAY_HAVE_BEEN_THERE).exists())
_WAS_THERE = _MEASURED_ELSEWHERE.where(_IS_EARLIER, sa.not_(sa.func.coalesce(_IS_BESIDE, sa.false()))).exists()
_WAS_EVER = sa.select(Value.series_id).where(Value.series_id == Series.id, Value.state == "ok").exists()
_NEWER = aliased(Benchmark)
_CONTINUED = sa.select(Benchmark.id, Benchmark.version, Benchmark.continues_id).where(
    sa.or_(Benchmark.continues_id.is_not(None), sa.exists().where(_NEWER.continues_id == Benchmark.id))
)
_OF_SERIES = (
    Series.id,
    Series.benchmark_id,
    Series.machine_id,
    Series.environment_id,
    Series.point_id,
    Benchmark.name,
    Benchmark.metric,
    Benchmark.version,
)
_MISSING = (
    sa.select(
        *_OF_SERIES,
        sa.null().label("state"),
        Commit.id.label("commit_id"),
        _IS_LATER.label("is_later"),
        _WAS_THERE.label("is_earlier"),
    )
    .join(Benchmark, Benchmark.id == Series.benchmark_id)
    .join(
        _PLACES,
        sa.and_(
            _PLACES.c.project_id == Benchmark.project_id,
            _PLACES.c.machine_id == Series.machine_id,
            _PLACES.c.environment_id == Series.environment_id,
        ),
    )
    .join(Commit, Commit.id == sa.bindparam("commit_id"))
    .where(Series.id.not_in(_MEASURED_THERE), _WAS_EVER)
    .order_by(Series.id)
)
_THERE = (
    sa.select(*_OF_SERIES, Value.state)
    .join(Benchmark, Benchmark.id == Series.benchmark_id)
    .join(Value, Value.series_id == Series.id)
    .join(Run, Run.id == Value.run_id)
    .where(_AT_COMMIT)
)
