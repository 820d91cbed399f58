"""Tables and their constraints; drawn in docs/schema.md. Times are UTC, numbers SI.

The writer assigns ids; it is alone while it writes (results.database.transactions), so rows can be loaded in bulk.
"""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from sqlalchemy import (
    BigInteger,
    DateTime,
    Double,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Text,
    UniqueConstraint,
    text,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column
from sqlalchemy.types import JSON, TypeDecorator

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy.engine import Dialect


class UtcDateTime(TypeDecorator[datetime]):
    """Timestamp in UTC, aware on every database; SQLite stores it as sortable text."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Convert to UTC, without its zone where the database has no zones."""
        if value is None:
            return None
        moment = value.astimezone(UTC)
        return moment.replace(tzinfo=None) if dialect.name == "sqlite" else moment

    def result_processor(self, dialect: Dialect, coltype: object) -> Callable[[Any], datetime | None] | None:
        """Return the conversion to an aware timestamp."""
        del coltype
        # SQLite's text goes through a cache: the same few timestamps come back in every question. PostgreSQL's
        # session is in UTC (results.database.engines).
        return moment_from_text if dialect.name == "sqlite" else None


@lru_cache(maxsize=65536)
def moment_from_text(text: str | None) -> datetime | None:
    """Return the timestamp that SQLite stores as `text`."""
    return None if text is None else datetime.fromisoformat(text).replace(tzinfo=UTC)


class Base(DeclarativeBase):
    """Base of the tables; names every constraint, so that migrations can name them on any database."""

    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "fk": "fk_%(table_name)s_%(column_0_N_name)s",
            "pk": "pk_%(table_name)s",
        }
    )
    type_annotation_map = {  # noqa: RUF012 - SQLAlchemy's own protocol
        datetime: UtcDateTime,
        float: Double,
        str: Text,
        bytes: LargeBinary,
        dict[str, Any]: JSON,
        list[str]: JSON,
        list[dict[str, Any]]: JSON(none_as_null=True),
    }


def _id() -> Mapped[int]:
    return mapped_column(Integer, primary_key=True, autoincrement=False)


class Project(Base):
    """Project that benchmarks belong to."""

    __tablename__ = "project"
    id: Mapped[int] = _id()
    name: Mapped[str] = mapped_column(unique=True)


class Machine(Base):
    """Machine by the name of asv or FUSEBENCH_MACHINE; `details`: the content of asv's machine.json."""

    __tablename__ = "machine"
    id: Mapped[int] = _id()
    name: Mapped[str] = mapped_column(unique=True)
    details: Mapped[dict[str, Any]]


class Environment(Base):
    """Environment of a benchmark; part of a series' identity, so it never holds a path."""

    __tablename__ = "environment"
    id: Mapped[int] = _id()
    name: Mapped[str] = mapped_column(unique=True)
    details: Mapped[dict[str, Any]]


class Commit(Base):
    """Commit of a project. Without a git repository `position`, `is_orphaned` and `is_on_main_line` are null.

    `position` counts every commit of the history, measured or not, oldest first, from 1 (results.ingest.commit_order);
    `is_orphaned` marks a commit that a rebase removed. `is_on_main_line`: whether the main branch reaches it by first
    parents (results.ingest.main_line); histories are judged along that line. `ordered_at`: its date, or the latest
    date of any commit before it in the history, so that a clock that was wrong puts no commit before its parents.
    """

    __tablename__ = "commits"  # `commit` is a word of SQL
    __table_args__ = (UniqueConstraint("project_id", "hash"),)
    id: Mapped[int] = _id()
    project_id: Mapped[int] = mapped_column(ForeignKey("project.id"))
    hash: Mapped[str]
    date: Mapped[datetime | None]
    subject: Mapped[str | None]
    position: Mapped[int | None]
    is_orphaned: Mapped[bool | None]
    is_on_main_line: Mapped[bool | None]
    ordered_at: Mapped[datetime | None]


