"""Content of the page *Regressions*: the findings that are listed, and one of them with its curve."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dashboard.figures.history import chart_of_lines
from dashboard.finding_words import largest_change_of, range_of, title_of
from dashboard.lines import lines_from
from dashboard.quantities import MetricFormat
from dashboard.scales import CommitSpacing, Scale
from dashboard.views.change_points import change_points_of
from dashboard.views.judged_histories import judged_histories
from dashboard.views.regressions_choice import (
    ClassChoice,
    RegressionsChoice,
    StateChoice,
    TurnChoice,
    query_from_regressions_choice,
    regressions_choice_of,
)
from dashboard.views.settings import better_of
from dashboard.views.url import ALL
from dashboard.views.winner_flips import winner_flips_of
from results.explanations import reasons_of
from results.judgement.changes.ranked import LEAST_VALUES
from results.queries import commits, history_of, places, taken_back_of
from results.rows import beside_among, left_out_in_words
from results.units import FACTOR_FROM, counted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dashboard.figures.chart import Chart
    from dashboard.tables.winner_flips import WinnerFlip
    from results.judgement.changes.ranked import RankedFinding
    from results.judgement.findings import Finding
    from results.rows import CommitRow, TakenBack
    from results.store import Store

_UNKNOWN = "direction unknown"
# Lists that one looks for, as (label, choice).
LISTS = (
    ("worse", RegressionsChoice()),
    ("better", RegressionsChoice(turn=TurnChoice.BETTER)),
    (_UNKNOWN, RegressionsChoice(turn=TurnChoice.UNKNOWN)),
    ("machine or everything", RegressionsChoice(turn=TurnChoice.ALL, class_=ClassChoice.MACHINE)),
    ("acknowledged", RegressionsChoice(turn=TurnChoice.ALL, state=StateChoice.ACKNOWLEDGED, class_=ClassChoice.ALL)),
    ("recovered", RegressionsChoice(turn=TurnChoice.ALL, state=StateChoice.RECOVERED, class_=ClassChoice.ALL)),
    ("withdrawn", RegressionsChoice(turn=TurnChoice.ALL, state=StateChoice.WITHDRAWN, class_=ClassChoice.ALL)),
)


@dataclass(frozen=True, kw_only=True)
class RegressionsDrawing:
    """Content of the page. `found`: what the choice takes, by weight; `chosen`: the one that is shown, with `chart`.

    `left_out`: what of its history is not drawn, in words. `explanation`: why it is, in a sentence; None where nothing
    is known of that. `lists`: label, query and number of findings of the lists that one looks for. `taken_back`:
    acknowledgements of the chosen one that hold no longer. `n_commits`: that the chosen project, or any, measured on
    the chosen machine, or on any.
    """

    choice: RegressionsChoice
    options: Mapping[str, tuple[str, ...]]
    problems: tuple[str, ...]
    found: tuple[RankedFinding, ...]
    chosen: RankedFinding | None
    chart: Chart | None
    left_out: str
    explanation: str | None
    taken_back: tuple[TakenBack, ...]
    lists: tuple[tuple[str, str, int], ...]
    flips: tuple[WinnerFlip, ...]
    n_commits: int

    @property
    def names_project(self) -> bool:
        """Whether findings may be of several projects, so that each says of which it is."""
        return self.choice.project == ALL and len(self.options["project"]) > 2

    @property
    def scale(self) -> Scale:
        """Scale on which both levels of the chosen finding can be read."""
        ratio = self.chosen.finding.ratio if self.chosen else None
        return Scale.LOG if ratio and not 1 / FACTOR_FROM < ratio < FACTOR_FROM else Scale.FIT

    @property
    def answer(self) -> str:
        """Answer in a sentence: how many, and the heaviest."""
        if not self.found:
            return self._nothing_found
        worst = self.found[0].finding
        n = counted(len(self.found), _noun(self.choice))
        where = f" at {len(worst.points):,} of {counted(worst.n_points, 'point')}" if worst.points else ""
        of = f" of {worst.surface.project}" if self.names_project else ""
        return f"{n}, the heaviest {title_of(worst)}{of}, {largest_change_of(worst)}{where}, in {range_of(worst)}"

    @property
    def _nothing_found(self) -> str:
        """Answer where no finding is listed: that there is none at the chosen place, or that the choice takes none."""
        choice = self.choice
        if self.n_commits == 1 and choice.machine != ALL:
            return f"No finding yet: one commit has been measured on {choice.machine}"
        if replace(choice, finding=None) != RegressionsChoice(project=choice.project, machine=choice.machine):
            return "No finding matches this choice"
        n_unknown = sum(n for label, _, n in self.lists if label == _UNKNOWN)
        of_others = f"; of {counted(n_unknown, 'finding')} nobody said which way is worse" if n_unknown else ""
        is_short = 0 < self.n_commits < LEAST_VALUES
        commits_here = "one commit is" if self.n_commits == 1 else f"{self.n_commits} commits are"
        short = f"; {commits_here} too few to find a change of a time in: Overview compares two" if is_short else ""
        of = "" if choice.project == ALL else f" of {choice.project}"
        on = "" if choice.machine == ALL else f" on {choice.machine}"
        return f"No open regression{of}{on}{of_others}{short}"


def regressions_drawing_of(store: Store, *, query: str) -> RegressionsDrawing:
    """Query the store for what the URL's `query` shows."""
    every = judged_histories(store)
    problems: list[str] = []
    choice, options = regressions_choice_of(query, found=every, measured=places(store), problems=problems)
    found = tuple(one for one in every if choice.takes(one))
    chosen = next((one for one in every if one.uid == choice.finding), found[0] if found else None)
    chart, left_out = (None, "") if chosen is None else _chart(store, chosen, every)
    return RegressionsDrawing(
        choice=choice,
        options=options,
        problems=tuple(problems),
        found=found,
        chosen=chosen,
        chart=chart,
        left_out=left_out,
        explanation=None if chosen is None else reasons_of(store).sentence(chosen.finding),
        taken_back=() if chosen is None else tuple(taken_back_of(store, chosen.finding)),
        lists=tuple(_list(label, of_list, choice, every) for label, of_list in LISTS),
        flips=tuple(one for one in winner_flips_of(store) if _is_at(choice, one)),
        n_commits=sum(_is_measured_at(choice, row) for row in commits(store)),
    )


