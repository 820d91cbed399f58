"""Finding: a change between two commits, as `gate`, `changes` and `explain` share it; pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from results.files.records import AcknowledgementRecord

if TYPE_CHECKING:
    from results.files.records import Decided, TriageDecision
    from results.rows import ParameterValue

EVERYTHING = "*"
"""Name in place of a benchmark's and a metric's, where everything on a machine moved together."""


class FindingState(StrEnum):
    """State of a finding: how far it is known, and whether it is still there."""

    SUSPECTED = "suspected"  # one measurement beyond the noise: to be measured again
    CONFIRMED = "confirmed"  # the new level has lasted
    RECOVERED = "recovered"  # it had lasted, and a later change took it back
    ACKNOWLEDGED = "acknowledged"  # a person declared it known
    WITHDRAWN = "withdrawn"  # it was suspected, and later measurements did not bear it out


class FindingClass(StrEnum):
    """Class of a finding's cause."""

    CODE = "code"
    STACK = "stack"  # versions of torch, triton, compilers, drivers
    MACHINE = "machine"  # everything moved together, controls included
    METHOD = "method"  # the ruler, or the benchmark's own code
    NOISE = "noise"  # withdrawn, or a level that was seen before


class Turn(StrEnum):
    """Direction of a change, by the metric's better direction; the worst first."""

    FAILED = "failed"  # was ok, and is not, or is gone
    SLOWER = "slower"  # worse
    CHANGED = "changed"  # better direction unknown
    FASTER = "faster"  # better
    FIXED = "fixed"  # was not ok, and is


class Surface(NamedTuple):
    """What findings are grouped by: a metric of a benchmark at one place, with what its points have in common.

    A tuple, because every series has one. shared: the parameters that tell surfaces of one benchmark apart (provider
    and pass of a sweep; none of asv's).
    """

    project: str
    machine: str
    environment: str
    benchmark: str
    metric: str
    shared: tuple[ParameterValue, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Finding:
    """Change of a surface between two measured commits.

    points: parameters of each point that changed, the largest change first. n_points: points of the surface that were
    measured at both ends. last_good, first_bad: full hashes of the measured commits on both sides, None where no commit
    before is known. n_unmeasured: commits between them that nobody measured, None if the order is unknown.
    ratio: new level ÷ old level of the first point, None from 0 and of a failure; interval: of that, 95 %, None without
    known noise.
    floor: smallest relative change visible at the first point, 0.023 for 2.3 %; None where it is unknown.
    turn: whether it is for the worse. class_: the cause's class, None while nothing is known of it.
    why: evidence in words. is_gone: whether it failed since the first point is no longer measured.
    """

    surface: Surface
    points: tuple[tuple[ParameterValue, ...], ...]
    n_points: int
    last_good: str | None
    first_bad: str
    n_unmeasured: int | None
    ratio: float | None
    interval: tuple[float, float] | None
    floor: float | None
    turn: Turn
    state: FindingState
    class_: FindingClass | None
    why: str
    is_gone: bool = False

    @property
    def benchmark(self) -> str:
        """Name of the benchmark that changed."""
        return self.surface.benchmark

    @property
    def metric(self) -> str:
        """Name of the metric that changed."""
        return self.surface.metric


def acknowledgement_of(finding: Finding, *, decision: TriageDecision, decided: Decided) -> AcknowledgementRecord:
    """Return the decision that declares a finding's change known, at its first bad commit."""
    surface = finding.surface
    is_everything = surface.benchmark == EVERYTHING
    return AcknowledgementRecord(
        project=surface.project,
        commit=finding.first_bad,
        decision=decision,
        benchmark=None if is_everything else surface.benchmark,
        metric=None if is_everything else surface.metric,
        machine=surface.machine,
        environment=surface.environment,
        parameters={one.name: one.value for one in surface.shared if one.value is not None},
        decided=decided,
    )
