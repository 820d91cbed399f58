"""Difference of two profiled calls in words: how much, what it consists of, and what is not known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dashboard.figures.difference import steps_of
from results.judgement.explanation import RowKind, RowPlace
from results.judgement.latency_parts import Part
from results.units import TIMES, percent, si

if TYPE_CHECKING:
    from results.judgement.explanation import DifferenceRow, Explanation, ProfileDifference
    from results.rows import PointRow

MOST_NAMED = 4
# Changes below this share of the larger latency are not worth a name in the sentence.
LEAST_NAMED = 0.02
FACTOR_FROM = 2.0


def difference_in_words(difference: ProfileDifference) -> str:
    """Write which operators or kernels the latency changed in, the largest change first, or why that is not known."""
    if difference.reason is not None:
        return f"The profiles cannot be compared: {difference.reason}."
    if difference.is_equal:
        return "Both ran the same, as often, and none of it took a different time."
    whole_s = max(difference.base_s or 0.0, difference.head_s or 0.0)
    ordered = sorted(difference.rows, key=lambda row: -abs(row.change_s))
    named = [
        row
        for row in ordered
        if row.kind is not RowKind.SAME and abs(row.change_s) >= LEAST_NAMED * whole_s and _counts(row, difference)
    ]
    waiting = _waiting(difference, least_s=LEAST_NAMED * whole_s)
    if not named and waiting:
        return f"No kernel explains more than {percent(LEAST_NAMED, digits=0)} of the time; {waiting[1]}."
    if not named:
        exact = [row for row in difference.work if row.kind not in {RowKind.SAME, RowKind.SLOWER, RowKind.FASTER}]
        what = f": {', '.join(_row(row) for row in exact[:MOST_NAMED])}" if exact else ""
        return f"No operator or kernel explains more than {percent(LEAST_NAMED, digits=0)} of the time{what}."
    told = [(abs(row.change_s), _row(row)) for row in named]
    if waiting:
        told = sorted([*told, waiting], key=lambda one: -one[0])
    n_more = len(told) - MOST_NAMED
    text = "; ".join(words for _, words in told[:MOST_NAMED])
    return f"{text}{f'; and {n_more} more' if n_more > 0 else ''}."


def change_of_latency(difference: ProfileDifference, *, base: PointRow, head: PointRow) -> str:
    """Write how many times or percent slower or faster the head is than the base."""
    before, after = title_of(base, than=head), title_of(head, than=base)
    if not difference.base_s or not difference.head_s:
        name, row = (before, base) if not difference.base_s else (after, head)
        return f"{name} has no latency here: it is {row.state.replace('_', ' ')}"
    ratio = difference.head_s / difference.base_s
    times = f"{si(difference.head_s, 's')} against {si(difference.base_s, 's')}"
    if ratio >= FACTOR_FROM:
        return f"{after} takes {ratio:.1f}{TIMES} the time of {before}: {times}"
    if ratio <= 1 / FACTOR_FROM:
        return f"{after} is {1 / ratio:.1f}{TIMES} as fast as {before}: {times}"
    if ratio == 1:
        return f"{after} takes the same time as {before}: {times}"
    by = percent(abs(ratio - 1), digits=1)
    return f"{after} takes {by} {'more' if ratio > 1 else 'less'} time than {before}: {times}"


def explained_in_words(explanation: Explanation | None, difference: ProfileDifference) -> list[str]:
    """Write the sentence of `fusebench explain` and what was ruled out; where it is silent, what changed most."""
    changed = difference_in_words(difference)
    if explanation is None:
        return [changed]
    found = [f"Why: {explanation.sentence.replace('`', '')}"] if explanation.sentence else [changed]
    return [*found, *([f"Ruled out: {'; '.join(explanation.ruled_out)}."] if explanation.ruled_out else [])]


def _waiting(difference: ProfileDifference, *, least_s: float) -> tuple[float, str] | None:
    """Return how much longer or less a device waits or is idle, and that in words; None where it hardly differs."""
    part = next((one for one in difference.parts if one.name in {Part.WAITING, Part.IDLE}), None)
    if part is None or abs(part.change_s) < least_s or not part.change_s:
        return None
    how = "longer" if part.change_s > 0 else "less"
    time = f"{si(abs(part.change_s), 's')} {how}"
    words = f"waits {time} for the host" if part.name == Part.WAITING else f"is idle {time}, though the host is ahead"
    return abs(part.change_s), f"the device {words}"


def title_of(point: PointRow, *, than: PointRow) -> str:
    """Name a call by what tells it from the other one: provider, commit, or both."""
    if point.commit == than.commit:
        return point.contender
    commit = point.commit[:10]
    return commit if point.contender == than.contender else f"{point.contender} at {commit}"


def _counts(row: DifferenceRow, difference: ProfileDifference) -> bool:
    """Tell whether a row's time is the latency's: of a device's call the host's frames overlap its kernels."""
    return row.place is not RowPlace.HOST or not any(one.place is RowPlace.KERNEL for one in difference.rows)


def steps_in_words(difference: ProfileDifference) -> str:
    """Write the base's latency, each change, and the head's latency that they sum to."""
    if difference.base_s is None or difference.head_s is None or not difference.parts:
        return ""
    steps = [
        f"{'+' if change_s > 0 else '−'} {si(abs(change_s), 's')} {short_name(name)}"
        for name, change_s in steps_of(difference)
    ]
    return f"{si(difference.base_s, 's')} {' '.join(steps)} = {si(difference.head_s, 's')}"


def short_name(words: str) -> str:
    """Return what a kernel does and by whom, without its tile and layout."""
    return " · ".join(words.split(" · ")[:2])


def _row(row: DifferenceRow) -> str:
    name = short_name(row.words or row.name)
    change = f"{'+' if row.change_s >= 0 else '−'}{si(abs(row.change_s), 's')}"
    match row.kind:
        case RowKind.RENAMED:
            return f"{name} by another kernel ({row.detail or f'it was {row.before}'}; {change})"
        case RowKind.MORE_CALLS | RowKind.FEWER_CALLS:
            return f"{name} runs {row.head_count:g} times instead of {row.base_count:g} ({change})"
        case _:
            return f"{name} {row.kind} ({change})"
