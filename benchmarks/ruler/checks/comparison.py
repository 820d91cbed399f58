"""Compare one contender with its rivals from recorded timings: ratios, intervals, counts ahead and behind.

Pure. A ratio is the rival's time over ours: above 1 we are faster.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from benchmarks.ruler.measure.statistics import MedianInterval, interval_over_visits, median_interval
from benchmarks.ruler.plan.points import BASELINE, Contender, Shape, contender_from_name
from benchmarks.ruler.plan.roofline import is_beaten
from benchmarks.ruler.plan.units import percent
from benchmarks.ruler.record.outcome import State, TimingOutcome
from benchmarks.ruler.sweep.visits import visits_samples

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from benchmarks.ruler.record.lines import TimingLine

    Timings = Mapping[tuple[Shape, Contender], TimingLine]


class Quantity(StrEnum):
    """Time that is compared."""

    WALL = "wall time"
    DEVICE = "device time"
    COLD = "device time on cold weights"


class Standing(StrEnum):
    """Standing at one shape: EVEN where the ratio's interval holds 1."""

    AHEAD = "ahead"
    EVEN = "even"
    BEHIND = "behind"


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Contender, rivals and the time compared. shows_times: whether a table holds times in µs beside the ratios."""

    ours: str
    rivals: tuple[str, ...]
    quantity: Quantity
    shows_times: bool = True


def standing(ratio: MedianInterval) -> Standing:
    """Return AHEAD or BEHIND only if the whole interval lies on that side of 1."""
    if ratio.low > 1:
        return Standing.AHEAD
    return Standing.BEHIND if ratio.high < 1 else Standing.EVEN


def ratio(ours: TimingOutcome, rival: TimingOutcome, *, rival_name: str, quantity: Quantity) -> MedianInterval | None:
    """Return the rival's time over ours, or None if either has none.

    Wall time: in each visit the median of the rounds' ratios, whose samples were taken one soon after the other, and of
    the visits the median; disturbed ones are left out where two others are there. Device times: the ratio of medians,
    and the widest that their two intervals allow.
    """
    if ours.state is not State.OK or rival.state is not State.OK:
        return None
    if quantity is not Quantity.WALL:
        return _ratio_of_device_times(_device_times(ours, quantity), _device_times(rival, quantity))
    if rival_name == BASELINE:
        speedup, low, high = ours.speedup_vs_eager, ours.speedup_ci_low, ours.speedup_ci_high
        if speedup is None or low is None or high is None:
            return None
        return MedianInterval(median=speedup, low=low, high=high)
    return _paired_ratio(ours, rival)


def _paired_ratio(ours: TimingOutcome, rival: TimingOutcome) -> MedianInterval | None:
    """Return the ratio of two contenders from the rounds of each visit that both had."""
    if not ours.visits:  # of a ruler before 3: all in one process
        ratios = _ratios(ours.samples_s, rival.samples_s)
        return median_interval(ratios) if ratios else None
    own, theirs = visits_samples(ours), visits_samples(rival)
    of_visits = {name: _ratios(own[name], theirs[name]) for name in own if own[name] and theirs.get(name)}
    disturbed = {one.measured_at for one in (*ours.visits, *rival.visits) if one.disturbed}
    calm = [ratios for name, ratios in of_visits.items() if name not in disturbed]
    counted = calm if len(calm) > 1 else list(of_visits.values())
    return interval_over_visits(counted) if counted else None


def _ratios(own_s: Sequence[float], their_s: Sequence[float]) -> list[float]:
    # Every contender takes one sample a round from a visit's first round on, until it is done.
    return [theirs / own for own, theirs in zip(own_s, their_s, strict=False)]


def _device_times(outcome: TimingOutcome, quantity: Quantity) -> tuple[float | None, float | None, float | None]:
    if quantity is Quantity.DEVICE:
        return outcome.device_time_s, outcome.device_time_ci_low_s, outcome.device_time_ci_high_s
    return outcome.device_time_cold_s, outcome.device_time_cold_ci_low_s, outcome.device_time_cold_ci_high_s


def _ratio_of_device_times(own: tuple[float | None, ...], theirs: tuple[float | None, ...]) -> MedianInterval | None:
    if None in own or None in theirs:
        return None
    (own_s, own_low_s, own_high_s), (their_s, their_low_s, their_high_s) = (
        tuple(float(value or 0.0) for value in values) for values in (own, theirs)
    )
    return MedianInterval(median=their_s / own_s, low=their_low_s / own_high_s, high=their_high_s / own_low_s)


def ratio_to_best(
    ours: TimingOutcome, rivals: Mapping[str, TimingOutcome], *, quantity: Quantity
) -> MedianInterval | None:
    """Return the fastest rival's time over ours, or None if there is no time to compare."""
    best = best_rival(ours, rivals, quantity=quantity)
    return best[1] if best else None


