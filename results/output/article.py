"""Article's cases, observed and explained → text, Markdown, JSON; pure."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from tabulate import tabulate

from results.files.disturbances import disturbed_in_words
from results.judgement.article.cases import BASELINE, Pace
from results.judgement.article.explanations import explanations
from results.judgement.article.seen import ARTICLE, HARDWARE, seen_by_article, sizes_in_words
from results.output.terminal import UNLIMITED, Style
from results.output.text_tables import Block, Cell, Column, render_blocks
from results.units import ABSENT, figures, percent, with_prefix

if TYPE_CHECKING:
    from collections.abc import Sequence

    from results.judgement.article.cases import Entry, Observed
    from results.judgement.article.steps import Step
    from results.output.terminal import Terminal

TITLE = "What one call does inside, and why it takes the time it does"
NAMES = {
    BASELINE: "PyTorch's operators, one by one",
    "compiled": "the same through torch.compile",
    "fused": "written by hand, this repository's operator (C++ on a CPU, Triton on a GPU)",
    "fused-pointwise": "written by hand, activation and gate as one Triton kernel",
    "liger": "written by hand, liger-kernel's",
}
_COLUMNS = (
    Column(name="run as"),
    Column(name="× eager (95 %)", is_right=True),
    Column(name="", is_right=True),
    Column(name="guess", is_right=True),
    Column(name="peak memory", is_right=True, drop=2),
    Column(name="remark", drop=1),
    Column(name="what computes, with its share of that", is_note=True),
)


@dataclass(frozen=True, kw_only=True)
class Setting:
    """Where it was observed: machine, environment, commit; remarks: what else to know of the machine, in words."""

    machine: str
    environment: str
    commit: str
    remarks: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.machine} · {self.environment} · {self.commit[:8]}"


def article_as_text(found: Sequence[Observed], setting: Setting, terminal: Terminal = UNLIMITED) -> str:
    """Render each case: what the article saw, what was guessed, what was observed, and why."""
    parts = [terminal.paragraph(TITLE, Style.HEADING), terminal.paragraph(introduction(found, setting))]
    for number, observed in enumerate(found, start=1):
        parts.append(terminal.paragraph(f"{number}. {observed.case.title}", Style.HEADING))
        parts += [terminal.paragraph(f"{name}: {text}") for name, text in before(found, observed)]
        parts.append(render_blocks(_columns(observed), [Block(title="", rows=_rows(observed))], terminal))
        why = [terminal.paragraph(f"- {each.text}") for each in explanations(observed)]
        parts += ["\n".join(why)] if why else []
    parts += [terminal.paragraph(note, Style.DOUBTFUL) for note in notes(found, setting)]
    return "\n\n".join([*parts, terminal.paragraph(next_step(found))])


def article_as_markdown(found: Sequence[Observed], setting: Setting) -> str:
    """Render the same for a pull request or a page."""
    parts = [f"## {TITLE}", introduction(found, setting)]
    for number, observed in enumerate(found, start=1):
        parts.append(f"### {number}. {observed.case.title}")
        parts += [f"**{name}:** {text}" for name, text in before(found, observed)]
        headings = [column.name for column in _columns(observed)]
        rows = [[cell.text for cell in row] for row in _rows(observed)]
        parts.append(tabulate(rows, headings, tablefmt="github", disable_numparse=True))
        why = [f"- {each.text}" for each in explanations(observed)]
        parts += ["\n".join(why)] if why else []
    parts += [f"*{note}*" for note in notes(found, setting)]
    return "\n\n".join([*parts, next_step(found)])


def article_as_json(found: Sequence[Observed], setting: Setting) -> dict[str, object]:
    """Return the same as values: seconds, bytes, shares of 1; null where something is not known."""
    return {
        "machine": setting.machine,
        "environment": setting.environment,
        "commit": setting.commit,
        "cases": [
            {
                **asdict(observed.case),
                "title": observed.case.title,
                "seen_by_article": {"article": ARTICLE, "hardware": HARDWARE, "text": seen_by_article(observed.case)},
                "observed": [_entry_as_json(entry) for entry in observed.entries],
                "why": [{"rule": each.rule, "text": each.text} for each in explanations(observed)],
            }
            for observed in found
        ],
        "notes": notes(found, setting),
    }


def introduction(found: Sequence[Observed], setting: Setting) -> str:
    """Return what a reader needs to read the rest."""
    counted = (
        "kernels, the programs that run on the GPU"
        if any(_kind(observed) == "kernel" for observed in found)
        else "operators that compute, not those that only rewrite strides"
    )
    names = dict.fromkeys(entry.name for observed in found for entry in observed.entries)
    known = "; ".join(f"{name}: {NAMES[name]}" for name in names if name in NAMES)
    return (
        f"Run as {known}. Measured here ({setting}) beside what an article ({ARTICLE}) "
        f"saw on its hardware ({HARDWARE}). `× eager` "
        "is how many times as fast as eager, from calls in turns, with its 95 % interval: below 1 is slower. "
        f"Counted are {counted}. Shares are of a call that is profiled, which makes each step dearer."
    )


def before(found: Sequence[Observed], observed: Observed) -> list[tuple[str, str]]:
    """Return what the article saw and what is guessed, each with its heading; what it saw of a block is told once."""
    seen = seen_by_article(observed.case)
    numbers = [number for number, each in enumerate(found, start=1) if seen_by_article(each.case) == seen]
    is_first, sizes = found[numbers[0] - 1] is observed, sizes_in_words(observed.case)
    at = f" ({sizes})" if sizes else ""
    return [
        ("The article saw", f"eager{at}, {seen}" if is_first else f"what is told in {numbers[0]}{at}."),
        ("Guess", _guess(observed)),
    ]


def notes(found: Sequence[Observed], setting: Setting) -> list[str]:
    """Return what a reader must know of how it was measured: disturbances, libraries, and what gave no time."""
    entries = [entry for observed in found for entry in observed.entries]
    disturbed = [entry.row.disturbed for entry in entries if entry.row.disturbed]
    said = (
        [f"Disturbed while it was measured: {disturbed_in_words(disturbed)}; --again measures it anew."]
        if disturbed
        else []
    )
    if any(entry.row.latency_s is not None and entry.row.floor_s is None for entry in entries):
        said.append("This machine's ceilings are not known yet, so no least time and no bound is given.")
    rough: dict[str, list[str]] = {}
    for number, observed in enumerate(found, start=1):
        for entry in observed.entries:
            # One step alone is all of it, however disturbed.
            if entry.call is not None and entry.call.is_disturbed and (len(entry.call.steps) > 1 or _has_within(entry)):
                rough.setdefault(entry.name, []).append(str(number))
    if rough:
        which = "; ".join(f"{name} in {_joined(numbers)}" for name, numbers in rough.items())
        said.append(f"Disturbed while it was profiled, so that shares are not told: {which}.")
    failed = [
        f"{entry.name} gave no time ({entry.row.state}): {entry.row.reason}"
        for entry in entries
        if entry.row.latency_s is None
    ]
    remarks = [f"{each[0].upper()}{each[1:]}." for each in setting.remarks]
    return [*said, *remarks, *dict.fromkeys(failed)]


def _has_within(entry: Entry) -> bool:
    return entry.call is not None and any(step.within for step in entry.call.steps)


def next_step(found: Sequence[Observed]) -> str:
    """Return the command that asks the same of a shape of one's own."""
    gated = [observed.case for observed in found if not observed.case.is_linear]
    if not gated:
        return ""
    case = gated[-1]
    return (
        "What wins depends on the shape. Ask for yours: "
        f"fusebench advise --gated --activation {case.activation} --dim {case.dim} --hidden {case.hidden}"
    )


