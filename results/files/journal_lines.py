"""Lines of a journal as records, frozen: what docs/file-formats.md says of each key."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import Literal

import msgspec
from msgspec import Struct

from results.files.disturbances import disturbed_in_short
from results.files.json_fields import shown
from results.files.records import CommitRecord, Count, PointRecord, Scalar, State, Text
from results.files.stacks import is_folded


class RunRecord(Struct, frozen=True, kw_only=True):
    """Run: a commit measured on a machine in an environment. `run_id` is unique within the project."""

    run_id: Text
    project: Text
    commit_hash: Text = msgspec.field(name="commit")
    commit_date: datetime | None = None
    commit_subject: str | None = None
    machine: Text
    environment: Text
    started_at: datetime
    ruler_version: Text

    def __post_init__(self) -> None:
        _in_utc(self, "started_at", "commit_date")

    @property
    def commit(self) -> CommitRecord:
        """Commit in the form other files use."""
        return CommitRecord(hash=self.commit_hash, date=self.commit_date, subject=self.commit_subject)


class _Line(Struct, frozen=True, kw_only=True, tag_field="kind"):
    """Fields shared by timing and profile lines."""

    format: Literal[1]
    run: RunRecord
    conditions: dict[str, Scalar]
    point: PointRecord
    measured_at: datetime
    state: State
    reason: str | None = None

    def __post_init__(self) -> None:
        _in_utc(self, "measured_at")


class VisitRecord(Struct, frozen=True, kw_only=True):
    """One visit of a group as it went for this point: the median of its samples, and of its paired ratios.

    machine_speed: of a fixed piece of work at that time, 1 where the machine ran as fast as it ever did.
    """

    measured_at: datetime | None = None
    n_samples: Count | None = None
    median_s: float | None = None
    calls_per_sample: Count | None = None
    minor_faults_per_call: float | None = None
    speedup_vs_eager: float | None = None
    device_time_s: float | None = None
    device_time_cold_s: float | None = None
    host_time_s: float | None = None
    machine_speed: float | None = None
    disturbed: str | None = None

    def __post_init__(self) -> None:
        _in_utc(self, "measured_at")
        _in_short(self)


class TimingRecord(_Line, frozen=True, kw_only=True, tag="timing"):
    """`timing` line; SI units, None where not known.

    visits: in the order made; empty before ruler 3. recompile_time_s: ruler 2 calls it compile_time_s. disturbed: of
    each kind of cause that the line has, the worst.
    """

    group: str | None = None
    disturbed: str | None = None
    provider_detail: str | None = None
    latency_s: float | None = None
    latency_ci_low_s: float | None = None
    latency_ci_high_s: float | None = None
    samples_s: list[float] | None = None
    calls_per_sample: Count | None = None
    stop: str | None = None
    visits: list[VisitRecord] | None = None
    latency_between_sd_s: float | None = None
    speedup_vs_eager: float | None = None
    speedup_ci_low: float | None = None
    speedup_ci_high: float | None = None
    speedup_between_sd: float | None = None
    minor_faults_per_call: float | None = None
    device_time_s: float | None = None
    device_time_cold_s: float | None = None
    host_time_s: float | None = None
    compile_time_s: float | None = None
    compile_time_cold_s: float | None = None
    recompile_time_s: float | None = None
    time_to_first_call_s: float | None = None
    prepare_time_s: float | None = None
    error_rel: float | None = None
    flop: float | None = None
    min_bytes: float | None = None
    floor_s: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        _in_short(self)

    @property
    def counted_samples_s(self) -> list[float]:
        """Samples that `latency_s` is from: of an undisturbed point those of its undisturbed visits, else all."""
        samples, visits = self.samples_s or [], self.visits or []
        if self.disturbed or sum(visit.n_samples or 0 for visit in visits) != len(samples):
            return samples
        counted, start = list[float](), 0
        for visit in visits:
            end = start + (visit.n_samples or 0)
            counted += samples[start:end] if visit.disturbed is None else []
            start = end
        return counted


class OperatorRecord(Struct, frozen=True, kw_only=True):
    """One operator of a profile, per call. inputs: a text for each distinct list. outermost: calls in no other."""

    name: Text
    count: float | None = None
    self_time_s: float | None = None
    total_time_s: float | None = None
    is_compute: bool | None = None
    inputs: list[Text] | None = None
    allocated_bytes: float | None = None
    freed_bytes: float | None = None
    min_bytes: float | None = None
    min_bytes_reason: str | None = None
    outermost: float | None = None


class KernelRecord(Struct, frozen=True, kw_only=True):
    """One device kernel of a profile, per call."""

    name: Text
    count: float | None = None
    device_time_s: float | None = None


class GapRecord(Struct, frozen=True, kw_only=True):
    """Stretch of a call in which the device did nothing, between two activities."""

    duration_s: float
    after: Text
    before: Text


class RuntimeCallRecord(Struct, frozen=True, kw_only=True):
    """One function of the device's runtime, per call."""

    name: Text
    kind: Text
    count: float | None = None
    time_s: float | None = None


