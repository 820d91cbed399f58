"""Frozen records of what the files hold: one class per thing a file says.

The versions change whenever the same file would give different records; the store then reads such files again.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

RECORDS_VERSION = 1
JOURNAL_RECORDS_VERSION = 2  # 2: compile_time_cold_s, stacks, traces, expected counts

Scalar = str | float | bool | None


class State(StrEnum):
    """How a measurement ended. `failed` and `skipped` are asv's words for null and n/a."""

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
    """A commit as a file names it; date and subject where the file knows them."""

    hash: str
    date: datetime | None
    subject: str | None


@dataclass(frozen=True, kw_only=True)
class RunRecord:
    """One run: a commit measured on a machine in an environment. `run_id` is unique within the project."""

    run_id: str
    project: str
    commit: CommitRecord
    machine: str
    environment: str
    started_at: datetime | None
    ruler_version: str | None


@dataclass(frozen=True, kw_only=True)
class PointRecord:
    """One sweep point: an operation at one value of every axis."""

    operation: str
    provider: str
    pass_: str
    dtype: str
    activation: str | None
    batch: int
    hidden: int
    dim: int
    cache: str
    weights: str
    threads: int


@dataclass(frozen=True, kw_only=True)
class TimingRecord:
    """A `timing` line of a journal; SI units, None where not known."""

    run: RunRecord
    conditions: Mapping[str, Scalar]
    point: PointRecord
    measured_at: datetime
    group: str | None
    state: State
    reason: str | None
    disturbed: str | None
    provider_detail: str | None
    latency_s: float | None
    latency_ci_low_s: float | None
    latency_ci_high_s: float | None
    samples_s: tuple[float, ...]
    calls_per_sample: int | None
    stop: str | None
    speedup_vs_eager: float | None
    speedup_ci_low: float | None
    speedup_ci_high: float | None
    device_time_s: float | None
    host_time_s: float | None
    compile_time_s: float | None
    compile_time_cold_s: float | None
    prepare_time_s: float | None
    error_rel: float | None
    flop: float | None
    min_bytes: float | None
    floor_s: float | None


@dataclass(frozen=True, kw_only=True)
class OperatorRecord:
    """One operator of a profile, per call."""

    name: str
    count: float
    self_time_s: float | None
    total_time_s: float | None
    is_compute: bool


@dataclass(frozen=True, kw_only=True)
class KernelRecord:
    """One device kernel of a profile, per call."""

    name: str
    count: float
    device_time_s: float | None


@dataclass(frozen=True, kw_only=True)
class ProfileRecord:
    """A `profile` line of a journal; counts and times are per call.

    stacks: folded (results.files.stacks). trace: the name of a file under traces/. unexpected: how the counts differ
    from what the provider declares.
    """

    run: RunRecord
    conditions: Mapping[str, Scalar]
    point: PointRecord
    measured_at: datetime
    state: State
    reason: str | None
    operator_count: float | None
    operator_time_s: float | None
    kernel_launches: float | None
    device_time_s: float | None
    peak_memory_bytes: float | None
    bound: str | None
    expected_operator_count: float | None
    expected_kernel_launches: float | None
    unexpected: str | None
    operators: tuple[OperatorRecord, ...]
    kernels: tuple[KernelRecord, ...]
    stacks: tuple[str, ...]
    trace: str | None


@dataclass(frozen=True, kw_only=True)
class JournalRecord:
    """What a journal holds. `torn` says that its last line was cut off and ignored."""

    timings: tuple[TimingRecord, ...]
    profiles: tuple[ProfileRecord, ...]
    torn: bool


@dataclass(frozen=True, kw_only=True)
class AsvMachineRecord:
    """asv's machine.json: the name, and what else it says (cpu, ram, …) as text."""

    name: str
    details: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class AsvBenchmarkRecord:
    """A benchmark as asv's benchmarks.json describes it."""

    name: str
    version: str
    type: str
    unit: str
    parameter_names: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class AsvResultRecord:
    """One benchmark's results of one run, as columns; each column is None or as long as `values`.

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
    """One asv result file: one run. `uid` identifies it wherever the file lies.

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
    """What a machine can do at best in an environment: quantities such as `matmul_flop_per_s.float32`."""

    machine: str
    environment: str
    measured_at: datetime | None
    quantities: Mapping[str, float]


class TriageDecision(StrEnum):
    """What a person says of a change."""

    ACCEPTED = "accepted"  # it is real, and stays
    FALSE_ALARM = "false_alarm"  # no change of the code
    TO_FIX = "to_fix"  # it is real, known, and not yet mended


@dataclass(frozen=True, kw_only=True)
class Decided:
    """Why, by whom and when something was decided; None where nobody said."""

    note: str | None
    by: str | None
    at: datetime | None


@dataclass(frozen=True, kw_only=True)
class ContinuationRecord:
    """Version `new` of a benchmark was declared to measure what `old` did; `metric` None means all it has."""

    project: str
    benchmark: str
    metric: str | None
    old: str
    new: str
    decided: Decided


@dataclass(frozen=True, kw_only=True)
class AcknowledgementRecord:
    """A change at a commit is known. Which series: those that all that is given holds for; None or empty takes all."""

    project: str
    commit: str
    decision: TriageDecision
    benchmark: str | None
    metric: str | None
    machine: str | None
    environment: str | None
    parameters: Mapping[str, str | float | bool]
    decided: Decided


@dataclass(frozen=True, kw_only=True)
class DecisionsRecord:
    """What a decisions.toml holds, in its order."""

    continuations: tuple[ContinuationRecord, ...]
    acknowledgements: tuple[AcknowledgementRecord, ...]
