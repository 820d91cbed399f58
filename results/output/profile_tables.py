"""Profile of one sweep point → text; pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from results.files.records import State
from results.judgement.latency_parts import parts_of
from results.judgement.winners import FAR
from results.kernel_names import decoded
from results.output.latency_parts import expectation_as_text, parts_as_text
from results.output.point_tables import point_title
from results.output.profile_text import details_as_text, inputs_in_words, products_in_words
from results.output.terminal import UNLIMITED, Style
from results.output.text_tables import Block, Cell, Column, render_blocks
from results.printable import printable_line
from results.units import ABSENT, figures, in_words, percent, with_prefix

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from results.files.stacks import FoldedStack
    from results.output.terminal import Terminal
    from results.rows import PointRow, ProfileRow, VisitRow

VISIT_COLUMNS = (
    Column(name="visit at (UTC)"),
    Column(name="samples", is_right=True, drop=1),
    Column(name="median", is_right=True),
    Column(name="× eager", is_right=True),
    Column(name="machine speed", is_right=True),
    Column(name="disturbed", is_note=True),
)
LEFT_OUT = "The latency is from the undisturbed visits alone."
OPERATOR_COLUMNS = (
    Column(name="operator on the host", stack=1),
    Column(name="calls", is_right=True),
    Column(name="self time", is_right=True),
    Column(name="total time", is_right=True, drop=3),
    Column(name="computes", drop=1),
    Column(name="allocates", is_right=True, drop=4),
    Column(name="must move", is_right=True, drop=2),
    Column(name="inputs", is_note=True),
)
KERNEL_COLUMNS = (
    Column(name="kernel on the device", stack=1),
    Column(name="launches", is_right=True),
    Column(name="time", is_right=True),
    Column(name="name", drop=1),
)


def profile_as_text(  # noqa: PLR0913 - a profile and what belongs to it
    point: PointRow,
    profile: ProfileRow,
    terminal: Terminal = UNLIMITED,
    *,
    visits: Sequence[VisitRow] = (),
    stacks: Sequence[FoldedStack] = (),
    limit: int | None = None,
) -> str:
    """Render what one call does inside: its counts and times, its operators on the host, its kernels on the device.

    Before them what was expected, the parts of its latency, and the visits that this is from, where there are any.
    stacks: of the host, which tell the parts apart.

    Operators and kernels are listed by descending time, `limit` of each.
    """
    header = [point_title(point), f"batch {point.batch}, {point.contender}, one call: {_summary(profile)}"]
    parts = ["\n".join(map(terminal.paragraph, header))]
    parts += expectation_as_text(point, profile, terminal)
    parts += parts_as_text(parts_of(point, profile, stacks), point, terminal)
    if visits:
        parts.append(render_blocks(VISIT_COLUMNS, [Block(title="", rows=list(map(_visit, visits)))], terminal))
        if point.state == State.OK and point.disturbed is None and any(visit.disturbed for visit in visits):
            parts.append(terminal.paragraph(LEFT_OUT))
    if profile.operators:
        rows = [
            (
                Cell(row.name),
                Cell(figures(row.count)),
                Cell(with_prefix(row.self_time_s, "s")),
                Cell(with_prefix(row.total_time_s, "s")),
                Cell("yes" if row.is_compute else ""),
                Cell(with_prefix(row.allocated_bytes, "B") if row.allocated_bytes else ""),
                Cell(with_prefix(row.min_bytes, "B") if row.min_bytes is not None else ""),
                Cell(inputs_in_words(row) if row.is_compute else ""),
            )
            for row in profile.operators[:limit]
        ]
        parts.append(render_blocks(OPERATOR_COLUMNS, [Block(title="", rows=rows)], terminal))
        parts += [terminal.paragraph(text) for text in _means_in_words(profile)]
    if profile.kernels:
        kernels = [
            (
                Cell(kernel.words),
                Cell(figures(row.count)),
                Cell(with_prefix(row.device_time_s, "s")),
                Cell("" if kernel.kind is None else kernel.stable),
            )
            for row, kernel in ((row, decoded(row.name)) for row in profile.kernels[:limit])
        ]
        parts.append(render_blocks(KERNEL_COLUMNS, [Block(title="", rows=kernels)], terminal))
    parts += details_as_text(profile, terminal, limit=limit)
    n_hidden = sum(len(rows[limit:]) for rows in (profile.operators, profile.kernels)) if limit is not None else 0
    if n_hidden:
        parts.append(f"{n_hidden} more, of less time, are not listed; all of them: --all")
    return "\n\n".join(parts)


def stacks_as_text(stacks: Iterable[FoldedStack]) -> str:
    """Render one stack a line, `outermost;…;innermost NANOSECONDS`, as flame graph tools read it."""
    return "\n".join(printable_line(str(stack)) for stack in stacks)


def _visit(visit: VisitRow) -> tuple[Cell, ...]:
    return (
        Cell(ABSENT if visit.measured_at is None else f"{visit.measured_at:%Y-%m-%d %H:%M:%S}"),
        Cell(figures(visit.n_samples)),
        Cell(with_prefix(visit.median_s, "s")),
        Cell(figures(visit.speedup_vs_eager)),
        Cell(ABSENT if visit.machine_speed is None else _speed(visit.machine_speed)),
        Cell(visit.disturbed or "", Style.DOUBTFUL),
    )


def _means_in_words(profile: ProfileRow) -> list[str]:
    """Say why the operators take longer than the parts of the latency and their own sum say, where they do."""
    least_s = profile.operator_time_s
    mean_s = sum(row.self_time_s or 0.0 for row in profile.operators if row.is_compute)
    if least_s is None or mean_s <= FAR * least_s:
        return []
    mean, least = with_prefix(mean_s, "s"), with_prefix(least_s, "s")
    means = f"Operators are listed by the mean of the profiled calls, {mean} of computing"
    return [f"{means}; the parts of the latency are of the fastest of them, {least}."]


def _speed(share: float) -> str:
    return percent(share, digits=0) if share >= 0.01 else f"< {percent(0.01, digits=0)}"


def _summary(profile: ProfileRow) -> str:
    if profile.state != State.OK:
        return f"{profile.state}: {profile.reason}"
    quantities = (
        ("operators", profile.operator_count, ""),
        ("operator time", profile.operator_time_s, "s"),
        ("overhead", profile.overhead_s, "s"),
        ("kernels", profile.kernel_launches, ""),
        ("device time", profile.device_time_s, "s"),
        ("peak memory", profile.peak_memory_bytes, "bytes"),
        ("allocated", profile.allocated_bytes, "bytes"),
        ("must move", profile.operators_min_bytes, "bytes"),
    )
    known = [f"{name} {in_words(value, unit=unit)}" for name, value, unit in quantities if value is not None]
    products = products_in_words(profile)
    evidence = f" ({profile.bound_detail})" if profile.bound_detail else ""
    bound = [f"bound by {profile.bound}{evidence}"] if profile.bound else []
    return ", ".join([*known, *([products] if products else []), *bound])
