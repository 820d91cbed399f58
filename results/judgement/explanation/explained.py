"""Finding and what is known around it → explanation: class, one sentence, what was ruled out, scope, command; pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from results.judgement.explanation.causes import CauseKind, causes_of
from results.judgement.explanation.classes import Around, class_of, ruled_out
from results.judgement.explanation.comparison import compare_profiles
from results.judgement.explanation.conditions import ConditionDifference, differing_conditions
from results.judgement.explanation.exact_differences import Quantity, exactly_different, quantities_of
from results.judgement.explanation.reproduction import command_of
from results.judgement.explanation.scope import Scope, scope_of
from results.metrics import SWEEP_METRICS
from results.units import alike, rest_of

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from results.judgement.explanation.calls import ProfiledCall
    from results.judgement.explanation.causes import Cause
    from results.judgement.explanation.difference import ProfileDifference
    from results.judgement.findings import Finding, FindingClass
    from results.judgement.outcomes import ControlChange
    from results.rows import ParameterValue

LATENCY = "latency_s"
_COUNTS = frozenset({"operator_count", "kernel_launches"})
_UNTOLD = {
    "peak_memory_bytes": "the profile does not tell which operator allocates it",
    "error_rel": "a profile tells which operators run, and not how exact they are",
}
_STRUCTURE = frozenset(
    {
        CauseKind.COMPILATION,
        CauseKind.LOST_FUSION,
        CauseKind.NEW_FUSION,
        CauseKind.REPLACED,
        CauseKind.ADDED,
        CauseKind.REMOVED,
    }
)
_MOST_TOLD = 2
_SHOWN_SHARE = 0.25
_MOST_SHARE = 1.05


@dataclass(frozen=True, kw_only=True)
class Subject:
    """Finding to explain, and what is known of its worst point and around it; None and empty for what is not.

    finding: None for a point that is asked for without one. control: change of eager there. are_kernels_equal: whether
    git has the same kernels at both commits. measured: parameters of all points of the surface. revisions: of base and
    head, full hashes. verdict: of a point without finding, what the comparison of the commits says of it, in words.
    """

    revisions: tuple[str, str]
    finding: Finding | None = None
    base: ProfiledCall | None = None
    head: ProfiledCall | None = None
    control: ControlChange | None = None
    are_kernels_equal: bool | None = None
    measured: Collection[tuple[ParameterValue, ...]] | None = None
    verdict: str | None = None


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """Why a finding is. sentence: None where nothing is known, and `reason` says why. subject: what was known of it.

    causes: what the profiles show, the first of them told in the sentence. quantities: of the call at both commits;
    exact: those that are counted and differ. command: reproduces it.
    """

    subject: Subject
    class_: FindingClass | None
    sentence: str | None
    reason: str | None
    causes: tuple[Cause, ...]
    difference: ProfileDifference
    quantities: tuple[Quantity, ...]
    exact: tuple[Quantity, ...]
    conditions: tuple[ConditionDifference, ...]
    ruled_out: tuple[str, ...]
    scope: Scope | None
    command: str | None

    @property
    def finding(self) -> Finding | None:
        """Finding that is explained; None for a point that was asked for without one."""
        return self.subject.finding


def explain(subject: Subject) -> Explanation:
    """Explain a finding by what is known; what is not known is left out, and no cause is named without its evidence."""
    base, head, finding = subject.base, subject.head, subject.finding
    difference = compare_profiles(base, head)
    quantities = quantities_of(base, head)
    conditions = differing_conditions(*(({} if one is None else one.conditions) for one in (base, head)))
    causes = causes_of(difference, quantities, base, head)
    known = Around(
        finding=finding,
        calls=None if base is None or head is None else (base, head),
        conditions=conditions,
        control=subject.control,
        are_kernels_equal=subject.are_kernels_equal,
        has_causes=bool(causes),
        has_new_structure=any(cause.kind in _STRUCTURE or cause.kind is CauseKind.RENAMED for cause in causes),
    )
    class_, around = class_of(known)
    metric = LATENCY if finding is None else finding.metric
    words = [text for text in (around, _inside(metric, causes, difference)) if text]
    sentence = f"{'; '.join(words)}." if words else None
    return Explanation(
        subject=subject,
        class_=class_,
        sentence=sentence if sentence is None else sentence[0].upper() + sentence[1:],
        reason=None if words else _why_silent(difference, metric),
        causes=causes,
        difference=difference,
        quantities=quantities,
        exact=exactly_different(quantities),
        conditions=conditions,
        ruled_out=(*ruled_out(known), *_ruled_out_inside(difference)),
        scope=None
        if finding is None or not finding.points
        else scope_of(finding.points, subject.measured, n_points=finding.n_points),
        command=command_of(subject.revisions, head or base, finding, subject.measured),
    )


def _inside(metric: str, causes: Sequence[Cause], difference: ProfileDifference) -> str | None:
    """Return the clause of the sentence that tells what happened inside of a call; None where nothing is known."""
    if metric == LATENCY:
        return _of_latency(causes, difference)
    if metric in _COUNTS:
        found = [cause for cause in causes if cause.kind in _STRUCTURE]
    elif metric == "peak_memory_bytes":
        others = [cause for cause in causes if cause.kind in _STRUCTURE or cause.kind is CauseKind.IMPLEMENTATION]
        # That it changed is the finding; why, only what allocates it or runs otherwise tells.
        found = [cause for cause in causes if cause.kind is CauseKind.MEMORY and (cause.is_located or others)]
        found += others[:1]
    elif metric == "error_rel":
        work = {*_STRUCTURE, CauseKind.RENAMED, CauseKind.IMPLEMENTATION}
        found = [cause for cause in causes if cause.kind in work][:1]
    else:
        found = []
    return "; ".join(cause.words for cause in found[:2]) or None


def _of_latency(causes: Sequence[Cause], difference: ProfileDifference) -> str | None:
    """Return the causes that account for the change, or are exact, the largest first, with their parts of the time.

    What these leave of the change is told after them.
    """
    change_s = difference.change_s
    told = sorted(
        (cause for cause in causes if cause.kind is not CauseKind.MEMORY),
        key=lambda cause: -(cause.change_s or 0.0) * (1 if (change_s or 0.0) >= 0 else -1),
    )
    told = [cause for cause in told[:_MOST_TOLD] if cause.is_exact or _share(cause, change_s) > 0]
    memory = [cause for cause in causes if cause.kind is CauseKind.MEMORY]
    clauses = _with_times(told, change_s) if change_s else [cause.words for cause in told]
    # Memory alone is a fact that comes with a change of time; how much of that it is, no profile tells.
    clauses += [f"{'also ' if clauses else ''}{cause.words}" for cause in memory]
    return "; ".join(clauses) or None


def _with_times(causes: Sequence[Cause], change_s: float) -> list[str]:
    """Return a clause for each cause with its part of the change, and one for what all of them leave of it."""
    parts = [cause.change_s for cause in causes if cause.change_s is not None]
    whole, *own = alike([abs(change_s), *map(abs, parts)], "s")
    texts = iter(own)
    clauses = [
        cause.words if cause.change_s is None else f"{cause.words} ({_time_of(cause, change_s, next(texts), whole)})"
        for cause in causes
    ]
    rest_s, rest = rest_of(change_s, parts, "s")
    if parts and rest_s:
        clauses.append(f"other parts take {rest} {_more_or_less(rest_s)}")
    return clauses


def _time_of(cause: Cause, change_s: float, own: str, whole: str) -> str:
    share = _share(cause, change_s)
    if share < _SHOWN_SHARE:
        sign = "+" if (cause.change_s or 0.0) >= 0 else "−"
        return f"by its own time {sign}{own} of the {whole} {_more_or_less(change_s)}"
    if share > _MOST_SHARE:
        return f"{own} {_more_or_less(change_s)}; the call takes {whole} {_more_or_less(change_s)}"
    return f"{own} of the {whole} {_more_or_less(change_s)}"


def _more_or_less(change_s: float) -> str:
    return "more" if change_s > 0 else "less"


def _share(cause: Cause, change_s: float | None) -> float:
    return cause.change_s / change_s if cause.change_s is not None and change_s else 0.0


def _why_silent(difference: ProfileDifference, metric: str) -> str:
    if metric not in SWEEP_METRICS:
        return "only calls of the sweep are profiled, so nothing is known of its inside"
    if difference.reason is not None:
        return f"nothing is known of its inside: {difference.reason}"
    if metric not in {LATENCY, *_COUNTS, *_UNTOLD}:
        return f"no profile tells of {metric}"
    if metric in _UNTOLD:
        return _UNTOLD[metric]
    if difference.is_equal:
        return "the profiles of both commits are equal, so they do not show where"
    why = "no change in it accounts for half of the time"
    if metric != LATENCY:
        why = f"nothing in it tells of {SWEEP_METRICS[metric].label}"
    return f"the profile does not show where: {why}"


def _ruled_out_inside(difference: ProfileDifference) -> tuple[str, ...]:
    if difference.reason is not None:
        return ()
    if difference.is_equal:
        return ("operators: the same, as often, in the same time",)
    return ()
