"""Causes that the inside of a call shows: fusions lost, work added, names changed, time moved to the host; pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from results.judgement.explanation.comparison import IDLE, OUTSIDE, REST, WAITING
from results.judgement.explanation.difference import RowKind, RowPlace
from results.kernel_names import SPLIT_K, decoded
from results.units import alike, figures, with_prefix

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from results.judgement.explanation.calls import ProfiledCall
    from results.judgement.explanation.difference import DifferenceRow, NameCount, ProfileDifference
    from results.judgement.explanation.exact_differences import Quantity

LEAST_SHARE = 0.5
"""Part of the change of latency that a time must account for to be named as its cause."""
MOST_UNSEEN = 0.5
"""Part of the change that the profile may leave to the rest, for time outside of operators to be named."""
LEAST_OF_MEMORY = 0.01
"""Smallest relative change of memory that is one."""
IN_PYTHON = ", in Python between the events that the profile names"
_MOST_NAMES = 4


class CauseKind(StrEnum):
    """What changed inside of a call."""

    COMPILATION = "compilation"
    LOST_FUSION = "lost fusion"
    NEW_FUSION = "new fusion"
    REPLACED = "replaced work"
    ADDED = "added work"
    REMOVED = "removed work"
    RENAMED = "renamed work"
    IMPLEMENTATION = "implementation"
    MEMORY = "memory"
    TIME = "time in the same work"
    HOST = "host"


@dataclass(frozen=True, kw_only=True)
class Cause:
    """Cause in words, a clause without a full stop. change_s: seconds a call that it accounts for, None if unknown.

    is_exact: whether it is by names and counts, and not by times of a profile. is_located: whether it names what did
    it, and not only that it is so.
    """

    kind: CauseKind
    words: str
    change_s: float | None
    is_exact: bool
    is_located: bool = True


def causes_of(
    difference: ProfileDifference, quantities: Sequence[Quantity], base: ProfiledCall | None, head: ProfiledCall | None
) -> tuple[Cause, ...]:
    """Return what the two calls show to have changed: exact causes first, then by the time they account for."""
    if difference.reason is not None or base is None or head is None:
        return ()
    found = [*_compilation(quantities, difference), *_of_structure(difference), *_implementation(quantities)]
    found += [*_memory(quantities, base, head), *_of_times(difference)]
    if not any(cause.kind is CauseKind.COMPILATION for cause in found):  # which has told the same time
        found += _of_host(difference, quantities)
    return tuple(sorted(found, key=lambda cause: (not cause.is_exact, -abs(cause.change_s or 0.0))))


def _compilation(quantities: Iterable[Quantity], difference: ProfileDifference) -> list[Cause]:
    for one in quantities:
        base, head = one.base, one.head
        if not isinstance(base, int | float) or not isinstance(head, int | float):
            continue
        if one.name == "compilations in a call" and head > base:
            before = f"{figures(base)} at the base" if base else "none at the base"
            calls = "every call" if head >= 1 else "some calls"
            words = f"recompilation: torch.compile compiles in {calls} ({figures(head)} a call, {before})"
            beside_s = sum(part.change_s for part in difference.parts if part.name in {OUTSIDE, WAITING, IDLE, REST})
            # How much of it is the compiler's, no profile tells.
            words += ", with more time beside what computes" if beside_s > 0 else ""
            return [Cause(kind=CauseKind.COMPILATION, words=words, change_s=beside_s or None, is_exact=True)]
    return []


def _of_structure(difference: ProfileDifference) -> list[Cause]:
    """Return what other names and counts say: rows that only one side has are one exchange."""
    work = difference.work
    added = [row for row in work if row.kind in {RowKind.ADDED, RowKind.MORE_CALLS}]
    removed = [row for row in work if row.kind in {RowKind.REMOVED, RowKind.FEWER_CALLS}]
    renamed = [row for row in work if row.kind is RowKind.RENAMED]
    change_s = sum(row.change_s for row in (*added, *removed))
    causes = []
    if added and removed:
        kind, begin = _kind_of_exchange(added, removed)
        words = f"{begin}{_names(removed, of_base=True)} became {_names(added)}"
        causes.append(Cause(kind=kind, words=words, change_s=change_s, is_exact=True))
    elif added and (unfused := [row for row in renamed if all(_was_epilogue(one, row) for one in added)]):
        words = (
            f"lost fusion: {_names(added)} is no longer part of `{unfused[0].before}`, which became `{unfused[0].name}`"
        )
        change_s += sum(row.change_s for row in unfused)
        renamed = [row for row in renamed if row not in unfused]
        causes.append(Cause(kind=CauseKind.LOST_FUSION, words=words, change_s=change_s, is_exact=True))
    elif added:
        verbs = ("is launched", "are launched") if added[0].place is RowPlace.KERNEL else ("runs", "run")
        words = f"{_names(added)} {verbs[len({row.name for row in added}) > 1]} in addition"
        causes.append(Cause(kind=CauseKind.ADDED, words=words, change_s=change_s, is_exact=True))
    elif removed:
        words = (
            f"{_names(removed, of_base=True)} no longer {'runs' if len({row.name for row in removed}) == 1 else 'run'}"
        )
        causes.append(Cause(kind=CauseKind.REMOVED, words=words, change_s=change_s, is_exact=True))
    elif not renamed:
        # Of a name at several places the profile does not tell which was called more often.
        causes += [_of_count(one) for one in difference.counts]
    for row in renamed:
        words = f"`{row.before}` became `{row.name}`{f': {row.detail}' if row.detail else ''}"
        causes.append(Cause(kind=CauseKind.RENAMED, words=words, change_s=row.change_s, is_exact=True))
    return causes


def _of_count(one: NameCount) -> Cause:
    kind = CauseKind.ADDED if one.head > one.base else CauseKind.REMOVED
    often = "once" if one.head == 1 else f"{figures(one.head)} times"
    words = f"`{one.name}` runs {often} in a call instead of {'once' if one.base == 1 else figures(one.base)}"
    return Cause(kind=kind, words=words, change_s=None, is_exact=True)


def _kind_of_exchange(added: Sequence[DifferenceRow], removed: Sequence[DifferenceRow]) -> tuple[CauseKind, str]:
    more = sum(_extra(row) for row in added) - sum(_extra(row) for row in removed)
    if more > 0 and any(_is_fused(row.name) and not _is_kept(row, added) for row in removed):
        return CauseKind.LOST_FUSION, "lost fusion: "
    if more < 0 and any(_is_fused(row.name) and not _is_kept(row, removed) for row in added):
        return CauseKind.NEW_FUSION, "new fusion: "
    return CauseKind.REPLACED, ""


def _extra(row: DifferenceRow) -> float:
    """Return the calls that only one side has; 1 where they were not counted."""
    if row.base_count is None or row.head_count is None:
        return 1.0
    return abs(row.head_count - row.base_count)


def _is_fused(name: str) -> bool:
    """Return whether a name says that it does what several operators would."""
    kernel = decoded(name)
    return _is_ours(name) or len(kernel.operators) > 1 or _has_epilogue(name) or name == "aten::_addmm_activation"


def _is_ours(name: str) -> bool:
    return name.startswith("fused_mlp::") or decoded(name).author == "fused_mlp"


def _has_epilogue(name: str) -> bool:
    # A product whose inner dimension is split does no other operator's work.
    return decoded(name).epilogue not in {None, SPLIT_K}


def _is_kept(fused: DifferenceRow, others: Sequence[DifferenceRow]) -> bool:
    """Return whether another does all that a fused one did: by its operators, or as a call of ours in its place."""
    operators = set(decoded(fused.name).operators)
    if operators:
        return any(operators <= set(decoded(row.name).operators) for row in others)
    ours = [row for row in others if _is_ours(row.name)]
    return bool(ours) and sum(map(_extra, ours)) <= _extra(fused)


def _was_epilogue(added: DifferenceRow, product: DifferenceRow) -> bool:
    """Return whether what was added does what a product no longer does with its own output."""
    before = decoded(product.before or "").epilogue
    if before is None or _has_epilogue(product.name):
        return False
    does = {*decoded(added.name).operators, *re.split(r"\W+|_", added.name.lower())}
    lost = before.split(" and ")
    return any(one in does or (one == "bias" and "add" in does) for one in lost)


def _names(rows: Sequence[DifferenceRow], *, of_base: bool = False) -> str:
    """Write `aten::addmm ×2 and aten::gelu`; what was called at several places is named once."""
    ordered = sorted(rows, key=lambda row: -_extra(row) * max(row.base_s, row.head_s))
    n_of: dict[str, float] = {}
    for row in ordered:
        n = row.base_count if of_base else row.head_count
        if row.kind in {RowKind.MORE_CALLS, RowKind.FEWER_CALLS}:
            n = _extra(row)
        n_of[row.name] = n_of.get(row.name, 0.0) + (n or 1.0)
    texts = []
    for each, n in list(n_of.items())[:_MOST_NAMES]:
        words = decoded(each)
        name = f"`{each}`" if words.kind is None else f"`{each}` ({words.words})"
        texts.append(name if n == 1.0 else f"{name} ×{figures(n)}")
    if len(n_of) > _MOST_NAMES:
        texts.append(f"{len(n_of) - _MOST_NAMES} more")
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"


def _implementation(quantities: Iterable[Quantity]) -> list[Cause]:
    """Return that the provider says it did the work in another way; older rulers did not record what it says."""
    for one in quantities:
        if one.name == "implementation" and one.base is not None and one.head is not None and one.base != one.head:
            words = f"another implementation: {one.base} → {one.head}"
            return [Cause(kind=CauseKind.IMPLEMENTATION, words=words, change_s=None, is_exact=True)]
    return []


def _memory(quantities: Iterable[Quantity], base: ProfiledCall, head: ProfiledCall) -> list[Cause]:
    named = {one.name: one for one in quantities}
    for name in ("peak memory", "memory allocated"):
        one = named.get(name)
        if one is None or not isinstance(one.base, int | float) or not isinstance(one.head, int | float):
            continue
        if abs(one.head - one.base) <= LEAST_OF_MEMORY * max(one.base, one.head):
            continue
        words = f"{name} {' → '.join(alike([one.base, one.head], 'B'))}"
        operator = _allocating(base, head, change=one.head - one.base)
        words += f", by {operator}" if operator else ""
        is_located = operator is not None
        return [Cause(kind=CauseKind.MEMORY, words=words, change_s=None, is_exact=True, is_located=is_located)]
    return []


def _allocating(base: ProfiledCall, head: ProfiledCall, *, change: float) -> str | None:
    """Return the operator whose own allocations changed most that way; None where none accounts for half of it."""
    before, after = (
        {row.name: row.allocated_bytes for row in (call.profile.operators if call.profile else ())}
        for call in (base, head)
    )
    changes = {name: (after.get(name) or 0.0) - (before.get(name) or 0.0) for name in (*after, *before)}
    if not changes:
        return None
    name = max(changes, key=lambda each: changes[each] * change)
    own = changes[name]
    if not _accounts(own, change):
        return None
    return f"`{name}`, which allocates {with_prefix(abs(own), 'B')} {'more' if own > 0 else 'less'} a call"


def _of_times(difference: ProfileDifference) -> list[Cause]:
    """Return the same work that takes another time, if it accounts for enough of the change of latency."""
    return [
        Cause(
            kind=CauseKind.TIME,
            words=f"`{row.name}` takes {' instead of '.join(alike([row.head_s, row.base_s], 's'))}",
            change_s=row.change_s,
            is_exact=False,
        )
        for row in difference.work
        if row.kind in {RowKind.SLOWER, RowKind.FASTER} and _accounts(row.change_s, difference.change_s)
    ]


def _of_host(difference: ProfileDifference, quantities: Iterable[Quantity]) -> list[Cause]:
    """Return the time outside of what computes, if it accounts for the change and little is left to the rest."""
    change_s = difference.change_s
    parts = {part.name: part for part in difference.parts}
    part = parts.get(OUTSIDE) or parts.get(WAITING)
    if part is None or change_s is None or not _accounts(part.change_s, change_s):
        return []
    if abs(parts[REST].change_s) > MOST_UNSEEN * abs(change_s):
        return []
    is_more = part.change_s > 0
    if part.name == WAITING:
        host = next((one for one in quantities if one.name == "host time"), None)
        evidence = ""
        if host is not None and isinstance(host.base, float) and isinstance(host.head, float):
            if not _accounts(host.head - host.base, part.change_s):
                return []  # the device waits, but not for the host's own work
            evidence = f", whose part went from {' to '.join(alike([host.base, host.head], 's'))}"
        words = f"the device waits {'longer' if is_more else 'less'} for the host{evidence}"
    else:
        words = (
            f"the host spends {'more' if is_more else 'less'} time outside operators{_where(difference, part.change_s)}"
        )
    return [Cause(kind=CauseKind.HOST, words=words, change_s=part.change_s, is_exact=False)]


def _where(difference: ProfileDifference, change_s: float) -> str:
    """Name the frame of the host that takes most of it; what is in no frame is Python between them."""
    rows = [row for row in difference.rows if row.place is RowPlace.HOST]
    if not difference.is_by_tree:
        return ""
    if not rows:
        return IN_PYTHON
    largest = max(rows, key=lambda row: row.change_s if change_s > 0 else -row.change_s)
    if _accounts(largest.change_s, change_s):
        return f", most of it in `{largest.name}`"
    in_frames = sum(row.change_s for row in rows)
    return "" if _accounts(in_frames, change_s) else IN_PYTHON


def _accounts(part_s: float, change_s: float | None) -> bool:
    return change_s is not None and part_s * change_s > 0 and abs(part_s) >= LEAST_SHARE * abs(change_s)
