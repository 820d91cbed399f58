"""Sections of docs/measurements.md, each from the timings of one testbed. Pure."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, TypeVar

from benchmarks.ruler.checks.comparison import (
    Comparison,
    Quantity,
    Standing,
    best_rival,
    markdown,
    ratio,
    standing,
    written,
)
from benchmarks.ruler.history.published import shapes_of
from benchmarks.ruler.plan.points import BASELINE, Operation, Pass, contender_from_name
from benchmarks.ruler.record.outcome import FAILURES, State
from benchmarks.ruler.record.part_speed import disturbs_ratios

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from benchmarks.ruler.history.published import MeasuredCommit, Testbed, Timings
    from benchmarks.ruler.measure.statistics import MedianInterval
    from benchmarks.ruler.plan.points import Shape
    from benchmarks.ruler.record.outcome import TimingOutcome

OURS = ("fused", "fused:packed")
# Ways of ours, named so that they can be told apart, compete with nobody; but oneDNN's own fused product is a rival.
_OWN_WAYS, _LIBRARYS = "fused", ("fused-onednn:packed",)
_CLAIMED = (1.5, 3.0)
_Kind = TypeVar("_Kind", bound=StrEnum)
# Cases of the article that the project's questions come from: a product with its bias, and a GeGLU MLP.
_ARTICLE = {(Operation.LINEAR, 1024, 32, 64), (Operation.GATED_MLP, 8192, 768, 3072)}


class Claim(StrEnum):
    """Standing of the claim that fusing makes an MLP 1.5–3 × as fast as eager, at one shape."""

    EXCEEDED = "exceeded"
    CONFIRMED = "confirmed"
    UNDECIDED = "undecided"
    REFUTED = "refuted"
    UNMEASURED = "not measured"


def rivals_section(
    commit: MeasuredCommit, shapes: Iterable[Shape], *, quantity: Quantity, shows_times: bool
) -> Iterator[str]:
    """Render ours against every rival at `shapes`, a table for each of ours, pass and dtype."""
    wanted = set(shapes)
    for pass_, dtype in sorted({(shape.pass_, shape.dtype) for shape in wanted}):
        timings = {
            key: line
            for key, line in commit.timings.items()
            if key[0] in wanted and (key[0].pass_, key[0].dtype) == (pass_, dtype)
        }
        rivals = rivals_in(timings)
        for ours in OURS:
            table = markdown(timings, Comparison(ours=ours, rivals=rivals, quantity=quantity, shows_times=shows_times))
            if table:
                yield f"{pass_.replace('_', ' + ')}, {dtype}:"
                yield ""
                yield from table


def rivals_in(timings: Timings) -> tuple[str, ...]:
    """Return the names of the contenders that are not ours, the baseline first."""
    names = {str(contender) for _, contender in timings}
    left = sorted(name for name in names - {BASELINE} if name in _LIBRARYS or not name.startswith(_OWN_WAYS))
    return (BASELINE, *left)


def claim_section(commit: MeasuredCommit, shapes: Iterable[Shape], *, quantity: Quantity) -> Iterator[str]:
    """Render at which of `shapes` the better of ours is 1.5–3 × as fast as eager, and as fast as the best rival."""
    rows = [_claimed(commit.timings, shape, quantity) for shape in sorted(shapes, key=_order)]
    counts = Counter(row.claim for row in rows)
    disturbed = Counter(row.by_interval for row in rows if row.by_interval)
    standings = Counter(standing(row.over_rival[1]) for row in rows if row.over_rival)
    yield f"By {quantity}, of {len(rows)} shapes, the claim that fusing makes an MLP 1.5–3 × as fast as eager is"
    yield f"{_counted(counts, Claim)}."
    if disturbed:
        yield "What was disturbed, by more than a slow machine, which leaves ratios as they are, is undecided; the"
        yield f"intervals of these {disturbed.total()} alone say"
        yield f"{_counted(disturbed, Claim)}."
    yield f"The better of ours against the best rival: {_counted(standings, Standing)}."
    yield ""
    yield "| shape | ours | over eager | the claimed 1.5–3 × | over the best rival |"
    yield "|---|---|---|---|---|"
    for row in rows:
        over_eager = written(row.over_eager) if row.over_eager else "–"
        aside = f" (disturbed; its interval says {row.by_interval})" if row.by_interval else ""
        rival = (
            f"{written(row.over_rival[1])}, {standing(row.over_rival[1])}: {row.over_rival[0]}"
            if row.over_rival
            else "–"
        )
        yield f"| {_short(row.shape)} | {row.ours} | {over_eager} | {row.claim}{aside} | {rival} |"
    yield ""


def _counted(counts: Mapping[_Kind, int], kinds: Iterable[_Kind]) -> str:
    return ", ".join(f"{kind} at {counts.get(kind, 0)}" for kind in kinds)


@dataclass(frozen=True, kw_only=True)
class _Claimed:
    """What becomes of the claim at a shape.

    ours: the better of ours, or why there is none; and which of ours failed. over_eager, over_rival: its speedups, or
    None. by_interval: what the interval says of a claim that is undecided as it was disturbed.
    """

    shape: Shape
    ours: str
    claim: Claim
    over_eager: MedianInterval | None = None
    over_rival: tuple[str, MedianInterval] | None = None
    by_interval: Claim | None = None


def _claimed(timings: Timings, shape: Shape, quantity: Quantity) -> _Claimed:
    of_shape = {str(contender): line.outcome for (each, contender), line in timings.items() if each == shape}
    rivals = {name: of_shape[name] for name in rivals_in(timings) if name in of_shape}
    speedups = _speedups_of_ours(of_shape, quantity)
    untimed = {name: _why_untimed(of_shape.get(name)) for name in (*OURS, BASELINE)}
    if not speedups:
        said = "; ".join(f"{name}: {why}" for name, why in untimed.items() if why)
        return _Claimed(shape=shape, ours=said or f"no {quantity}", claim=Claim.UNMEASURED)
    name, over_eager = max(speedups.items(), key=lambda pair: pair[1].median)
    claim = claim_at(over_eager)
    failed = [f"{each}: {why}" for each, why in untimed.items() if why in FAILURES]
    is_disturbed = any(disturbs_ratios(of_shape[each].disturbed) for each in (name, BASELINE))
    return _Claimed(
        shape=shape,
        ours=f"{name} ({'; '.join(failed)})" if failed else name,
        claim=Claim.UNDECIDED if is_disturbed else claim,
        over_eager=over_eager,
        over_rival=best_rival(of_shape[name], rivals, quantity=quantity),
        by_interval=claim if is_disturbed else None,
    )


def _speedups_of_ours(of_shape: Mapping[str, TimingOutcome], quantity: Quantity) -> dict[str, MedianInterval]:
    if BASELINE not in of_shape:
        return {}
    found = {
        name: ratio(of_shape[name], of_shape[BASELINE], rival_name=BASELINE, quantity=quantity)
        for name in OURS
        if name in of_shape
    }
    return {name: speedup for name, speedup in found.items() if speedup is not None}


def _why_untimed(outcome: TimingOutcome | None) -> str | None:
    if outcome is None:
        return "not measured"
    return None if outcome.state is State.OK else str(outcome.state)


def claim_at(over_eager: MedianInterval) -> Claim:
    """Return what a speedup over eager says of the claim: by its whole interval, or nothing."""
    least, most = _CLAIMED
    if over_eager.low > most:
        return Claim.EXCEEDED
    if over_eager.low >= least:
        return Claim.CONFIRMED
    return Claim.REFUTED if over_eager.high < least else Claim.UNDECIDED


def compiling_section(commit: MeasuredCommit, shapes: Iterable[Shape]) -> Iterator[str]:
    """Render what torch.compile takes at each shape, and after how many calls that is won back from eager.

    Nothing where it was not measured.
    """
    compiled, eager = contender_from_name("compiled"), contender_from_name(BASELINE)
    rows = []
    for shape in sorted(shapes, key=_order):
        line, base = (commit.timings.get((shape, each)) for each in (compiled, eager))
        if line is None or base is None:
            continue
        found = line.outcome
        if found.state is not State.OK or base.outcome.state is not State.OK:
            rows.append(f"| {_short(shape)} | {_why_untimed(found) or f'eager: {base.outcome.state}'} | – | – |")
            continue
        rows.append(
            f"| {_short(shape)} | {_in_seconds(found.recompile_time_s)} | {_in_seconds(found.compile_time_cold_s)} "
            f"| {_calls_to_win_back(found, base.outcome)} |"
        )
    if rows:
        run = commit.run
        yield f"### Compiling per shape at {run.commit[:8]} ({run.machine}, {run.environment})"
        yield ""
        yield "| shape | first call, cache on disk warm | the same, cold | won back after |"
        yield "|---|---|---|---|"
        yield from rows
        yield ""


def article_section(commit: MeasuredCommit, shapes: Iterable[Shape], *, shows_times: bool) -> Iterator[str]:
    """Render the article's cases among `shapes`, every contender a line; nothing without one."""
    cases = sorted((shape for shape in shapes if _key(shape) in _ARTICLE), key=_order)
    if not cases:
        return
    run = commit.run
    yield f"### The article's cases at {run.commit[:8]} ({run.machine}, {run.environment})"
    yield ""
    columns = ("shape", "contender", *(("wall time", "device time") if shows_times else ()), "× eager, wall time")
    yield f"| {' | '.join(columns)} |"
    yield "|---" * len(columns) + "|"
    for shape in cases:
        for (each, contender), line in commit.timings.items():
            if each != shape:
                continue
            found = line.outcome
            known_s = (found.latency_s, found.device_time_s) if shows_times else ()
            times = [f"{value * 1e6:.1f} µs" if value else "–" for value in known_s]
            base = commit.timings.get((shape, contender_from_name(BASELINE)))
            over = ratio(found, base.outcome, rival_name=BASELINE, quantity=Quantity.WALL) if base else None
            reason = f" ({found.state})" if found.state is not State.OK else " (disturbed)" if found.disturbed else ""
            cells = (_short(shape), f"{contender}{reason}", *times, written(over) if over else "–")
            yield f"| {' | '.join(cells)} |"
    yield ""


