"""Explanations of findings, by what the store holds of their worst points: for commands and the dashboard.

What is found is explained by `results.judgement.explanation`, which is pure.
"""

from __future__ import annotations

import math
from collections.abc import Callable  # noqa: TC003 - of a tuple's fields
from functools import cache
from typing import TYPE_CHECKING, NamedTuple, cast

from results.files.records import State
from results.files.stacks import StackKind
from results.judgement.commit_findings import findings_of
from results.judgement.explanation import ProfiledCall, Subject, explain
from results.judgement.findings import EVERYTHING, Finding, FindingClass, FindingState, Surface, Turn
from results.judgement.sides import BASELINE, surface_of
from results.metrics import LATENCY, SWEEP_METRICS
from results.queries import conditions_of, latest_points, profile_of, rows_by_ruler, run_with_profile, stacks_of
from results.questions.revisions import have_equal_kernels

if TYPE_CHECKING:
    from collections.abc import Mapping

    from results.judgement.explanation import Explanation
    from results.judgement.outcomes import ControlChange, Judgement, Verdict
    from results.rows import ParameterValue, PointFilter, PointRow
    from results.store import Store

    Parameters = tuple[ParameterValue, ...]
    Calls = tuple[ProfiledCall | None, ProfiledCall | None]

_OF_CONTROL = BASELINE + " moved over {n} series: nothing is said of kernels"
_OF_ALL = "more than half of {n} series of {metric} moved together: the machine, or all code; measure the base again"


def explanations_of(store: Store, judgement: Judgement) -> list[Explanation]:
    """Explain each finding between two commits, the worst first; before them, where the machine or torch changed."""
    moved = [
        *(_of_everything(judgement, one, why=_OF_CONTROL) for one in judgement.controls if one.is_moved),
        *(_of_everything(judgement, one, why=_OF_ALL) for one in judgement.shifts),
    ]
    are_equal = have_equal_kernels(judgement.base_commit, judgement.head_commit)
    measured = _measured(judgement)
    return [
        explain(_subject(store, finding, judgement, measured, are_kernels_equal=are_equal))
        for finding in (*moved, *findings_of(judgement))
    ]


def explanations_of_points(store: Store, judgement: Judgement, chosen: PointFilter) -> list[Explanation]:
    """Explain each chosen point that both commits measured, changed or not; the largest change of latency first."""
    at_base, at_head = (
        {(row.point_id, row.machine, row.environment): row for row in latest_points(store, revision=commit, **chosen)}
        for commit in (judgement.base_commit, judgement.head_commit)
    )
    both = [(at_base[key], at_head[key]) for key in at_base if key in at_head]
    pairs = sorted((pair for pair in both if any(map(_is_ok, pair))), key=lambda pair: -_size(*pair))
    are_equal = have_equal_kernels(judgement.base_commit, judgement.head_commit)
    found = []
    for at_both in pairs:
        base, head = _with_medians(judgement, *_by_the_rulers(store, *at_both, None))
        verdict = _verdict_on(judgement, at_both[1])
        subject = Subject(
            revisions=(judgement.base_commit, judgement.head_commit),
            base=_call(store, base),
            head=_call(store, head),
            control=_control(judgement, at_both[1].machine, at_both[1].environment),
            are_kernels_equal=are_equal,
            verdict=None if verdict is None else f"{verdict.change.value}: {verdict.why}",
        )
        found.append(explain(subject))
    return found


class Reasons(NamedTuple):
    """Answers about a finding: why it is, in one sentence, None where nothing is known; and its class."""

    sentence: Callable[[Finding], str | None]
    class_: Callable[[Finding], FindingClass | None]


def reasons_of(store: Store, judgement: Judgement | None = None) -> Reasons:
    """Return what tells of a finding why it is; each is explained when it is asked for, once.

    judgement: that the findings are of; without it, of a history, nothing is known of control series.
    """
    are_equal = cache(have_equal_kernels)
    measured = None if judgement is None else _measured(judgement)

    @cache
    def explained(finding: Finding) -> Explanation:
        is_of_sweep, base = finding.metric in SWEEP_METRICS, finding.last_good
        equal = are_equal(base, finding.first_bad) if is_of_sweep and base else None
        return explain(_subject(store, finding, judgement, measured, are_kernels_equal=equal))

    return Reasons(lambda finding: explained(finding).sentence, lambda finding: explained(finding).class_)


def _subject(
    store: Store,
    finding: Finding,
    judgement: Judgement | None,
    measured: Mapping[Surface, list[Parameters]] | None,
    *,
    are_kernels_equal: bool | None,
) -> Subject:
    base, head = _calls_of(store, finding, judgement)
    surface = finding.surface
    return Subject(
        revisions=(finding.last_good or "", finding.first_bad),
        finding=finding,
        base=base,
        head=head,
        control=None if judgement is None else _control(judgement, surface.machine, surface.environment),
        are_kernels_equal=are_kernels_equal,
        measured=None if measured is None else measured.get(surface, []),
    )


def _control(judgement: Judgement, machine: str, environment: str) -> ControlChange | None:
    """Return the change of the control series there; one that moved before others, then that of most series."""
    found = [one for one in judgement.controls if (one.machine, one.environment) == (machine, environment)]
    return max(found, key=lambda one: (one.is_moved, one.n_series), default=None)


