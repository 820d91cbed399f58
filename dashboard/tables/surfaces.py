"""What a commit changed: the verdicts by surface, the answer in words, and the list of both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlencode

from dash import dcc, html

from dashboard.lines import NO_PARAMETERS
from dashboard.tables.changes import ORDER, least_change_of, word_of
from dashboard.widgets import command_code, sparkline
from results.judgement.verdicts import Outcome
from results.printable import printable_line
from results.rows import left_out_in_words, parameters_in_words
from results.units import change_in_words, counted

if TYPE_CHECKING:
    from dash.development.base_component import Component

    from results.judgement.verdicts import Judgement, Verdict
    from results.rows import CommitRow

WORSE = (Outcome.FAILED, Outcome.REGRESSION)
BETTER = (Outcome.FIXED, Outcome.IMPROVEMENT)
# Parameters of a sweep that tell surfaces of one operation apart.
CONTENDER = ("provider", "weights", "pass")


class Tone(NamedTuple):
    """Answer to whether a commit made something worse: the word it begins with, and its class in the style sheet."""

    word: str
    kind: str


YES, NO, PERHAPS, UNKNOWN = (
    Tone("Yes", "bad"),
    Tone("No", "good"),
    Tone("Perhaps", "doubt"),
    Tone("Not known", "doubt"),
)
TONES = (YES, PERHAPS, NO, UNKNOWN)  # the more one has to look, the earlier


@dataclass(frozen=True, kw_only=True)
class ChangedSurface:
    """Series of one benchmark and metric with one outcome; of a sweep, those of one provider and pass.

    title: what the series share. worst: the one that changed most. n_of: all series of the surface, whatever their
    outcome. course: the worst one's values up to the commit, oldest first; empty where it was not asked for.
    """

    title: str
    word: str
    worst: Verdict
    n: int
    n_of: int
    course: tuple[float, ...] = ()

    @property
    def weight(self) -> float:
        """How much it matters, among those of its outcome: size times number."""
        return self.n * self.worst.size

    @property
    def is_worse(self) -> bool:
        """Whether it is worse now, or fails."""
        return self.worst.outcome in WORSE


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """What the newest commit of a project changed on one machine. judgement: None where one commit is all there is.

    n_beside: measured commits of other branches, which are not looked at. n_skipped: commits between the two, which
    measured nothing that the newest did.
    """

    project: str
    machine: str
    head: CommitRow
    base: CommitRow | None
    judgement: Judgement | None
    surfaces: tuple[ChangedSurface, ...]
    n_beside: int = 0
    n_skipped: int = 0

    @property
    def tone(self) -> Tone:
        """Answer in a word."""
        if self.judgement is None or not self.judgement.verdicts:
            return UNKNOWN
        if self.judgement.with_outcome(*WORSE):
            return YES
        return PERHAPS if _doubt_of(self.judgement) else NO

    @property
    def answer(self) -> str:
        """Answer in a sentence."""
        return f"{self.tone.word}: {self._reason}"

    @property
    def _reason(self) -> str:
        judgement = self.judgement
        if judgement is None:
            return "one commit has been measured here, so there is none to compare it with"
        if not judgement.verdicts:
            n_failing = len(judgement.failing)
            failing = f"what the newest two commits both measured, {n_failing:,} series, worked at neither"
            return failing if n_failing else "nothing was measured at both of the newest commits"
        counts = {
            "worse": len(judgement.with_outcome(Outcome.REGRESSION)),
            "failing now": len(judgement.with_outcome(Outcome.FAILED)),
        }
        worse = [f"{count:,} series {word}" for word, count in counts.items() if count]
        n = f"{len(judgement.verdicts):,}"
        if worse:
            return f"{' and '.join(worse)}, of {n} compared"
        of_series = f"of {n} series compared, none is worse by {least_change_of(judgement)} or more beyond its noise"
        return _doubt_of(judgement) or of_series


def _doubt_of(judgement: Judgement) -> str:
    """Write what keeps the answer from being no; empty where nothing does."""
    if n := judgement.n_perhaps_worse:
        return f"{n:,} of {len(judgement.verdicts):,} series look slower, but are not known well enough"
    if moved := [control for control in judgement.controls if control.is_moved]:
        changes = ", ".join(f"{change_in_words(one.ratio)} in {one.environment}" for one in moved)
        return f"the machine or torch changed, as eager did ({changes}), so that no other time there is judged"
    if n := len(judgement.unknown_anew):
        fail, were = ("fails", "was") if n == 1 else ("fail", "were")
        return f"{n:,} series {fail} now and {were} ok before, by another ruler or version"
    return ""


def surfaces_of(judgement: Judgement) -> list[ChangedSurface]:
    """Group what changed by outcome, benchmark, metric, provider and pass: worse first, then by size times number."""
    n_of: dict[tuple[str, ...], int] = {}
    changed: dict[tuple[str, ...], list[Verdict]] = {}
    for verdict in judgement.verdicts:
        title = _title(verdict)
        n_of[title] = n_of.get(title, 0) + 1
        if verdict.outcome in ORDER:
            changed.setdefault((verdict.outcome, *title), []).append(verdict)
    surfaces = [
        ChangedSurface(
            title=printable_line(" · ".join(title)),
            word=word_of(verdicts[0]),
            worst=max(verdicts, key=lambda verdict: verdict.size),
            n=len(verdicts),
            n_of=n_of[tuple(title)],
        )
        for (_, *title), verdicts in changed.items()
    ]
    return sorted(surfaces, key=lambda each: (ORDER.index(each.worst.outcome), -each.weight, each.title))


def explore_link(verdict: Verdict) -> str:
    """Return the address of the series' history at the judged commit."""
    row = verdict.head
    pairs = {
        "project": row.project, "benchmark": row.benchmark, "metric": row.metric, "machine": row.machine,
        "environment": row.environment, "line": parameters_in_words(row.parameters) or NO_PARAMETERS,
        "commit": row.commit[:12],
    }  # fmt: skip
    return f"/explore?{urlencode(pairs)}"


