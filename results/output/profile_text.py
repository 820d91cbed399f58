"""Memory, gaps and runtime calls of a profile → text; pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from results.output.text_tables import Block, Cell, Column, render_blocks
from results.units import counted, figures, with_prefix

if TYPE_CHECKING:
    from collections.abc import Sequence

    from results.output.terminal import Terminal
    from results.rows import GapRow, OperatorRow, ProfileRow, RuntimeCallRow

RUNTIME_COLUMNS = (
    Column(name="call of the runtime", stack=1),
    Column(name="asks for"),
    Column(name="calls", is_right=True),
    Column(name="time", is_right=True),
)
GAP_COLUMNS = (
    Column(name="idle", is_right=True),
    Column(name="between", is_note=True),
)
# What a person asks for where a key of the journal says it.
_IN_WORDS = {
    "allocated_bytes": "memory allocated",
    "freed_bytes": "memory freed",
    "operators_min_bytes": "the least its operators must move",
    "device_busy_s": "the device's time",
    "gap_count": "its gaps",
    "runtime_calls": "calls of the runtime",
    "expected_operator_count": "the operators to expect",
    "expected_bytes": "the traffic to expect",
    "expected_time_s": "the time to expect",
}
_OF_A_DEVICE = frozenset({"device_busy_s", "gap_count", "gap_time_s", "longest_gap_s", "runtime_calls"})
MOST_INPUTS = 2


def details_as_text(profile: ProfileRow, terminal: Terminal, *, limit: int | None) -> list[str]:
    """Render what the second pass of a profile saw: paragraphs and tables, and what is not known, with the reasons.

    limit: rows of a table; None for all.
    """
    parts = []
    if profile.gap_count is not None:
        parts.append(terminal.paragraph(_gaps_in_words(profile)))
    if profile.gaps:
        parts.append(render_blocks(GAP_COLUMNS, [Block(title="", rows=_gap_rows(profile.gaps[:limit]))], terminal))
    if profile.runtime_calls:
        rows = _runtime_rows(profile.runtime_calls[:limit])
        parts.append(render_blocks(RUNTIME_COLUMNS, [Block(title="", rows=rows)], terminal))
    parts += [terminal.paragraph(text) for text in _missing_in_words(profile)]
    return parts


def inputs_in_words(row: OperatorRow) -> str:
    """Write the distinct inputs of an operator, the most frequent first, and how many more there are."""
    shown = "; ".join(row.inputs[:MOST_INPUTS])
    n_more = len(row.inputs) - MOST_INPUTS
    return f"{shown}; {n_more} more" if n_more > 0 else shown


def products_in_words(profile: ProfileRow) -> str | None:
    """Write which libraries ran the products; None where no name shows it."""
    return f"products by {', '.join(profile.product_libraries)}" if profile.product_libraries else None


def _gaps_in_words(profile: ProfileRow) -> str:
    gaps = counted(round(profile.gap_count or 0), "gap")
    idle, longest = with_prefix(profile.gap_time_s, "s"), with_prefix(profile.longest_gap_s, "s")
    busy = with_prefix(profile.device_busy_s, "s")
    if not profile.gap_count:
        return f"The device was busy for {busy} of a call, without a gap."
    return f"The device was busy for {busy} of a call, and idle for {idle} in {gaps} between, {longest} the longest."


def _gap_rows(gaps: Sequence[GapRow]) -> list[tuple[Cell, ...]]:
    return [(Cell(with_prefix(gap.duration_s, "s")), Cell(gap.words)) for gap in gaps]


def _runtime_rows(calls: Sequence[RuntimeCallRow]) -> list[tuple[Cell, ...]]:
    return [
        (Cell(call.name), Cell(call.kind), Cell(figures(call.count)), Cell(with_prefix(call.time_s, "s")))
        for call in calls
    ]


def _missing_in_words(profile: ProfileRow) -> list[str]:
    """Name what is not known for each reason; of a CPU nothing is said of what only a device has."""
    on_gpu = profile.kernel_launches is not None
    by_reason: dict[str, list[str]] = {}
    for key, reason in profile.missing.items():
        if key in _IN_WORDS and (on_gpu or key not in _OF_A_DEVICE):
            by_reason.setdefault(reason, []).append(_IN_WORDS[key])
    why = profile.product_libraries_reason
    if why is not None and (profile.operators or profile.kernels):
        by_reason.setdefault(why, []).append("the products' library")
    return [f"not known: {', '.join(names)} ({reason})" for reason, names in by_reason.items()]
