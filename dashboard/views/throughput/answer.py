"""Answer of the page *Throughput*: what to run at the chosen batch, how sure that is, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dashboard.clocks import clocks_of_shape
from dashboard.tables.winner_flips import commit_in_words
from results.judgement.advice import Question, advice_from, rows_in_words
from results.judgement.leads import lead_of
from results.judgement.winners import BASELINE, Standing
from results.units import THIN_SPACE, TIMES, counted, with_prefix

if TYPE_CHECKING:
    from collections.abc import Sequence

    from results.judgement.advice import Choice
    from results.judgement.winners import Ranking
    from results.rows import PointRow

AGAIN = "measure again (fusebench run --again)"


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What to run: the sentence for the chosen batch, and those for all batches and their reasons.

    contenders: the named ones, to be marked in their colours. is_certain: whether it was decided.
    """

    sentence: str
    contenders: tuple[str, ...]
    is_certain: bool
    details: tuple[str, ...]


NO_PROVIDER = Answer(sentence="No provider is chosen; choose one above", contenders=(), is_certain=False, details=())


def answer_from(
    rows: Sequence[PointRow], *, batch: int, over_commits: Sequence[PointRow] = (), is_older: bool = False
) -> Answer:
    """Return the answer that one commit's points of a shape give at `batch`.

    over_commits: the points at that batch of this commit and those before it, the oldest first, which tell since when.
    is_older: whether a newer commit measured that, too, so that the sentence names the commit.
    """
    advice = advice_from(rows, Question())
    choice = next((choice for choice in advice.choices if choice.batch == batch), None)
    details = (*advice.what, *_though_others_lead(advice.choices)) if len(advice.choices) > 1 else ()
    if choice is None:
        return Answer(sentence=_nothing(rows, batch), contenders=(), is_certain=False, details=details)
    older = f" (commit {rows[0].commit[:10]}, not the newest)" if is_older else ""
    ranking = choice.ranking
    clocks = clocks_of_shape([row for row in rows if row.batch == batch], leader=ranking.leader)
    named = ranking.candidates if ranking.standing is Standing.TIED else (ranking.leader,)
    return Answer(
        sentence=_sentence(choice, older=older),
        contenders=tuple(row.contender for row in named),
        is_certain=ranking.standing is Standing.FASTEST,
        details=(*_since(over_commits), *details, *_why(ranking), *([clocks] if clocks else [])),
    )


def _though_others_lead(choices: Sequence[Choice]) -> list[str]:
    """Write why one is advised where another took the least time, as the table shows; of eager it is said."""
    others: dict[tuple[str, bool], list[Choice]] = {}
    for choice in choices:
        row, ranking = choice.advised, choice.ranking
        if row is not None and row.provider != BASELINE and row.contender != ranking.leader.contender:
            others.setdefault((row.contender, ranking.standing is Standing.TIED), []).append(choice)
    found = []
    for (name, is_tied), there in others.items():
        leaders = " or ".join(dict.fromkeys(choice.ranking.leader.contender for choice in there))
        at = f"at {rows_in_words(choice.batch for choice in there)}, where {leaders} leads"
        how = "is as fast, by the intervals"
        if not is_tied:
            how = "is faster than eager, too; which of them is faster is in doubt"
        found.append(f"{at[0].upper()}{at[1:]}, {name} {how}.")
    return found


def _since(rows: Sequence[PointRow]) -> list[str]:
    """Write since which commit who is the fastest; nothing where one commit measured it or none decides it."""
    of_commit: dict[str, list[PointRow]] = {}
    for row in rows:
        of_commit.setdefault(row.commit, []).append(row)
    lead = lead_of(reversed(of_commit.values()))
    if lead is None or len(of_commit) < 2:
        return []
    is_now = lead.newest.commit == rows[-1].commit
    then = "" if is_now else f"Last decided at {lead.newest.commit[:8]}: "
    n = lead.n_undecided
    undecided = f"; {counted(n, 'commit')} since then decide{'s' if n == 1 else ''} nothing" if n else ""
    if lead.before is None:
        first = commit_in_words(lead.since)
        n_decided = lead.n_decided
        where = f"at the only commit that decides it, {first}"
        if n_decided > 1:
            where = f"at all {n_decided} commits that decide it, the first {first}"
        if other := lead.by_other_ruler:
            was = (
                f"by ruler {other.ruler_version}, which does not compare, {other.contender} was, at {other.commit[:8]}"
            )
            where = f"by ruler {lead.since.ruler_version} since {first}; {was}"
    else:
        new = f", where {lead.contender} has no time" if lead.is_new else ""
        was = f"before, {lead.before.contender} was, at {lead.before.commit[:8]}{new}"
        where = f"since {commit_in_words(lead.since)}; {was}"
    return [f"{then}{lead.contender} is the fastest here {where}{undecided}."]