def answer_of(comparison: Comparison) -> Component:
    """Build the answer as one large line, its first word in the colour of its tone."""
    word, reason = comparison.tone.word, comparison.answer.removeprefix(f"{comparison.tone.word}: ")
    return html.P([html.Span(word, className=f"tone {comparison.tone.kind}"), f": {reason}."], className="answer")


def commits_of(comparison: Comparison) -> Component:
    """Build the line that names the two commits."""
    parts: list[Component | str] = _commit(comparison.head)
    if comparison.base is not None:
        n = comparison.n_skipped
        skipped = [f"; {counted(n, 'commit')} between measured nothing that the newest did"] if n else []
        parts.append(html.Span([" against ", *_commit(comparison.base), *skipped], className="against"))
    if left_out := left_out_in_words(comparison.n_beside):
        parts.append(f"; {left_out}")
    return html.P(parts, className="detail")


def surfaces_list(comparison: Comparison, *, most: int) -> list[Component]:
    """Build a line for each of the first `most` surfaces, with the number of the others and what lists them."""
    surfaces = comparison.surfaces
    if not surfaces:
        return []
    lines: list[Component] = [_line(surface) for surface in surfaces[:most]]
    if len(surfaces) > most and comparison.base is not None:
        command = f"fusebench gate --base {comparison.base.commit[:12]} --head {comparison.head.commit[:12]}"
        lines.append(
            html.Li([f"… and {len(surfaces) - most} more, all by ", command_code(command)], className="dimmed rest")
        )
    return [html.Ul(lines, className="surfaces")]


def _line(surface: ChangedSurface) -> Component:
    count = f"{surface.n:,} of {surface.n_of:,} series"
    if surface.n == surface.n_of:
        count = f"all {surface.n:,} series" if surface.n > 1 else "its only series"
    ratio = surface.worst.ratio
    largest = f", {change_in_words(ratio)}{' where it is largest' if surface.n > 1 else ''}" if ratio else None
    size = largest or f": {surface.worst.why}"
    kind = "bad" if surface.is_worse else "good" if surface.worst.outcome in BETTER else ""
    return html.Li(
        [
            sparkline(surface.course, kind=kind) if len(surface.course) > 1 else html.Span(className="sparkline"),
            html.Span(
                [
                    dcc.Link(surface.title, href=explore_link(surface.worst)),
                    html.Span(f" {surface.word}", className=f"tone {kind}"),
                    f" at {count}{size}",
                ]
            ),
        ]
    )


def _commit(row: CommitRow) -> list[Component | str]:
    date = "no date" if row.date is None else f"{row.date:%Y-%m-%d}"
    return [html.Code(row.commit[:10]), f" {date} {printable_line(row.subject or '')}".rstrip()]


def _title(verdict: Verdict) -> tuple[str, ...]:
    own = {parameter.name: parameter.value for parameter in verdict.head.parameters}
    contender = [str(own[name]) for name in CONTENDER if "provider" in own and name in own and own[name] != "plain"]
    return (verdict.head.benchmark, *contender, verdict.metric.label)
