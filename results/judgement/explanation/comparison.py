"""Two profiled calls → their difference: aligned rows, and parts that sum to the change of latency; pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from results.judgement.explanation.alignment import (
    Piece,
    aligned,
    change_of_name,
    counts_by_name,
    pieces_from_names,
    pieces_from_stacks,
)
from results.judgement.explanation.difference import (
    DifferencePart,
    DifferenceRow,
    NameCount,
    ProfileDifference,
    RowKind,
    RowPlace,
)
from results.kernel_names import decoded

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from results.judgement.explanation.alignment import Pairing, Path
    from results.judgement.explanation.calls import ProfiledCall
    from results.rows import ProfileRow

LEAST_OF_ROW = 0.1
"""Smallest relative change of a row that is one: a profile is the mean of three calls."""
LEAST_OF_WHOLE = 0.02
"""Smallest change of a row, as a share of the larger latency, that is one."""
OUTSIDE, WAITING, IDLE, REST = "outside operators", "the device waits for the host", "the device is idle", "rest"
_KINDS = list(RowKind)
_ROUNDING = 1e-13  # of sums of floating-point numbers, as a share of the whole


def compare_profiles(base: ProfiledCall | None, head: ProfiledCall | None) -> ProfileDifference:
    """Align what two calls of one point ran; without a profile on both sides the difference says why it is empty."""
    reason = _why_not(base, head)
    base_s, head_s = (None if one is None else one.point.latency_s for one in (base, head))
    if reason is not None or base is None or head is None:
        return ProfileDifference(base_s=base_s, head_s=head_s, reason=reason)
    whole_s = max(base_s or 0.0, head_s or 0.0)
    has_trees = all(one.device if one.is_on_device else one.host for one in (base, head))
    place = RowPlace.KERNEL if base.is_on_device else RowPlace.OPERATOR
    counts = _counts_of(base), _counts_of(head)
    working = _rows(_working(base, by_tree=has_trees), _working(head, by_tree=has_trees), place, counts, whole_s)
    host = _rows(_on_host(base), _on_host(head), RowPlace.HOST, ({}, {}), whole_s) if base.host and head.host else []
    return ProfileDifference(
        rows=(*working, *host),
        parts=_parts(base, head, working),
        counts=_changed_counts(*counts),
        is_by_tree=has_trees,
        base_s=base_s,
        head_s=head_s,
    )


def _why_not(base: ProfiledCall | None, head: ProfiledCall | None) -> str | None:
    before, after = ("it was not measured" if one is None else one.reason for one in (base, head))
    if before is not None and before == after:
        return f"{before} at both commits"
    reasons = [f"{reason} at the {side}" for side, reason in (("base", before), ("head", after)) if reason]
    if reasons:
        return "; ".join(reasons)
    if base is not None and head is not None and base.is_on_device != head.is_on_device:
        return "one of the profiles is of a device, the other is not"
    return None


def _working(call: ProfiledCall, *, by_tree: bool) -> list[Piece]:
    """Return what computes, its times summing to what the profile says of all of it."""
    profile = _profile(call)
    if call.is_on_device:
        total_s = profile.device_time_s
        named = [(row.name, row.device_time_s or 0.0) for row in profile.kernels]
        pieces = pieces_from_stacks(call.device, lambda path: len(path) - 1) if by_tree else pieces_from_names(named)
    else:
        total_s = profile.operator_time_s
        computing = _computing(profile)
        named = [
            (row.name, row.total_time_s or row.self_time_s or 0.0)
            for row in profile.operators
            if row.is_compute and row.outermost != 0
        ]
        pieces = (
            pieces_from_stacks(call.host, lambda path: _outermost(path, computing))
            if by_tree
            else pieces_from_names(named)
        )
    sum_s = sum(piece.time_s for piece in pieces)
    if not sum_s or total_s is None:
        return pieces
    return [Piece(path=piece.path, name=piece.name, time_s=piece.time_s * total_s / sum_s) for piece in pieces]


def _on_host(call: ProfiledCall) -> list[Piece]:
    """Return the frames outside of what computes: on a device's host, all of them."""
    computing = frozenset() if call.is_on_device else _computing(_profile(call))
    return pieces_from_stacks(
        call.host, lambda path: None if _outermost(path, computing) is not None else len(path) - 1
    )


def _profile(call: ProfiledCall) -> ProfileRow:
    assert call.profile is not None  # noqa: S101 - _why_not has asked
    return call.profile


def _computing(profile: ProfileRow) -> frozenset[str]:
    return frozenset(row.name for row in profile.operators if row.is_compute)


def _outermost(path: Path, computing: frozenset[str]) -> int | None:
    return next((i for i, frame in enumerate(path) if frame in computing), None)


def _changed_counts(base: Mapping[str, float], head: Mapping[str, float]) -> tuple[NameCount, ...]:
    both = ((name, base.get(name, 0.0), head.get(name, 0.0)) for name in dict.fromkeys((*base, *head)))
    return tuple(NameCount(name=name, base=before, head=after) for name, before, after in both if before != after)