def _guess(observed: Observed) -> str:
    case = observed.case
    counts: dict[int, list[str]] = {}
    for name, count in case.steps.items():
        if count is not None and any(entry.name == name for entry in observed.entries):
            counts.setdefault(count, []).append(name)
    kind = _kind(observed)
    steps = "; ".join(
        f"{count} {kind if count == 1 else f'{kind}s'} for {_joined(names)}" for count, names in counts.items()
    )
    floor_s = next((entry.row.floor_s for entry in observed.entries if entry.row.floor_s), None)
    least = f" That takes at least {with_prefix(floor_s, 's')} at this machine's measured peak." if floor_s else ""
    between = "" if case.is_linear else f", while each step between writes and reads {_bytes(case.intermediate_bytes)}"
    return (
        f"{with_prefix(case.flop, 'FLOP')} in the products, and at least {_bytes(case.min_bytes)} to move (input, "
        f"weights and output once){between}. Then {steps}.{least}"
    )


def _joined(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _bytes(number: int) -> str:
    return with_prefix(number, "B")


def _kind(observed: Observed) -> str:
    return "kernel" if any(entry.call and entry.call.has_kernels for entry in observed.entries) else "operator"


def _columns(observed: Observed) -> tuple[Column, ...]:
    run_as, speed, _, *others = _COLUMNS
    return (run_as, speed, Column(name=f"{_kind(observed)}s", is_right=True), *others)


def _rows(observed: Observed) -> list[tuple[Cell, ...]]:
    return [_cells(observed, entry) for entry in observed.entries]


def _cells(observed: Observed, entry: Entry) -> tuple[Cell, ...]:
    wanted = observed.case.steps.get(entry.name)
    count = None if entry.call is None else entry.call.step_count
    differs = wanted is not None and count is not None and count != wanted
    return (
        Cell(entry.name),
        Cell(_speed(entry), Style.GOOD if entry.pace is Pace.FASTER else Style.PLAIN),
        Cell(figures(count), Style.DOUBTFUL if differs else Style.PLAIN),
        Cell(figures(wanted)),
        Cell(with_prefix(entry.row.peak_memory_bytes, "B")),
        Cell("disturbed" if entry.row.disturbed else "", Style.DOUBTFUL),
        Cell(_steps(entry)),
    )


def _speed(entry: Entry) -> str:
    row = entry.row
    if row.latency_s is None:
        return row.state
    if row.provider == BASELINE:
        return "1"
    if row.speedup_vs_eager is None or row.speedup_ci_low is None or row.speedup_ci_high is None:
        return ABSENT
    # An interval that is wider than its value reaches below what a ratio can be.
    return f"{figures(row.speedup_vs_eager)} ({figures(max(0.0, row.speedup_ci_low))} … {figures(row.speedup_ci_high)})"


def _steps(entry: Entry) -> str:
    if entry.call is None:
        return ""
    is_alone = len(entry.call.steps) == 1
    return ", ".join(_step(step, is_alone=is_alone) for step in entry.call.steps)


def _step(step: Step, *, is_alone: bool) -> str:
    times = "" if step.count == 1 else f"{figures(step.count)} × "
    share = "" if step.share is None or is_alone else f" {percent(step.share)}"
    # Inductor's names on a CPU say all that their words do, and are shorter.
    name = step.name if step.name.startswith("cpp_") else step.decoded.words
    return f"{times}{name}{_within(step)}{share}"


def _within(step: Step) -> str:
    inner = ", ".join(name if share is None else f"{name} {percent(share)}" for name, share in step.within.items())
    return f" (in it {inner})" if inner else ""


def _entry_as_json(entry: Entry) -> dict[str, object]:
    row, call = entry.row, entry.call
    return {
        "contender": entry.name,
        "state": row.state,
        "reason": row.reason,
        "disturbed": row.disturbed,
        "latency_s": row.latency_s,
        "speedup_vs_eager": row.speedup_vs_eager,
        "speedup_ci_low": row.speedup_ci_low,
        "speedup_ci_high": row.speedup_ci_high,
        "floor_s": row.floor_s,
        "bound": row.bound,
        "bound_detail": row.bound_detail,
        "peak_memory_bytes": row.peak_memory_bytes,
        "compile_time_cold_s": row.compile_time_cold_s,
        "recompile_time_s": row.recompile_time_s,
        "operators_min_bytes": None if entry.profile is None else entry.profile.operators_min_bytes,
        "step_count": None if call is None else call.step_count,
        "is_profile_disturbed": None if call is None else call.is_disturbed,
        "host_time_s": None if call is None else call.host_s,
        "bookkeeping_s": None if call is None else dict(call.bookkeeping),
        "steps": None
        if call is None
        else [
            {
                "name": step.name,
                "words": step.decoded.words,
                "count": step.count,
                "share": step.share,
                "within": dict(step.within),
            }
            for step in call.steps
        ],
    }
