"""Advice → text, Markdown, JSON; pure."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from tabulate import tabulate

from results.files.disturbances import disturbed_in_words
from results.judgement.choices import NAMED, rows_in_words
from results.judgement.winners import BASELINE, Standing, far_quotients_in_words
from results.output.advice_words import gains_in_words, provenance_in_words, recipes_of, why_in_words
from results.output.terminal import UNLIMITED, Style
from results.output.text_tables import Block, Cell, Column, render_blocks
from results.units import ABSENT, figures, with_prefix

if TYPE_CHECKING:
    from results.judgement.advice import Advice, Question
    from results.judgement.choices import Choice
    from results.output.terminal import Terminal

PACKED = ":packed"
_RIGHT = {"rows", "latency", "× eager"}
# Below that many columns how certain a row is stands below it.
_NARROW = 96


def advice_as_text(advice: Advice, question: Question, terminal: Terminal = UNLIMITED) -> str:
    """Render what to run, why and how first, then a table for each block, then what a reader must know of it."""
    parts = [terminal.paragraph(sentence, Style.HEADING) for sentence in advice.what]
    parts += [terminal.paragraph(sentence) for sentence in _sentences(advice, question)]
    headings = _headings(question)
    blocks = [
        Block(title=block.title, rows=[tuple(map(Cell, _cells(choice, question))) for choice in found])
        for block, found in groupby(advice.choices, key=lambda choice: choice.block)
    ]
    is_narrow = terminal.width is not None and terminal.width < _NARROW
    columns = [
        Column(name=name, is_right=name in _RIGHT, drop=int(name == "next"), is_note=is_narrow and name == "certainty")
        for name in headings
    ]
    parts.append(render_blocks(columns, blocks, terminal))
    if recipes := recipes_of(advice):
        lines = [f"{each.contender}: {each.code}{f'  # {each.remark}' if each.remark else ''}" for each in recipes]
        parts.append("\n".join(["To run:", *(terminal.paragraph(line, indent="  ") for line in lines)]))
    parts += [terminal.paragraph(note, Style.DOUBTFUL) for note in notes(advice, question)]
    parts.append(terminal.paragraph(provenance_in_words(advice)))
    return "\n\n".join(parts)


def advice_as_markdown(advice: Advice, question: Question) -> str:
    """Render the same for a pull request."""
    parts = [f"**{_escaped(sentence)}**" for sentence in advice.what]
    parts += [_escaped(sentence) for sentence in _sentences(advice, question)]
    for block, found in groupby(advice.choices, key=lambda choice: choice.block):
        rows = [tuple(map(_escaped, _cells(choice, question))) for choice in found]
        headings = _headings(question)
        aligned = tabulate(
            rows,
            headings,
            tablefmt="pipe",
            disable_numparse=True,
            colalign=["right" if name in _RIGHT else "left" for name in headings],
        )
        parts.append(f"{_escaped(block.title)}\n\n{aligned}")
    if recipes := recipes_of(advice):
        parts.append("\n".join(f"- {e.contender}: `{e.code}`{f' ({e.remark})' if e.remark else ''}" for e in recipes))
    parts += [f"*{_escaped(note)}*" for note in notes(advice, question)]
    parts.append(_escaped(provenance_in_words(advice)))
    return "\n\n".join(parts)


def advice_as_json(advice: Advice, question: Question) -> dict[str, object]:
    """Return the same as values; times in seconds, null where something is not known or no times are wanted."""
    first, has_times = advice.choices[0].ranking.leader, question.has_times
    return {
        "what": list(advice.what),
        "why": why_in_words(advice, question),
        "how": [each._asdict() for each in recipes_of(advice)],
        "model": question.model,
        "gains": [
            {
                "calls": gain.n_calls,
                "batch": gain.batch,
                "eager_s": gain.eager_s if has_times and gain.n_calls else None,
                "advised_s": gain.advised_s if has_times and gain.n_calls else None,
                "calls_left_out": gain.n_unknown,
                "is_in_doubt": gain.is_in_doubt,
                "time_vs_eager": gain.advised_s / gain.eager_s if gain.eager_s else None,
            }
            for gain in advice.gains
        ],
        "choices": [_choice_as_json(choice, question) for choice in advice.choices],
        "left_out": list(question.left_out),
        "notes": notes(advice, question),
        "commit": first.commit,
        "machine": first.machine,
        "environment": first.environment,
    }


def notes(advice: Advice, question: Question) -> list[str]:
    """Return what a reader must know: what names mean, what was not measured, disturbances, what gave no time."""
    found = [*_meanings(advice, question), *question.notes]
    if question.left_out:
        names = ", ".join(question.left_out)
        found.append(f"not measured, since compiling takes minutes: {names}; --thorough adds them")
    points = [row for choice in advice.choices for row in (choice.ranking.leader, choice.ranking.eager) if row]
    disturbed = [row.disturbed for row in points if row.disturbed]
    if disturbed:
        found.append(f"disturbed while it was measured: {disturbed_in_words(disturbed)}; --again measures anew")
    shown = [(choice.advised or choice.ranking.leader, choice.ranking.eager) for choice in advice.choices]
    if question.has_times and (far := far_quotients_in_words(shown)):
        found.append(far)
    batches: dict[tuple[str, str], list[int]] = {}
    for choice in advice.choices:
        for name, why in choice.failed.items():
            batches.setdefault((name, why), []).append(choice.batch)
    by_text: dict[str, list[str]] = {}
    everywhere = sorted({choice.batch for choice in advice.choices})
    for (name, why), at in batches.items():
        where = "" if sorted(set(at)) == everywhere else f" at {rows_in_words(sorted(set(at)))}"
        by_text.setdefault(f"gave no time{where} ({why.replace(': ', '): ', 1)}", []).append(name)
    return [*found, *(f"{', '.join(names)} {text}" for text, names in by_text.items())]


def _meanings(advice: Advice, question: Question) -> list[str]:
    """Say what no table has room for: who else is as fast, and what `:packed` means where something is called so."""
    found = [
        f"as fast at {rows_in_words([choice.batch])}: {', '.join(choice.as_fast)}"
        for choice in advice.choices
        if choice.ranking.standing is Standing.TIED and len(choice.as_fast) > NAMED
    ]
    shown = [row.contender for choice in advice.choices for row in choice.ranking.candidates]
    if any(name.endswith(PACKED) for name in (*shown, *question.left_out)):
        found.append(f"{PACKED} means that the weights are rearranged once, before the first call, for inference only")
    return found


def _sentences(advice: Advice, question: Question) -> list[str]:
    gained = gains_in_words(advice, question)
    return [*why_in_words(advice, question), *([gained] if gained else [])]


def _headings(question: Question) -> tuple[str, ...]:
    return ("rows", "run", *(("latency",) if question.has_times else ()), "× eager", "next", "certainty")


def _cells(choice: Choice, question: Question) -> tuple[str, ...]:
    ranking = choice.ranking
    row = choice.advised or ranking.leader
    follower = ranking.runner_up if row == ranking.leader else ranking.leader
    # A factor between two that are as fast would say that they are not.
    is_later = follower is ranking.runner_up and follower not in choice.options
    margin = f" ({figures(ranking.margin)} ×)" if follower and ranking.margin and is_later else ""
    return (
        str(choice.batch),
        row.contender if choice.advised else f"{row.contender}?",
        *((with_prefix(row.latency_s, "s"),) if question.has_times else ()),
        _factor(row.speedup_vs_eager, row.speedup_ci_low, row.speedup_ci_high, is_eager=row.provider == BASELINE),
        f"{follower.contender}{margin}" if follower else ABSENT,
        choice.certainty,
    )


def _factor(value: float | None, low: float | None, high: float | None, *, is_eager: bool) -> str:
    if is_eager:
        return "1"
    if value is None or low is None or high is None:
        return ABSENT
    # An interval that is wider than its value reaches below what a ratio can be.
    return f"{figures(value)} ({figures(max(0.0, low))} … {figures(high)})"


def _escaped(text: str) -> str:
    """Return text that Markdown shows as it is: names of modules and reasons may hold what it would take for marks."""
    return "".join(f"\\{each}" if each in "\\`*_|<>[]" else each for each in text).replace("\n", " ")


def _choice_as_json(choice: Choice, question: Question) -> dict[str, object]:
    ranking, block = choice.ranking, choice.block
    row = choice.advised or ranking.leader
    return {
        "operation": block.operation,
        "dim": block.dim,
        "hidden": block.hidden,
        "activation": block.activation,
        "dtype": block.dtype,
        "pass": block.pass_,
        "batch": choice.batch,
        "run": choice.advised.contender if choice.advised else None,
        "as_fast": list(choice.as_fast),
        "standing": ranking.standing,
        "certainty": choice.certainty,
        "latency_s": row.latency_s if question.has_times else None,
        "speedup_vs_eager": row.speedup_vs_eager,
        # An interval that is wider than its value reaches below what a ratio can be.
        "speedup_ci_low": None if row.speedup_ci_low is None else max(0.0, row.speedup_ci_low),
        "speedup_ci_high": row.speedup_ci_high,
        "next": ranking.runner_up.contender if ranking.runner_up else None,
        "margin": ranking.margin,
        "least_margin": ranking.least_margin,
        "failed": dict(choice.failed),
    }