def _of_everything(judgement: Judgement, change: ControlChange, *, why: str) -> Finding:
    """Return what moved all series of a testbed as one finding about everything there."""
    rows = [verdict.head for verdict in judgement.verdicts]
    there = [row for row in rows if (row.machine, row.environment) == (change.machine, change.environment)]
    project = there[0].project if there else EVERYTHING
    return Finding(
        surface=Surface(
            project=project,
            machine=change.machine,
            environment=change.environment,
            benchmark=EVERYTHING,
            metric=EVERYTHING,
        ),
        points=(),
        n_points=change.n_series,
        last_good=judgement.base_commit,
        first_bad=judgement.head_commit,
        n_unmeasured=None,
        ratio=change.ratio,
        interval=None,
        floor=None,
        turn=Turn.CHANGED,
        state=FindingState.SUSPECTED,
        class_=FindingClass.MACHINE,
        why=why.format(n=f"{change.n_series:,}", metric=change.metric),
    )


def _measured(judgement: Judgement) -> dict[Surface, list[Parameters]]:
    """Return the parameters of all points of each surface that were measured at both commits."""
    found: dict[Surface, list[Parameters]] = {}
    for verdict in judgement.verdicts:
        found.setdefault(surface_of(verdict.head), []).append(verdict.head.parameters)
    return found


def _calls_of(store: Store, finding: Finding, judgement: Judgement | None) -> Calls:
    """Return the worst point of a finding at both commits; of a finding about everything, any there."""
    surface = finding.surface
    if finding.last_good is None:
        return None, None
    if surface.benchmark == EVERYTHING:
        # Any call tells the conditions; eager's tells nothing else.
        chosen: dict[str, object] = {} if judgement is not None and judgement.shifts else {"provider": BASELINE}
    elif surface.metric in SWEEP_METRICS and finding.points:
        parameters = {one.name: one.value for one in finding.points[0]}
        chosen = {"pass_" if name == "pass" else name: [value] for name, value in parameters.items()}
        chosen["operation"] = surface.benchmark
    else:
        return None, None
    place = {"project": surface.project, "machine": surface.machine, "environment": surface.environment}
    asked = cast("PointFilter", chosen | place)
    sides = [latest_points(store, revision=commit, **asked) for commit in (finding.last_good, finding.first_bad)]
    both = {row.point_id for row in sides[0]} & {row.point_id for row in sides[1]}
    base, head = (next((row for row in rows if row.point_id in both), rows[0] if rows else None) for rows in sides)
    base, head = _by_the_rulers(store, base, head, _worst_of(judgement, finding))
    if judgement is not None:
        base, head = _with_medians(judgement, base, head)
    return _call(store, base), _call(store, head)


def _worst_of(judgement: Judgement | None, finding: Finding) -> Verdict | None:
    """Return the verdict that a finding tells first; None of a history, and of what is about everything."""
    if judgement is None or not finding.points:
        return None
    found = (
        one
        for one in judgement.verdicts
        if one.head.parameters == finding.points[0] and surface_of(one.head) == finding.surface
    )
    return max(found, key=lambda verdict: verdict.size, default=None)


def _by_the_rulers(
    store: Store, base: PointRow | None, head: PointRow | None, verdict: Verdict | None
) -> tuple[PointRow | None, PointRow | None]:
    """Return both as the rulers measured them that the verdict compares; of a history, by one that measured both.

    A commit may have been measured again by a newer one, which the other was not.
    """
    if base is None or head is None:
        return base, head
    if verdict is not None:
        return _by_ruler(store, base, verdict.base.version), _by_ruler(store, head, verdict.head.version)
    if base.ruler_version == head.ruler_version:
        return base, head
    before, after = (rows_by_ruler(store, point=row) for row in (base, head))
    shared = [version for version in after if version in before]
    return (before[shared[-1]], after[shared[-1]]) if shared else (base, head)


def _by_ruler(store: Store, point: PointRow, version: str) -> PointRow:
    return point if point.ruler_version == version else rows_by_ruler(store, point=point).get(version, point)


def _with_medians(
    judgement: Judgement, base: PointRow | None, head: PointRow | None
) -> tuple[PointRow | None, PointRow | None]:
    """Give both the latency that was judged: the median of all runs of their commits."""
    verdict = None if head is None else _verdict_on(judgement, head)
    if base is None or head is None or verdict is None:
        return base, head
    return base._replace(latency_s=verdict.base.value), head._replace(latency_s=verdict.head.value)


def _verdict_on(judgement: Judgement, point: PointRow) -> Verdict | None:
    """Return the verdict on the latency of a point; None if it was not judged."""
    for verdict in judgement.verdicts:
        row = verdict.head
        place = (row.machine, row.environment, row.version)
        if row.metric != LATENCY.name or place != (point.machine, point.environment, point.ruler_version):
            continue
        parameters = {"pass_" if one.name == "pass" else one.name: one.value for one in row.parameters}
        if row.benchmark == point.operation and all(
            getattr(point, name, None) == parameters[name] for name in parameters
        ):
            return verdict
    return None


def _call(store: Store, point: PointRow | None) -> ProfiledCall | None:
    """Return a point with its profile: of the same run, or of the newest run of its commit that took one."""
    if point is None:
        return None
    conditions = conditions_of(store, point=point)
    uid = run_with_profile(store, point=point)
    if uid is None or point.state != State.OK:
        return ProfiledCall(point=point, conditions=conditions)
    profiled = point._replace(run_id=uid)
    return ProfiledCall(
        point=point,
        profile=profile_of(store, point=profiled),
        host=stacks_of(store, point=profiled, kind=StackKind.HOST),
        device=stacks_of(store, point=profiled, kind=StackKind.DEVICE),
        conditions=conditions,
    )


def _is_ok(point: PointRow) -> bool:
    return point.state == State.OK


def _size(base: PointRow, head: PointRow) -> float:
    if not base.latency_s or not head.latency_s:
        return math.inf
    return abs(math.log(head.latency_s / base.latency_s))
