"""Content of the page *Profile*: what one call does inside, and the profile it is compared with."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import log
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl

from dashboard.views.profiles.choice import profile_view_of
from dashboard.views.projects import commits_of_project, names_of_projects
from results.judgement.explanation import ProfiledCall, Subject, compare_profiles, explain
from results.judgement.latency_parts import parts_of
from results.judgement.winners import ranking_of
from results.queries import (
    StackKind,
    commits,
    conditions_of,
    point_choices,
    profile_of,
    stacks_of,
    throughput_by_batch,
    timeline_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dashboard.views.profiles.choice import ProfileChoice, ProfileView
    from results.judgement.explanation import Explanation, ProfileDifference
    from results.judgement.latency_parts import LatencyParts
    from results.queries import FoldedStack
    from results.rows import CommitRow, NoTimeline, PointFilter, PointRow, ProfileRow, TimelineRow
    from results.store import Store

NO_PROFILE = (
    "The run that timed this point did not profile it, or ended before. The page Throughput shows the commands that "
    "measure it again."
)


@dataclass(frozen=True, kw_only=True)
class CallView:
    """Profiled call with its latency in parts, which sum."""

    call: ProfiledCall
    parts: LatencyParts

    @property
    def point(self) -> PointRow:
        """Point as it was timed."""
        return self.call.point

    @property
    def profile(self) -> ProfileRow | None:
        """Profile, if one is stored and ok."""
        found = self.call.profile
        return found if found is not None and found.state == "ok" else None

    @property
    def missing(self) -> str | None:
        """Why there is no profile, in words, and what to do; None where there is one."""
        row, profile = self.point, self.call.profile
        if row.state != "ok":
            return f"{row.contender} is {row.state.replace('_', ' ')} here: {row.reason or 'no reason given'}"
        if profile is None:
            return NO_PROFILE
        if profile.state != "ok":
            return f"The profile is {profile.state.replace('_', ' ')}: {profile.reason or 'no reason given'}"
        return None

    @property
    def stacks(self) -> dict[StackKind, tuple[FoldedStack, ...]]:
        """Folded stacks of each side."""
        return {StackKind.HOST: self.call.host, StackKind.DEVICE: self.call.device}


@dataclass(frozen=True, kw_only=True)
class ProfileDrawing:
    """Content of the page. call: None where nothing was measured at the commit. base: what it is compared with.

    profiled: batches with a profile, where the call has none. difference: from base to call; explanation: of it, where
    both are of one provider. rivals: the points of the shape at the commit.
    """

    view: ProfileView
    commits: tuple[CommitRow, ...]
    rivals: tuple[PointRow, ...]
    call: CallView | None
    profiled: tuple[int, ...]
    base: CallView | None
    difference: ProfileDifference | None
    explanation: Explanation | None
    timeline: TimelineRow | NoTimeline | None
    problems: tuple[str, ...]


def profile_drawing_of(store: Store, *, query: str) -> ProfileDrawing:
    """Query the store for what the URL's `query` shows; where it names no batch, of those with a profile."""
    known = commits(store)
    measured = [row for row in known if row.sweep_machines]
    stored = names_of_projects(known)
    view = profile_view_of(query, points=point_choices(store), commits=measured, stored=stored)
    profiled: tuple[int, ...] = ()
    rivals = _rows(store, view.choice, revision=view.choice.commit)
    if rivals and not any(map(_has_profile, rivals)):
        profiled = _profiled_batches(store, view.choice)
        if profiled and "batch" not in dict(parse_qsl(query.removeprefix("?"))):
            nearest = min(profiled, key=lambda batch: abs(log(batch / view.choice.batch)))
            view = replace(view, choice=replace(view.choice, batch=nearest))
            rivals = _rows(store, view.choice, revision=view.choice.commit)
    choice, problems = view.choice, list(view.problems)
    own = commits_of_project(measured, choice.project.name)
    point = _chosen(rivals, choice.provider, problems)
    call = None if point is None else _call(store, point)
    base = None if point is None else _base(store, choice, point, rivals, problems)
    return ProfileDrawing(
        view=view,
        commits=tuple(row for row in own if choice.machine in row.sweep_machines),
        rivals=tuple(rivals),
        call=call,
        profiled=profiled if call is not None and call.profile is None else (),
        base=base,
        difference=compare_profiles(base.call, call.call) if base and call else None,
        explanation=_explanation(base, call) if base and call else None,
        timeline=None if point is None else timeline_of(store, point=point),
        problems=tuple(problems),
    )


def _rows(store: Store, choice: ProfileChoice, *, revision: str | None) -> list[PointRow]:
    rows = throughput_by_batch(store, revision=revision, **choice.shape)
    return [row for row in rows if row.activation == choice.activation]


def _profiled_batches(store: Store, choice: ProfileChoice) -> tuple[int, ...]:
    """Return the batches of the choice that were profiled at its commit."""
    shape: PointFilter = {**choice.shape, "batch": None}
    rows = throughput_by_batch(store, revision=choice.commit, **shape)
    return tuple(sorted({row.batch for row in rows if row.activation == choice.activation and _has_profile(row)}))


def _has_profile(row: PointRow) -> bool:
    return row.operator_count is not None or row.kernel_launches is not None


def _chosen(rows: Sequence[PointRow], provider: str | None, problems: list[str]) -> PointRow | None:
    """Return the provider's point, or the fastest one's; None where there is no point at all."""
    found = next((row for row in rows if row.contender == provider), None)
    if found is None and rows:
        ranking = ranking_of(list(rows))
        found = rows[0] if ranking is None else ranking.leader
        if provider is not None:
            problems.append(
                f"{provider} was not measured at this shape at commit {found.commit[:10]}; showing {found.contender}."
            )
    return found


def _base(
    store: Store, choice: ProfileChoice, head: PointRow, rivals: Sequence[PointRow], problems: list[str]
) -> CallView | None:
    if not choice.compares:
        return None
    rows = rivals if choice.base is None else _rows(store, choice, revision=choice.base)
    provider = choice.against or head.contender
    found = next((row for row in rows if row.contender == provider), None)
    if found is None:
        commit = (choice.base or head.commit)[:10]
        problems.append(f"{provider} was not measured at this shape at commit {commit}: there is nothing to compare.")
        return None
    if found == head:
        problems.append("The profile is compared with itself; choose another provider or commit to compare with.")
        return None
    return _call(store, found)


def _explanation(base: CallView, head: CallView) -> Explanation | None:
    """Explain what one provider's call does otherwise at another commit; two providers differ for no cause."""
    if base.point.contender != head.point.contender:
        return None
    return explain(Subject(revisions=(base.point.commit, head.point.commit), base=base.call, head=head.call))


def _call(store: Store, point: PointRow) -> CallView:
    profile = profile_of(store, point=point)
    host = stacks_of(store, point=point, kind=StackKind.HOST)
    call = ProfiledCall(
        point=point,
        profile=profile,
        host=host,
        device=stacks_of(store, point=point, kind=StackKind.DEVICE),
        conditions=conditions_of(store, point=point),
    )
    return CallView(call=call, parts=parts_of(point, profile, host))