def _nothing(rows: Sequence[PointRow], batch: int) -> str:
    here = [row for row in rows if row.batch == batch]
    if not here:
        return f"Nothing was measured at {_rows(batch)} with this choice"
    states = ", ".join(f"{row.contender} {row.state.replace('_', ' ')}" for row in here)
    return f"Nothing is ok at {_rows(batch)}: {states}"


def _sentence(choice: Choice, *, older: str) -> str:
    ranking, at = choice.ranking, f"at {_rows(choice.batch)}{older}"
    leader = ranking.leader
    match ranking.standing:
        case Standing.FASTEST if leader.provider == BASELINE:
            return f"Run {leader.contender} {at}: nothing measured here is faster, certain"
        case Standing.FASTEST:
            return f"Run {leader.contender} {at}: {_over_eager(leader)}certain"
        case Standing.TIED:
            names = " or ".join(row.contender for row in ranking.candidates)
            return f"Run {names} {at}: tied, their intervals overlap"
        case Standing.UNDECIDED:
            return f"Undecided {at}: {_known_all_the_same(choice)}"
        case _:
            alone = f"{leader.contender} is the only one with a time {at}"
            return f"{alone}{'' if leader.provider == BASELINE else f': {_over_eager(leader)[:-2]}'}"


def _known_all_the_same(choice: Choice) -> str:
    """Write who leads by paired rounds where the times themselves decide nothing, or that nobody does."""
    ranking = choice.ranking
    leader = ranking.leader.contender
    if ranking.least_margin is not None:
        ahead = f"{leader} leads by {ranking.least_margin:.2f}{TIMES} at least over paired rounds"
        return f"{ahead}, but the times are in doubt ({ranking.doubt})"
    if choice.options:
        names = ", ".join(row.contender for row in choice.options)
        verb = "is" if len(choice.options) == 1 else "are"
        return f"faster than eager {verb} {names}; which is fastest is in doubt ({ranking.doubt})"
    return f"{leader} took the least time, but times are in doubt ({ranking.doubt}); {AGAIN}"


def _why(ranking: Ranking) -> list[str]:
    """Write what the leader's and eager's time goes to; nothing where neither was profiled."""
    rows = [ranking.leader]
    if ranking.eager is not None and ranking.eager != ranking.leader:
        rows.append(ranking.eager)
    known = [_time(row) for row in rows if row.bound_in_words]
    return [f"Why: {'; '.join(known)}."] if known else []


def _time(row: PointRow) -> str:
    n, noun = row.kernel_launches, "kernel"
    if n is None:
        n, noun = row.operator_count, "operator"
    count = f" in {counted(round(n), noun)}" if n else ""
    floor = f", {row.floor_in_words}" if row.floor_in_words else ""
    evidence = f" ({row.bound_detail})" if row.bound_detail and row.has_valid_ceiling else ""
    latency = with_prefix(row.latency_s, "s")
    return f"{row.contender} takes {latency}{count}{floor}, bound by {row.bound_in_words}{evidence}"


def _over_eager(row: PointRow) -> str:
    """Write the speedup with its interval, ended by a comma; empty where it is unknown."""
    if row.speedup_vs_eager is None:
        return ""
    interval = ""
    if row.speedup_ci_low is not None and row.speedup_ci_high is not None:
        interval = f" [{row.speedup_ci_low:.2f}, {row.speedup_ci_high:.2f}]"
    return f"{row.speedup_vs_eager:.2f}{TIMES} eager{interval}, "


def _rows(batch: int) -> str:
    return f"{batch:,}{THIN_SPACE}{'row' if batch == 1 else 'rows'}".replace(",", THIN_SPACE)
