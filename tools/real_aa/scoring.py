"""What comparisons of equal and of slowed commits found: counted, held against what it should be, and told. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from results.judgement.commit_findings import findings_of
from results.judgement.findings import Turn
from results.judgement.outcomes import Outcome
from results.judgement.sides import is_control, surface_of
from results.judgement.verdicts import Change, Judgement
from results.rows import contender_of
from results.units import percent

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from results.judgement.findings import Finding

SLOWED = "fused"
"""Provider that is slower at the head."""


@dataclass(frozen=True, kw_only=True)
class Planned:
    """Comparison to make. share: by how much SLOWED is slower at the head; 0 in an A/A."""

    name: str
    share: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Scored:
    """What one comparison found.

    n_points: times of ours that were judged; rounds: of each at most. disturbed: share of their visits. floor: median.
    wrong: findings where nothing was planted, in words. surfaces, points: how many of those that were planted are
    called slower, and of how many, a surface by a point of it or by all together; visible: the same of the points whose
    floor is no higher than `share`; visible_surfaces: of the surfaces whose floor is not. floor_of_surfaces: median,
    None where no surface is told. seen: median ratio of all that were planted; unsaid: those of which nothing is said
    as each round was disturbed. load: processes that wanted a processor, mean over the last minutes of beginning and
    end.
    """

    name: str
    share: float
    n_points: int
    rounds: int
    disturbed: float
    floor: float
    wrong: tuple[str, ...]
    is_control_moved: bool
    surfaces: tuple[int, int]
    points: tuple[int, int]
    visible: tuple[int, int]
    visible_surfaces: tuple[int, int]
    floor_of_surfaces: float | None
    unsaid: int
    seen: float | None
    seconds: float
    load: float


def score(judgement: Judgement, planned: Planned, *, seconds: float, load: float) -> Scored:
    """Count what a judgement says, rightly and wrongly."""
    times = [
        one
        for one in judgement.verdicts
        if one.evidence is not None and one.head.metric == "latency_s" and not is_control(one.head)
    ]
    slowed = [one for one in times if planned.share and contender_of(one.head.parameters) == SLOWED]
    visible = [one for one in slowed if one.evidence is not None and one.evidence.floor <= planned.share]
    found = [one for one in slowed if one.change is Change.SLOWER]
    surfaces = [one for one in judgement.surfaces if one.rows[0].metric == "latency_s"]
    slowed_surfaces = [one for one in surfaces if planned.share and contender_of(one.rows[0].parameters) == SLOWED]
    found_surfaces = {surface_of(one.head) for one in found} | {
        surface_of(one.rows[0]) for one in slowed_surfaces if one.outcome is Outcome.REGRESSION
    }
    visible_surfaces = [surface_of(one.rows[0]) for one in slowed_surfaces if one.evidence.floor <= planned.share]
    visits = [visit for one in times for visit in (*one.base.processes, *one.head.processes)]
    evidence = [one.evidence for one in slowed if one.evidence is not None]
    return Scored(
        name=planned.name,
        share=planned.share,
        n_points=len(times),
        rounds=max((len(one.head.processes) for one in times), default=0),
        disturbed=sum(visit.disturbed is not None for visit in visits) / max(len(visits), 1),
        floor=median(one.evidence.floor for one in times if one.evidence is not None) if times else 0.0,
        wrong=tuple(_in_words(finding) for finding in findings_of(judgement) if not _is_right(finding, planned)),
        is_control_moved=judgement.is_control_moved,
        surfaces=(len(found_surfaces), len({surface_of(one.head) for one in slowed})),
        points=(len(found), len(slowed)),
        visible=(sum(one.change is Change.SLOWER for one in visible), len(visible)),
        visible_surfaces=(sum(one in found_surfaces for one in visible_surfaces), len(visible_surfaces)),
        floor_of_surfaces=median(one.evidence.floor for one in surfaces) if surfaces else None,
        unsaid=sum(one.difference.is_disturbed for one in evidence),
        seen=median(one.ratio for one in evidence) if evidence else None,
        seconds=seconds,
        load=load,
    )


def is_as_it_should_be(scores: Sequence[Scored]) -> bool:
    """Tell whether equal commits have one finding at most in all, and what was planted is found where it can be.

    Where it can be nowhere, nothing was shown, and that is not as it should be either.
    """
    n_wrong = sum(len(one.wrong) + one.is_control_moved for one in scores)
    of_ten = [one for one in scores if one.share >= 0.10]
    of_five = [one for one in scores if 0 < one.share < 0.10]
    return (
        n_wrong <= 1
        and all(one.surfaces[0] == one.surfaces[1] for one in of_ten)
        and all(_n_visible(one) and found >= 0.8 * n for one in of_five for found, n in _visible(one))
    )


def _visible(one: Scored) -> tuple[tuple[int, int], ...]:
    return one.visible, one.visible_surfaces


def _n_visible(one: Scored) -> int:
    return sum(n for _, n in _visible(one))


def report(scores: Iterable[Scored]) -> Iterator[str]:
    """Yield the lines of two tables in Markdown, and what was found where nothing was planted."""
    made = list(scores)
    yield (
        "| comparison | points | rounds | visits disturbed | floor of a point | of a surface | load "
        "| findings where nothing was planted |"
    )
    yield "|---|---|---|---|---|---|---|---|"
    for one in made:
        moved = ", and eager moved" if one.is_control_moved else ""
        yield (
            f"| {one.name} | {one.n_points} | {one.rounds} | {percent(one.disturbed, digits=0)} | "
            f"{percent(one.floor, digits=1)} | {_percent(one.floor_of_surfaces)} | {one.load:.1f} | "
            f"{len(one.wrong)}{moved} |"
        )
    yield ""
    yield (
        f"| `{SLOWED}` slowed by | seen | surfaces found | of those whose floor allows it "
        "| points | of those whose floor allows it | unsaid |"
    )
    yield "|---|---|---|---|---|---|---|"
    for one in made:
        if one.seen is not None:
            found = (one.surfaces, one.visible_surfaces, one.points, one.visible)
            counts = " | ".join(f"{n} of {of}" for n, of in found)
            yield f"| {percent(one.share, digits=0)} | {percent(one.seen - 1, digits=1)} | {counts} | {one.unsaid} |"
    yield ""
    for one in made:
        if 0 < one.share < 0.10 and not _n_visible(one):
            yield f"- {one.name}: no floor is that low, so this machine shows nothing of it now"
        yield from (f"- {one.name}: {finding}" for finding in one.wrong)
    yield f"{len(made)} comparisons in {sum(one.seconds for one in made) / 60:.0f} minutes"


def _percent(share: float | None) -> str:
    return "–" if share is None else percent(share, digits=1)


def _is_right(finding: Finding, planned: Planned) -> bool:
    is_slowed = contender_of(finding.surface.shared) == SLOWED
    return planned.share > 0 and is_slowed and finding.turn is Turn.SLOWER and finding.metric == "latency_s"


def _in_words(finding: Finding) -> str:
    name = contender_of(finding.surface.shared)
    where = f"{len(finding.points)} of {finding.n_points} points" if finding.points else "all points together"
    return f"{finding.turn}: {finding.metric} of {finding.benchmark}, {name}, at {where} ({finding.why})"