class Source(Base):
    """File that has been read; with the same `signature` (stat) or `content_hash` it is not read again.

    `n_bytes_read`: the part of a journal that is stored. A git repository that gave commits their order is a source
    too; its signature is that of its branches and of the commits that were stored.
    """

    __tablename__ = "source"
    id: Mapped[int] = _id()
    path: Mapped[str] = mapped_column(unique=True)
    kind: Mapped[str]
    project_id: Mapped[int | None] = mapped_column(ForeignKey("project.id"))
    signature: Mapped[str]
    content_hash: Mapped[str]
    n_bytes_read: Mapped[int] = mapped_column(BigInteger)
    read_at: Mapped[datetime]


class Quarantine(Base):
    """File that could not be read, with the reason; removed once the file is readable."""

    __tablename__ = "quarantine"
    path: Mapped[str] = mapped_column(primary_key=True)
    kind: Mapped[str]
    reason: Mapped[str]
    signature: Mapped[str]
    found_at: Mapped[datetime]


class Run(Base):
    """Run: a commit measured on a machine in an environment; `uid` is unique within the project.

    `conditions` held while measuring and do not split a series. `ordered_at`, then `position`, then `started_at`
    order the runs of a history: the commit's own, or where its date is unknown the start of the run (else 1970),
    and position 0 where no repository gave one.
    """

    __tablename__ = "run"
    __table_args__ = (
        UniqueConstraint("project_id", "uid"),
        Index(None, "machine_id", "environment_id", "ordered_at", "position", "started_at"),
    )
    id: Mapped[int] = _id()
    project_id: Mapped[int] = mapped_column(ForeignKey("project.id"))
    uid: Mapped[str]
    commit_id: Mapped[int] = mapped_column(ForeignKey("commits.id"), index=True)
    machine_id: Mapped[int] = mapped_column(ForeignKey("machine.id"))
    environment_id: Mapped[int] = mapped_column(ForeignKey("environment.id"))
    source_id: Mapped[int | None] = mapped_column(ForeignKey("source.id"), index=True)
    ordered_at: Mapped[datetime]
    position: Mapped[int] = mapped_column(server_default="0")
    started_at: Mapped[datetime | None]
    n_values: Mapped[int]
    conditions: Mapped[dict[str, Any]]


# The order of runs in every history; an index yields it.
OLDEST_FIRST = (Run.ordered_at, Run.position, Run.started_at, Run.id)
NEWEST_FIRST = tuple(column.desc() for column in OLDEST_FIRST)


class Benchmark(Base):
    """Metric of an operation (sweep) or an asv benchmark, in one version of what it measures.

    name: the operation, or asv's name. metric: `latency_s`, …, or asv's type (`time`, `peakmemory`, `track`, …).
    interval_level: 0.95 of the sweep, 0.99 of asv. continues_id: the version declared equal to this one.
    """

    __tablename__ = "benchmark"
    __table_args__ = (UniqueConstraint("project_id", "name", "metric", "version"),)
    id: Mapped[int] = _id()
    project_id: Mapped[int] = mapped_column(ForeignKey("project.id"))
    name: Mapped[str]
    metric: Mapped[str]
    version: Mapped[str]
    unit: Mapped[str]
    interval_level: Mapped[float]
    parameter_names: Mapped[list[str]]
    continues_id: Mapped[int | None] = mapped_column(ForeignKey("benchmark.id"), index=True)


class Point(Base):
    """Combination of parameters of an operation or asv benchmark (`subject`), identified there by `key`."""

    __tablename__ = "point"
    __table_args__ = (UniqueConstraint("project_id", "subject", "key"),)
    id: Mapped[int] = _id()
    project_id: Mapped[int] = mapped_column(ForeignKey("project.id"))
    subject: Mapped[str]
    key: Mapped[str]


