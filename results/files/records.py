"""Frozen records of what the files hold; a journal's lines are in results.files.journal.

The versions change whenever the same file would give different records; the store then reads such files again.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec import Meta, Struct

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

RECORDS_VERSION = 1
JOURNAL_RECORDS_VERSION = 4  # 4: what was expected of a profile, and its compilations

Scalar = str | int | float | bool | None
Text = Annotated[str, Meta(min_length=1)]
# 2**53: beyond it float64 no longer tells neighbouring integers apart, and no count we keep is larger.
Count = Annotated[int, Meta(ge=0, le=2**53)]


class State(StrEnum):
    """State of a measurement. `failed` and `skipped` are asv's words for null and n/a."""

    OK = "ok"
    UNAVAILABLE = "unavailable"
    OUT_OF_MEMORY = "out_of_memory"
    WRONG = "wrong"
    CRASHED = "crashed"
    TIMED_OUT = "timed_out"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True, kw_only=True)
class CommitRecord:
    """Commit as named by a file; date and subject where the file knows them."""

    hash: str
    date: datetime | None
    subject: str | None


class PointRecord(Struct, frozen=True, kw_only=True):
    """Sweep point: an operation at one value of every axis."""

    operation: Text
    provider: Text
    pass_: Text = msgspec.field(name="pass")
    dtype: Text
    activation: str | None = None
    batch: Count
    hidden: Count
    dim: Count
    cache: Text
    weights: Text
    threads: Count


@dataclass(frozen=True, kw_only=True)
class AsvMachineRecord:
    """Content of asv's machine.json: the name, and the rest (cpu, ram, …) as text."""

    name: str
    details: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class AsvBenchmarkRecord:
    """Benchmark as described by asv's benchmarks.json."""

    name: str
    version: str
    type: str
    unit: str
    parameter_names: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class AsvResultRecord:
    """Results of one benchmark in one run, as columns; each column is None or as long as `values`.

    `values[i]` belongs to the i-th combination of `parameters` (reprs; the last parameter runs fastest): a float,
    None where the benchmark failed, NaN where it was skipped. `reasons` holds why a value is no number, by
    position.
    """

    name: str
    version: str | None
    parameters: tuple[tuple[str, ...], ...]
    values: list[float | None]
    ci_low: list[float | None] | None
    ci_high: list[float | None] | None
    q25: list[float | None] | None
    q75: list[float | None] | None
    calls_per_sample: list[int | None] | None
    sample_count: list[int | None] | None
    samples: list[list[float] | None] | None
    started_at: datetime | None
    duration_s: float | None
    reasons: Mapping[int, str]


@dataclass(frozen=True, kw_only=True, eq=False)
class AsvRunRecord:
    """Content of an asv result file: one run. `uid` identifies it wherever the file lies.

    `environment` holds no path, so that it is the same on every checkout.
    """

    uid: str
    commit: CommitRecord
    machine: str
    environment: str
    python: str
    requirements: Mapping[str, str]
    env_vars: Mapping[str, str]
    started_at: datetime | None
    results: tuple[AsvResultRecord, ...]


@dataclass(frozen=True, kw_only=True)
class CeilingRecord:
    """Measured ceilings of a machine in an environment: quantities such as `matmul_flop_per_s.float32`."""

    machine: str
    environment: str
    measured_at: datetime | None
    quantities: Mapping[str, float]


class TriageDecision(StrEnum):
    """Judgement of a person about a change."""

    ACCEPTED = "accepted"  # it is real, and stays
    FALSE_ALARM = "false_alarm"  # no change of the code
    TO_FIX = "to_fix"  # it is real, known, and not yet mended


@dataclass(frozen=True, kw_only=True)
class Decided:
    """Reason, author and moment of a decision; None where not given."""

    note: str | None
    by: str | None
    at: datetime | None


@dataclass(frozen=True, kw_only=True)
class ContinuationRecord:
    """Declaration that version `new` of a benchmark measures what `old` did; `metric` None means all metrics."""

    project: str
    benchmark: str
    metric: str | None
    old: str
    new: str
    decided: Decided


@dataclass(frozen=True, kw_only=True)
class AcknowledgementRecord:
    """Acknowledgement of a change at a commit, for all series that match every field given; None matches all.

    series: short digests of those that it is about, of `series_digest`; None: also of any that is measured later.
    """

    project: str
    commit: str
    decision: TriageDecision
    benchmark: str | None
    metric: str | None
    machine: str | None
    environment: str | None
    parameters: Mapping[str, str | float | bool]
    decided: Decided
    series: tuple[str, ...] | None = None


@dataclass(frozen=True, kw_only=True)
class WithdrawalRecord:
    """Acknowledgement that was taken back and holds no longer, and who took it back, when and why."""

    acknowledgement: AcknowledgementRecord
    withdrawn: Decided


@dataclass(frozen=True, kw_only=True)
class DecisionsRecord:
    """Content of a decisions.toml, in its order."""

    continuations: tuple[ContinuationRecord, ...]
    acknowledgements: tuple[AcknowledgementRecord, ...]
    withdrawals: tuple[WithdrawalRecord, ...] = ()
