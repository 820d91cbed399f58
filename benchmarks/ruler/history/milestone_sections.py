"""Section of docs/measurements.md about many commits of one testbed: steps, and what is no step. Pure."""

from __future__ import annotations

from collections import Counter
from math import exp, log
from statistics import fmean, median, quantiles
from typing import TYPE_CHECKING

from benchmarks.ruler.history.published import shapes_of
from benchmarks.ruler.plan.points import BASELINE, Contender, Pass, contender_from_name
from benchmarks.ruler.plan.units import percent

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from benchmarks.ruler.history.milestones import Milestone
    from benchmarks.ruler.history.published import Testbed, Timings
    from benchmarks.ruler.plan.points import Shape
    from benchmarks.ruler.record.outcome import TimingOutcome


def milestones_section(testbed: Testbed, milestones: Sequence[Milestone]) -> Iterator[str]:
    """Render the speedup over eager of each commit, a geometric mean over its shapes, beside eager's own drift.

    Nothing unless two commits have a shape in common; those that have none with most, as where rivals were met, are
    left out.
    """
    shapes = common_shapes(testbed)
    commits = [commit for commit in testbed.commits if shapes & shapes_of(commit.timings)]
    if len(commits) < 2:
        return
    what = {each.commit.hash: each.what for each in milestones}
    columns = [(Pass.FORWARD, "fused"), (Pass.FORWARD, "fused:packed"), (Pass.FORWARD_BACKWARD, "fused")]
    heads = [f"{name}, {pass_.replace('_', ' + ')}" for pass_, name in columns]
    eager_s = {shape: [_eager_s(commit.timings, shape) for commit in commits] for shape in shapes}
    usual_s = {shape: median(times) for shape, times in eager_s.items() if all(times)}
    yield f"### Over {len(commits)} commits ({testbed.machine}, {testbed.environment})"
    yield ""
    yield f"`make history MACHINE={testbed.machine.removeprefix('cpu-')}`. Speedup over eager, geometric means over the"
    yield f"{len(shapes)} shapes that all of them were measured at; – where not all of these have a time:"
    yield ""
    yield f"| commit | step | {' | '.join(heads)} | eager ÷ its median |"
    yield "|---" * (len(heads) + 3) + "|"
    for commit in commits:
        cells = [_mean_speedup(commit.timings, shapes, pass_, contender_from_name(name)) for pass_, name in columns]
        drift = [_eager_s(commit.timings, shape) / usual for shape, usual in usual_s.items()]
        drifted = f"{exp(fmean(map(log, drift))):.3f}" if drift else "–"
        step = what.get(commit.run.commit, commit.run.commit_subject or "").replace("|", "\\|")
        yield f"| {commit.run.commit[:8]} | {step} | {' | '.join(cells)} | {drifted} |"
    yield ""
    if apart := list(same_kernels_section(testbed, milestones)):
        yield "Commits with the same kernels, measured as any others:"
        yield ""
        yield from apart
        yield ""


def common_shapes(testbed: Testbed) -> set[Shape]:
    """Return the shapes that were measured at the most commits."""
    counts = Counter(shape for commit in testbed.commits for shape in shapes_of(commit.timings))
    most = max(counts.values())
    return {shape for shape, n_commits in counts.items() if n_commits == most}


def same_kernels_section(testbed: Testbed, milestones: Sequence[Milestone]) -> Iterator[str]:
    """Render how far two commits with the same kernels lie apart: the noise that no curve can tell from a step."""
    by_hash = {commit.run.commit: commit for commit in testbed.commits}
    for milestone in milestones:
        one, other = by_hash.get(milestone.same_kernels_as or ""), by_hash.get(milestone.commit.hash)
        if one is None or other is None:
            continue
        both = _both(one.timings, other.timings)
        calm = [pair for pair in both if not any(each.disturbed for each in pair)]
        said = [
            *(["of the " + _apart(calm, "that nothing disturbed")] if len(calm) > 1 else []),
            *(["of all " + _apart(both, "the disturbed ones included")] if len(both) > max(1, len(calm)) else []),
        ]
        if said:
            yield f"- {one.run.commit[:8]} and {other.run.commit[:8]}: {'; '.join(said)}."


def _apart(pairs: Sequence[tuple[TimingOutcome, TimingOutcome]], which: str) -> str:
    touching = sum(_do_touch(*pair) for pair in pairs)
    apart = [abs(log((after.speedup_vs_eager or 1.0) / (before.speedup_vs_eager or 1.0))) for before, after in pairs]
    most = quantiles(apart, n=20, method="inclusive")[-1]
    return (
        f"{len(pairs)} speedups, {which}, the intervals of {touching} touch; they lie "
        f"{percent(median(apart), digits=1)} apart in the median, and 95 % of them less than "
        f"{percent(most, digits=1)}"
    )


def _eager_s(timings: Timings, shape: Shape) -> float:
    line = timings.get((shape, contender_from_name(BASELINE)))
    return (line.outcome.latency_s if line else None) or 0.0


def _mean_speedup(timings: Timings, shapes: set[Shape], pass_: Pass, contender: Contender) -> str:
    lines = [timings.get((shape, contender)) for shape in shapes if shape.pass_ is pass_]
    found = [line.outcome.speedup_vs_eager for line in lines if line is not None]
    known = [speedup for speedup in found if speedup]
    # A mean over fewer shapes would be another quantity.
    return f"{exp(fmean(map(log, known))):.2f}" if known and len(known) == len(lines) else "–"


def _both(one: Timings, other: Timings) -> list[tuple[TimingOutcome, TimingOutcome]]:
    keys = [key for key in one if key in other and key[1].provider != BASELINE]
    pairs = [(one[key].outcome, other[key].outcome) for key in keys]
    return [pair for pair in pairs if all(each.speedup_vs_eager for each in pair)]


def _do_touch(one: TimingOutcome, other: TimingOutcome) -> bool:
    low, high = one.speedup_ci_low or 0.0, one.speedup_ci_high or 0.0
    return low <= (other.speedup_ci_high or 0.0) and (other.speedup_ci_low or 0.0) <= high
