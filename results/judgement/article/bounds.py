"""Explanations of where a call's time goes: what bounds it, and why a contender is slower than eager; pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from results.judgement.article.cases import Pace
from results.judgement.article.steps import GUARDS
from results.judgement.reach import reach_in_words, rest_in_words
from results.units import figures, with_prefix

if TYPE_CHECKING:
    from collections.abc import Iterator

    from results.judgement.article.cases import Entry, Observed
    from results.rows import PointRow

# Less of the host's time, or of a tensor, is not worth a sentence.
LEAST_SHARE = 0.02
# Computing that takes no longer than this, over eager's, explains no slower call.
_AS_LONG = 1.02


def bound(observed: Observed) -> Iterator[str]:
    """Tell how near eager, and whoever is faster, come to the least time, where the machine's ceilings are known."""
    for entry in (observed.eager, *(rival for rival in observed.rivals if rival.pace is Pace.FASTER)):
        if entry is None or not entry.row.bound or not entry.row.has_valid_ceiling:
            continue
        row, reach = entry.row, reach_in_words(entry.row)
        if row.bound == "overhead" or not row.percent_of_floor:
            detail = f" ({row.bound_detail})" if row.bound_detail else ""
            yield f"{entry.name} is {reach}{detail}."
            continue
        rest = rest_in_words(row)
        least_s = row.floor_s if row.percent_of_floor <= 100 else None
        times = f" ({with_prefix(row.latency_s, 's')} against {with_prefix(least_s, 's')})" if least_s else ""
        yield f"{entry.name} takes {reach}{times}{f'; {rest}' if rest else ''}."


def slower(observed: Observed) -> Iterator[str]:
    """Tell whether a contender that is surely slower than eager computes longer, or loses its time outside of that."""
    eager = observed.eager
    if eager is None or eager.call is None:
        return
    for rival in observed.rivals:
        if rival.pace is not Pace.SLOWER or rival.call is None:
            continue
        if (rival.call.host_share(GUARDS) or 0.0) >= LEAST_SHARE:
            continue  # told with its guards
        mine, theirs = _computing_s(eager.row), _computing_s(rival.row)
        if not mine or not theirs:
            yield f"Why {rival.name} is slower than eager the profiles do not say."
        elif theirs > _AS_LONG * mine:
            yield f"{rival.name} is slower than eager: {_computes_longer(eager, rival, theirs / mine)}."
        else:
            yield (
                f"{rival.name} is slower than eager though it computes no longer ({figures(theirs / mine)} × eager's "
                "time); it loses that outside of what computes."
            )


def _computes_longer(eager: Entry, rival: Entry, ratio: float) -> str:
    kind = "kernels" if rival.call and rival.call.has_kernels else "operators"
    told = f"its {kind} compute {figures(ratio)} × as long as eager's"
    if rival.call and eager.call and len(rival.call.steps) == 1 and rival.call.step_count <= eager.call.step_count:
        return (
            f"{told}, though they are no more; what it saves between steps is less than what the products in "
            f"{rival.call.steps[0].name} lose against the library's"
        )
    return told


def _computing_s(row: PointRow) -> float | None:
    return row.operator_time_s if row.device_time_s is None else row.device_time_s