def quantities_of(testbed: Testbed) -> tuple[Quantity, ...]:
    """Return the times that are compared there: what a caller waits for and, on a GPU, what the device takes."""
    return (Quantity.WALL, Quantity.DEVICE) if testbed.is_gpu else (Quantity.WALL,)


def newest_by_shape(testbed: Testbed) -> dict[str, tuple[Shape, ...]]:
    """Return, newest commit first, the shapes that no newer commit was measured at, by the commit's hash."""
    seen: set[Shape] = set()
    found = {}
    for commit in testbed.commits[::-1]:
        new = shapes_of(commit.timings) - seen
        if new:
            found[commit.run.commit] = tuple(sorted(new, key=_order))
        seen |= new
    return found


def _calls_to_win_back(compiled: TimingOutcome, eager: TimingOutcome) -> str:
    won_s = (eager.latency_s or 0.0) - (compiled.latency_s or 0.0)
    over = ratio(compiled, eager, rival_name=BASELINE, quantity=Quantity.WALL)
    if over is not None and standing(over) is Standing.EVEN:
        return "not known: as fast as eager, as far as can be told"
    if won_s <= 0:
        return "never: it is slower than eager"
    return "–" if compiled.recompile_time_s is None else f"{compiled.recompile_time_s / won_s:,.0f} calls"


def _in_seconds(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f} s"


def _key(shape: Shape) -> tuple[Operation, int, int, int]:
    return shape.operation, shape.batch, shape.dim, shape.hidden


def _order(shape: Shape) -> tuple[object, ...]:
    place = list(Operation).index(shape.operation)
    return place, shape.pass_, shape.dtype, str(shape.activation), shape.hidden * shape.dim, shape.batch


def _short(shape: Shape) -> str:
    backward = " forward + backward" if shape.pass_ is Pass.FORWARD_BACKWARD else ""
    activation = f" {shape.activation}" if shape.activation else ""
    return f"{shape.operation}{activation}{backward} {shape.batch}, {shape.dim}, {shape.hidden}"
