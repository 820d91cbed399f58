"""What the page *Profile* says of a call: the answer, its times, what was expected, memory, and what is not known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dashboard.figures.latency import TimeBar
from dashboard.tables.profiles import Expectation
from dashboard.views.profiles.difference import short_name
from results.judgement.latency_parts import Part
from results.rows import ERROR_OF_CEILINGS
from results.units import THIN_SPACE, counted, figures, percent, ratio, si

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dashboard.views.profiles.drawing import CallView
    from results.judgement.latency_parts import LatencyPart, LatencyParts
    from results.queries import FoldedStack, StackKind
    from results.rows import PointRow, ProfileRow, TimelineRow

WORK = {"memory": "traffic", "compute": "arithmetic"}
ABOVE = frozenset({Part.PRODUCTS, Part.OPERATORS, Part.ALL_OPERATORS})
# What the page calls the keys of a profile's `missing`.
MISSING = {
    "allocated_bytes": "memory allocated",
    "freed_bytes": "memory freed",
    "operators_min_bytes": "least bytes of its operators",
    "device_busy_s": "the device's timeline",
    "runtime_calls": "calls of the runtime",
    "expected_operator_count": "operators to expect",
    "expected_bytes": "traffic to expect",
    "expected_time_s": "time to expect",
}
OF_OPERATORS = {"Operators": "operator_count", "Traffic": "operators_min_bytes"}
OF_A_DEVICE = frozenset({"device_busy_s", "runtime_calls"})


def answer_of_call(call: CallView) -> str:
    """Write how long the call takes, and what most of it goes to."""
    row = call.point
    if row.latency_s is None:
        return call.missing or f"{row.contender} has no latency here"
    time = f"{row.contender} takes {si(row.latency_s, 's')} at {_rows(row.batch)}"
    largest = call.parts.largest
    whole_s = sum(max(0.0, each.time_s) for each in call.parts.parts)
    if largest is None or not whole_s:
        return f"{time}; what it goes to is not known: {call.parts.reason or 'it was not profiled'}"
    share = percent(largest.time_s / whole_s)
    if largest.part in {Part.WAITING, Part.IDLE}:
        return f"{time}: for {share} of it {largest.part}"
    if largest.part is Part.FLOOR:
        work = WORK.get(row.bound or "")
        least = f"the least time that its {work} can take" if work else "the least time that the machine allows"
        return f"{time}: {share} of it is the floor, {least}"
    return f"{time}: {share} {name_of_part(largest, call.parts, row)}"


def details_of_call(call: CallView) -> list[str]:
    """Write what else there is to know at once: what ran otherwise than expected, the bound, what disturbed it."""
    row, profile = call.point, call.profile
    found = []
    if row.state == "ok" and call.missing:
        found.append(call.missing)
    if row.host_time_s is not None and row.device_time_s is not None:
        found.append(_host_against_device(row, row.host_time_s, row.device_time_s))
    if row.bound_in_words and not (row.host_time_s and row.bound == "overhead"):
        evidence = f": {row.bound_detail}" if row.bound_detail and row.has_valid_ceiling else ""
        found.append(f"Bound by {row.bound_in_words}{evidence}.")
    if profile is not None and profile.unexpected:
        found.append(f"Unexpected: {profile.unexpected}.")
    if profile is not None and profile.compilations:
        found.append(f"torch.compile compiles {figures(profile.compilations)} times during each call.")
    if row.disturbed:
        found.append(f"Disturbed while it was timed: {row.disturbed}.")
    return found


def bars_of_call(call: CallView, *, prefix: str = "") -> list[TimeBar]:
    """Return the latency in its parts, then host, device and floor where they are known."""
    row = call.point
    if row.latency_s is None:
        return []
    names = tuple(name_of_part(each, call.parts, row) for each in call.parts.parts)
    floor = "least time by the machine's ceilings"
    if row.floor_s is not None and row.floor_s > row.latency_s:
        floor = f"{floor}: {ERROR_OF_CEILINGS}"
    bars = [
        TimeBar(
            label=f"{prefix}latency", time_s=row.latency_s, parts=call.parts.parts, part_names=names,
            note="what a caller waits for",
        )
    ]  # fmt: skip
    others = (
        ("host", row.host_time_s, "time to enqueue one call"),
        ("device", row.device_time_s, "kernels alone"),
        ("operators", row.operator_time_s, "time inside computing operators, from the profile"),
        ("floor", row.floor_s if row.has_valid_ceiling else None, floor),
    )
    bars += [
        TimeBar(label=f"{prefix}{name}", time_s=time_s, note=note, is_floor=name == "floor")
        for name, time_s, note in others
        if time_s is not None
    ]
    return bars


def note_of_parts(call: CallView) -> str:
    """Write the parts with their times, what they do not hold, and why there is no floor among them."""
    found, row = call.parts, call.point
    if found.latency_s is None or not found.parts:
        return found.reason or "not known"
    parts = [
        f"{name_of_part(each, found, row)} {si(each.time_s, 's')}"
        for each in found.parts
        if abs(each.time_s) > 1e-6 * found.latency_s
    ]
    text = f"{' + '.join(parts)} = {si(found.latency_s, 's')}".replace("+ rest -", "− overlap ")
    return f"{text} · {found.reason}" if found.reason else text


def name_of_part(each: LatencyPart, found: LatencyParts, row: PointRow) -> str:
    """Name a part: of the floor what it is spent on, of operators whether they are what lies above it."""
    if each.part is Part.FLOOR:
        work = WORK.get(row.bound or "")
        return f"floor ({work})" if work else "floor"
    return f"{each.part} above the floor" if each.part in ABOVE and found.has_floor else str(each.part)


def expectations_of(call: CallView) -> list[Expectation]:
    """Return the counts, bytes and times of a call that were expected or seen."""
    row, profile = call.point, call.profile
    if profile is None:
        return []
    on_gpu = profile.kernel_launches is not None
    quantities = (
        ("Operators", profile.expected_operator_count, profile.operator_count, ""),
        ("Kernel launches", profile.expected_kernel_launches, profile.kernel_launches, ""),
        ("Traffic", profile.expected_bytes, profile.operators_min_bytes, "B"),
        ("Latency", profile.expected_time_s, row.latency_s, "s"),
        ("Time of its kernels, profiled", None, profile.device_time_s, "s"),
        ("Compilations", 0.0 if profile.compilations is not None else None, profile.compilations, ""),
        ("Peak memory", None, profile.peak_memory_bytes, "B"),
        ("Memory allocated", None, profile.allocated_bytes, "B"),
        ("Memory freed", None, profile.freed_bytes, "B"),
        ("Device idle between kernels, profiled", None, profile.gap_time_s, "s"),
    )
    return [
        _expectation(name, expected, seen, unit, are_others=OF_OPERATORS.get(name) in profile.incomparable)
        for name, expected, seen, unit in quantities
        if (expected is not None or seen is not None) and (on_gpu or name != "Kernel launches")
    ]


def missing_of(profile: ProfileRow) -> list[str]:
    """Write what a profile does not know, by reason; of a CPU nothing is said of what only a device has."""
    on_gpu = profile.kernel_launches is not None
    expected = (profile.expected_operator_count, profile.expected_kernel_launches, profile.expected_bytes)
    if all(value is None for value in expected) and "expected_operator_count" not in profile.missing:
        nothing = ["Nothing was expected of this call: its provider declares nothing, or an older version profiled it."]
    else:
        nothing = []
    by_reason: dict[str, list[str]] = {}
    for key, reason in profile.missing.items():
        if key in MISSING and (on_gpu or key not in OF_A_DEVICE):
            by_reason.setdefault(reason, []).append(MISSING[key])
    if profile.product_libraries_reason and (profile.operators or profile.kernels):
        by_reason.setdefault(profile.product_libraries_reason, []).append("the products' library")
    return [*nothing, *(f"Not known: {', '.join(names)} ({reason})." for reason, names in by_reason.items())]


def note_of_timeline(timeline: TimelineRow) -> str:
    """Write how long the traced call took, and how much of it nothing ran."""
    idle_s = sum(row.duration_s for row in timeline.idle)
    who = "no operator ran"
    if timeline.of == "device":
        worked_s = sum(one.duration_s for one in timeline.activities if one.is_on_device)
        who = f"the device worked for {si(worked_s, 's')}; between its kernels it was idle"
    left_out = f" · {counted(timeline.n_left_out, 'shorter activity').replace('activitys', 'activities')} left out"
    longest = max((row.duration_s for row in timeline.idle), default=0.0)
    gaps = f"{who} for {si(idle_s, 's')} in {counted(len(timeline.idle), 'gap')}"
    more = f", {si(longest, 's')} the longest" if longest else ""
    return (
        f"{gaps}{more}, of a call of {si(timeline.call_s, 's')} that was traced with shapes and memory, "
        f"which slows it{left_out if timeline.n_left_out else ''}"
    )


def note_of_flames(stacks: Sequence[FoldedStack], side: StackKind, *, words: Mapping[str, str] | None = None) -> str:
    """Write which frames hold most of the time by themselves, and of which side of the call it is."""
    if not stacks:
        return (
            "No stacks of this call are stored: an older version profiled it, or it ran nothing there; "
            "fusebench run --again measures it again."
        )
    own: dict[str, float] = {}
    for stack in stacks:
        own[stack.frames[-1]] = own.get(stack.frames[-1], 0.0) + stack.time_s
    whole_s = sum(own.values())
    largest = sorted(own.items(), key=lambda item: -item[1])[:3]
    known = words or {}
    names = ", ".join(
        f"{short_name(known.get(name, name))} {percent(time_s / whole_s)}" for name, time_s in largest if whole_s
    )
    return f"{si(whole_s, 's')} on the {side}, most of it by itself in {names}"


def _expectation(name: str, expected: float | None, seen: float | None, unit: str, *, are_others: bool) -> Expectation:
    is_exact = not unit
    comparison = ""
    is_odd = is_exact and expected is not None and seen is not None and expected != seen
    if are_others:
        comparison, is_odd = "other operators than expected", True
    elif expected is not None and seen is not None:
        if is_exact:
            comparison = "as expected" if expected == seen else f"{seen - expected:+g}"
        elif expected:
            comparison = ratio(seen / expected)
    return Expectation(
        name=name,
        expected=_text(expected, unit),
        seen=_text(seen, unit),
        comparison=comparison,
        is_odd=is_odd,
    )


def _text(value: float | None, unit: str) -> str:
    if value is None:
        return ""
    return si(value, unit) if unit else figures(value)


def _host_against_device(row: PointRow, host_s: float, device_s: float) -> str:
    times = f"The host enqueues a call in {si(host_s, 's')}, the device computes it in {si(device_s, 's')}"
    if row.is_host_ahead:
        slower = ": the host is ahead of the device"
    else:
        # Enqueued sooner than computed, and idle for most of the call all the same: neither tells of the other.
        slower = ": the device waits for the host" if host_s >= device_s else ""
    return f"{times} ({ratio(device_s / host_s)}){slower}." if host_s else f"{times}."


def _rows(batch: int) -> str:
    return f"{batch:,}{THIN_SPACE}{'row' if batch == 1 else 'rows'}".replace(",", THIN_SPACE)
