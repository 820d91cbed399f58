"""Table *What a commit changed*: the gate's verdicts on one benchmark, worse and better alike."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from dash import html

from dashboard.lines import NO_PARAMETERS
from dashboard.widgets import labelled_cells
from results.judgement.verdicts import Outcome
from results.metrics import Precision
from results.rows import parameters_in_words
from results.units import SECOND_NAMES, change_in_words

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dash.development.base_component import Component

    from dashboard.quantities import MetricFormat
    from results.judgement.verdicts import Judgement, Verdict

HEADINGS = (("Parameters", ""), ("Before", "number"), ("After", "number"), ("Change", "number"), ("Verdict", ""))
# Worse first, as one looks for it.
ORDER = (
    Outcome.FAILED,
    Outcome.REGRESSION,
    Outcome.KNOWN,
    Outcome.UNDECIDED,
    Outcome.CHANGED,
    Outcome.IMPROVEMENT,
    Outcome.FIXED,
)
WORDS = {
    Outcome.FAILED: "fails now",
    Outcome.REGRESSION: "worse",
    Outcome.KNOWN: "known",
    Outcome.UNDECIDED: "undecided",
    Outcome.CHANGED: "changed",
    Outcome.IMPROVEMENT: "better",
    Outcome.FIXED: "works again",
    Outcome.UNCHANGED: "without a difference",
}
WORDS_OF_TIME = {**WORDS, Outcome.REGRESSION: "slower", Outcome.IMPROVEMENT: "faster"}
PLURALS = {"fails now": "fail now", "works again": "work again"}
MOST_ROWS = 30
# Relative; a change that is further from its own before and after looks like a mistake unless it is explained.
CONTRADICTION = 0.01
HOW_CHANGES_ARE_MADE = (
    "Change compares processes, without what moved the whole machine; it need not be the ratio of before and after, "
    "which are the values as they were stored."
)


def counts_of(judgement: Judgement) -> str:
    """Write how many parameter sets have which verdict, the worst first."""
    words = Counter(
        word_of(verdict) for outcome in (*ORDER, Outcome.UNCHANGED) for verdict in judgement.with_outcome(outcome)
    )
    if not words:
        return "nothing worked at either commit" if judgement.failing else "nothing was measured at both commits"
    return ", ".join(f"{n:,} {PLURALS.get(word, word) if n > 1 else word}" for word, n in words.items())


def least_change_of(judgement: Judgement) -> str:
    """Write from what relative change on a time counts, where each has its own the least and the most of them."""
    noisy = {one.least_change for one in judgement.verdicts if one.metric.precision is Precision.NOISY}
    least, most = (100 * end(noisy, default=judgement.least_change) for end in (min, max))
    return f"{least:g} %" if least == most else f"its own limit, {least:g} to {most:g} %,"


def summary_of(judgement: Judgement) -> str:
    """Write how many parameter sets have which verdict, and from what on a change counts."""
    counted = f" (counted from {least_change_of(judgement)} and beyond the noise)" if judgement.verdicts else ""
    return f"{counts_of(judgement)}{counted}"


def changes_table(judgement: Judgement, *, metric_format: MetricFormat, labels: Mapping[str, str]) -> list[Component]:
    """Build one row per changed set of parameters, worst first; nothing without a change. `labels`: by line name."""
    verdicts = [verdict for outcome in ORDER for verdict in judgement.with_outcome(outcome)]
    if not verdicts:
        return []
    head = html.Tr([html.Th(text, className=kind, scope="col") for text, kind in HEADINGS])
    rows = [_row(verdict, metric_format=metric_format, labels=labels) for verdict in verdicts[:MOST_ROWS]]
    table = html.Table([html.Thead(head), html.Tbody(rows)], className="winners")
    parts: list[Component] = [html.Div(table, className="scrolls")]
    if any(is_unlike_its_values(verdict) for verdict in verdicts[:MOST_ROWS]):
        parts.append(html.Div(HOW_CHANGES_ARE_MADE, className="dimmed"))
    if len(verdicts) > MOST_ROWS:
        parts.append(html.Div(f"… and {len(verdicts) - MOST_ROWS} more: fusebench gate shows all", className="dimmed"))
    return parts


def is_unlike_its_values(verdict: Verdict) -> bool:
    """Return whether the verdict's ratio is another than that of the two values shown beside it."""
    before, after = verdict.base.value, verdict.head.value
    if not before or after is None or verdict.ratio is None:
        return False
    return abs(verdict.ratio - after / before) > CONTRADICTION * after / before


def _row(verdict: Verdict, *, metric_format: MetricFormat, labels: Mapping[str, str]) -> Component:
    name = parameters_in_words(verdict.head.parameters) or NO_PARAMETERS
    return html.Tr(
        [
            *labelled_cells(
                HEADINGS,
                [
                    labels.get(name, name),
                    _value(verdict.base.value, metric_format),
                    _value(verdict.head.value, metric_format),
                    change_in_words(verdict.ratio),
                    [html.Span(word_of(verdict), className="word"), " ", html.Span(verdict.why, className="dimmed")],
                ],
            )
        ]
    )


def _value(value: float | None, metric_format: MetricFormat) -> str:
    return "–" if value is None else metric_format.text(value)


def word_of(verdict: Verdict) -> str:
    """Return the verdict in words; of a duration, slower or faster."""
    words = WORDS_OF_TIME if verdict.head.unit in SECOND_NAMES else WORDS
    return words[verdict.outcome]