class Parameter(Base):
    """Parameter of a point. `text`: as given; `number`: set for numbers, for queries by range.

    type: int, float, bool, none, str, or other (a repr that is none of these).
    """

    __tablename__ = "parameter"
    # No index on `text`: PostgreSQL refuses index entries longer than 2.7 kB, and a repr may be longer.
    __table_args__ = (Index(None, "name", "number"), {"sqlite_with_rowid": False})
    point_id: Mapped[int] = mapped_column(ForeignKey("point.id"), primary_key=True, autoincrement=False)
    position: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    name: Mapped[str]
    type: Mapped[str]
    text: Mapped[str]
    number: Mapped[float | None]


class Series(Base):
    """Series followed over commits: a benchmark at a point, on a machine, in an environment."""

    __tablename__ = "series"
    __table_args__ = (
        UniqueConstraint("benchmark_id", "machine_id", "environment_id", "point_id"),
        Index(None, "point_id", "machine_id", "environment_id"),
    )
    id: Mapped[int] = _id()
    benchmark_id: Mapped[int] = mapped_column(ForeignKey("benchmark.id"))
    point_id: Mapped[int] = mapped_column(ForeignKey("point.id"))
    machine_id: Mapped[int] = mapped_column(ForeignKey("machine.id"))
    environment_id: Mapped[int] = mapped_column(ForeignKey("environment.id"))


class JudgedSeries(Base):
    """What the values of a series alone show to the detector of changes; derived, so that any row may be deleted.

    digest: of those values, `least_change` and the detector; a row with another one says nothing (docs/adr/0014).
    found: the judgement as JSON text, null where there is no change (results.judgement.changes.judged).
    """

    __tablename__ = "judged_series"
    __table_args__ = ({"sqlite_with_rowid": False},)
    series_id: Mapped[int] = mapped_column(ForeignKey("series.id"), primary_key=True, autoincrement=False)
    least_change: Mapped[float] = mapped_column(primary_key=True, autoincrement=False)
    digest: Mapped[bytes]
    found: Mapped[str | None]


class JudgedPlace(Base):
    """Runs of a place as they were when its series were judged last; derived, so that any row may be deleted.

    A place whose runs are others now, or which another detector judged, is to be judged (docs/adr/0014). read_at: when
    the last of their files was read, null without any. positions: sum over the runs. detector: digest of its code.
    """

    __tablename__ = "judged_place"
    __table_args__ = ({"sqlite_with_rowid": False},)
    project_id: Mapped[int] = mapped_column(ForeignKey("project.id"), primary_key=True, autoincrement=False)
    machine_id: Mapped[int] = mapped_column(ForeignKey("machine.id"), primary_key=True, autoincrement=False)
    environment_id: Mapped[int] = mapped_column(ForeignKey("environment.id"), primary_key=True, autoincrement=False)
    n_runs: Mapped[int]
    n_values: Mapped[int] = mapped_column(BigInteger)
    positions: Mapped[int] = mapped_column(BigInteger)
    read_at: Mapped[datetime | None]
    detector: Mapped[bytes]


HISTORY_COLUMNS = ("state", "median", "ci_low", "ci_high", "q25", "q75", "sample_count")


class Value(Base):
    """Value of a series in a run; `median` is null unless `state` is ok. samples: float64, little-endian, in order.

    The key begins with the run: a file's rows lie together and are appended, which is what makes loading fast.
    A series' history is one look-up per run of its machine and environment.
    """

    __tablename__ = "value"
    __table_args__ = (
        # PostgreSQL stores rows apart from their key, each of a history on a page of its own. There a second index
        # covers what a history reads but `reason`: an index takes no long texts, and few values have one.
        Index(None, "series_id", "run_id", postgresql_include=HISTORY_COLUMNS).ddl_if(dialect="postgresql"),
        Index(
            "ix_value_series_id_run_id_explained",
            "series_id",
            "run_id",
            postgresql_where=text("reason IS NOT NULL"),
        ).ddl_if(dialect="postgresql"),
        {"sqlite_with_rowid": False},
    )
    run_id: Mapped[int] = mapped_column(ForeignKey("run.id"), primary_key=True, autoincrement=False)
    series_id: Mapped[int] = mapped_column(ForeignKey("series.id"), primary_key=True, autoincrement=False)
    state: Mapped[str]
    median: Mapped[float | None]
    ci_low: Mapped[float | None]
    ci_high: Mapped[float | None]
    q25: Mapped[float | None]
    q75: Mapped[float | None]
    sample_count: Mapped[int | None]
    calls_per_sample: Mapped[int | None] = mapped_column(BigInteger)
    samples: Mapped[bytes | None]
    reason: Mapped[str | None]


