"""Explanations → text, Markdown and JSON: one sentence a finding, the tables behind it, what was ruled out; pure."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from results.judgement.findings import FindingState, Turn
from results.output.findings import FINDINGS_FORMAT, finding_as_json
from results.output.plain_values import document_as_json
from results.output.reports.comments import Table, comment_of
from results.output.reports.explanation_tables import tables_of, texts_of
from results.output.reports.finding_words import is_quoted, name_in_words, scope_in_words, size_in_words, worst_in_words
from results.output.terminal import INDENT, UNLIMITED, Style, Terminal
from results.output.text_tables import Block, Cell, Column, render_blocks
from results.printable import printable_line
from results.units import change_in_words, counted, visible_from

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from results.judgement.explanation import Explanation, ProfiledCall

MOST_DETAILED = 3
"""Explanations of a text that have their tables; the others have their sentence alone."""
_TEXT_COLUMNS = frozenset({"quantity", "part", "what", "frame"})


def explanations_as_text(
    explanations: Sequence[Explanation], terminal: Terminal = UNLIMITED, *, headline: str, limit: int | None
) -> str:
    """Render each finding with its sentence and command, the first `limit` calls (None: all) with the tables behind.

    A command is written once; another finding of the same names the first that has it.
    """
    parts = [terminal.paragraph(headline, Style.HEADING)]
    title = _titles_of(explanations)
    detailed: list[tuple[object, ...]] = []
    hidden: set[tuple[object, ...]] = set()
    first: dict[str, str] = {}  # title by command
    for one in explanations:
        same = first.get(one.command) if one.command else None
        parts.append("\n".join(_lines(one, terminal, title=title(one), same=same)))
        first.setdefault(one.command or "", title(one))
        key = _call_of(one)
        if key in detailed or key in hidden or not (behind := _behind(one, terminal)):
            continue
        if limit is None or len(detailed) < limit:
            detailed.append(key)
            parts += behind
        else:
            hidden.add(key)
    if n_hidden := len(hidden):
        parts.append(terminal.paragraph(f"The tables of {counted(n_hidden, 'other call')}: --all"))
    return "\n\n".join(parts)


def explanations_as_markdown(explanations: Sequence[Explanation], *, headline: str) -> str:
    """Render a comment: a row for each finding, then the tables behind each call, folded."""
    title = _titles_of(explanations)
    rows = [(title(one), _class(one), _scope(one), " ".join(_why(one))) for one in explanations]
    tables = [Table(title="Why", columns=("finding", "class", "points", "why"), rows=rows, is_open=True)]
    commands: dict[str, list[str]] = {}
    for one in explanations:
        if one.command:
            commands.setdefault(one.command, []).append(title(one))
    again = [
        (of_command[0] if len(of_command) == 1 else f"{of_command[0]} and {len(of_command) - 1:,} more", command)
        for command, of_command in commands.items()
    ]
    tables.append(Table(title="Again", columns=("finding", "command"), rows=again[1:], is_open=False))
    seen: list[tuple[object, ...]] = []
    for one in explanations:
        if _call_of(one) not in seen:
            seen.append(_call_of(one))
            tables += [
                Table(title=f"{title(one)}: {table.title}", columns=table.columns, rows=table.rows, is_open=False)
                for table in tables_of(one)
            ]
    return comment_of(headline, tables, [f"Again: {command} (of {whose})" for whose, command in again[:1]])


def explanations_as_json(explanations: Sequence[Explanation], *, base: str, head: str) -> str:
    """Render every explanation: findings as in other documents with `explanation`, and points without finding."""
    findings = [
        {**finding_as_json(one.finding, class_=one.class_), "explanation": explanation_as_json(one)}
        for one in explanations
        if one.finding is not None
    ]
    points = [
        {
            "point": _point_as_json(one.subject.head),
            "class": _class(one) or None,
            "explanation": explanation_as_json(one),
        }
        for one in explanations
        if one.finding is None and one.subject.head is not None
    ]
    document = {"format": FINDINGS_FORMAT, "base": base, "head": head, "findings": findings, "points": points}
    return document_as_json(document)


def explanation_as_json(one: Explanation) -> dict[str, object]:
    """Return an explanation as an object; findings.schema.json describes the keys."""
    difference = one.difference
    return {
        "sentence": one.sentence,
        "reason": one.reason,
        "causes": [{**asdict(cause), "kind": cause.kind.value} for cause in one.causes],
        "exact": [{"name": each.name, "base": each.base, "head": each.head, "unit": each.unit} for each in one.exact],
        "parts": [asdict(part) for part in difference.parts],
        "rows": [
            {**asdict(row), "kind": row.kind.value, "place": row.place.value, "callers": list(row.callers)}
            for row in difference.rows
        ],
        "aligned_by": None if difference.reason else "tree" if difference.is_by_tree else "name",
        "conditions": [{**asdict(each), "kind": each.kind.value} for each in one.conditions],
        "ruled_out": list(one.ruled_out),
        "scope": None
        if one.scope is None
        else {"changed": one.scope.n_changed, "points": one.scope.n_points, "along": one.scope.along},
        "command": one.command,
    }


def _lines(one: Explanation, terminal: Terminal, *, title: str, same: str | None) -> Iterator[str]:
    unknown = one.subject.verdict or "no finding" if one.finding is None else "class unknown"
    beside = " · ".join(filter(None, (_class(one) or unknown, _scope(one), _floor(one))))
    yield terminal.paragraph(f"{title}  ({beside})", Style.HEADING)
    style = Style.PLAIN if one.sentence else Style.DOUBTFUL
    yield from (terminal.paragraph(text, style, indent=INDENT) for text in _why(one))
    if one.finding is not None and (worst := worst_in_words(one.finding)):
        yield terminal.paragraph(f"worst at {worst}", indent=INDENT)
    if same is not None:
        yield terminal.paragraph(f"Again: as for {same}", indent=INDENT)
    elif one.command:
        # Broken into lines it could not be copied.
        yield printable_line(f"{INDENT}Again: {one.command}")


def _behind(one: Explanation, terminal: Terminal) -> list[str]:
    parts = []
    for table in tables_of(one):
        columns = [Column(name=name, is_right=name not in _TEXT_COLUMNS) for name in table.columns]
        rows = [[Cell(text) for text in row] for row in table.rows]
        parts.append(render_blocks(columns, [Block(title=f"{table.title}:", rows=rows)], terminal))
    told = texts_of(one)
    if one.conditions:
        told.append(f"Conditions that differ: {', '.join(each.words for each in one.conditions)}.")
    if one.ruled_out:
        told.append(f"Ruled out: {'; '.join(one.ruled_out)}.")
    lines = [terminal.paragraph(text) for text in told]
    return [*parts, "\n".join(lines)] if lines else parts


def _titles_of(explanations: Sequence[Explanation]) -> Callable[[Explanation], str]:
    """Return what writes the title of each; with its machine and environment where they were measured at several."""
    is_told = len({_place_of(one) for one in explanations}) > 1
    return lambda one: _title(one, place=_place_of(one) if is_told else "")


def _place_of(one: Explanation) -> str:
    call = one.subject.head or one.subject.base
    place = one.finding.surface if one.finding is not None else None if call is None else call.point
    return "" if place is None else f" on {place.machine}, {place.environment}"


def _title(one: Explanation, *, place: str) -> str:
    finding = one.finding
    if finding is not None:
        return f"{name_in_words(finding)}{place}: {size_in_words(finding)}"
    call = one.subject.head or one.subject.base
    if call is None:
        return "a point that was not measured"
    point, before = call.point, one.difference.base_s
    ratio = point.latency_s / before if point.latency_s and before else None
    shape = f"batch={point.batch}, hidden={point.hidden}, dtype={point.dtype}, pass={point.pass_}"
    return f"{point.operation} {point.contender} at {shape}{place}: {change_in_words(ratio) or point.state}"


def _why(one: Explanation) -> Iterator[str]:
    """Yield what failed, or who knows of it, and what explains it, each as a sentence."""
    finding = one.finding
    is_told = finding is not None and (finding.turn is Turn.FAILED or finding.state is FindingState.ACKNOWLEDGED)
    if finding is not None and is_told and not is_quoted(finding, one.sentence):
        yield f"{finding.why[:1].upper()}{finding.why[1:].rstrip('.')}."
    yield one.sentence or f"Not explained: {one.reason}."


def _class(one: Explanation) -> str:
    return "" if one.class_ is None else one.class_.value


def _scope(one: Explanation) -> str:
    if one.scope is not None:
        return one.scope.words
    return "" if one.finding is None else scope_in_words(one.finding)


def _floor(one: Explanation) -> str:
    floor = None if one.finding is None else one.finding.floor
    return f"changes under {visible_from(floor, digits=1)} are invisible here" if floor else ""


def _call_of(one: Explanation) -> tuple[object, ...]:
    """Name the call that the tables are of: findings of several metrics may share it."""
    call: ProfiledCall | None = one.subject.head or one.subject.base
    if call is None:
        return (id(one),)
    return call.point.project, call.point.machine, call.point.environment, call.point.point_id


def _point_as_json(call: ProfiledCall) -> dict[str, object]:
    point = call.point
    axes = ("machine", "environment", "operation", "provider", "pass_", "dtype", "activation", "batch", "hidden", "dim")
    return {name.rstrip("_"): getattr(point, name) for name in (*axes, "cache", "weights", "threads")}
