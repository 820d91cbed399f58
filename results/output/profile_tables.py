"""A profile's rows → what `fusebench profile` prints; pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tabulate import tabulate

from results.files.records import State
from results.output.tables import point_title
from results.units import figures, in_words, with_prefix

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from results.files.stacks import FoldedStack
    from results.rows import PointRow, ProfileRow


def profile_as_text(point: PointRow, profile: ProfileRow) -> str:
    """What one call does inside: its counts and times, its operators on the host, its kernels on the device."""
    contender = point.provider if point.weights == "plain" else f"{point.provider}:{point.weights}"
    blocks = [f"{point_title(point)}\nbatch {point.batch}, {contender}, one call: {_summary(profile)}"]
    if profile.unexpected:
        blocks.append(f"unexpected: {profile.unexpected}")
    if profile.operators:
        lines = [
            (
                row.name,
                figures(row.count),
                with_prefix(row.self_time_s, "s"),
                with_prefix(row.total_time_s, "s"),
                _mark(row.is_compute),
            )
            for row in profile.operators
        ]
        blocks.append(_table(lines, ("operator on the host", "calls", "self time", "with what it calls", "computes")))
    if profile.kernels:
        kernels = [(row.name, figures(row.count), with_prefix(row.device_time_s, "s")) for row in profile.kernels]
        blocks.append(_table(kernels, ("kernel on the device", "launches", "time")))
    return "\n\n".join(blocks)


def stacks_as_text(stacks: Iterable[FoldedStack]) -> str:
    """One stack a line, `outermost;…;innermost NANOSECONDS`, as flame graph tools read it."""
    return "\n".join(map(str, stacks))


def _summary(profile: ProfileRow) -> str:
    if profile.state != State.OK:
        return f"{profile.state}: {profile.reason}"
    said = (
        ("operators", profile.operator_count, ""),
        ("operator time", profile.operator_time_s, "s"),
        ("kernels", profile.kernel_launches, ""),
        ("device time", profile.device_time_s, "s"),
        ("peak memory", profile.peak_memory_bytes, "bytes"),
    )
    known = [f"{name} {in_words(value, unit=unit)}" for name, value, unit in said if value is not None]
    return ", ".join([*known, *([f"bound by {profile.bound}"] if profile.bound else [])])


def _mark(is_so: bool) -> str:  # noqa: FBT001 - it is the subject
    return "yes" if is_so else ""


def _table(lines: Sequence[Sequence[str]], headers: Sequence[str]) -> str:
    alignment = ["left", *("right" for _ in headers[1:])]
    table: str = tabulate(lines, headers=headers, disable_numparse=True, colalign=alignment)
    return table