def _counts_of(call: ProfiledCall) -> dict[str, float]:
    profile = _profile(call)
    if call.is_on_device:
        return counts_by_name((row.name, row.count) for row in profile.kernels)
    return counts_by_name(
        (row.name, row.count if row.outermost is None else row.outermost) for row in profile.operators if row.is_compute
    )


def _rows(
    base: Sequence[Piece],
    head: Sequence[Piece],
    place: RowPlace,
    counts: tuple[Mapping[str, float], Mapping[str, float]],
    whole_s: float,
) -> list[DifferenceRow]:
    n_places = [_n_by_name(side) for side in (base, head)]
    pairs = aligned(base, head)

    def count(piece: Piece | None, side: int) -> float | None:
        if piece is None:
            return 0.0
        # Of a name at several places, only how often it runs in all is known.
        return counts[side].get(piece.stable) if n_places[side][piece.stable] == 1 else None

    rows = [_row(pair, place, (count(pair[0], 0), count(pair[1], 1)), whole_s) for pair in pairs]
    return sorted(rows, key=lambda row: (-abs(row.change_s), _KINDS.index(row.kind), row.name))


def _n_by_name(pieces: Iterable[Piece]) -> dict[str, int]:
    found: dict[str, int] = {}
    for piece in pieces:
        found[piece.stable] = found.get(piece.stable, 0) + 1
    return found


def _row(pair: Pairing, place: RowPlace, counts: tuple[float | None, float | None], whole_s: float) -> DifferenceRow:
    base, head = pair
    shown = head or base
    assert shown is not None  # noqa: S101 - one of a pair is there
    is_renamed = base is not None and head is not None and base.stable != head.stable
    return DifferenceRow(
        kind=_kind(pair, counts, whole_s),
        place=place,
        name=shown.stable,
        before=base.stable if is_renamed and base is not None else None,
        callers=shown.path[:-1],
        base_s=base.time_s if base else 0.0,
        head_s=head.time_s if head else 0.0,
        base_count=counts[0],
        head_count=counts[1],
        words=decoded(shown.name).words if place is RowPlace.KERNEL else "",
        detail=change_of_name(base.name, head.name) if is_renamed and base and head else "",
    )


def _kind(pair: Pairing, counts: tuple[float | None, float | None], whole_s: float) -> RowKind:
    base, head = pair
    if base is None:
        return RowKind.ADDED
    if head is None:
        return RowKind.REMOVED
    if base.stable != head.stable:
        return RowKind.RENAMED
    before, after = counts
    if before is not None and after is not None and before != after:
        return RowKind.MORE_CALLS if after > before else RowKind.FEWER_CALLS
    change_s = head.time_s - base.time_s
    if abs(change_s) < max(LEAST_OF_ROW * max(base.time_s, head.time_s), LEAST_OF_WHOLE * whole_s):
        return RowKind.SAME
    return RowKind.SLOWER if change_s > 0 else RowKind.FASTER


def _parts(base: ProfiledCall, head: ProfiledCall, working: Sequence[DifferenceRow]) -> tuple[DifferencePart, ...]:
    before, after = base.point.latency_s, head.point.latency_s
    if before is None or after is None:
        return ()
    parts = [DifferencePart(name=_part_name(row), base_s=row.base_s, head_s=row.head_s) for row in working]
    beside = [
        _beside(call, sum(row_s))
        for call, row_s in ((base, [row.base_s for row in working]), (head, [row.head_s for row in working]))
    ]
    parts.append(DifferencePart(name=_name_beside(base, head), base_s=beside[0], head_s=beside[1]))
    parts.append(
        DifferencePart(
            name=REST,
            base_s=_rest(before, [part.base_s for part in parts]),
            head_s=_rest(after, [part.head_s for part in parts]),
        )
    )
    return tuple(parts)


def _rest(whole_s: float, parts_s: Sequence[float]) -> float:
    rest_s = whole_s - sum(parts_s)
    return 0.0 if abs(rest_s) <= _ROUNDING * whole_s else rest_s


def _part_name(row: DifferenceRow) -> str:
    return row.name if row.before is None else f"{row.before} → {row.name}"


def _name_beside(base: ProfiledCall, head: ProfiledCall) -> str:
    """Name the time of `_beside`: a device does not wait for a host that is ahead of it in both calls."""
    if not base.is_on_device:
        return OUTSIDE
    return IDLE if base.point.is_host_ahead and head.point.is_host_ahead else WAITING


def _beside(call: ProfiledCall, working_s: float) -> float:
    """Return the time beside what computes: outside operators as profiled, or in which the device waits."""
    latency_s = call.point.latency_s or 0.0
    if call.is_on_device:
        device_s = call.point.device_time_s
        return max(0.0, latency_s - (working_s if device_s is None else device_s))
    overhead_s = _profile(call).overhead_s
    # What older rulers do not tell stays in the rest.
    return 0.0 if overhead_s is None else overhead_s
