"""Sweep points as one run measured them, and its visits to them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from results.rows.inventory import contender_name

if TYPE_CHECKING:
    from datetime import datetime

MOST_PERCENT_OF_FLOOR = 110.0
AT_FLOOR = "as fast as its floor"
ERROR_OF_CEILINGS = "ceilings are measured to within a tenth, so a call may take a little less than its floor"
CEILING_NOT_VALID = "ceiling not valid"


class PointRow(NamedTuple):
    """Sweep point as one run measured it: what `show --format json` prints. A tuple, because there are thousands.

    Every number is None unless `state` is "ok" (`error_rel` is also given when "wrong").
    latency: median seconds of one call, with its 95 % interval. `percent_of_floor`: 100 means as fast as the
    machine allows; None, too, where the call is so much faster that the ceiling is not valid. `point_id` and `run_id`
    together find the point's profile. The fields from `visit_count` on are None before ruler 3, those from
    `allocated_bytes` on, of the profile, before its second pass. expected_…: by what the provider declares;
    unexpected: how what ran differs, in words.
    """

    project: str
    commit: str
    commit_date: datetime | None
    commit_subject: str | None
    machine: str
    environment: str
    ruler_version: str
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
    state: str
    reason: str | None
    disturbed: str | None
    provider_detail: str | None
    latency_s: float | None
    latency_ci_low_s: float | None
    latency_ci_high_s: float | None
    sample_count: int | None
    device_time_s: float | None
    host_time_s: float | None
    operator_time_s: float | None
    kernel_launches: float | None
    operator_count: float | None
    peak_memory_bytes: float | None
    rows_per_s: float | None
    tflop_per_s: float | None
    gb_per_s: float | None
    floor_s: float | None
    percent_of_floor: float | None
    speedup_vs_eager: float | None
    speedup_ci_low: float | None
    speedup_ci_high: float | None
    bound: str | None
    compile_time_s: float | None
    prepare_time_s: float | None
    error_rel: float | None
    run_id: str
    point_id: int
    measured_at: datetime
    compile_time_cold_s: float | None = None
    visit_count: int | None = None
    latency_between_sd_s: float | None = None
    speedup_between_sd: float | None = None
    minor_faults_per_call: float | None = None
    recompile_time_s: float | None = None
    time_to_first_call_s: float | None = None
    overhead_s: float | None = None
    bound_detail: str | None = None
    visits_planned: int | None = None
    allocated_bytes: float | None = None
    operators_min_bytes: float | None = None
    device_busy_s: float | None = None
    gap_count: float | None = None
    gap_time_s: float | None = None
    expected_operator_count: float | None = None
    expected_kernel_launches: float | None = None
    expected_bytes: float | None = None
    expected_time_s: float | None = None
    compilations: float | None = None
    unexpected: str | None = None

    @property
    def lacks_visits(self) -> bool:
        """Whether the run planned more visits than it made: its sweep ended early, and goes on with the next run."""
        return self.state == "ok" and 0 < (self.visit_count or 0) < (self.visits_planned or 0)

    @property
    def contender(self) -> str:
        """Name the provider competes under: `fused`, or `fused:packed` for a weight layout of its own."""
        return contender_name(self.provider, self.weights)

    @property
    def is_host_bound(self) -> bool:
        """Whether a device works for less than half of the call, as it waits for the host; never of a CPU."""
        return self.device_time_s is not None and self.latency_s is not None and 2 * self.device_time_s < self.latency_s

    @property
    def is_host_ahead(self) -> bool:
        """Whether the host enqueues a call in less time than a device works on it, which then does not wait for it."""
        if self.host_time_s is None or self.device_time_s is None:
            return False
        return self.host_time_s < self.device_time_s and not self.is_host_bound

    @property
    def has_valid_ceiling(self) -> bool:
        """Whether the call is not faster than its floor by more than a tenth; a floor that is not known is not beaten.

        No call is faster than its machine: beyond that the ceilings were measured too low, and so the bound, which
        they decide, is not known either.
        """
        if not self.floor_s or not self.latency_s:
            return True
        return self.floor_s / self.latency_s * 100 <= MOST_PERCENT_OF_FLOOR

    @property
    def floor_in_words(self) -> str | None:
        """How near the call is to its floor; None where that is not known.

        What is faster, within the error of the ceilings, is as fast: 100 % beside a floor that takes longer would
        contradict it.
        """
        if self.percent_of_floor is None:
            return None
        return AT_FLOOR if self.percent_of_floor > 100 else f"at {self.percent_of_floor:.0f} % of its floor's speed"

    @property
    def bound_in_words(self) -> str | None:
        """What bounds the call, or that its ceiling is not valid."""
        return self.bound if self.has_valid_ceiling else CEILING_NOT_VALID


@dataclass(frozen=True, kw_only=True)
class VisitRow:
    """One visit of a point's group: the median of its samples and of its paired ratios, and what held then.

    machine_speed: of a fixed piece of work at that time, 1 where the machine ran as fast as it ever did. The number of
    calls in a sample and the pages mapped during a call are None where the ruler kept only the last visit's.
    """

    measured_at: datetime | None
    n_samples: int | None
    median_s: float | None
    speedup_vs_eager: float | None
    device_time_s: float | None
    host_time_s: float | None
    machine_speed: float | None
    disturbed: str | None
    calls_per_sample: int | None = None
    minor_faults_per_call: float | None = None
    device_time_cold_s: float | None = None