class Execution(Base):
    """Execution of an asv benchmark: when, and for how long."""

    __tablename__ = "execution"
    __table_args__ = ({"sqlite_with_rowid": False},)
    run_id: Mapped[int] = mapped_column(ForeignKey("run.id"), primary_key=True, autoincrement=False)
    benchmark_id: Mapped[int] = mapped_column(ForeignKey("benchmark.id"), primary_key=True, autoincrement=False)
    started_at: Mapped[datetime | None]
    duration_s: Mapped[float | None]


class Measurement(Base):
    """Measurement of a sweep point in a run: what belongs to the point and not to one metric.

    flop, min_bytes: of one call. floor_s: its least time on this machine. conditions: at that moment.
    visits: of the group, as objects in the journal's form; null before ruler 3. latency_between_sd_s,
    speedup_between_sd: standard deviation of the visits' medians.
    """

    __tablename__ = "measurement"
    __table_args__ = (
        Index(None, "point_id", "run_id"),
        {"sqlite_with_rowid": False},
    )
    run_id: Mapped[int] = mapped_column(ForeignKey("run.id"), primary_key=True, autoincrement=False)
    point_id: Mapped[int] = mapped_column(ForeignKey("point.id"), primary_key=True, autoincrement=False)
    ruler_version: Mapped[str]
    measured_at: Mapped[datetime]
    together: Mapped[str | None]  # the group: points measured in alternating rounds
    state: Mapped[str]
    reason: Mapped[str | None]
    disturbed: Mapped[str | None]
    provider_detail: Mapped[str | None]
    stop: Mapped[str | None]
    latency_between_sd_s: Mapped[float | None]
    speedup_between_sd: Mapped[float | None]
    visits: Mapped[list[dict[str, Any]] | None]
    flop: Mapped[float | None]
    min_bytes: Mapped[float | None]
    floor_s: Mapped[float | None]
    conditions: Mapped[dict[str, Any]]


class Profile(Base):
    """Profile of a sweep point in a run; counts and times per call.

    overhead_s: the host's time outside compute operators; overhead_in: what takes most of it. bound_detail: the
    evidence for `bound`, in words.
    expected_…: by what the provider declares; unexpected: the difference, in words. compilations: by torch.compile.
    stacks: folded, compressed (results.files.stacks). trace: the name of a file under traces/, which may have been
    removed since.
    gaps, runtime_calls: as objects in the journal's form. missing: why a column is null, by its name.
    """

    __tablename__ = "profile"
    __table_args__ = (
        Index(None, "point_id", "run_id"),
        {"sqlite_with_rowid": False},
    )
    run_id: Mapped[int] = mapped_column(ForeignKey("run.id"), primary_key=True, autoincrement=False)
    point_id: Mapped[int] = mapped_column(ForeignKey("point.id"), primary_key=True, autoincrement=False)
    measured_at: Mapped[datetime]
    state: Mapped[str]
    reason: Mapped[str | None]
    operator_count: Mapped[float | None]
    operator_time_s: Mapped[float | None]
    kernel_launches: Mapped[float | None]
    device_time_s: Mapped[float | None]
    peak_memory_bytes: Mapped[float | None]
    overhead_s: Mapped[float | None]
    overhead_in: Mapped[str | None]
    bound: Mapped[str | None]
    bound_detail: Mapped[str | None]
    expected_operator_count: Mapped[float | None]
    expected_kernel_launches: Mapped[float | None]
    unexpected: Mapped[str | None]
    stacks: Mapped[bytes | None]
    trace: Mapped[str | None]
    allocated_bytes: Mapped[float | None]
    freed_bytes: Mapped[float | None]
    operators_min_bytes: Mapped[float | None]
    device_busy_s: Mapped[float | None]
    gap_count: Mapped[float | None]
    gap_time_s: Mapped[float | None]
    longest_gap_s: Mapped[float | None]
    gaps: Mapped[list[dict[str, Any]] | None]
    runtime_calls: Mapped[list[dict[str, Any]] | None]
    missing: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))
    expected_bytes: Mapped[float | None]
    expected_time_s: Mapped[float | None]
    compilations: Mapped[float | None]


