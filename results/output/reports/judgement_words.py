"""Judgements in words that every format shares; pure."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

from results.judgement.outcomes import Doubt, Outcome
from results.judgement.run_spreads import LEAST_RUNS
from results.measuring_again import side_by_side
from results.metrics import LATENCY, SWEEP_METRICS, Direction, Precision
from results.output.reports.finding_words import undirected_in_words
from results.output.reports.other_versions import (
    failing_anew,
    failing_besides,
    known_anew,
    of_failing_points,
    other_version_of,
    other_versions,
    versions_of,
)
from results.output.reports.point_words import benchmark_in_words, place_in_words
from results.output.text_tables import MANY
from results.units import change_in_words, counted, percent, visible_from

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from results.judgement.verdicts import Judgement, Verdict

_AS_A_WHOLE = {
    Outcome.REGRESSION: "worse",
    Outcome.IMPROVEMENT: "better",
    Outcome.CHANGED: "changed",
    Outcome.KNOWN: "known to be worse",
}


def headline(judgement: Judgement) -> str:
    """Return the commits, how much was compared, and how many series had which outcome."""
    counts = judgement.count()
    counted = ", ".join(_counted(counts[outcome], outcome) for outcome in Outcome if counts[outcome])
    for outcome, words in _AS_A_WHOLE.items():
        if n := len(judgement.together(outcome)):
            counted += f"; {n:,} surface{'s' if n != 1 else ''} {words} as a whole"
    of_base = "that --exact judges" if judgement.is_exact_only else "that the base measured"
    whole = "" if judgement.n_compared == judgement.n_of_base else f" of {judgement.n_of_base:,} {of_base}"
    return (
        f"{judgement.base_commit[:8]} → {judgement.head_commit[:8]}: "
        f"{judgement.n_compared:,} compared{whole}{': ' if counted else ''}{counted}"
    )


def _counted(n: int, outcome: Outcome) -> str:
    is_noun = outcome in {Outcome.REGRESSION, Outcome.IMPROVEMENT}
    return f"{n:,} {outcome}{'s' if is_noun and n != 1 else ''}"


def warnings(judgement: Judgement) -> list[str]:
    """Return what keeps the judgement from passing although no finding does."""
    doubtful = [verdict for verdict in judgement.verdicts if verdict.may_be_worse]
    badly_measured = [verdict for verdict in doubtful if verdict.doubt is not Doubt.MOVED_TOGETHER]
    found = []
    if n := len(badly_measured):
        look, were = ("look", "were") if n > 1 else ("looks", "was")
        found.append(
            f"{n:,} series {look} worse and {were} not measured well enough to say: "
            f"{how_to_be_sure(judgement, badly_measured)}."
        )
    if len(doubtful) > len(badly_measured):
        found += _moved_together(judgement)
    if not judgement.n_compared:
        found.append(why_nothing(judgement))
    found += failing_anew(judgement)
    return [*found, *_moved_controls(judgement)]


def why_undecided(judgement: Judgement) -> str | None:
    """Return why a judgement does not pass that found nothing worse for certain; None where nothing was compared."""
    if n_undecided := judgement.n_perhaps_worse:
        look = "look" if n_undecided > 1 else "looks"
        return f"{n_undecided:,} undecided {look} worse, each with its reason: a gate does not pass on that."
    if judgement.is_control_moved:
        return "The machine or torch changed: nothing is said of kernels, and a gate does not pass on that."
    if judgement.n_compared and judgement.unknown_anew:
        return f"{' '.join(failing_anew(judgement))} A gate does not pass on that."
    return None


def why_nothing(judgement: Judgement) -> str:
    """Return why the two have nothing to compare: other versions, other axes, no count, or no common machine."""
    if judgement.is_exact_only:
        return "No count, memory or error was measured at both commits on the same machine."
    if judgement.failing:
        return f"Both commits were measured, and nothing worked at either: {len(judgement.failing):,} series."
    rows_at_head = (*judgement.only_at_head, *judgement.failing_anew)
    at_base, at_head = (versions_of(rows) for rows in (judgement.only_at_base, rows_at_head))
    shared = [name for name in at_base if name in at_head]
    if not shared:
        return "Nothing was measured at both commits on the same machine."
    where, _, _, is_ours = shared[0]
    if any(at_base[name] & at_head[name] for name in shared):
        return f"Both commits were measured on {where}, but nothing at the same parameters: their axes are others."
    before, after = (" and ".join(sorted(found[shared[0]])) for found in (at_base, at_head))
    if is_ours:
        return (
            f"Both commits were measured on {where}, by other rulers ({before} at the base, {after} at the head), "
            f"which do not compare: {other_version_of(judgement, LATENCY.name).remedy}."
        )
    return (
        f"Both commits were measured on {where}, but every benchmark has another version there, as if it measured "
        "something else: fusebench store join says of one that it does not."
    )


def how_to_be_sure(judgement: Judgement, undecided: Sequence[Verdict] | None = None) -> str:
    """Return what decides the undecided, all of them by default, each kind of them once.

    Only the sweep's points can be measured by our own command, and once. Another single number replaces the first.
    """
    chosen = judgement.with_outcome(Outcome.UNDECIDED) if undecided is None else undecided
    special = {
        Doubt.SINGLE_NUMBER: f"a single number is judged by its history, from {LEAST_RUNS} runs at other commits on",
        Doubt.MOVED_TOGETHER: "measure the base again",
        Doubt.WITHOUT_RATIO: "",
    }
    others = [verdict for verdict in chosen if verdict.doubt not in special]
    ways = [_measured_again(judgement, others)] if others else []
    ways += [way for doubt, way in special.items() if any(verdict.doubt is doubt for verdict in chosen)]
    return "; ".join(filter(None, ways)) or "look at the numbers"


def _measured_again(judgement: Judgement, undecided: Iterable[Verdict]) -> str:
    if not any(verdict.metric.name in SWEEP_METRICS for verdict in undecided):
        return "measure both commits again with the suite's own runner"
    if judgement.is_paired:
        return "measured side by side already, so only a calmer machine tells more"
    return f"measure both commits side by side, {side_by_side((judgement.base_commit, judgement.head_commit))}"


def notes(judgement: Judgement) -> list[str]:
    """Return what is to be known beside the verdicts: noise floor, moved control series, what is not compared."""
    parts = _floor(judgement)
    noisy = [verdict for verdict in judgement.verdicts if verdict.metric.precision is Precision.NOISY]
    if n_own := sum(verdict.least_change != judgement.least_change for verdict in noisy):
        own = "has a least change of its own" if n_own == 1 else "have a least change of their own"
        parts.append(f"{n_own:,} series {own} (pyproject.toml).")
    parts += [*_moved_controls(judgement), *_moved_together(judgement), *failing_anew(judgement)]
    parts += [*known_anew(judgement), *failing_besides(judgement)]
    if any(control.ratio != 1 for control in judgement.controls):
        parts.append("A change is told without the machine's part, by eager: it may differ from head over base.")
    if judgement.n_not_asked:
        parts.append(f"A part was asked for: {judgement.n_not_asked:,} other series of the base are left out.")
    if judgement.n_gone > judgement.n_compared and not (judgement.is_paired or judgement.is_exact_only):
        is_part = bool(judgement.n_not_asked)
        parts.append(
            f"Most of what {'was asked for' if is_part else 'the base measured'} is gone. Was the head measured in "
            f"part? --where judges {'a smaller' if is_part else 'that'} part, as --where benchmark=NAME."
        )
    undirected = [
        one.head.benchmark
        for one in judgement.with_outcome(Outcome.CHANGED, Outcome.UNDECIDED)
        if one.metric.direction is Direction.UNKNOWN
    ]
    undirected += [row.benchmark for one in judgement.together(Outcome.CHANGED) for row in one.rows]
    parts += undirected_in_words(frozenset(undirected))
    versions = other_versions(judgement)
    told = {row.series_id for row in (*judgement.not_yet, *(row for pair in versions for row in pair))}
    told |= {row.series_id for row in of_failing_points(judgement)}
    of_rulers = [row for row, _ in versions if row.metric in SWEEP_METRICS]
    of_suites = [row for row, _ in versions if row.metric not in SWEEP_METRICS]
    for where, rows in (
        ("Not there yet at the head, which is from before they were first measured", judgement.not_yet),
        ("In another version at the head (fusebench store join says of one that it is the same)", of_suites),
        ("By another ruler at the head", of_rulers),
        ("Measured at the base only", [row for row in judgement.only_at_base if row.series_id not in told]),
        ("Measured at the head only", [row for row in judgement.only_at_head if row.series_id not in told]),
        ("Working at neither commit", judgement.failing if judgement.n_compared else ()),
    ):
        if rows:
            names = sorted({benchmark_in_words(row) for row in rows})
            listed = ", ".join(names[:MANY]) + (", …" if len(names) > MANY else "")
            way = f". {other_version_of(judgement, LATENCY.name).remedy}." if rows is of_rulers else ""
            parts.append(f"{where}, not compared ({len(rows):,}): {listed}{way}")
    heads = (verdict.head for verdict in judgement.verdicts)
    there = {place_in_words(row) for row in (*heads, *judgement.only_at_head, *judgement.failing_anew)}
    if there and (without_head := sorted({place_in_words(row) for row in judgement.only_at_base} - there)):
        parts.append(f"The head was not measured on {'; '.join(without_head)}.")
    return parts


def _floor(judgement: Judgement) -> list[str]:
    """Return how small a change is invisible, and of how many series that is known; nothing where none is noisy."""
    n, n_noisy, floor = judgement.n_with_floor, judgement.n_noisy, judgement.floor
    if not n_noisy:
        return []
    if floor is None:
        return [f"How small a change would be seen is known of none of {counted(n_noisy, 'noisy number')}."]
    size = visible_from(floor, digits=1)
    where = "the series" if n == n_noisy else f"the {n:,} series of which that is known, of {n_noisy:,}"
    told = f"Changes under {size} are invisible in {'half of ' if n > 1 else ''}{where}."
    return [told, *_floor_together(judgement), *_irrelevant(judgement, floor)]


def _floor_together(judgement: Judgement) -> list[str]:
    """Return how small a change is invisible that all points of a surface share."""
    surfaces = judgement.surfaces
    if not surfaces:
        return []
    size, n = visible_from(median(one.evidence.floor for one in surfaces), digits=1), len(surfaces)
    where = f"half of the {n:,} surfaces" if n > 1 else "the one surface"
    return [f"Changes under {size} that all points of a surface share are invisible in {where}."]


def _irrelevant(judgement: Judgement, floor: float) -> list[str]:
    """Return from what size on a change is told, where a smaller one would be seen."""
    surfaces = [one.evidence.floor for one in judgement.surfaces]
    if min(floor, median(surfaces) if surfaces else floor) >= judgement.least_change:
        return []
    return [f"Of these, changes under {percent(judgement.least_change, digits=1)} are not told: they are not relevant."]


def _moved_controls(judgement: Judgement) -> list[str]:
    again = "on a calmer machine" if judgement.is_paired else "in the same minutes: fusebench ab"
    return [
        f"The machine or torch changed on {control.machine}, {control.environment}: eager is "
        f"{change_in_words(control.ratio)} over {control.n_series} series. Measure both commits {again}."
        for control in judgement.controls
        if control.is_moved
    ]


def _moved_together(judgement: Judgement) -> list[str]:
    return [
        f"More than half of {shift.n_series:,} series of {shift.metric} on {shift.machine}, {shift.environment} moved "
        f"together, by {change_in_words(shift.ratio)}: the machine, or all code. Measure the base again."
        for shift in judgement.shifts
    ]
