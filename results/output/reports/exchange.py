"""Exchanges of code and stack → text, Markdown and JSON; pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from results.judgement.exchange import Factor, exchange_exit_code
from results.judgement.outcomes import Change, Outcome
from results.output.plain_values import document_as_json
from results.output.reports.comments import Table, comment_of
from results.output.terminal import UNLIMITED, Style
from results.output.text_tables import Block, Cell, Column, render_blocks
from results.rows import parameters_in_words
from results.units import ABSENT, change_in_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from results.judgement.exchange import Exchange, Exchanged
    from results.judgement.outcomes import Verdict
    from results.output.terminal import Terminal

_TITLES = {
    Factor.CODE: "The code moves it, on either stack",
    Factor.STACK: "The stack moves it, at either commit",
    Factor.BOTH: "Both move it, each alone",
    Factor.TOGETHER: "Only together, or differently: one moves it on one side of the other",
    Factor.UNCERTAIN: "Uncertain: an exchange told too little",
}
_COLUMNS = (
    Column(name="benchmark", stack=1),
    Column(name="parameters", stack=2),
    Column(name="code, present stack", is_right=True),
    Column(name="code, other stack", is_right=True),
    Column(name="stack, at base", is_right=True),
    Column(name="stack, at head", is_right=True),
    Column(name="whole", is_right=True),
)
_STYLES = {Outcome.REGRESSION: Style.BAD, Outcome.FAILED: Style.BAD, Outcome.IMPROVEMENT: Style.GOOD}


def exchange_as_text(
    exchange: Exchange, stack: str, terminal: Terminal = UNLIMITED, *, limit: int | None = None
) -> str:
    """Render what moves which series, by factor; `limit` of each. stack: the other one, as it was asked for."""
    parts, shared = [_headline(exchange, stack)], _shared(exchange)
    blocks = [
        Block(title=f"{title}:", rows=[_cells(one, shared) for one in found])
        for title, found in _sections(exchange, limit)
    ]
    if blocks:
        parts.append(render_blocks(_COLUMNS, blocks, terminal))
    return "\n\n".join([*parts, *_notes(exchange, limit)])


def exchange_as_markdown(exchange: Exchange, stack: str, *, limit: int | None = None) -> str:
    """Render the same as Markdown that fits a comment."""
    names, shared = tuple(column.name for column in _COLUMNS), _shared(exchange)
    tables = [
        Table(title=title, columns=names, rows=[_texts(one, shared) for one in found], is_open=True)
        for title, found in _sections(exchange, limit)
    ]
    return comment_of(_headline(exchange, stack), tables, _notes(exchange, limit))


def exchange_as_json(exchange: Exchange, stack: str) -> str:
    """Render every series with its factor and its ratios, head over base or other stack over present one."""
    counts = exchange.count()
    document = {
        "base": exchange.whole.base_commit,
        "head": exchange.whole.head_commit,
        "stacks": ["present", stack],
        "exit_code": int(exchange_exit_code(exchange)),
        "counts": {factor.value: counts[factor] for factor in Factor},
        "series": [_as_json(one) for one in exchange.series],
    }
    return document_as_json(document)


def _as_json(one: Exchanged) -> dict[str, Any]:
    row = one.whole.head
    names = ("code_on_present", "code_on_other", "stack_at_base", "stack_at_head", "whole")
    return {
        "benchmark": row.benchmark,
        "metric": row.metric,
        "parameters": {each.name: each.value for each in row.parameters},
        "factor": one.factor,
        **{name: _exchange_as_json(each) for name, each in zip(names, (*one.verdicts, one.whole), strict=True)},
    }


def _exchange_as_json(verdict: Verdict | None) -> dict[str, Any] | None:
    if verdict is None:
        return None
    interval = None if verdict.interval is None else list(verdict.interval)
    return {"verdict": verdict.change, "ratio": verdict.ratio, "interval": interval, "why": verdict.why}


def _headline(exchange: Exchange, stack: str) -> str:
    counts = exchange.count()
    said = ", ".join(f"{counts[factor]} {factor}" for factor in Factor if counts[factor]) or "nothing was compared"
    whole = exchange.whole
    return f"{whole.base_commit[:8]} → {whole.head_commit[:8]}, present stack → {stack}: {said}"


def _sections(exchange: Exchange, limit: int | None) -> list[tuple[str, Sequence[Exchanged]]]:
    found: list[tuple[str, Sequence[Exchanged]]] = []
    for factor, title in _TITLES.items():
        mine = [one for one in exchange.series if one.factor is factor]
        mine.sort(key=lambda one: -one.whole.size)
        if mine:
            found.append((title, mine[:limit]))
    return found


def _notes(exchange: Exchange, limit: int | None) -> list[str]:
    notes = []
    n_hidden = sum(max(0, n - (limit or n)) for factor, n in exchange.count().items() if factor is not Factor.NEITHER)
    if n_hidden:
        notes.append(f"{n_hidden} more series are not listed; all of them: --all")
    notes.append(
        "Effects of code are corrected by eager on the same stack; those of a stack are not, as eager is of it."
    )
    return notes


def _shared(exchange: Exchange) -> frozenset[str]:
    """Return the parameters that every series has with the same value: they tell nothing apart."""
    if len(exchange.series) < 2:
        return frozenset()
    return frozenset(one.name for one in set.intersection(*(set(one.whole.head.parameters) for one in exchange.series)))


def _cells(one: Exchanged, shared: frozenset[str]) -> tuple[Cell, ...]:
    row = one.whole.head
    return (
        Cell(f"{row.benchmark} {row.metric}"),
        Cell(parameters_in_words(row.parameters, without=shared)),
        *(_cell(verdict) for verdict in (*one.verdicts, one.whole)),
    )


def _cell(verdict: Verdict | None) -> Cell:
    if verdict is None:
        return Cell(ABSENT)
    style = _STYLES.get(verdict.outcome, Style.PLAIN)
    match verdict.change:
        case Change.SAME:
            return Cell("same")
        case Change.STATE_CHANGED | Change.GONE:
            return Cell(verdict.head.state, style)
        case Change.UNCERTAIN:
            return Cell(f"{change_in_words(verdict.ratio)}?" if verdict.ratio else "uncertain", Style.DOUBTFUL)
        case _:
            return Cell(change_in_words(verdict.ratio), style)


def _texts(one: Exchanged, shared: frozenset[str]) -> tuple[str, ...]:
    return tuple(cell.text for cell in _cells(one, shared))