class ProfileRecord(_Line, frozen=True, kw_only=True, tag="profile"):
    """`profile` line; counts and times are per call.

    stacks: folded (results.files.stacks). trace: the name of a file under traces/. unexpected: how the counts differ
    from what the provider declares. overhead_s: the host's time outside compute operators; overhead_in: what takes most
    of it. bound_detail: the evidence for `bound`, in words. gaps: the longest of `gap_count`. missing: why a key is
    null, by its name.
    """

    operator_count: float | None = None
    operator_time_s: float | None = None
    kernel_launches: float | None = None
    device_time_s: float | None = None
    peak_memory_bytes: float | None = None
    bound: str | None = None
    bound_detail: str | None = None
    overhead_s: float | None = None
    overhead_in: str | None = None
    profiled_call_s: float | None = None
    expected_operator_count: float | None = None
    expected_kernel_launches: float | None = None
    unexpected: str | None = None
    operators: list[OperatorRecord] | None = None
    kernels: list[KernelRecord] | None = None
    stacks: list[str] | None = None
    trace: str | None = None
    allocated_bytes: float | None = None
    freed_bytes: float | None = None
    operators_min_bytes: float | None = None
    device_busy_s: float | None = None
    gap_count: float | None = None
    gap_time_s: float | None = None
    longest_gap_s: float | None = None
    gaps: list[GapRecord] | None = None
    runtime_calls: list[RuntimeCallRecord] | None = None
    missing: dict[str, str] | None = None
    expected_bytes: float | None = None
    expected_time_s: float | None = None
    compilations: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        for stack in self.stacks or ():
            if not is_folded(stack):
                raise ValueError(f"a stack is {shown(stack)}, not `frame;frame;frame NANOSECONDS`")
        if self.trace is not None:
            trace = PurePosixPath(self.trace)
            if trace.is_absolute() or ".." in trace.parts:
                raise ValueError(f"`trace` is {shown(self.trace)}, not the name of a file under traces/")


def _in_short(record: VisitRecord | TimingRecord) -> None:
    if record.disturbed is not None:
        # A text without a word tells of nothing, as null does.
        words = disturbed_in_short(record.disturbed) if record.disturbed.strip("; ") else None
        msgspec.structs.force_setattr(record, "disturbed", words)


def _in_utc(record: Struct, *names: str) -> None:
    """Bring moments to UTC; one without a zone is taken as UTC. Raises: ValueError."""
    for name in names:
        moment: datetime | None = getattr(record, name)
        if moment is None or moment.tzinfo is UTC:
            continue
        try:
            moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
        except OverflowError as error:
            raise ValueError(f"`{name}` is {moment}, in UTC outside the years 1 to 9999") from error
        msgspec.structs.force_setattr(record, name, moment)
