"""Findings in words: what changed, by how much, between which commits; pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from results.judgement.findings import EVERYTHING, FindingClass, FindingState, Turn
from results.judgement.outcomes import Change
from results.metrics import SWEEP_METRICS
from results.rows import parameters_in_words
from results.units import change_in_words, change_interval_in_words, visible_from

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from results.judgement.findings import Finding

    Explained = Callable[[Finding], str | None]
    """What a finding comes from as one sentence; None where that is not known."""
    Classed = Callable[[Finding], FindingClass | None]
    """What a finding is classed as; None where that is not known."""

WORSE = frozenset({Turn.FAILED, Turn.SLOWER})
OPEN = frozenset({FindingState.CONFIRMED, FindingState.SUSPECTED})
NO_CODE = frozenset({FindingClass.MACHINE, FindingClass.NOISE})


def unexplained(finding: Finding) -> None:
    """Return None: nothing is known of what a finding comes from."""
    del finding


def own_class(finding: Finding) -> FindingClass | None:
    """Return the class that a finding was made with."""
    return finding.class_


def is_worse_and_open(finding: Finding) -> bool:
    """Return whether a finding is for the worse, still there, and neither the machine's nor noise."""
    return finding.turn in WORSE and finding.state in OPEN and finding.class_ not in NO_CODE


def name_in_words(finding: Finding) -> str:
    """Return benchmark, metric where the benchmark's name does not say it, and what the points share."""
    name = f"{finding.benchmark} {finding.metric}" if finding.metric in SWEEP_METRICS else finding.benchmark
    # In one order, whichever command found it.
    shared = parameters_in_words(sorted(finding.surface.shared, key=lambda one: one.name))
    if finding.benchmark == "*":
        return "everything"
    return f"{name} [{shared}]" if shared else name


def undirected_in_words(benchmarks: Collection[str]) -> list[str]:
    """Write how to tell which direction of these benchmarks is better, where that of any is not known."""
    if not benchmarks:
        return []
    others = f" and {len(benchmarks) - 1:,} more" if len(benchmarks) > 1 else ""
    told = f"Nothing tells whether higher or lower is better of {min(benchmarks)}{others}, so a change is no regression"
    return [f"{told}: `better` of a [[tool.fusebench.threshold]] in pyproject.toml does."]


def place_in_words(finding: Finding) -> str:
    """Return where it was measured: project, machine and environment."""
    surface = finding.surface
    return f"{surface.project} on {surface.machine}, {surface.environment}"


def size_in_words(finding: Finding) -> str:
    """Return the change of the worst point: a percentage, a factor, that it was 0 or is gone, or its state."""
    if finding.turn in {Turn.FAILED, Turn.FIXED}:
        return Change.GONE.value if finding.is_gone else finding.turn.value
    is_count = finding.metric in SWEEP_METRICS and finding.turn is Turn.SLOWER
    return "from 0" if finding.ratio is None and is_count else change_in_words(finding.ratio)


def is_quoted(finding: Finding, cause: str | None) -> bool:
    """Return whether a cause says what the evidence does, as how a point failed: then it is said once."""
    return cause is not None and finding.why.lower() in cause.lower()


def why_in_words(finding: Finding, cause: str | None) -> str:
    """Return the evidence and the cause, which is said once where one says what the other does."""
    return cause or "" if is_quoted(finding, cause) else "; ".join(filter(None, (finding.why, cause)))


def interval_in_words(finding: Finding) -> str:
    """Return the interval of the worst point's change; empty where there is none."""
    return (
        ""
        if finding.interval is None
        else " to ".join(change_interval_in_words(*finding.interval, ratio=finding.ratio))
    )


def floor_in_words(finding: Finding) -> str:
    """Return what is invisible at the worst point, as `< 2.3 %`; empty where that is not known."""
    return f"< {visible_from(finding.floor)}" if finding.floor else ""


def scope_in_words(finding: Finding) -> str:
    """Return `3 of 4` points, or that they are so together; empty for a finding about everything."""
    if finding.points:
        return f"{len(finding.points):,} of {finding.n_points:,}"
    return "" if finding.benchmark == EVERYTHING else "together"


def worst_in_words(finding: Finding) -> str:
    """Return the parameters of the worst point that not all points of the surface have."""
    shared = {parameter.name for parameter in finding.surface.shared}
    return parameters_in_words(finding.points[0], without=shared) if finding.points else ""


def range_in_words(finding: Finding) -> str:
    """Write the range of commits as git does, with the number of those between that nobody measured."""
    unmeasured = f" ({finding.n_unmeasured:,} unmeasured)" if finding.n_unmeasured else ""
    return f"{(finding.last_good or '')[:8]}..{finding.first_bad[:8]}{unmeasured}"
