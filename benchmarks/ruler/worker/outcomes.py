"""Outcomes of a group from a worker, whatever its contenders do to it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from benchmarks.ruler.record.codec import value_from_json
from benchmarks.ruler.record.outcome import ProfileOutcome, TimingOutcome
from benchmarks.ruler.worker.protocol import Request, Task

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.ruler.measure.timing import Sampling
    from benchmarks.ruler.plan.points import Contender
    from benchmarks.ruler.worker.process import WorkerProcess


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """Contender that was built, ran, and agrees with the reference."""

    contender: Contender
    call: Callable[[], object]
    outcome: TimingOutcome


class WorkerLost(Exception):
    """Raised if a worker dies before any contender runs, which is no contender's fault; the message says how."""


def outcomes_of_group(
    worker: WorkerProcess, request: Request, *, blames_all: bool = True
) -> tuple[dict[Contender, TimingOutcome | ProfileOutcome], dict[str, Any]]:
    """Return the outcome of every contender of `request`, and the conditions they were measured under.

    A contender that takes the worker down gets its state, and the group is asked for again without it: rivals
    measured beside it were measured together or not at all. The first time that a signal from outside ends or stops
    the worker, no contender is blamed.

    blames_all: a worker that dies before any contender runs is the state of all; else raises: WorkerLost.
    """
    kind: type[TimingOutcome | ProfileOutcome] = ProfileOutcome if request.task is Task.PROFILE else TimingOutcome
    lost: dict[Contender, TimingOutcome | ProfileOutcome] = {}
    left = list(request.contenders)
    conditions: dict[str, Any] = {}
    was_killed = False
    while left:
        answer = worker.ask(replace(request, contenders=tuple(left)))
        standing = (worker.hello or {}).get("conditions", {})
        conditions = {**standing, **answer.conditions}
        if answer.death is None:
            by_name = {
                message["contender"]: value_from_json(kind, message["outcome"])
                for message in answer.messages
                if message["event"] == "outcome"
            }
            return {**lost, **{contender: by_name[str(contender)] for contender in left}}, conditions
        if answer.death.from_outside and not was_killed:
            was_killed = True
            continue
        index = answer.death.contender_index
        if index is None and not blames_all:
            raise WorkerLost(answer.death.reason)
        # A worker that dies before any contender runs would die for every one.
        culprits = list(left) if index is None else [left[index]]
        for culprit in culprits:
            lost[culprit] = kind(state=answer.death.state, reason=answer.death.reason)
            left.remove(culprit)
    return lost, conditions


def with_sampling(outcome: TimingOutcome, sampling: Sampling) -> TimingOutcome:
    """Return what this visit alone shows; the sweep adds what follows from all visits, speedups included."""
    return replace(
        outcome,
        disturbed=sampling.disturbed,
        latency_s=sampling.latency.median,
        latency_ci_low_s=sampling.latency.low,
        latency_ci_high_s=sampling.latency.high,
        samples_s=sampling.samples_s,
        calls_per_sample=sampling.calls_per_sample,
        stop=sampling.stop,
    )
