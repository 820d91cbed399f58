"""Messages between a sweep and its worker: one JSON object a line, encoded by record.codec."""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 - the codec reads the annotations
from dataclasses import dataclass
from enum import StrEnum

from benchmarks.ruler.plan.points import Contender, Shape  # noqa: TC001 - the codec reads the annotations


class Task(StrEnum):
    """Task of a worker for a group; CHECK compares with the reference and times nothing.

    FIRST_CALL times how long one contender takes to its first result, in a worker that has done nothing before.
    """

    TIME = "time"
    PROFILE = "profile"
    CHECK = "check"
    FIRST_CALL = "first_call"


CEILINGS, SPEED = "ceilings", "speed"


@dataclass(frozen=True, kw_only=True)
class Request:
    """Request about one group. budget_s: time of samples per contender over its n_visits visits, in seconds.

    is_first_visit: whether nothing of the group was timed before, so that compilers' caches may be cold.
    traces: prefix of the paths at which a profile leaves its traces; None for no traces. best_probe_s: the
    machine's best time of each part of the probe (measure.probe); None where it is not known.
    """

    task: Task
    shape: Shape
    contenders: tuple[Contender, ...]
    budget_s: float
    n_visits: int = 1
    is_first_visit: bool = True
    traces: str | None = None
    best_probe_s: Mapping[str, float] | None = None


@dataclass(frozen=True, kw_only=True)
class CeilingsRequest:
    """Request for the machine's ceilings.

    best_probe_s: the machine's best seconds of each part of the probe, which `MachineSpeed` knows; without any, a
    machine that is slow throughout is not found out.
    """

    task: str = CEILINGS
    best_probe_s: Mapping[str, float]