class ProfileOperator(Base):
    """Operator of a profile, per call. inputs: a line for each distinct list. outermost: calls in no other."""

    __tablename__ = "profile_operator"
    __table_args__ = (
        ForeignKeyConstraint(["run_id", "point_id"], ["profile.run_id", "profile.point_id"]),
        Index(None, "name"),
        {"sqlite_with_rowid": False},
    )
    run_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    point_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    position: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    name: Mapped[str]
    count: Mapped[float]
    self_time_s: Mapped[float | None]
    total_time_s: Mapped[float | None]
    is_compute: Mapped[bool]
    inputs: Mapped[str | None]
    allocated_bytes: Mapped[float | None]
    freed_bytes: Mapped[float | None]
    min_bytes: Mapped[float | None]
    min_bytes_reason: Mapped[str | None]
    outermost: Mapped[float | None]


class ProfileKernel(Base):
    """Device kernel of a profile, per call; its name is its identity."""

    __tablename__ = "profile_kernel"
    __table_args__ = (
        ForeignKeyConstraint(["run_id", "point_id"], ["profile.run_id", "profile.point_id"]),
        Index(None, "name"),
        {"sqlite_with_rowid": False},
    )
    run_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    point_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    position: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    name: Mapped[str]
    count: Mapped[float]
    device_time_s: Mapped[float | None]


class Ceiling(Base):
    """Measured ceiling of a machine: `quantity` is e.g. `matmul_flop_per_s.float32`."""

    __tablename__ = "ceiling"
    __table_args__ = ({"sqlite_with_rowid": False},)
    machine_id: Mapped[int] = mapped_column(ForeignKey("machine.id"), primary_key=True, autoincrement=False)
    environment_id: Mapped[int] = mapped_column(ForeignKey("environment.id"), primary_key=True, autoincrement=False)
    quantity: Mapped[str] = mapped_column(primary_key=True)
    value: Mapped[float]
    measured_at: Mapped[datetime | None]


class Decision(Base):
    """Decision of a person, as in decisions.toml; its subject may be ingested later (results.ingest.decisions).

    kind: continuation, acknowledgement, or withdrawal of one. source_id: the file; null if it came by a merge.
    """

    __tablename__ = "decision"
    id: Mapped[int] = _id()
    source_id: Mapped[int | None] = mapped_column(ForeignKey("source.id"), index=True)
    kind: Mapped[str]
    content: Mapped[dict[str, Any]]


class Triage(Base):
    """Decision about the change of a series at a commit: a decision where it applies."""

    __tablename__ = "triage"
    __table_args__ = (UniqueConstraint("series_id", "commit_id"),)
    id: Mapped[int] = _id()
    decision_id: Mapped[int | None] = mapped_column(ForeignKey("decision.id"))
    series_id: Mapped[int] = mapped_column(ForeignKey("series.id"))
    commit_id: Mapped[int] = mapped_column(ForeignKey("commits.id"))
    decision: Mapped[str]
    note: Mapped[str | None]
    decided_by: Mapped[str | None]
    decided_at: Mapped[datetime | None]