def best_rival(
    ours: TimingOutcome, rivals: Mapping[str, TimingOutcome], *, quantity: Quantity
) -> tuple[str, MedianInterval] | None:
    """Return the fastest rival's name and its time over ours, or None if there is no time to compare."""
    found = {name: ratio(ours, rival, rival_name=name, quantity=quantity) for name, rival in rivals.items()}
    timed = [(_time_s(rivals[name], quantity), name, each) for name, each in found.items() if each is not None]
    known = [(their_s, name, each) for their_s, name, each in timed if their_s is not None]
    return min(known, key=lambda one: one[0])[1:] if known else None


def markdown(timings: Timings, comparison: Comparison) -> list[str]:
    """Render one comparison as a Markdown table, a row per measured shape, counts last; empty without rows."""
    ours = contender_from_name(comparison.ours)
    shapes = [
        shape for (shape, contender), line in timings.items() if contender == ours and line.outcome.state is State.OK
    ]
    if not shapes:
        return []
    names = (*comparison.rivals, "the best of them")
    lines = [
        f"**{comparison.ours}, {comparison.quantity}** (rival ÷ {comparison.ours}; above 1, ours is faster)",
        "",
        f"| shape | {'µs' if comparison.shows_times else 'remark'} | of floor | {' | '.join(names)} |",
        "|---" * (len(names) + 3) + "|",
    ]
    standings: dict[str, Counter[Standing]] = {name: Counter() for name in names}
    for shape in sorted(shapes, key=_order):
        cells = list(_cells(timings, shape, comparison, standings))
        lines.append(f"| {_short(shape)} | {' | '.join(cells)} |")
    counts = [", ".join(f"{standings[name][one]} {one}" for one in Standing) for name in names]
    return [*lines, f"| shapes | | | {' | '.join(counts)} |", ""]


def _of_floor(floor_s: float | None, own_s: float | None) -> str:
    if not floor_s or not own_s:
        return "–"
    return "ceiling not valid" if is_beaten(floor_s, own_s) else percent(floor_s / own_s)


def _remark(own_s: float | None, *, is_disturbed: bool, shows_times: bool) -> str:
    if not shows_times:
        return "disturbed" if is_disturbed and own_s else ""
    return f"{own_s * 1e6:.1f}" + (" (disturbed)" if is_disturbed else "") if own_s else "–"


def _cells(
    timings: Timings, shape: Shape, comparison: Comparison, standings: Mapping[str, Counter[Standing]]
) -> Iterator[str]:
    line = timings[shape, contender_from_name(comparison.ours)]
    own_s = _time_s(line.outcome, comparison.quantity)
    yield _remark(own_s, is_disturbed=bool(line.outcome.disturbed), shows_times=comparison.shows_times)
    # The floor is that of warm weights.
    yield _of_floor(None if comparison.quantity is Quantity.COLD else line.floor_s, own_s)
    rivals = {
        name: timings[key].outcome
        for name in comparison.rivals
        if (key := (shape, contender_from_name(name))) in timings
    }
    for name in comparison.rivals:
        if name not in rivals:
            yield "not measured"
            continue
        found = ratio(line.outcome, rivals[name], rival_name=name, quantity=comparison.quantity)
        if found is None:
            yield "not measured" if rivals[name].state is State.OK else str(rivals[name].state)
            continue
        standings[name][standing(found)] += 1
        yield written(found)
    best = ratio_to_best(line.outcome, rivals, quantity=comparison.quantity)
    if best is None:
        yield "–"
        return
    standings["the best of them"][standing(best)] += 1
    yield f"{written(best)} {standing(best)}"


def _time_s(outcome: TimingOutcome, quantity: Quantity) -> float | None:
    return outcome.latency_s if quantity is Quantity.WALL else _device_times(outcome, quantity)[0]


def written(found: MedianInterval) -> str:
    """Format a ratio and its interval."""
    return f"{found.median:.2f} ({found.low:.2f}–{found.high:.2f})"


def _order(shape: Shape) -> tuple[object, ...]:
    return shape.operation, str(shape.activation), shape.dim, shape.hidden, shape.batch


def _short(shape: Shape) -> str:
    activation = f" {shape.activation}" if shape.activation else ""
    return f"{shape.operation}{activation} {shape.batch}, {shape.dim}, {shape.hidden}"


def all_markdown(timings: Timings, comparisons: Sequence[Comparison]) -> str:
    """Render the tables of all comparisons that have a row."""
    return "\n".join(line for comparison in comparisons for line in markdown(timings, comparison))