def open_regressions_of(store: Store, *, project: str = ALL) -> tuple[RankedFinding, ...]:
    """Return what the page lists at first of a project, or of all: the open regressions, the heaviest first."""
    first = RegressionsChoice(project=project)
    return tuple(one for one in judged_histories(store) if first.takes(one))


def finding_of(store: Store, uid: str) -> RankedFinding | None:
    """Return the finding of that name; None if there is none, or none any more."""
    return next((one for one in judged_histories(store) if one.uid == uid), None)


def _is_measured_at(choice: RegressionsChoice, row: CommitRow) -> bool:
    return choice.project in {ALL, row.project} and choice.machine in {ALL, *row.machines}


def _is_at(choice: RegressionsChoice, flip: WinnerFlip) -> bool:
    return choice.machine in {ALL, flip.since.machine} and choice.project in {ALL, flip.since.project}


def _list(
    label: str, of_list: RegressionsChoice, choice: RegressionsChoice, every: Sequence[RankedFinding]
) -> tuple[str, str, int]:
    same_place = replace(of_list, project=choice.project, machine=choice.machine, contains=choice.contains)
    return label, query_from_regressions_choice(same_place), sum(map(same_place.takes, every))


def _noun(choice: RegressionsChoice) -> str:
    is_plain = choice.turn is TurnChoice.WORSE and choice.state is StateChoice.OPEN
    return "open regression" if is_plain else "finding"


def _chart(store: Store, chosen: RankedFinding, every: Sequence[RankedFinding]) -> tuple[Chart | None, str]:
    """Draw the course of the finding's worst point with all its change points; None of a finding about everything.

    With it comes, in words, what is left out: commits beside the main line, and those at which that point has no value.
    """
    series = chosen.series
    if series is None:
        return None, ""
    histories = history_of(store, series_ids=[series.series_id])
    stored = commits(store, project=series.project)
    measured = {value.commit for one in histories for value in one.values}
    beside = beside_among(row for row in stored if row.commit in measured)
    drawn = [replace(one, values=tuple(row for row in one.values if row.commit not in beside)) for one in histories]
    chart = chart_of_lines(
        lines_from([series]),
        {one.series.series_id: one for one in drawn},
        metric_format=MetricFormat(metric=series.metric, unit=series.unit, better=better_of(store, [series])),
        order=[row.commit for row in stored],
        spacing=CommitSpacing.ORDER,
    )
    positions = {commit: place for place, commit in chart.positions}
    marks = change_points_of(every, series=[series], positions=positions)
    words = (left_out_in_words(len(beside)), _gap_in_words(chosen.finding, chart, [row.commit for row in stored]))
    return replace(chart, change_points=marks), ". ".join(one for one in words if one)


def _gap_in_words(finding: Finding, chart: Chart, order: Sequence[str]) -> str:
    """Write where the worst point has no value at the last good commit, so that other points alone narrow the range."""
    rank = {commit: i for i, commit in enumerate(order)}
    until = rank.get(finding.last_good or "", -1)
    before = [mark.key for curve in chart.curves for mark in curve.marks if rank.get(mark.key, -1) <= until]
    last = max(before, key=lambda commit: rank[commit], default=None)
    if last is None or last == finding.last_good:
        return ""
    own = f"{last[:8]}..{finding.first_bad[:8]}"
    return f"The range is that of other points: the one drawn has no value between, its own range is {own}"
